"""Sentences about those who flip labels or refuse to answer: how they are scored, what they gain."""

import numpy as np

from cycle import metrics
from reproduction.judge.claim import Case, Check, Claim
from reproduction.judge.claims.cifar import NOTHING
from reproduction.judge.noise import beyond
from reproduction.judge.trials import Trial, held, scores_of, variants_by_setting


def flippers(trial: Trial) -> dict[int, float]:
    """Who flips labels, and at which rate."""
    return {int(n): rate for n, rate in trial.record["options"]["flips"].items()}


def rate_of(trial: Trial) -> float:
    return max(flippers(trial).values(), default=0.0)


def honest(trial: Trial) -> list[int]:
    return [n for n in range(trial.run.n) if n not in flippers(trial)]


def mean_score(trial: Trial, scorers: list[int], scored: list[int], calibration: int = -1) -> float:
    """What these think of those (nobody of itself), on average, at one calibration (-1: the last)."""
    return np.nanmean(trial.scores(calibration)[np.ix_(scorers, scored)])


def flipped_runs(found, method="cycle"):
    """Each run in which somebody flips, with the others of its setting by variant."""
    for variants in variants_by_setting(found, method).values():
        for trial in variants.values():
            if flippers(trial):
                yield trial, variants


def rates(holds, chosen=lambda rate: rate > 0) -> Check:
    """One case for each CYCle run with flipped labels at a chosen rate: holds(flipped run, run with clean labels)."""

    def check(found) -> list[Case]:
        cases = []
        for trial, variants in flipped_runs(found):
            clean = next((one for one in variants.values() if not flippers(one)), None)
            if clean and chosen(rate_of(trial)):
                cases.append((f"{trial}, {len(flippers(trial))} flip {rate_of(trial)}", held(holds(trial, clean))))
        return cases

    return check


def marked_down(calibration: int):
    """For `rates`: at this calibration the honest score each who flips below what it has there with clean labels."""

    def holds(flipped, clean):
        who = honest(flipped)
        scores = [[mean_score(one, who, [n], calibration) for one in (flipped, clean)] for n in flippers(flipped)]
        return all(now < once for now, once in scores)

    return holds


def told_apart(calibration: int):
    """For `rates`: at this calibration the honest score each who flips below every one of themselves."""

    def holds(flipped, clean):
        theirs, own = (
            [mean_score(flipped, honest(flipped), [n], calibration) for n in who]
            for who in (flippers(flipped), honest(flipped))
        )
        return max(theirs) < min(own)

    return holds


def nothing_left(flipped, clean):
    return flipped.scores(-1)[np.ix_(honest(flipped), list(flippers(flipped)))].max() < NOTHING


def still_values(flipped, clean):
    """What those who flip think of the honest does not end at zero."""
    return mean_score(flipped, list(flippers(flipped)), honest(flipped)) >= NOTHING


def honest_gain(flipped, clean):
    return beyond(min(flipped.report.gains[honest(flipped)]), flipped.noise)


def honest_gain_less(flipped, clean):
    who = honest(flipped)
    lost = clean.report.gains[who].mean() - flipped.report.gains[who].mean()
    return beyond(lost, flipped.noise / np.sqrt(len(who)))


def below_the_honest(trial: Trial, gains):
    return beyond(min(gains[honest(trial)]) - max(gains[list(flippers(trial))]), trial.noise)


def gain_least_on_own_labels(found) -> list[Case]:
    """Each flipper gains less than each honest participant, all against training alone on the labels they hold."""
    cases, alone = [], variants_by_setting(found, "standalone")
    for trial, _ in flipped_runs(found):
        own = alone.get(trial.setting, {}).get(trial.run.variant)
        if own:
            gains = metrics.gains(own.record["accuracy"], trial.record["accuracy"])
            cases.append((f"{trial}, {len(flippers(trial))} flip {rate_of(trial)}", below_the_honest(trial, gains)))
    return cases


def falls_with_rate(found) -> list[Case]:
    """The flippers' mean score, over all calibrations, falls from each flip rate to the next, from 0 on."""

    def standing(trial, who):
        return np.nanmean(scores_of(trial.record), axis=1)[:, who].mean()

    cases = []
    for variants in variants_by_setting(found, "cycle").values():
        for count in (1, 2):
            flipped = [trial for trial in variants.values() if len(flippers(trial)) == count]
            by_rate = {rate_of(trial): standing(trial, list(flippers(trial))) for trial in flipped}
            if flipped and "" in variants:
                by_rate[0.0] = standing(variants[""], list(flippers(flipped[0])))
            ordered = sorted(by_rate)
            for low, high in zip(ordered, ordered[1:], strict=False):
                cases.append((f"{flipped[0]}, {count} flip, {low} to {high}", bool(by_rate[high] < by_rate[low])))
    return cases


def refusal(kind: str) -> Check:
    """One case for each participant that refuses: it ends below what it has when it takes part, by more than noise."""

    def check(found) -> list[Case]:
        cases = []
        for variants in variants_by_setting(found, "cycle").values():
            for name, trial in variants.items():
                if name.startswith(kind) and "" in variants:
                    who = int(name.rsplit("p", 1)[1]) - 1
                    costs = variants[""].record["accuracy"][who] - trial.record["accuracy"][who]
                    cases.append((f"{trial}, {name}", beyond(costs, trial.noise)))
        return cases

    return check


RIDERS = ("free-riders", "free-riders-two")
NOTICED = (
    (553, "honest participants [...] quickly discern the anomaly with P5",
     "at the first calibration they score a flipper below what it has with clean labels", rates(marked_down(0))),
    (538, "[...] being rapidly identified as malicious by others",
     "at the first calibration the honest score each flipper below every one of themselves", rates(told_apart(0))),
    (538, "[the column of P5 ends below the others']", "the same at the last calibration", rates(told_apart(-1))),
    (553, "they assign a reputation score of 0.0 to P5", f"every honest score of a flipper ends below {NOTHING}",
     rates(nothing_left)),
)  # fmt: skip
CLAIMS = (
    Claim(538, "Higher flip rates lead to P5 being rapidly identified as malicious",
          "the flippers' score, mean over all calibrations, falls from each rate to the next", falls_with_rate, RIDERS),
    *(Claim(*parts, RIDERS) for parts in NOTICED),
    *(Claim(*parts, ("free-riders-augmented",), how="with augmented images") for parts in NOTICED),
    Claim(553, "P5 accurately recognized that the other participants were beneficial when the label flipping rate was "
          "at 0.2", f"a flipper's mean score of the honest does not end at zero (below {NOTHING})",
          rates(still_values, lambda rate: rate == 0.2), RIDERS),
    Claim(553, "drops to zero for the case when the label space of P5 becomes completely different",
          f"at rate 1.0 it ends below {NOTHING}",
          rates(lambda flipped, clean: not still_values(flipped, clean), lambda rate: rate == 1.0), RIDERS),
    Claim(555, "in the presence of flipped labels, the collaboration gain declines",
          "the honest gain less on average than with clean labels", rates(honest_gain_less), RIDERS),
    Claim(1353, "the honest participants (P1, P2, and P3) maintain positive collaboration gains",
          "every honest gain is above 0", rates(honest_gain), RIDERS),
    Claim(313, "Sharing noisy or malicious updates will [...] dampen P_k's ability to learn",
          "every flipper gains less than every honest participant; gains are against training alone on clean labels",
          rates(lambda flipped, clean: below_the_honest(flipped, flipped.report.gains)), RIDERS),
    Claim(313, "Sharing noisy or malicious updates will [...] dampen P_k's ability to learn",
          "the same, gains against training alone on the labels at hand", gain_least_on_own_labels, RIDERS),
    Claim(590, "suboptimal for any client to reject collaboration entirely, as doing so reduces their own update "
          "quality", "who never answers (which we score 0) ends below what it has when it answers, beyond the noise",
          refusal("silent"), ("refusal",)),
    Claim(311, "P_k needs to maintain a high reputation score with P_n. This, in turn, requires the sharing of "
          "updates", "who answers only when forced ends below what it has when it answers, beyond the noise",
          refusal("forced-only"), ("refusal",)),
)  # fmt: skip
