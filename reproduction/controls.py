"""Controls of CYCle: the same protocol with other scores, or the same scores for others; teachers who know nothing;
peers who refuse or lie.

A control is (run, parties, results) -> the rules that it puts in the place of the paper's.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from cycle import answers, defence, sharing
from cycle.methods import method
from cycle.options import Options
from cycle.party import Answers, Heard, Party, answer, learn
from cycle.rules import Rules
from cycle.state import Round, State, alone
from cycle.streams import SHARE, generator
from reproduction.fields import load
from reproduction.settings import Run


def rearranged(scores, scorer, round_index, rng):
    """The row's scores dealt to other peers, so that nobody keeps its own where that is possible."""
    others = np.delete(np.arange(len(scores)), scorer)
    order = rng.permutation(len(others))
    while len(others) > 1 and (order == np.arange(len(others))).any():
        order = rng.permutation(len(others))
    dealt = np.array(scores, dtype=float)
    dealt[others] = dealt[others[order]]
    return dealt


def averaged(scores, scorer, round_index, rng):
    """Everybody counts the row's mean."""
    others = np.arange(len(scores)) != scorer
    return np.where(others, np.mean(scores[others]), 0.0)


def upside_down(scores, scorer, round_index, rng):
    """The best peer gets the score of the worst, the second that of the second worst, ..."""
    others = np.delete(np.arange(len(scores)), scorer)
    order = others[np.argsort(scores[others], kind="stable")]
    turned = np.array(scores, dtype=float)
    turned[order] = turned[order[::-1]]
    return turned


def certain(scores, scorer, round_index, rng):
    """Everybody else counts one."""
    return (np.arange(len(scores)) != scorer).astype(float)


def permuted(run: Run, parties: list[Party], results: Path) -> Rules:
    """The right scores for the wrong peers; the true ones are carried on."""
    return Rules(weigh=rearranged)


def mean(run: Run, parties: list[Party], results: Path) -> Rules:
    """One score for all peers of a participant: their mean."""
    return Rules(weigh=averaged)


def reversed(run: Run, parties: list[Party], results: Path) -> Rules:
    """The best peer is treated as the worst."""
    return Rules(weigh=upside_down)


def oracle(run: Run, parties: list[Party], results: Path) -> Rules:
    """Only the participant with most data (the first of them) teaches, with full weight; nobody teaches it."""
    teacher = int(np.argmax([party.size for party in parties]))

    def share(reputation, round_index, period, rng):
        shares = np.zeros(reputation.shape, dtype=bool)
        shares[teacher] = np.arange(len(parties)) != teacher
        return shares

    return Rules(weigh=certain, share=share)


def matched(run: Run, parties: list[Party], results: Path) -> Rules:
    """VPDL at CYCle's volume: its mean score for everybody, its number of messages drawn at random.

    Both are taken from the record of CYCle with the same seed.
    """
    record = _uncontrolled(run, "matched", results)
    off = ~np.eye(run.n, dtype=bool)
    score = float(np.mean(_course(record)))
    rng = generator(run.seed, SHARE)
    cells = run.options.rounds * int(off.sum())
    sent = np.zeros(cells, dtype=bool)
    sent[rng.choice(cells, record["messages"]["sent"], replace=False)] = True
    masks = np.zeros((run.options.rounds, run.n, run.n), dtype=bool)
    masks[:, off] = sent.reshape(run.options.rounds, -1)
    return Rules(
        weigh=lambda scores, scorer, round_index, rng: np.where(np.arange(run.n) != scorer, score, 0.0),
        share=lambda reputation, round_index, period, rng: masks[round_index],
    )


def timed(run: Run, parties: list[Party], results: Path) -> Rules:
    """Nobody's scores are used: at each calibration everybody counts the mean that CYCle's had then, by its record."""
    course = _course(_uncontrolled(run, "timed", results))

    def weigh(scores, scorer, round_index, rng):
        return np.where(np.arange(run.n) != scorer, course[round_index // run.options.period], 0.0)

    return Rules(weigh=weigh)


def _uncontrolled(run: Run, name: str, results: Path) -> dict:
    """The record of the same run under the paper's rules."""
    path = results / replace(run, variant=run.variant.removesuffix(name).removesuffix("-"), control=None).path
    if not path.exists():
        raise ValueError(f"{path} must be recorded before {run.path}, which takes its volume from it")
    return load(path)


def _course(record: dict) -> list[float]:
    """The mean of all scores at each calibration."""
    matrices = [np.asarray(entry["matrix"]) for entry in record["reputation"]]
    return [float(matrix[~np.eye(len(matrix), dtype=bool)].mean()) for matrix in matrices]


def margin(run: Run, parties: list[Party], results: Path) -> Rules:
    """The defended form: answers count as far as they are right."""
    return Rules(count=defence.by_margin(5.0))


@cache
def margin_of(scale: float, slack: float = 0.0) -> Callable:
    """The same, in full from another margin on, and a little where an answer is wrong by less than `slack`."""

    def count(answers, labels):
        return ((defence.margins(answers, labels) + slack) / (scale + slack)).clamp(0, 1)

    def control(run: Run, parties: list[Party], results: Path) -> Rules:
        return Rules(count=count)

    control.__name__ = f"margin{scale:g}" + (f"-slack{slack:g}" if slack else "")
    return control


class Lying:
    """A channel on which some peers send something else than their logits: lie(logits, labels, purpose).

    The liars are given the true labels: they may know everything.
    """

    def __init__(self, channel: answers.Channel, state: State, lies: dict[int, Callable]):
        if state.ranks.size > 1:
            raise ValueError("lies must be empty with several ranks: liars are simulated in one process")
        self.channel, self.state, self.lies = channel, state, lies
        self.open, self.bytes = channel.open, channel.bytes

    def hear(self, k: int, n: int, purpose: int) -> Answers:
        heard, lie, labels = self.channel.hear(k, n, purpose), self.lies.get(k), self.state.everyone[n].labels
        if lie is None:
            return heard
        return lambda inputs, rows: lie(heard(inputs, rows).clone(), labels[rows], purpose)


def refusing(silent, forced_only) -> Callable:
    """The paper's sharing rule, with peers who never answer, or only when everybody must."""

    def share(reputation, round_index, period, rng):
        shares = sharing.draw_shares(reputation, round_index, period, rng)
        shares[[*silent, *(forced_only if round_index % period else ())]] = False
        return shares

    return share


def rules_of(run: Run, parties: list[Party], results: Path) -> Rules | None:
    """What a run puts in the place of the paper's rules; None where it keeps them."""
    refused = [*run.silent, *run.forced_only]
    if refused and (run.method != "cycle" or max(refused) >= run.n or min(refused) < 0):
        raise ValueError(f"silent and forced_only must be below n = {run.n}, and the method cycle, got {refused}")
    changes = {}
    if refused:
        changes["share"] = refusing(run.silent, run.forced_only)
    if run.lies:
        changes["channel"] = lambda state, options: Lying(answers.channel(state, options), state, run.lies)
    if run.control is None and not changes:
        return None
    return replace(run.control(run, parties, results) if run.control else Rules(), **changes)


@method("echo", local_start=True)
def echo(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """Nobody collaborates; everybody is taught by itself as it was at the start of the round."""

    def teacher(party):
        former = copy.deepcopy(party.model).eval()
        return lambda inputs, rows: answer(former, inputs)

    return _taught_alone(state, options, teacher)


@method("blank", local_start=True)
def blank(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """Nobody collaborates; everybody is taught by a peer that knows nothing and calls all classes equal."""
    return _taught_alone(state, options, lambda _: lambda inputs, rows: inputs.new_zeros(len(inputs), state.classes))


def _taught_alone(state: State, options: Options, teacher: Callable) -> Iterator[Round]:
    """Local epochs, then rounds in which the answers of one teacher count as much as VPDL's of all peers together."""
    yield from alone(state, options, options.local_epochs)
    weight = torch.full((1,), options.lambda_0, dtype=torch.float64, device=state.device)
    while state.epoch < options.epochs:
        taught = [(party, Heard([teacher(party)], weight)) for party in state.participants]
        losses = [learn(party, state.epoch, options, heard) for party, heard in taught]
        state.epoch += 1
        yield Round(state.epoch - 1 - options.local_epochs, state.participants, torch.stack(losses), state.ledger)
