"""Participants on several processes: who lives where, and the only way for messages between them.

One process is one rank (torchrun starts them) and owns a block of participants. Numbers do not
depend on the number of ranks: a message carries what the single process would have computed, and
every sum runs in the order of participants.
"""

import json
import logging
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.distributed as dist

from cycle import watch

MOST_NUMBERS = 2**31  # in one message: more is nobody's honest model or data
log = logging.getLogger("cycle")

Messages = dict[tuple[int, int], torch.Tensor]  # (sender, receiver): what is sent


@dataclass(frozen=True)
class Ranks:
    """Which of `n` participants live here, and the only way to the others."""

    n: int
    rank: int = 0
    size: int = 1

    def __post_init__(self):
        if self.size > self.n:
            raise ValueError(
                f"ranks must be at most the {self.n} participants of this run, got {self.size}"
            )

    @classmethod
    def of(cls, n: int) -> "Ranks":
        """As the process group says; everybody is here where there is none."""
        return cls(n, dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else cls(n)

    def owner(self, participant: int) -> int:
        """Where a participant lives: blocks in order; a server, number n, lives with the first."""
        return participant % self.n * self.size // self.n

    def addresses(self, rank: int) -> list[int]:
        """Who can be written to on a rank: its participants, and the server."""
        return [n for n in range(self.n + 1) if self.owner(n) == rank]

    @property
    def here(self) -> list[int]:
        return [n for n in range(self.n) if self.owner(n) == self.rank]

    @property
    def first(self) -> bool:
        """Whether this rank keeps the record of the run."""
        return self.rank == 0

    def exchange(self, messages: Messages, expected: Callable, device) -> Messages:
        """Deliver the messages of senders here; returns those to receivers here, ordered by
        (sender, receiver).

        expected(sender, receiver) is the (shape, type) that the protocol fixes: a message of
        another size is dropped, and its sender named.
        """
        arrived = {
            pair: message for pair, message in messages.items() if self.owner(pair[1]) == self.rank
        }
        if self.size > 1:
            coming = self._announce(
                {pair: message.numel() for pair, message in messages.items()}, device
            )
            buffers = {}
            for (i, j), numbers in coming.items():
                shape, dtype = expected(i, j)
                if numbers > MOST_NUMBERS:
                    raise ValueError(
                        f"rank {self.owner(i)} announces {numbers} numbers from P{i + 1}: refused"
                    )
                buffers[i, j] = torch.empty(numbers, dtype=dtype, device=device)
            outgoing = [pair for pair in sorted(messages) if pair not in arrived]
            rows = [messages[p].to(expected(*p)[1]).contiguous().flatten() for p in outgoing]
            sends = [
                dist.P2POp(dist.isend, row, self.owner(p[1]))
                for row, p in zip(rows, outgoing, strict=True)
            ]
            receives = [
                dist.P2POp(dist.irecv, buffers[pair], self.owner(pair[0])) for pair in coming
            ]
            _post(sends + receives)
            for (i, j), numbers in buffers.items():
                shape = expected(i, j)[0]
                if numbers.numel() == math.prod(shape):
                    arrived[i, j] = numbers.view(shape)
                else:
                    got = numbers.numel()
                    log.warning(
                        "P%d sent P%d %d numbers, not %s: dropped", i + 1, j + 1, got, shape
                    )
        return dict(sorted(arrived.items()))

    def _announce(self, sizes: dict[tuple[int, int], int], device) -> dict[tuple[int, int], int]:
        """Tell every other rank how many numbers it gets by pair; those coming here."""
        operations, tables, mine = [], {}, self.addresses(self.rank)
        for other in range(self.size):
            if other != self.rank:
                theirs = self.addresses(other)
                told = [[sizes.get((i, j), -1) for j in theirs] for i in mine]
                tables[other] = torch.full(
                    (len(theirs), len(mine)), -1, dtype=torch.int64, device=device
                )
                operations.append(dist.P2POp(dist.isend, torch.tensor(told, device=device), other))
                operations.append(dist.P2POp(dist.irecv, tables[other], other))
        _post(operations)
        coming = {
            (self.addresses(other)[row], mine[column]): int(table[row, column])
            for other, table in tables.items()
            for row, column in (table >= 0).nonzero().tolist()
        }
        return dict(sorted(coming.items()))

    def shared(self, shares: np.ndarray, device) -> np.ndarray:
        """[sender, receiver]: what was decided here, and what receivers here were told."""
        if self.size == 1:
            return shares
        known = self.sent(shares)
        for pair in self._announce(
            {tuple(pair): 0 for pair in np.argwhere(known).tolist()}, device
        ):
            known[pair] = True
        return known

    def sent(self, shares: np.ndarray) -> np.ndarray:
        """The part of [sender, receiver] that participants here sent, for this rank's ledger."""
        own = np.zeros_like(shares)
        own[self.here] = shares[self.here]
        return own

    def gather(self, values: dict[int, object]) -> dict | None:
        """What every rank knows of its own participants, in the order of keys, on the first rank;
        None elsewhere.

        For the record of a run only (accuracies, losses, reputations), as JSON: nothing of it
        returns into training.
        """
        if self.size == 1:
            return values
        told = torch.frombuffer(
            bytearray(json.dumps(list(values.items())).encode()), dtype=torch.uint8
        )
        lengths = [torch.zeros(1, dtype=torch.int64) for _ in range(self.size)]
        watch.alive(dist.all_gather, lengths, torch.tensor([len(told)]), group=watch.control())
        longest = int(max(lengths))
        if longest > MOST_NUMBERS:
            raise ValueError(f"a rank tells {longest} bytes about its participants: refused")
        padded = torch.zeros(longest, dtype=torch.uint8)
        padded[: len(told)] = told
        parts = [torch.zeros_like(padded) for _ in range(self.size)] if self.first else None
        watch.alive(dist.gather, padded, parts, group=watch.control())
        if not self.first:
            return None
        merged = {}
        for rank, (part, length) in enumerate(zip(parts, lengths, strict=True)):
            for key, value in json.loads(bytes(part[: int(length)].tolist())):
                if not isinstance(key, int) or key < self.n and self.owner(key) != rank:
                    raise ValueError(
                        f"rank {rank} speaks of participant {key!r}, who is not its own"
                    )
                merged[key] = value
        return {key: merged[key] for key in sorted(merged)}

    def broadcast(self, value):
        """What the first rank says, on all: it decides where looking for oneself could differ."""
        if self.size == 1:
            return value
        told = (
            torch.frombuffer(bytearray(json.dumps(value).encode()), dtype=torch.uint8)
            if self.first
            else None
        )
        length = torch.tensor([len(told) if self.first else 0])
        watch.alive(dist.broadcast, length, src=0, group=watch.control())
        content = told if self.first else torch.zeros(int(length), dtype=torch.uint8)
        watch.alive(dist.broadcast, content, src=0, group=watch.control())
        return json.loads(bytes(content.tolist()))

    def barrier(self) -> None:
        """Until all ranks are here."""
        if self.size > 1:
            watch.alive(dist.barrier, group=watch.control())


def _post(operations) -> None:
    if operations:
        watch.alive(lambda: [work.wait() for work in dist.batch_isend_irecv(operations)])
