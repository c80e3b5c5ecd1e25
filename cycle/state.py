"""What a method carries from one epoch to the next, and what it shows after each."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import torch
from torch import nn

from cycle import streams
from cycle.options import Options
from cycle.party import Party, learn
from cycle.ranks import Ranks
from cycle.sharing import Ledger


@dataclass
class Round:
    """What is known after an epoch; `index` is the paper's t, negative during the local epochs."""

    index: int
    participants: list[Party]  # of this rank, with their models and optimisers
    losses: torch.Tensor  # [participant, (own loss, weighted distillation)], on the device
    ledger: Ledger  # messages and bytes so far
    reputation: np.ndarray | None = None  # [scorer, scored]; gossip: the mixing matrix
    shares: np.ndarray | None = None  # [sender, receiver]
    scored: bool = False  # whether the reputation was recalibrated in this round
    models: dict[str, list[nn.Module]] | None = None  # to be tested, by point; the first counts
    refused: dict[tuple[int, int], str] = field(default_factory=dict)  # (sender, receiver): why
    counted: np.ndarray | None = None  # [receiver, sender]: how far, on average; NaN: no answer

    def __post_init__(self):
        self.models = self.models or {"own": [party.model for party in self.participants]}


@dataclass
class State:
    """Who takes part, and all that a method carries.

    With several ranks each knows the rows of its own participants, and what they sent.
    """

    everyone: list[Party]
    seed: int
    ranks: Ranks
    ledger: Ledger
    classes: int
    device: torch.device
    epoch: int = 0
    reputation: np.ndarray | None = None  # [scorer, scored]
    mixing: np.ndarray | None = None  # gossip: [receiver, sender]
    memory: dict = field(default_factory=dict)  # of one method: tensors, numbers, text

    @property
    def n(self) -> int:
        return len(self.everyone)

    @property
    def participants(self) -> list[Party]:
        """Those of this rank."""
        return [self.everyone[n] for n in self.ranks.here]

    @property
    def sizes(self) -> list[int]:
        return [party.size for party in self.everyone]

    def rng(self, *key: int) -> np.random.Generator:
        return streams.generator(self.seed, *key)

    def save(self) -> dict:
        """Tensors, numbers and text only; of each party what its rank knows."""
        return {
            "epoch": self.epoch,
            "memory": self.memory,
            "booked": (self.ledger.participants, self.ledger.possible),
            "ledger": torch.tensor(self.ledger.entries, dtype=torch.int64).view(-1, 4),
            "parties": {
                p.index: {
                    "model": p.model.state_dict(),
                    "optimizer": p.optimizer.state_dict(),
                    "reputation": row_of(self.reputation, p.index),
                    "mixing": row_of(self.mixing, p.index),
                }
                for p in self.participants
            },
        }

    def restore(self, *parts: dict) -> "State":
        """From what the ranks saved after the same epoch, however many they were."""
        first, known = parts[0], {n: own for part in parts for n, own in part["parties"].items()}
        self.epoch, self.memory = first["epoch"], first["memory"]
        for party in self.participants:
            party.model.load_state_dict(known[party.index]["model"])
            party.optimizer.load_state_dict(known[party.index]["optimizer"])
        for name in ("reputation", "mixing"):
            rows = [known[n][name] for n in range(self.n)]
            setattr(self, name, None if rows[0] is None else np.array(rows))
        participants, possible = first["booked"]
        self.ledger = Ledger(participants)
        if self.ranks.first:  # what was sent before is one rank's to remember
            entries = [map(tuple, part["ledger"].tolist()) for part in parts]
            self.ledger.entries, self.ledger.possible = list(chain(*entries)), possible
        return self


def row_of(matrix: np.ndarray | None, n: int) -> list[float] | None:
    """What a party knows of a matrix, as plain numbers."""
    return None if matrix is None else matrix[n].tolist()


def frozen(participants: list[Party]) -> list[nn.Module]:
    """Copies of everybody's model, in eval mode."""
    return [copy.deepcopy(party.model).eval() for party in participants]


def alone(state: State, options: Options, until: int) -> Iterator[Round]:
    """Everybody trains alone, up to this epoch."""
    while state.epoch < until:
        losses = torch.stack([learn(party, state.epoch, options) for party in state.participants])
        state.epoch += 1
        t = state.epoch - 1 - options.local_epochs
        yield Round(t, state.participants, losses, state.ledger)
