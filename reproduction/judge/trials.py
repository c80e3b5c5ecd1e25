"""Recorded runs as evidence: trials, what they have in common, and the scores that were given in them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from cycle import metrics
from cycle.metrics import FairnessReport
from reproduction import records
from reproduction.judge.noise import limit
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


def variants_by_setting(found: list[Trial], method: str) -> list[dict[str, Trial]]:
    """For each setting the variants of a method; the plain one is ''."""
    groups: dict[tuple, dict[str, Trial]] = {}
    for trial in found:
        if trial.run.method == method:
            groups.setdefault(trial.setting, {})[trial.run.variant] = trial
    return list(groups.values())
