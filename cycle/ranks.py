"""Participants on several processes: who lives where, messages between participants, and who died.

One process is one rank (torchrun starts them) and owns a block of participants. Numbers do not depend on the number of
ranks: a message carries what the single process would have computed, and every sum runs in the order of participants.
"""

import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist

BEAT = 2.0  # seconds between two signs of life
PATIENCE = 30.0  # seconds without one after which a rank counts as dead
SLOW = timedelta(days=7)  # a rank that shows signs of life may take so long: who holds most data has the longest epoch

Messages = dict[tuple[int, int], torch.Tensor]  # (sender, receiver): what is sent


@dataclass(frozen=True)
class Ranks:
    """Which of `n` participants live here, and the only way to the others."""

    n: int
    rank: int = 0
    size: int = 1

    def __post_init__(self):
        if self.size > self.n:
            raise ValueError(f"ranks must be at most the {self.n} participants of this run, got {self.size}")

    @classmethod
    def of(cls, n: int) -> "Ranks":
        """As the process group says; everybody is here where there is none."""
        return cls(n, dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else cls(n)

    def owner(self, participant: int) -> int:
        """The rank where a participant lives: blocks in order; a server, number n, lives with the first."""
        return participant % self.n * self.size // self.n

    def addresses(self, rank: int) -> list[int]:
        """Who can be written to on a rank: its participants, and the server."""
        return [participant for participant in range(self.n + 1) if self.owner(participant) == rank]

    @property
    def here(self) -> list[int]:
        return [participant for participant in range(self.n) if self.owner(participant) == self.rank]

    @property
    def first(self) -> bool:
        """Whether this rank keeps the record of the run."""
        return self.rank == 0

    def exchange(self, messages: Messages, shape: Callable[[int, int], tuple], dtype, device) -> Messages:
        """Deliver the messages of senders here; returns those to receivers here, ordered by (sender, receiver).

        shape(sender, receiver) is what the receiver expects: the protocol fixes it.
        """
        arrived = {pair: message for pair, message in messages.items() if self.owner(pair[1]) == self.rank}
        if self.size > 1:
            coming = self._announce(messages, device)
            incoming = {pair: torch.empty(shape(*pair), dtype=dtype, device=device) for pair in coming}
            outgoing = [pair for pair in sorted(messages) if pair not in arrived]
            sends = [dist.P2POp(dist.isend, messages[pair].contiguous(), self.owner(pair[1])) for pair in outgoing]
            receives = [dist.P2POp(dist.irecv, incoming[pair], self.owner(pair[0])) for pair in coming]
            _post(sends + receives)
            arrived |= incoming
        return dict(sorted(arrived.items()))

    def _announce(self, messages, device) -> list[tuple[int, int]]:
        """Tell every other rank which messages it will get: one byte for each pair. Returns the pairs coming here."""
        operations, tables, mine = [], {}, self.addresses(self.rank)
        for other in range(self.size):
            if other != self.rank:
                theirs = self.addresses(other)
                bits = [[(i, j) in messages for j in theirs] for i in mine]
                tables[other] = torch.zeros(len(theirs), len(mine), dtype=torch.uint8, device=device)
                operations.append(dist.P2POp(dist.isend, torch.tensor(bits, dtype=torch.uint8, device=device), other))
                operations.append(dist.P2POp(dist.irecv, tables[other], other))
        _post(operations)
        return sorted(
            (self.addresses(other)[row], mine[column])
            for other, table in tables.items()
            for row, column in table.nonzero().tolist()
        )

    def shared(self, shares: np.ndarray, device) -> np.ndarray:
        """[sender, receiver] as known here: what senders here decided, and what others told receivers here."""
        if self.size == 1:
            return shares
        known = self.sent(shares)
        for k, n in self._announce({tuple(pair) for pair in np.argwhere(known).tolist()}, device):
            known[k, n] = True
        return known

    def sent(self, shares: np.ndarray) -> np.ndarray:
        """The part of [sender, receiver] that participants here sent, for this rank's ledger."""
        own = np.zeros_like(shares)
        own[self.here] = shares[self.here]
        return own

    def collect(self, values: dict) -> dict | None:
        """What every rank knows of its own participants, in the order of keys, on the first rank; None elsewhere.

        For the record of a run only (accuracies, losses, reputations): nothing of it returns into training.
        """
        if self.size == 1:
            return values
        gathered = [None] * self.size if self.first else None
        _alive(dist.gather_object, values, gathered, group=_control())
        if not self.first:
            return None
        merged = {key: value for part in gathered for key, value in part.items()}
        return {key: merged[key] for key in sorted(merged)}

    def agreed(self, value):
        """What the first rank says, on all: it decides where looking for oneself could differ."""
        if self.size == 1:
            return value
        said = [value]
        _alive(dist.broadcast_object_list, said, src=0, group=_control())
        return said[0]

    def wait(self) -> None:
        """Until all ranks are here."""
        if self.size > 1:
            _alive(dist.barrier, group=_control())


def _control():
    """The group for what is not a message of the protocol: always gloo, since it carries Python objects."""
    if "group" not in _connection:
        _connection["group"] = dist.new_group(backend="gloo", timeout=SLOW)
    return _connection["group"]


_connection: dict = {}


def _post(operations) -> None:
    if operations:
        _alive(lambda: [work.wait() for work in dist.batch_isend_irecv(operations)])


def _alive(operation, *arguments, **options):
    """Do it; where that fails because somebody is gone, give the watch the time to say who."""
    try:
        return operation(*arguments, **options)
    except RuntimeError:
        time.sleep(PATIENCE + 5 * BEAT)
        raise


def join() -> torch.device | None:
    """Under torchrun: connect, watch the others, return this rank's device; None in a process of its own."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    if size == 1 or dist.is_initialized():
        return None
    device = None
    if torch.cuda.is_available():
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
    dist.init_process_group("cpu:gloo,cuda:nccl" if device else "gloo", timeout=SLOW)
    _control()
    rank = dist.get_rank()
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)
    done = threading.Event()
    watch = threading.Thread(target=_watch, args=(store, rank, size, done), daemon=True)
    _connection.update(done=done, watch=watch)
    watch.start()
    return device


def leave() -> bool:
    """The regular end: nobody is missed afterwards. Says whether this rank is the one to speak of the results."""
    if not dist.is_initialized():
        return True
    first = dist.get_rank() == 0
    dist.barrier(group=_control())
    _connection["done"].set()
    _connection["watch"].join()  # a thread inside the store when Python ends would end it badly
    dist.destroy_process_group()
    _connection.clear()
    return first


def abandon() -> None:
    """After an error, which has been said: end the watch, so that Python can end; the others will notice."""
    if "watch" in _connection:
        _connection["done"].set()
        _connection["watch"].join()


def _watch(store, rank: int, size: int, done: threading.Event) -> None:
    """Show signs of life and look for those of the others; who shows none for PATIENCE seconds is named: we stop."""
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
            lost = int(store.compare_set("cycle/lost", "", str(silent[0])))  # the first to notice decides
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
