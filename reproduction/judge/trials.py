"""Recorded runs as evidence: trials, and the checks that the paper's sentences have in common."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from cycle import metrics
from cycle.metrics import FairnessReport
from reproduction import records
from reproduction.judge.claim import Case, Check
from reproduction.judge.noise import beyond, limit
from reproduction.records import RESULTS
from reproduction.settings import Run

SIMILAR = 0.15  # "on par", "comparable", "similar": the printed 2.79 is called on par with 2.45
POINTS = ("after", "before")  # the mixing, at which a run of gossip is tested


@dataclass(frozen=True)
class Trial:
    """One recorded run whose participants' accuracy alone is known."""

    run: Run
    record: dict
    noise: float = 0.0  # points by which one participant's gain may differ from another recording of it

    @property
    def setting(self) -> tuple[str, int, str, int, str]:
        """What two methods must share to be compared: model, N, split, seed, data set."""
        return self.run.model, self.run.n, self.run.split, self.run.seed, self.run.dataset

    @property
    def method(self) -> str:
        """With its variant: "cycle tau0.0-0.6"."""
        return self.run.label

    @property
    def split(self) -> str:
        return self.run.split

    @cached_property
    def report(self) -> FairnessReport:
        """Gains, MCG, CGS (with 1/N, as the paper's tables) and the rest."""
        return metrics.fairness_report(self.record["standalone"], self.record["accuracy"], ddof=0)

    def at(self, point: str) -> "Trial":
        """The same as tested after or before the last mixing; what was tested once stays."""
        accuracy = self.record["curve"][-1].get("points", {}).get(point, self.record["accuracy"])
        return replace(self, record=self.record | {"accuracy": accuracy})

    @property
    def saved(self) -> float:
        """The share of possible messages that was not sent."""
        return 1 - self.record["messages"]["sent"] / self.record["messages"]["possible"]

    def reputation(self, calibration: int) -> np.ndarray:
        """r[scorer, scored] at one calibration (-1: the last), the diagonal NaN."""
        matrix = np.array(self.record["reputation"][calibration]["matrix"])
        np.fill_diagonal(matrix, np.nan)
        return matrix

    def scores(self, calibration: int) -> np.ndarray:
        """r~[scorer, scored] found at one calibration, before the momentum: what the paper's heatmaps show (L502)."""
        return scores_of(self.record)[calibration]

    def received(self, calibration: int) -> np.ndarray:
        """Each participant's score at one calibration, averaged over those who score it."""
        return np.nanmean(self.scores(calibration), axis=0)

    @property
    def weight(self) -> float:
        """Expected weight of a peer's answer, mean over rounds and pairs (VPDL's is 1): score times chance to be sent.

        All answer in the round of a calibration; until the next, P_k answers P_n with probability r[k, n].
        """
        starts = [calibration["round"] for calibration in self.record["reputation"]]
        lengths = np.diff([*starts, self.record["rounds"]])
        scores = [self.reputation(number) for number in range(len(starts))]
        total = [np.nanmean(r) + (length - 1) * np.nanmean(r * r.T) for r, length in zip(scores, lengths, strict=True)]
        return sum(total) / lengths.sum()

    def __str__(self) -> str:
        model, n, split, seed, dataset = self.setting
        return f"{'' if dataset == 'cifar10' else dataset + ' '}{model} {split} N={n} seed {seed}"


def trials(experiments, profile: str, results: Path = RESULTS) -> list[Trial]:
    """The recorded runs of these experiments at a profile, each once."""
    found, noise = {}, limit(profile, results)
    for name in experiments:
        for run, record in records.read(name, profile, results=results):
            if record["standalone"] is not None:
                found[run.path] = Trial(run, record, noise)
    return list(found.values())


def fresh_scores(reputations, alpha: float) -> np.ndarray:
    """The scores that the momentum made this series of reputations of, one for each calibration: its inverse."""
    reputations = np.asarray(reputations, dtype=float)
    later = (reputations[1:] - alpha * reputations[:-1]) / (1 - alpha)
    return np.concatenate([reputations[:1], np.clip(later, 0, 1)])  # rounding may leave the interval


def scores_of(record: dict) -> np.ndarray:
    """r~[calibration, scorer, scored] of a record of CYCle, the diagonal NaN."""
    found = fresh_scores([entry["matrix"] for entry in record["reputation"]], record["options"]["alpha"])
    return np.where(np.eye(found.shape[1], dtype=bool), np.nan, found)


def similar(one: float, other: float) -> bool:
    """Apart by at most SIMILAR of the second."""
    return abs(one - other) <= SIMILAR * abs(other)


def pairs(found: list[Trial], method: str, *others: str) -> Iterator[tuple[Trial, Trial]]:
    """The trials of a method, each with those of other methods in the same setting."""
    for trial in found:
        for other in found:
            if trial.method == method and other.method in others and trial.setting == other.setting:
                yield trial, other


def variants_by_setting(found: list[Trial], method: str) -> dict[tuple, dict[str, Trial]]:
    """By setting: the variants of a method; the plain one is ''."""
    groups: dict[tuple, dict[str, Trial]] = {}
    for trial in found:
        name, _, variant = trial.method.partition(" ")
        if name == method:
            groups.setdefault(trial.setting, {})[variant] = trial
    return groups


# What a claim asks of two trials or of one; the checks below turn that into cases. None: within the noise.


def has(measure: str, sign: int = 1) -> Callable:
    """The first of two has the larger measure (mva, mcg, cgs), or with sign -1 the smaller one."""

    def holds(one: Trial, other: Trial):
        difference = sign * (getattr(one.report, measure) - getattr(other.report, measure))
        return beyond(difference, one.noise / np.sqrt(one.run.n))

    return holds


more, less, fairer, wider = has("mcg"), has("mcg", -1), has("cgs", -1), has("cgs")


def both(*conditions: Callable) -> Callable:
    """All of them hold; none of them fails, but one is within the noise: None."""

    def holds(one, other):
        answers = [condition(one, other) for condition in conditions]
        return False if False in answers else None if None in answers else True

    return holds


def kept(one, other):
    return similar(one.report.mcg, other.report.mcg) or more(one, other)


def everybody_gains(trial):
    return beyond(trial.report.min_gain, trial.noise)


def first_loses(trial):
    return beyond(-trial.report.gains[0], trial.noise)


def saves_a_third_to_a_half(trial):
    return 0.35 <= trial.saved <= 0.5


def held(answer) -> bool | None:
    return None if answer is None else bool(answer)


def compare(method: str, others: tuple[str, ...], holds: Callable, splits: str = "") -> Check:
    """One case for each setting and other method; `splits` is how the names of the splits begin."""

    def check(found) -> list[Case]:
        return [
            (f"{one}, {one.method} against {other.method}", held(holds(one, other)))
            for one, other in pairs(found, method, *others)
            if one.split.startswith(splits)
        ]

    return check


def each(methods: tuple[str, ...], holds: Callable, splits: tuple[str, ...] = ("",)) -> Check:
    """One case for each setting and method."""

    def check(found) -> list[Case]:
        chosen = [trial for trial in found if trial.method in methods and trial.split.startswith(splits)]
        return [(f"{trial}, {trial.method}", held(holds(trial))) for trial in chosen]

    return check


def where(chosen: Callable[[Trial], bool], check: Check) -> Check:
    """The check on chosen trials only."""
    return lambda found: check([trial for trial in found if chosen(trial)])
