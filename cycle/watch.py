"""Under torchrun: join the other ranks, watch that all live, name who does not, leave."""

import os
import sys
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist

BEAT = 2.0  # seconds between two signs of life
PATIENCE = 30.0  # seconds without one after which a rank counts as dead
GATHERING = timedelta(minutes=2)  # in which all ranks must have come
SLOW = timedelta(days=7)  # a rank that shows signs of life may take so long

_connection: dict = {}


def control():
    """The group for what is not a message of the protocol: always gloo, on the CPU."""
    if "group" not in _connection:
        _connection["group"] = dist.new_group(backend="gloo", timeout=SLOW)
    return _connection["group"]


def alive(operation, *arguments, **options):
    """Do it; where that fails because somebody is gone, give the watch the time to say who."""
    try:
        return operation(*arguments, **options)
    except RuntimeError:
        time.sleep(PATIENCE + 5 * BEAT)
        raise


def join() -> torch.device | None:
    """Under torchrun: connect, watch the others, return the device; None in a lone process."""
    size, rank = (
        int(os.environ.get(name, default)) for name, default in (("WORLD_SIZE", "1"), ("RANK", "0"))
    )
    if size == 1 or dist.is_initialized():
        return None
    device = None
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    store = _meet(rank, size)
    backend = "cpu:gloo,cuda:nccl" if device else "gloo"
    group_store = dist.PrefixStore("cycle/group", store)
    dist.init_process_group(backend, store=group_store, rank=rank, world_size=size, timeout=SLOW)
    control()
    # waiting for the group must not stop the signs of life
    own = dist.TCPStore(store.host, store.port, is_master=False)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(own, rank, size, done), daemon=True)
    _connection.update(done=done, watch=watch, store=store)
    watch.start()
    return device


def _meet(rank: int, size: int) -> dist.TCPStore:
    """The store that all ranks know, once all have come; who has not within GATHERING is named."""
    if not 0 <= rank < size:
        raise ValueError(f"RANK must be from 0 to {size - 1}, got {rank}")
    host, port = (
        os.environ.get("MASTER_ADDR", "localhost"),
        int(os.environ.get("MASTER_PORT", "29500")),
    )
    ours = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    try:
        store = dist.TCPStore(host, port, is_master=ours, timeout=GATHERING, wait_for_workers=False)
    except (RuntimeError, ValueError) as error:  # DistNetworkError is a RuntimeError
        raise ValueError(
            f"rank {rank} found nobody at MASTER_ADDR {host}, MASTER_PORT {port} ({error})"
        ) from None
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    places = [f"cycle/{again}/came/{other}" for other in range(size)]
    if store.add(places[rank], 1) > 1:
        raise ValueError(f"RANK {rank} is taken by another process: every process needs its own")
    end = time.monotonic() + GATHERING.total_seconds()
    while missing := [other for other in range(size) if store.add(places[other], 0) == 0]:
        if time.monotonic() > end:
            named = ", ".join(map(str, missing))
            raise ValueError(
                f"rank {named} did not come within {GATHERING.total_seconds():.0f} seconds"
            )
        time.sleep(0.1)
    return store


def leave() -> bool:
    """The regular end: nobody is missed afterwards. Whether this rank speaks of the results."""
    if not dist.is_initialized():
        return True
    first = dist.get_rank() == 0
    dist.barrier(group=control())
    _connection["done"].set()
    _connection["watch"].join()  # a thread inside the store when Python ends would end it badly
    dist.destroy_process_group()
    _connection.clear()
    return first


def abandon() -> None:
    """After an error: end the watch, so that Python can end; the others will notice."""
    if "watch" in _connection:
        _connection["done"].set()
        _connection["watch"].join()


def _watch(store, rank: int, size: int, done: threading.Event) -> None:
    """Show signs of life; who shows none for PATIENCE seconds is named, and all ends."""
    counts, seen = [0] * size, [time.monotonic()] * size
    while True:
        lost, reason = None, f"gave no sign of life for {PATIENCE:.0f} seconds"
        try:
            store.add(f"cycle/beat/{rank}", 1)
            for other in range(size):
                count = store.add(f"cycle/beat/{other}", 0)
                if count != counts[other]:
                    counts[other], seen[other] = count, time.monotonic()
            if store.check(["cycle/lost"]):
                lost = int(store.get("cycle/lost"))
        except RuntimeError:  # the store is gone, and with it the process that kept it
            lost, reason = 0, "or the node that started it is gone"
        silent = [other for other in range(size) if time.monotonic() - seen[other] > PATIENCE]
        if done.is_set():
            return
        if silent and lost is None:
            # the first to notice decides
            lost = int(store.compare_set("cycle/lost", "", str(silent[0])))
        if lost is not None:
            print(
                f"rank {lost} {reason}: this run ends here, on rank {rank}. "
                "The same command resumes it, also with another number of ranks.",
                file=sys.stderr,
                flush=True,
            )
            time.sleep(2 * BEAT)  # so that all can read who it was before the store goes
            os._exit(1)
        done.wait(BEAT)
