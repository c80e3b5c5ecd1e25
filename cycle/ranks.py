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
from itertools import chain

import numpy as np
import torch
import torch.distributed as dist

from cycle import watch
from cycle.checks import check

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
        most = f"be at most the {self.n} participants of this run"
        check(self.size <= self.n, "ranks", most, self.size)

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
        if self.size == 1:
            return dict(sorted(messages.items()))
        coming = self._announce({pair: m.numel() for pair, m in messages.items()}, device)
        for (sender, _), numbers in coming.items():
            if numbers > MOST_NUMBERS:
                told = f"announces {numbers} numbers from P{sender + 1}: refused"
                raise ValueError(f"rank {self.owner(sender)} {told}")
        nothing = torch.empty(0, dtype=torch.uint8, device=device)
        outgoing, lengths = ([[] for _ in range(self.size)] for _ in range(2))
        for i, j in sorted(messages):
            content = messages[i, j].to(expected(i, j)[1]).contiguous().view(-1)
            outgoing[self.owner(j)].append(content.view(torch.uint8))
        for (i, j), numbers in coming.items():
            lengths[self.owner(i)].append(numbers * expected(i, j)[1].itemsize)
        arrived, rows = {}, _swap([[nothing, *part] for part in outgoing], lengths)
        for ((i, j), numbers), row in zip(coming.items(), rows, strict=True):
            shape, dtype = expected(i, j)
            if numbers == math.prod(shape):
                arrived[i, j] = row.clone().view(dtype).view(shape)
            else:
                log.warning(
                    "P%d sent P%d %d numbers, not %s: dropped", i + 1, j + 1, numbers, shape
                )
        return dict(sorted(arrived.items()))

    def _announce(self, sizes: dict[tuple[int, int], int], device) -> dict[tuple[int, int], int]:
        """Tell every rank how many numbers it gets by pair; those coming here, by rank and pair."""
        here, told, pairs = self.addresses(self.rank), [], []
        for there in map(self.addresses, range(self.size)):
            table = [sizes.get((i, j), -1) for i in here for j in there]
            told.append([torch.tensor(table, device=device)])
            pairs += [(i, j) for i in there for j in here]
        rows = _swap(told, [[len(table)] for [table] in told])
        counts = torch.cat(rows).tolist()
        return {pair: count for pair, count in zip(pairs, counts, strict=True) if count >= 0}

    def shared(self, shares: np.ndarray, device) -> np.ndarray:
        """[sender, receiver]: what was decided here, and what receivers here were told."""
        known = self.sent(shares)
        promises = {pair: torch.empty(0) for pair in zip(*known.nonzero(), strict=True)}
        for pair in self.exchange(promises, lambda *_: ((0,), torch.float32), device):
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
        told = self._tell([list(values.items())] + [None] * (self.size - 1))
        for rank, items in enumerate(told if self.first else ()):
            for key, _ in items:
                if not isinstance(key, int) or key < self.n and self.owner(key) != rank:
                    foreign = f"speaks of participant {key!r}, who is not its own"
                    raise ValueError(f"rank {rank} {foreign}")
        return dict(sorted(pair for items in told for pair in items)) if self.first else None

    def broadcast(self, value):
        """What the first rank says, on all: it decides where looking for oneself could differ."""
        if self.size == 1:
            return value
        return self._tell([value if self.first else None] * self.size)[0]

    def barrier(self) -> None:
        """Until all ranks are here."""
        if self.size > 1:
            watch.alive(dist.barrier, group=watch.control())

    def _tell(self, values: list) -> list:
        """A value to each rank and one from each, as JSON."""
        texts = [bytearray(json.dumps(value).encode()) for value in values]
        sizes = [[torch.tensor([len(text)])] for text in texts]
        lengths = [[int(size)] for size in _swap(sizes, [[1]] * self.size, watch.control())]
        if max(lengths) > [MOST_NUMBERS]:
            raise ValueError(f"a rank tells {max(lengths)[0]} bytes on participants: refused")
        told = [[torch.frombuffer(text, dtype=torch.uint8)] for text in texts]
        return [json.loads(bytes(row.tolist())) for row in _swap(told, lengths, watch.control())]


def _swap(told: list, lengths: list, group=None) -> tuple[torch.Tensor, ...]:
    """Rows of numbers to each rank, for rows of these lengths from each."""
    sent = torch.cat([*chain(*told)])
    received, counts = sent.new_empty(sum(chain(*lengths))), [sum(map(len, rows)) for rows in told]
    watch.alive(dist.all_to_all_single, received, sent, [*map(sum, lengths)], counts, group=group)
    return received.split([*chain(*lengths)])
