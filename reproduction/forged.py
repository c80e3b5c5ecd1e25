"""Hostile parties where models travel: what they send in the place of theirs, and the bounds put against it.

A forgery is (own model, the others' models) -> what is sent, rows of numbers: they may know everybody's. Gradients, by
which CYCle-Gossip scores, they send as they are: they are honest whenever they are scored.
"""

from dataclasses import dataclass

import torch

from cycle import defence
from cycle.methods import method_of
from cycle.ranks import Ranks
from cycle.rules import Rules
from cycle.state import State
from cycle.weights import mixed_tensors, vector
from reproduction.settings import Run


def huge(own, others):
    """Finite numbers that leave no room for anybody else."""
    return own * 1e30


def loud(own, others):
    """What it learned, a hundred times as large."""
    return own * 100


def turned(own, others):
    """The opposite of what it learned, ten times as large."""
    return own * -10


def noise(own, others):
    """What it learned, below ten times as much noise."""
    drawn = torch.randn(len(own), generator=torch.Generator().manual_seed(0))
    return own + 10 * own.std() * drawn.to(own.device)


def little(own, others):
    """It knows the rules: each number one and a half deviations below the others' mean, where no rule finds it odd."""
    everybody = torch.stack(others)
    return everybody.mean(dim=0) - 1.5 * everybody.std(dim=0)


FORGERIES = [huge, loud, turned, noise, little]


@dataclass(frozen=True)
class Forging(Ranks):
    """The post of one process, in which some parties' models are replaced by their forgeries."""

    state: State | None = None
    forgeries: dict | None = None

    def exchange(self, messages, expected, device):
        models = {party.index: vector(mixed_tensors(party.model)) for party in self.state.participants}
        others = [model for n, model in models.items() if n not in self.forgeries]
        sent = dict(messages)
        for liar, forge in self.forgeries.items():
            own = {pair: row for pair, row in messages.items() if pair[0] == liar}
            length = max(map(len, own.values()), default=0)
            forged = forge(models[liar][:length], [other[:length] for other in others]) if length else None
            sent |= {pair: forged for pair, row in own.items() if torch.equal(row, models[liar][:length])}
        return super().exchange(sent, expected, device)


def posted(run: Run, state: State) -> Ranks:
    """How messages of a run travel: forged where its liars send models."""
    if not (run.lies and method_of(run.method).models):
        return state.ranks
    if state.ranks.size > 1:
        raise ValueError("lies must be empty with several ranks: liars are simulated in one process")
    return Forging(state.n, state=state, forgeries=run.lies)


def clipped(run: Run, parties, results) -> Rules:
    """Models clipped to the median of their distances."""
    return Rules(combine=defence.clipped)


def trimmed(run: Run, parties, results) -> Rules:
    """The largest and the smallest value of each coordinate left out."""
    return Rules(combine=defence.trimmed_mean(1))
