"""Private decentralized learning: one generator a method, yielding a round at a time. Saving lives outside."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from cycle import reputation, sharing
from cycle.options import Options
from cycle.participants import SHARE, Participant, Task, learn, live, score, stored, stream_seed

BYTES_PER_LOGIT = 4


@dataclass
class Round:
    """What is known after an epoch; `index` is the paper's t, negative during the local epochs."""

    index: int
    participants: list[Participant]  # with their models and optimisers
    losses: torch.Tensor  # [participant, (cross-entropy, weighted distillation)], on the device
    ledger: sharing.Ledger
    reputation: np.ndarray | None = None  # [scorer, scored]
    shares: np.ndarray | None = None  # [sender, receiver]
    scored: bool = False  # whether the reputation was recalibrated in this round
    models: dict[str, list[nn.Module]] | None = None  # to be tested, by evaluation point; the first point counts

    def __post_init__(self):
        self.models = self.models or {"own": [participant.model for participant in self.participants]}


@dataclass
class State:
    """All that a method carries from one epoch to the next; random streams are functions of (seed, epoch)."""

    epoch: int
    participants: list[Participant]
    ledger: sharing.Ledger
    reputation: np.ndarray | None = None
    memory: dict = field(default_factory=dict)  # what one method alone carries: tensors, arrays, numbers

    def save(self) -> dict:
        return {
            "epoch": self.epoch,
            "models": [participant.model.state_dict() for participant in self.participants],
            "optimizers": [participant.optimizer.state_dict() for participant in self.participants],
            "reputation": self.reputation,
            "ledger": self.ledger,
            "memory": self.memory,
        }

    def restore(self, saved: dict) -> "State":
        for participant, model, optimizer in zip(self.participants, saved["models"], saved["optimizers"], strict=True):
            participant.model.load_state_dict(model)
            participant.optimizer.load_state_dict(optimizer)
        self.epoch, self.reputation = saved["epoch"], saved["reputation"]
        self.ledger, self.memory = saved["ledger"], saved["memory"]
        return self


def start(task: Task, options: Options, common_start: bool = False) -> State:
    """Everybody initialised, nothing learned, nothing sent."""
    return State(0, task.participants(options, common_start), sharing.Ledger(task.n))


def local_epoch(state: State, options: Options) -> Round:
    """Everybody trains alone for one epoch."""
    losses = torch.stack([learn(participant, state.epoch, options) for participant in state.participants])
    state.epoch += 1
    return Round(state.epoch - 1 - options.local_epochs, state.participants, losses, state.ledger)


def standalone(task: Task, options: Options, state: State) -> Iterator[Round]:
    """SA: nobody collaborates; the same number of epochs on the same clock."""
    while state.epoch < options.epochs:
        yield local_epoch(state, options)


def vpdl(task: Task, options: Options, state: State) -> Iterator[Round]:
    """Vanilla PDL: every peer always answers and counts the same."""
    return _private_rounds(task, options, state, everybody_trusted)


def cycle(task: Task, options: Options, state: State) -> Iterator[Round]:
    """CYCle, Algorithms 1 and 2: peers are weighted by reputation and answer as often as they think deserved."""
    return _private_rounds(task, options, state, calibrated)


def everybody_trusted(state, t, options, shares, hear):
    """VPDL's reputation: one for every peer, for ever."""
    n = len(state.participants)
    return np.ones((n, n)) - np.eye(n)


def calibrated(state, t, options, shares, hear):
    """CYCle's reputation: carried, and every R rounds mixed with a fresh score; a peer that kept silent scores 0."""
    if t % options.period:
        return state.reputation
    fresh = np.zeros(shares.shape)
    for n, participant in enumerate(state.participants):
        answering = {k: hear(k, n) for k in np.flatnonzero(shares[:, n])}
        for k, value in score(participant, state.epoch, options, answering).items():
            fresh[n, k] = value
    return reputation.update(state.reputation, fresh, options.alpha)


def _channel(state: State, peers, options: Options):
    """None where answers travel in clear; else keys made, samples encrypted and published, all anew."""
    if options.privacy == "plain":
        return None
    from cycle.fhe.channel import EncryptedChannel  # TenSEAL is needed here only

    return EncryptedChannel([p.pixels(p.images) for p in state.participants], peers[0], options.temperature)


def _hearing(channel, peers, shares, t, options: Options):
    """(k, n) -> the answers of k that n hears: computed when needed or, encrypted, sent once a round.

    Only what the mask lets through is ever computed.
    """
    if channel is None:
        return lambda k, n: live(peers[k])
    sent = {
        (k, n): stored(options.temperature * channel.answer(k, n, t, peers[k])) for k, n in np.argwhere(shares).tolist()
    }
    return lambda k, n: sent[k, n]


def _private_rounds(task: Task, options: Options, state: State, trust: Callable) -> Iterator[Round]:
    """Local epochs, then rounds: draw the shares, score, and step against peers frozen at the start of the round."""
    while state.epoch < options.local_epochs:
        yield local_epoch(state, options)
    peers = [copy.deepcopy(participant.model).eval() for participant in state.participants]
    channel = _channel(state, peers, options)
    message_bytes = [BYTES_PER_LOGIT * p.size * task.dataset.num_classes for p in state.participants]
    scale = options.lambda_0 / (task.n - 1 if options.normalisation == "mean" else 1)
    while state.epoch < options.epochs:
        t = state.epoch - options.local_epochs
        for peer, participant in zip(peers, state.participants, strict=True):
            peer.load_state_dict(participant.model.state_dict())
        if trust is everybody_trusted:
            shares = ~np.eye(task.n, dtype=bool)
        else:
            before = np.zeros((task.n, task.n)) if state.reputation is None else state.reputation
            rng = np.random.default_rng(stream_seed(task.seed, SHARE, state.epoch))
            shares = sharing.draw_shares(before, t, options.period, rng)
            refusing = options.silent + (options.forced_only if t % options.period else ())
            shares[list(refusing)] = False
        hear = _hearing(channel, peers, shares, t, options)
        state.reputation = trust(state, t, options, shares, hear)
        losses = []
        for n, participant in enumerate(state.participants):
            weights = state.reputation[n] * shares[:, n]
            heard = np.flatnonzero(weights)
            losses.append(learn(participant, state.epoch, options, [hear(k, n) for k in heard], scale * weights[heard]))
        if channel is not None:
            message_bytes = [[channel.meter.bytes[k, n, t]["answer"] for n in range(task.n)] for k in range(task.n)]
        state.ledger.record(t, shares, message_bytes)
        state.epoch += 1
        scored = trust is calibrated and t % options.period == 0
        yield Round(t, state.participants, torch.stack(losses), state.ledger, state.reputation.copy(), shares, scored)
