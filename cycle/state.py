"""What a method carries from one epoch to the next, and what it shows after each."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from cycle import streams
from cycle.checks import short
from cycle.options import Options
from cycle.party import Party, learn
from cycle.ranks import Ranks
from cycle.sharing import Ledger
from cycle.weights import assign, mixed_tensors


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
    # to be tested, by evaluation point; the first point counts
    models: dict[str, list[nn.Module]] | None = None
    # (sender, receiver): what was wrong
    refused: dict[tuple[int, int], str] = field(default_factory=dict)
    # [receiver, sender], where a rule counts: how far, mean over samples; NaN: no answer
    counted: np.ndarray | None = None

    def __post_init__(self):
        self.models = self.models or {"own": [party.model for party in self.participants]}


@dataclass
class State:
    """Who takes part, and all that a method carries; random streams are functions of (seed,
    purpose, epoch).

    With several ranks each trains its own participants, knows their rows of the reputation and what
    they sent.
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
    # what one method alone carries: tensors, numbers, text
    memory: dict = field(default_factory=dict)

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
        """Tensors, numbers and text only."""
        return {
            "epoch": self.epoch,
            "models": {p.index: p.model.state_dict() for p in self.participants},
            "optimizers": {p.index: p.optimizer.state_dict() for p in self.participants},
            "reputation": _tensor(self.reputation),
            "mixing": _tensor(self.mixing),
            "ledger": torch.tensor(self.ledger.entries, dtype=torch.int64).view(-1, 4),
            "booked": (self.ledger.participants, self.ledger.possible),
            "memory": self.memory,
        }

    def restore(self, *parts: dict) -> "State":
        """From what the ranks saved after the same epoch, however many they were."""
        self.epoch, self.memory = parts[0]["epoch"], parts[0]["memory"]
        for saved in parts:
            for party in self.participants:
                if party.index in saved["models"]:
                    party.model.load_state_dict(saved["models"][party.index])
                    party.optimizer.load_state_dict(saved["optimizers"][party.index])
        self.reputation, self.mixing = _rows(parts, "reputation"), _rows(parts, "mixing")
        participants, possible = parts[0]["booked"]
        self.ledger = Ledger(participants)
        if self.ranks.first:  # what was sent before is one rank's to remember
            self.ledger.entries = [
                tuple(row) for saved in parts for row in saved["ledger"].tolist()
            ]
            self.ledger.possible = possible
        return self


def _tensor(matrix: np.ndarray | None) -> torch.Tensor | None:
    return None if matrix is None else torch.from_numpy(matrix.copy())


def _rows(parts, name: str) -> np.ndarray | None:
    """The rows that each rank knows, together."""
    if parts[0][name] is None:
        return None
    whole = parts[0][name].numpy().copy()
    for saved in parts:
        rows = list(saved["models"])
        whole[rows] = saved[name].numpy()[rows]
    return whole


def start(
    parties: list[Party], options: Options, seed: int, device: torch.device, common_start=False
) -> State:
    """Everybody in place, nothing learned; `common_start`: all with the first one's weights."""
    if len(parties) < 2:
        raise ValueError(f"parties must be two or more, got {len(parties)}")
    ranks = Ranks.of(len(parties))
    for n, party in enumerate(parties):
        party.index, party.seed = n, seed
    for n in ranks.here:
        parties[n].join(options, device)
    if common_start or options.common_start:
        _same_weights(parties, ranks.here)
    return State(parties, seed, ranks, Ledger(len(parties)), _classes(parties, ranks.here), device)


def _same_weights(parties: list[Party], here: list[int]) -> None:
    first = [tensor.detach().clone() for tensor in mixed_tensors(parties[0].model)]
    for n in here:
        tensors = mixed_tensors(parties[n].model)
        if [t.shape for t in tensors] != [t.shape for t in first]:
            raise ValueError(
                f"parties: {parties[n]} has another architecture than {parties[0]}; a method that "
                "averages models "
                "needs one architecture (vpdl and cycle do not: they exchange answers)"
            )
        assign(tensors, first)


@torch.no_grad()
def _classes(parties: list[Party], here: list[int]) -> int:
    """How many classes everybody tells apart: the width of the logits, the same for all."""
    widths = {}
    for n in here:
        party = parties[n]
        try:
            logits = party.model.eval()(party.prepare(party.inputs[:1].clone(), False))
        except Exception as error:
            raise ValueError(
                f"parties: the model of P{n + 1} cannot take its own inputs ({error})"
            ) from error
        if logits.dim() != 2:
            raise ValueError(
                f"parties: model of P{n + 1} must give [sample, class], got {tuple(logits.shape)}"
            )
        widths[n] = logits.shape[1]
        if int(party.labels.max()) >= widths[n]:
            raise ValueError(
                f"parties: P{n + 1} has label {int(party.labels.max())}, "
                f"its model tells {widths[n]} classes apart"
            )
        loss = party.loss(logits, party.labels[:1])
        if not torch.is_tensor(loss) or loss.dim():
            raise ValueError(
                f"loss of P{n + 1} must give one number in a tensor, got {short(loss)}"
            )
    if len(set(widths.values())) > 1:
        named = ", ".join(f"P{n + 1}: {width}" for n, width in widths.items())
        raise ValueError(f"parties: all models must tell the same classes apart, got {named}")
    return next(iter(widths.values()))


def frozen(participants: list[Party]) -> list[nn.Module]:
    """Copies of everybody's model, in eval mode."""
    return [copy.deepcopy(party.model).eval() for party in participants]


def alone(state: State, options: Options, until: int) -> Iterator[Round]:
    """Everybody trains alone, up to this epoch."""
    while state.epoch < until:
        losses = torch.stack([learn(party, state.epoch, options) for party in state.participants])
        state.epoch += 1
        yield Round(
            state.epoch - 1 - options.local_epochs, state.participants, losses, state.ledger
        )
