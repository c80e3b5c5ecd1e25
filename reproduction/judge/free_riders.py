"""What records say of those who flip labels or refuse to answer: who they are, how they are scored, what they gain."""

from collections.abc import Callable

import numpy as np

from cycle import metrics
from reproduction.judge.evidence import Case, Check, Trial, variants_by_setting

NOISE = 1.0  # points: one participant's accuracies, recorded twice, are up to about as far apart (see *Free riders*)


def flippers(trial: Trial) -> dict[int, float]:
    """Who flips labels, and at which rate."""
    return {int(n): rate for n, rate in trial.record["options"]["flips"].items()}


def honest(trial: Trial) -> list[int]:
    return [n for n in range(trial.setting[1]) if n not in flippers(trial)]


def rates(holds, chosen=lambda rate: rate > 0) -> Check:
    """One case for each CYCle run with flipped labels at a chosen rate: holds(flipped run, run with clean labels)."""

    def check(found):
        cases = []
        for variants in variants_by_setting(found, "cycle").values():
            clean = next((trial for trial in variants.values() if not flippers(trial)), None)
            for trial in variants.values():
                rate = max(flippers(trial).values(), default=0.0)
                if clean and chosen(rate):
                    cases.append((f"{trial}, {len(flippers(trial))} flip {rate}", bool(holds(trial, clean))))
        return cases

    return check


def flippers_gain_least(found: list[Trial]) -> list[Case]:
    """Each flipper gains less than each honest participant, all against training alone on the labels they hold."""
    cases, alone = [], variants_by_setting(found, "standalone")
    for setting, variants in variants_by_setting(found, "cycle").items():
        for name, trial in variants.items():
            if flippers(trial) and name in alone.get(setting, {}):
                gains = metrics.gains(alone[setting][name].record["accuracy"], trial.record["accuracy"])
                least = gains[list(flippers(trial))].max() < gains[honest(trial)].min()
                cases.append((f"{trial}, {len(flippers(trial))} flip {max(flippers(trial).values())}", bool(least)))
    return cases


def mean_score(trial: Trial, scorers: list[int], scored: list[int], calibration: int = -1) -> float:
    """What these think of those (nobody of itself), on average, at one calibration (-1: the last)."""
    return np.nanmean(trial.scores(calibration)[np.ix_(scorers, scored)])


def score_of_flippers(trial: Trial) -> np.ndarray:
    """What each of the honest thinks of each who flips labels, at the last calibration."""
    return trial.scores(-1)[np.ix_(honest(trial), list(flippers(trial)))]


def score_by_flippers(trial: Trial) -> float:
    """... and what those who flip think of the honest, on average."""
    return mean_score(trial, list(flippers(trial)), honest(trial))


def marked_down(calibration: int) -> Callable[[Trial, Trial], bool]:
    """For `rates`: at this calibration the honest score each who flips below what it has there with clean labels."""

    def holds(flipped, clean):
        once, now = (
            [mean_score(trial, honest(flipped), [n], calibration) for n in flippers(flipped)]
            for trial in (clean, flipped)
        )
        return all(after < before for before, after in zip(once, now, strict=True))

    return holds


def told_apart(calibration: int) -> Callable[[Trial, Trial], bool]:
    """For `rates`: at this calibration the honest score each who flips below every one of themselves."""

    def holds(flipped, clean):
        theirs, own = (
            [mean_score(flipped, honest(flipped), [n], calibration) for n in who]
            for who in (flippers(flipped), honest(flipped))
        )
        return max(theirs) < min(own)

    return holds


def falls_with_rate(found: list[Trial]) -> list[Case]:
    """The flippers' mean score, over all calibrations, falls from each flip rate to the next, from 0 on."""

    def standing(trial, who):
        series = [trial.received(number) for number in range(len(trial.record["reputation"]))]
        return np.mean(series, axis=0)[who].mean()

    cases = []
    for variants in variants_by_setting(found, "cycle").values():
        for count in (1, 2):
            flipped = [trial for trial in variants.values() if len(flippers(trial)) == count]
            by_rate = {max(flippers(trial).values()): standing(trial, list(flippers(trial))) for trial in flipped}
            if flipped and "" in variants:
                by_rate[0.0] = standing(variants[""], list(flippers(flipped[0])))
            ordered = sorted(by_rate)
            for low, high in zip(ordered, ordered[1:], strict=False):
                cases.append((f"{flipped[0]}, {count} flip, {low} to {high}", bool(by_rate[high] < by_rate[low])))
    return cases


def refusal(kind: str) -> Check:
    """One case for each participant that refuses: it ends below what it has when it takes part, by more than noise."""

    def check(found):
        cases = []
        for variants in variants_by_setting(found, "cycle").values():
            for name, trial in variants.items():
                if name.startswith(kind) and "" in variants:
                    who = int(name.rsplit("p", 1)[1]) - 1
                    costs = variants[""].record["accuracy"][who] - trial.record["accuracy"][who]
                    cases.append((f"{trial}, {name}", costs > 0 if abs(costs) > NOISE else None))
        return cases

    return check
