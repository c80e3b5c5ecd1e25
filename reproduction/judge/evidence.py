"""What records say for or against a sentence: cases, each with a name and whether it holds.

A check takes trials (recorded runs whose participants' standalone accuracies are known) and returns cases. The
functions here build checks out of the comparisons that the paper's sentences make.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cycle import metrics, reputation
from cycle.metrics import FairnessReport, similar
from reproduction import records
from reproduction.records import RESULTS

Case = tuple[str, bool | None]  # None: it was run, and nothing can be said
NOTHING = 0.05  # "a score of 0.0", as printed with one decimal


@dataclass(frozen=True)
class Trial:
    """One recorded run with its fairness report (CGS with 1/N, as the paper's tables)."""

    setting: tuple[str, int, str, int, str]  # model, N, split, seed, data set
    method: str  # with its variant: "cycle tau0.0-0.6"
    record: dict
    report: FairnessReport

    @property
    def split(self) -> str:
        return self.setting[2]

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

    def received(self, calibration: int) -> np.ndarray:
        """Each participant's score at one calibration, averaged over those who score it."""
        return np.nanmean(self.scores(calibration), axis=0)

    def __str__(self) -> str:
        model, n, split, seed, dataset = self.setting
        return f"{'' if dataset == 'cifar10' else dataset + ' '}{model} {split} N={n} seed {seed}"


Check = Callable[[list[Trial]], list[Case]]


def scores_of(record: dict) -> np.ndarray:
    """r~[calibration, scorer, scored] of a record of CYCle, the diagonal NaN."""
    matrices = [entry["matrix"] for entry in record["reputation"]]
    found = reputation.fresh_scores(matrices, record["options"]["alpha"])
    return np.where(np.eye(found.shape[1], dtype=bool), np.nan, found)


def trials(experiments, profile: str, results: Path = RESULTS) -> list[Trial]:
    """The recorded runs of these experiments at a profile, each once."""
    found = {}
    for name in experiments:
        for run, record in records.read(name, profile, results=results):
            if record["standalone"] is not None:
                report = metrics.fairness_report(record["standalone"], record["accuracy"], ddof=0)
                setting = (run.model, run.n, run.split, run.seed, run.dataset)
                found[run.path] = Trial(setting, run.label, record, report)
    return list(found.values())


def pairs(found: list[Trial], method: str, *others: str) -> Iterator[tuple[Trial, Trial]]:
    """The trials of a method, each with those of other methods in the same setting."""
    for trial in found:
        for other in found:
            if trial.method == method and other.method in others and trial.setting == other.setting:
                yield trial, other


def compare(method: str, others: tuple[str, ...], holds, splits: str = "") -> Check:
    """One case for each setting and other method; `splits` is how the names of the splits begin."""

    def check(found):
        return [
            (f"{one}, {one.method} against {other.method}", bool(holds(one, other)))
            for one, other in pairs(found, method, *others)
            if one.split.startswith(splits)
        ]

    return check


def each(methods: tuple[str, ...], holds, splits: tuple[str, ...] = ("",)) -> Check:
    """One case for each setting and method."""

    def check(found):
        chosen = [trial for trial in found if trial.method in methods and trial.split.startswith(splits)]
        answers = [(f"{trial}, {trial.method}", holds(trial)) for trial in chosen]
        return [(name, None if answer is None else bool(answer)) for name, answer in answers]

    return check


def where(chosen: Callable[[Trial], bool], check: Check) -> Check:
    """The check on chosen trials only."""
    return lambda found: check([trial for trial in found if chosen(trial)])


def on_average(method: str, others: tuple[str, ...], measure, better, splits: int) -> Check:
    """One case for each network that has so many splits, and each other method: better(our mean, its mean).

    Each split counts once, however many seeds it has. Where no network has so many splits, nothing is decided.
    """

    def check(found):
        cases = []
        for other in others:
            both, answers = list(pairs(found, method, other)), {}
            for model in sorted({one.setting[0] for one, _ in both}):
                by_split: dict[str, list] = {}
                for one, rival in both:
                    if one.setting[0] == model:
                        by_split.setdefault(one.split, []).append((measure(one), measure(rival)))
                if len(by_split) >= splits:
                    means = np.mean([np.mean(values, axis=0) for values in by_split.values()], axis=0)
                    answers[model] = bool(better(*means))
            cases += [(f"{model} against {other}, mean over {splits} splits", held) for model, held in answers.items()]
            if both and not answers:
                cases.append((f"against {other}, fewer than {splits} splits", None))
        return cases

    return check


def gains_cost_fairness(others: tuple[str, ...]) -> Check:
    """One case for each setting in which another method has the larger MCG than CYCle: its CGS is larger too."""

    def check(found):
        return [
            (f"{one}, {other.method}", bool(other.report.cgs > one.report.cgs))
            for one, other in pairs(found, "cycle", *others)
            if other.report.mcg > one.report.mcg
        ]

    return check


def variants_by_setting(found: list[Trial], method: str) -> dict[tuple, dict[str, Trial]]:
    """By setting: the variants of a method; the plain one is ''."""
    groups: dict[tuple, dict[str, Trial]] = {}
    for trial in found:
        name, _, variant = trial.method.partition(" ")
        if name == method:
            groups.setdefault(trial.setting, {})[variant] = trial
    return groups


def rich_score_higher(first: int) -> Callable[[Trial], bool]:
    """At the first calibration each of the others scores the first participants, who hold most data, above the rest."""

    def holds(trial):
        others = trial.scores(0)[first:]
        return np.all(others[:, :first].mean(axis=1) > np.nanmean(others[:, first:], axis=1))

    return holds


def rich_rise_poor_fall(first: int) -> Callable[[Trial], bool]:
    """From first to last calibration the first participants' mean score rises and that of the others falls."""

    def holds(trial):
        change = trial.received(-1) - trial.received(0)
        return change[:first].mean() > 0 and change[first:].mean() < 0

    return holds


def rich_stay(first: int) -> Callable[[Trial], bool]:
    """The first participants' mean score is similar at the first and at the last calibration."""

    def holds(trial):
        return similar(trial.received(-1)[:first].mean(), trial.received(0)[:first].mean())

    return holds


def equals_converge(first: int) -> Callable[[Trial], bool | None]:
    """The scores of the others, who hold equal shares, lie closer together at the last calibration, for their mean.

    Undecided where all end at nothing: that makes any scores equal.
    """

    def holds(trial):
        begin, end = (trial.received(number)[first:] for number in (0, -1))
        return np.ptp(end) / end.mean() < np.ptp(begin) / begin.mean() if end.mean() >= NOTHING else None

    return holds


def scores_alike(trial: Trial) -> bool:
    """Averaged over scorers and calibrations, the lowest and the highest score of anybody are similar."""
    received = np.nanmean(scores_of(trial.record), axis=(0, 1))
    return similar(received.min(), received.max())


def scores_fall(trial: Trial) -> bool:
    """The mean score is lower at the last calibration than at the first."""
    return np.nanmean(trial.scores(-1)) < np.nanmean(trial.scores(0))


def scores_follow_sizes(trial: Trial) -> bool:
    """Averaged over all calibrations, participants with more data have the higher score (Pearson above 0)."""
    calibrations = range(len(trial.record["reputation"]))
    received = np.mean([trial.received(number) for number in calibrations], axis=0)
    return metrics.pearson(trial.record["sizes"], received)[0] > 0


def over_grid(option: str, method: str, measure, holds, split: str = "") -> Check:
    """One case for each setting in which an option takes three values or more: holds(its values, the measures)."""

    def check(found):
        cases = []
        for variants in variants_by_setting(found, method).values():
            values = [trial.record["options"][option] for trial in variants.values()]
            trial = next(iter(variants.values()))
            if len(set(values)) > 2 and trial.split.startswith(split):
                cases.append((f"{trial}, {option}", bool(holds(values, [measure(t) for t in variants.values()]))))
        return cases

    return check


def rises(values, measured) -> bool:
    """The two go together: Pearson above 0 (an undefined one does not count as rising)."""
    keep = np.isfinite(measured)
    return keep.sum() > 2 and metrics.pearson(np.array(values)[keep], np.array(measured)[keep])[0] > 0


def below_default_threshold(found: list[Trial]) -> list[Case]:
    """tau_opt = 0 against 0.25 at the same tau_max: less gain and more spread."""
    cases = []
    for variants in variants_by_setting(found, "cycle").values():
        grid = {(t.record["options"]["tau_opt"], t.record["options"]["tau_max"]): t for t in variants.values()}
        for (opt, top), trial in grid.items():
            if opt < 0.25 and (0.25, top) in grid:
                kept = grid[0.25, top].report
                worse = trial.report.mcg < kept.mcg and trial.report.cgs > kept.cgs
                cases.append((f"{trial}, tau_max {top}", bool(worse)))
    return cases
