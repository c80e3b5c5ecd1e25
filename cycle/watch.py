"""Under torchrun: join the other ranks, watch that all live, name who does not, leave."""

import functools
import os
import sys
import threading
import time
from datetime import timedelta

import torch
import torch.distributed as dist

from cycle.checks import check

BEAT = 2.0  # seconds between two signs of life
PATIENCE = 30.0  # seconds without one after which a rank counts as dead
GATHERING = timedelta(minutes=2)  # in which all ranks must have come
SLOW = timedelta(days=7)  # a rank that shows signs of life may take so long

_watching: list = []  # the thread that watches, and the event that ends it


@functools.cache
def control():
    """The group for what is not a message of the protocol: always gloo, on the CPU."""
    return dist.new_group(backend="gloo", timeout=SLOW)


def alive(operation, *arguments, **options):
    """Do it; where that fails because somebody is gone, give the watch the time to say who."""
    try:
        return operation(*arguments, **options)
    except RuntimeError:
        time.sleep(PATIENCE + 5 * BEAT)
        raise


def join() -> torch.device | None:
    """Under torchrun: connect, watch the others, return the device; None in a lone process."""
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if size == 1 or dist.is_initialized():
        return None
    device = None
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(device)
    store = _meet(rank, size)
    backend, group = "cpu:gloo,cuda:nccl" if device else "gloo", dist.PrefixStore("group", store)
    dist.init_process_group(backend, store=group, rank=rank, world_size=size, timeout=SLOW)
    control()
    # a connection of its own: waiting for the group must not stop the signs of life
    own, done = dist.TCPStore(store.host, store.port, is_master=False), threading.Event()
    thread = threading.Thread(target=_watch, args=(_places(own), rank, size, done), daemon=True)
    _watching[:] = thread, done
    thread.start()
    return device


def _meet(rank: int, size: int) -> dist.TCPStore:
    """The store that all ranks know, once all have come; who has not within GATHERING is named."""
    check(0 <= rank < size, "RANK", f"be from 0 to {size - 1}", rank)
    host = os.environ.get("MASTER_ADDR", "localhost")
    port = int(os.environ.get("MASTER_PORT", 29500))
    ours = rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"
    try:
        store = dist.TCPStore(host, port, is_master=ours, timeout=GATHERING, wait_for_workers=False)
    except (RuntimeError, ValueError) as error:  # DistNetworkError is a RuntimeError
        raise ValueError(
            f"rank {rank} found nobody at MASTER_ADDR {host}, MASTER_PORT {port} ({error})"
        ) from None
    places, everybody = _places(store), [f"came/{other}" for other in range(size)]
    if places.add(everybody[rank], 1) > 1:
        raise ValueError(f"RANK {rank} is taken by another process: every process needs its own")
    try:
        places.wait(everybody, GATHERING)
    except dist.DistStoreError:
        missing = [other for other, sign in enumerate(everybody) if not places.check([sign])]
        named = ", ".join(map(str, missing))
        raise ValueError(
            f"rank {named} did not come within {GATHERING.total_seconds():.0f} seconds"
        ) from None
    return store


def _places(store: dist.TCPStore) -> dist.PrefixStore:
    """Where ranks show that they live, anew when torchrun starts all again."""
    again = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
    return dist.PrefixStore(f"cycle/{again}", store)


def leave() -> bool:
    """The regular end: nobody is missed afterwards. Whether this rank speaks of the results."""
    if not dist.is_initialized():
        return True
    first = dist.get_rank() == 0
    dist.barrier(group=control())
    abandon()
    dist.destroy_process_group()
    control.cache_clear()
    return first


def abandon() -> None:
    """End the watch, so that Python can end (a thread inside the store would end it badly); after
    an error the others will notice."""
    if _watching:
        thread, done = _watching
        done.set()
        thread.join()
        _watching.clear()


def _watch(places, rank: int, size: int, done: threading.Event) -> None:
    """Show signs of life; who shows none for PATIENCE seconds is named, and all ends."""
    seen = dict.fromkeys(range(size), (0, time.monotonic()))  # beats of each, and since when
    while not done.wait(BEAT):
        reason = f"gave no sign of life for {PATIENCE:.0f} seconds"
        try:
            places.add(f"came/{rank}", 1)
            for other, (before, _) in seen.items():
                beats = places.add(f"came/{other}", 0)
                if beats > before:
                    seen[other] = beats, time.monotonic()
            late = time.monotonic() - PATIENCE
            silent = [str(other) for other, (_, since) in seen.items() if since < late]
            # the first to notice decides
            lost = places.compare_set("lost", "", *silent[:1] or [""]).decode()
        except RuntimeError:  # the store is gone, and with it the process that kept it
            lost, reason = "0", "or the node that started it is gone"
        if lost and not done.is_set():
            print(
                f"rank {lost} {reason}: this run ends here, on rank {rank}. "
                "The same command resumes it, also with another number of ranks.",
                file=sys.stderr,
                flush=True,
            )
            time.sleep(2 * BEAT)  # so that all can read who it was before the store goes
            os._exit(1)
