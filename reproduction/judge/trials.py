"""Recorded runs as evidence: trials, one table of them, and the scores that were given in them."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from cycle import metrics
from cycle.metrics import FairnessReport
from reproduction import records
from reproduction.judge.noise import limit
from reproduction.records import RESULTS
from reproduction.settings import Run

SIMILAR = 0.15  # "on par", "comparable", "similar": the printed 2.79 is called on par with 2.45
POINTS = ("after", "before")  # the mixing, at which a run of gossip is tested
SETTING = ["model", "N", "split", "seed", "data"]  # what two methods must share to be compared
MEASURES = {"MVA": "mva", "MCG": "mcg", "CGS": "cgs", "Pearson": "correlation", "p": "correlation_p"}  # of a report
MEASURES |= {"smallest": "min_gain", "losers": "losers"}


@dataclass(frozen=True)
class Trial:
    """One recorded run whose participants' accuracy alone is known."""

    run: Run
    record: dict
    noise: float = 0.0  # points by which one participant's gain may differ from another recording of it

    @property
    def setting(self) -> tuple[str, int, str, int, str]:
        return self.run.model, self.run.n, self.run.split, self.run.seed, self.run.dataset

    @property
    def method(self) -> str:
        return self.run.label  # with its variant

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


def measures(trial: Trial) -> dict:
    """CGS with 1/N, as printed; the spreads of the accuracies together and alone."""
    named = {name: getattr(trial.report, field) for name, field in MEASURES.items()}
    return named | {"spread": np.std(trial.record["accuracy"]), "alone": np.std(trial.record["standalone"])}


def runs(found: list[Trial]) -> pd.DataFrame:
    """One row for each trial: what it is, its options, how it ended, and of CYCle how everybody was scored."""
    rows = []
    for trial in found:
        run, record, gains = trial.run, trial.record, trial.report.gains
        row = {"case": f"{trial}, {trial.method}", "place": str(trial), "trial": trial, "noise": trial.noise}
        row |= dict(zip(SETTING, trial.setting, strict=True)) | asdict(run.options) | measures(trial)
        row |= {"kind": run.method, "method": trial.method, "variant": run.variant}
        row |= {"first": gains[0], "best": gains[np.argmax(record["standalone"])]}
        row |= {"flippers": len(run.flips), "rate": max(run.flips.values(), default=0.0)}
        sent, possible = record["messages"]["sent"], record["messages"]["possible"]
        row |= {"sent": sent, "messages": sent / (possible or np.nan), "minutes": record["seconds"] / 60}
        if run.method == "cycle" and record["reputation"]:
            row |= {"saved": trial.saved} | _scored(trial)
        rows.append(row)
    return pd.DataFrame(rows)


def _scored(trial: Trial) -> dict:
    """Scores before the momentum: those that P1, the first two and the others received first, last, and on average."""
    scores, begin, end = scores_of(trial.record), trial.received(0), trial.received(-1)
    given, average = scores[0][1:], np.nanmean(scores, axis=(0, 1))
    to_others = np.nansum(given[:, 1:], axis=1) / max(trial.run.n - 2, 1)
    return {
        "first_scored_highest": bool(np.all(given[:, 0] > to_others)),
        "P1_at_first": begin[0],
        "P1_at_last": end[0],
        "change_of_P1": end[0] - begin[0],
        "change_of_first_two": (end - begin)[:2].sum(),
        "change_of_the_others": (end - begin)[1:].sum(),
        "change_of_the_last": (end - begin)[2:].sum(),
        "others_at_first": begin[1:].mean(),
        "others_at_last": end[1:].mean(),
        "others_apart_at_first": np.ptp(begin[1:]),
        "others_apart_at_last": np.ptp(end[1:]),
        "lowest": average.min(),
        "highest": average.max(),
        "all_at_first": np.nanmean(scores[0]),
        "all_at_last": np.nanmean(scores[-1]),
        "with_sizes": metrics.pearson(trial.record["sizes"], np.nanmean(scores, axis=1).mean(axis=0))[0],
    }
