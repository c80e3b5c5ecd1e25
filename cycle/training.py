"""Private decentralized learning: one generator a method, yielding a round at a time. Saving lives outside."""

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

from cycle import reputation, sharing
from cycle.correspondence import Correspondence
from cycle.options import Options
from cycle.participants import (
    SCORE,
    SHARE,
    TRAIN,
    WEIGH,
    Participant,
    Task,
    answer,
    learn,
    live,
    score,
    stored,
    stream_seed,
)
from cycle.ranks import Ranks


@dataclass
class Round:
    """What is known after an epoch; `index` is the paper's t, negative during the local epochs."""

    index: int
    participants: list[Participant]  # of this rank, with their models and optimisers
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
    """All that a method carries from one epoch to the next; random streams are functions of (seed, epoch).

    With several ranks each holds its own participants, their rows of the reputation and what they sent.
    """

    epoch: int
    participants: list[Participant]
    ledger: sharing.Ledger
    ranks: Ranks
    reputation: np.ndarray | None = None
    memory: dict = field(default_factory=dict)  # what one method alone carries: tensors, arrays, numbers

    def save(self) -> dict:
        return {
            "epoch": self.epoch,
            "models": {person.index: person.model.state_dict() for person in self.participants},
            "optimizers": {person.index: person.optimizer.state_dict() for person in self.participants},
            "reputation": self.reputation,
            "ledger": self.ledger,
            "memory": self.memory,
        }

    def restore(self, *parts: dict) -> "State":
        """From what the ranks saved after the same epoch, however many they were."""
        self.epoch, self.memory = parts[0]["epoch"], parts[0]["memory"]
        for saved in parts:
            for person in self.participants:
                if person.index in saved["models"]:
                    person.model.load_state_dict(saved["models"][person.index])
                    person.optimizer.load_state_dict(saved["optimizers"][person.index])
        if parts[0]["reputation"] is not None:
            self.reputation = parts[0]["reputation"].copy()
            for saved in parts:
                rows = list(saved["models"])
                self.reputation[rows] = saved["reputation"][rows]
        self.ledger = sharing.Ledger(parts[0]["ledger"].participants)
        if self.ranks.first:  # what was sent before is one rank's to remember
            self.ledger.entries = [entry for saved in parts for entry in saved["ledger"].entries]
            self.ledger.possible = parts[0]["ledger"].possible
        return self


def start(task: Task, options: Options, common_start: bool = False) -> State:
    """Everybody initialised, nothing learned, nothing sent; of several ranks, each its own participants."""
    ranks = Ranks.of(task.n)
    people = task.participants(options, common_start or options.common_start, ranks.here)
    return State(0, people, sharing.Ledger(task.n), ranks)


def local_epoch(state: State, options: Options) -> Round:
    """Everybody trains alone for one epoch."""
    losses = torch.stack([learn(participant, state.epoch, options) for participant in state.participants])
    state.epoch += 1
    return Round(state.epoch - 1 - options.local_epochs, state.participants, losses, state.ledger)


def standalone(task: Task, options: Options, state: State) -> Iterator[Round]:
    """SA: nobody collaborates; the same number of epochs on the same clock."""
    while state.epoch < options.epochs:
        yield local_epoch(state, options)


def echo(task: Task, options: Options, state: State) -> Iterator[Round]:
    """A control: nobody collaborates; everybody is taught by itself as it was at the start of the round."""
    return _taught_alone(options, state, lambda participant: live(copy.deepcopy(participant.model).eval()))


def blank(task: Task, options: Options, state: State) -> Iterator[Round]:
    """A control: nobody collaborates; everybody is taught by a peer that knows nothing and calls all classes equal."""
    classes = task.dataset.num_classes
    return _taught_alone(options, state, lambda _: lambda inputs, rows: inputs.new_zeros(len(inputs), classes))


def _taught_alone(options: Options, state: State, teacher: Callable) -> Iterator[Round]:
    """Local epochs, then rounds in which the answers of one teacher count as much as VPDL's of all peers together."""
    while state.epoch < options.local_epochs:
        yield local_epoch(state, options)
    while state.epoch < options.epochs:
        losses = [
            learn(participant, state.epoch, options, [teacher(participant)], [options.lambda_0])
            for participant in state.participants
        ]
        state.epoch += 1
        yield Round(state.epoch - 1 - options.local_epochs, state.participants, torch.stack(losses), state.ledger)


def as_found(scores, scorer, round_index, rng):
    """The paper's rule: what is used of a row of the reputation, for weights and for sharing, is the row itself."""
    return scores


@dataclass(frozen=True)
class Rules:
    """What a method takes as functions; the paper's where nothing else is said."""

    weigh: Callable = as_found  # (scores, scorer, round_index, rng) -> what is used of this row of the reputation
    share: Callable = sharing.draw_shares  # (reputation, round_index, period, rng) -> bool [sender, receiver]
    says: dict[int, Callable] = field(default_factory=dict)  # of a liar: logits -> what it sends in their place


def vpdl(task: Task, options: Options, state: State, rules: Rules = Rules()) -> Iterator[Round]:  # noqa: B008
    """Vanilla PDL: every peer always answers and counts the same."""
    return _private_rounds(task, options, state, everybody_trusted, rules)


def cycle(task: Task, options: Options, state: State, rules: Rules = Rules()) -> Iterator[Round]:  # noqa: B008
    """CYCle, Algorithms 1 and 2: peers are weighted by reputation and answer as often as they think deserved."""
    return _private_rounds(task, options, state, calibrated, rules)


def everybody_trusted(state, t, options, shares, hear):
    """VPDL's reputation: one for every peer, for ever."""
    n = len(shares)
    return np.ones((n, n)) - np.eye(n)


def calibrated(state, t, options, shares, hear):
    """CYCle's reputation: carried, and every R rounds mixed with a fresh score; a peer that kept silent scores 0."""
    if t % options.period:
        return state.reputation
    fresh = np.zeros(shares.shape)
    for participant in state.participants:
        n = participant.index
        answering = {k: hear(k, n, SCORE) for k in np.flatnonzero(shares[:, n])}
        for k, value in score(participant, state.epoch, options, answering).items():
            fresh[n, k] = value
    return reputation.update(state.reputation, fresh, options.alpha)


def _channel(state: State, peers, options: Options):
    """None where answers travel in clear; else keys made, samples encrypted and published, all anew."""
    if options.privacy == "plain":
        return None
    from cycle.fhe.channel import EncryptedChannel  # TenSEAL is needed here only

    return EncryptedChannel([p.pixels(p.images) for p in state.participants], peers[0], options.temperature)


def used(reputation: np.ndarray, t: int, task: Task, options: Options, weigh: Callable) -> np.ndarray:
    """What everybody makes of its row; a rule that draws, draws the same between two calibrations."""
    last = t - t % options.period
    rngs = (np.random.default_rng(stream_seed(task.seed, WEIGH, n, last)) for n in range(task.n))
    return np.stack([weigh(row, n, t, rng) for (n, row), rng in zip(enumerate(reputation), rngs, strict=True)])


def _hearing(channel, state: State, peers, shares, t, options: Options, scoring: bool, says):
    """(k, n, purpose) -> the answers of k that n hears, of peers as they are now: computed when needed, or sent once.

    Only what the mask lets through is ever computed.
    """
    if isinstance(channel, Correspondence):
        return channel.ask(shares, state.epoch, scoring)
    for peer, participant in zip(peers, state.participants, strict=True):
        peer.load_state_dict(participant.model.state_dict())
    if channel is None:
        return lambda k, n, purpose: lying(peers[k], says[k]) if k in says else live(peers[k])
    sent = {
        (k, n): stored(options.temperature * channel.answer(k, n, t, peers[k])) for k, n in np.argwhere(shares).tolist()
    }
    return lambda k, n, purpose: sent[k, n]


def lying(peer: nn.Module, lie: Callable):
    """Answers (inputs, rows) -> what a hostile peer makes of its logits before it sends them."""
    return lambda inputs, rows: lie(answer(peer, inputs).clone())


def _private_rounds(task: Task, options: Options, state: State, trust: Callable, rules: Rules) -> Iterator[Round]:
    """Local epochs, then rounds: draw the shares, score, and step against peers frozen at the start of the round."""
    if state.ranks.size > 1:
        peers, channel = [], Correspondence(state.ranks, state.participants, task, options)
    else:
        peers = [copy.deepcopy(participant.model).eval() for participant in state.participants]
        channel = _channel(state, peers, options)
    while state.epoch < options.local_epochs:
        yield local_epoch(state, options)
    device = task.dataset.train_images.device
    message_bytes = [sharing.BYTES_PER_NUMBER * len(part) * task.dataset.num_classes for part in task.parts]
    scale = options.lambda_0 / (task.n - 1 if options.normalisation == "mean" else 1)
    while state.epoch < options.epochs:
        t = state.epoch - options.local_epochs
        scoring = trust is calibrated and t % options.period == 0
        if trust is everybody_trusted:
            shares = ~np.eye(task.n, dtype=bool)
        else:
            before = np.zeros((task.n, task.n)) if state.reputation is None else state.reputation
            rng = np.random.default_rng(stream_seed(task.seed, SHARE, state.epoch))
            shares = rules.share(used(before, t, task, options, rules.weigh), t, options.period, rng)
            refusing = options.silent + (options.forced_only if t % options.period else ())
            shares[list(refusing)] = False
        shares = state.ranks.shared(shares, device)
        hear = _hearing(channel, state, peers, shares, t, options, scoring, rules.says)
        state.reputation = trust(state, t, options, shares, hear)
        weight = used(state.reputation, t, task, options, rules.weigh)
        losses = []
        for participant in state.participants:
            n = participant.index
            weights = weight[n] * shares[:, n]
            heard = np.flatnonzero(weights)
            answers = [hear(k, n, TRAIN) for k in heard]
            losses.append(learn(participant, state.epoch, options, answers, scale * weights[heard]))
        if options.privacy == "fhe":
            message_bytes = [[channel.meter.bytes[k, n, t]["answer"] for n in range(task.n)] for k in range(task.n)]
        state.ledger.record(t, state.ranks.sent(shares), message_bytes)
        state.epoch += 1
        yield Round(t, state.participants, torch.stack(losses), state.ledger, state.reputation.copy(), shares, scoring)
