"""Sentences about CIFAR-10 and CIFAR-100: gains, their spread, the reputations, the messages saved."""

import numpy as np

from cycle import metrics
from reproduction.judge.claim import Check, Claim
from reproduction.judge.trials import (
    Trial,
    both,
    compare,
    each,
    everybody_gains,
    fairer,
    first_loses,
    has,
    less,
    more,
    pairs,
    saves_a_third_to_a_half,
    scores_of,
    similar,
    where,
    wider,
)

TABLES = ("cifar10-cnn", "cifar10-resnet")
TEN_SPLITS = (*TABLES, "imbalance")
BY_NUMBER = ("participants", "participants-cifar100")
NOTHING = 0.05  # "a score of 0.0", as printed with one decimal


def rich_score_higher(first: int):
    """At the first calibration each of the others scores the first participants, who hold most data, above the rest."""

    def holds(trial: Trial):
        others = trial.scores(0)[first:]
        return np.all(others[:, :first].mean(axis=1) > np.nanmean(others[:, first:], axis=1))

    return holds


def rich_rise_poor_fall(first: int):
    """From first to last calibration the first participants' mean score rises and that of the others falls."""

    def holds(trial: Trial):
        change = trial.received(-1) - trial.received(0)
        return change[:first].mean() > 0 and change[first:].mean() < 0

    return holds


def first_stays(trial: Trial):
    """P1's mean score is similar at the first and at the last calibration."""
    return similar(trial.received(-1)[0], trial.received(0)[0])


def equals_converge(trial: Trial):
    """The scores of P2 to P5 lie closer together at the last calibration, for their mean; None if all end at nothing:
    that makes any scores equal."""
    begin, end = (trial.received(number)[1:] for number in (0, -1))
    return np.ptp(end) / end.mean() < np.ptp(begin) / begin.mean() if end.mean() >= NOTHING else None


def scores_alike(trial: Trial):
    received = np.nanmean(scores_of(trial.record), axis=(0, 1))
    return similar(received.min(), received.max())


def scores_fall(trial: Trial):
    return np.nanmean(trial.scores(-1)) < np.nanmean(trial.scores(0))


def scores_follow_sizes(trial: Trial):
    received = np.nanmean(scores_of(trial.record), axis=1).mean(axis=0)
    return metrics.pearson(trial.record["sizes"], received)[0] > 0


def on_average(others: tuple[str, ...], measure: str, sign: int, splits: int) -> Check:
    """One case for each network that has so many splits, and each other method: CYCle's mean is larger (smaller: -1).

    Each split counts once, however many seeds it has. Where no network has so many splits, nothing is decided.
    """

    def check(found):
        cases = []
        for other in others:
            answers: dict[str, dict[str, list]] = {}
            for one, rival in pairs(found, "cycle", other):
                ahead = sign * (getattr(one.report, measure) - getattr(rival.report, measure))
                answers.setdefault(one.run.model, {}).setdefault(one.split, []).append(ahead)
            enough = {model: of.values() for model, of in answers.items() if len(of) >= splits}
            means = {model: np.mean([np.mean(ahead) for ahead in of]) for model, of in enough.items()}
            cases += [(f"{model} against {other}, mean over {splits} splits", m > 0) for model, m in means.items()]
            if answers and not means:
                cases.append((f"against {other}, fewer than {splits} splits", None))
        return cases

    return check


def of_five_or_ten(check: Check) -> Check:
    return where(lambda trial: trial.run.n > 2, check)


CYCLE, ALL = ("cycle",), ("fedavg", "vpdl", "cffl", "rffl", "cgsv")
POSITIVE = "the smallest gain is above 0"
CLAIMS = (
    Claim(424, "FedAvg has better MCG compared to other methods", "larger MCG than VPDL and CYCle",
          compare("fedavg", ("vpdl", "cycle"), more), TABLES),
    Claim(424, "significantly lower CGS values compared to the FedAvg algorithm in the imbalanced settings",
          "smaller CGS than FedAvg, imbalanced splits", compare("cycle", ("fedavg",), fairer, "imb"), TEN_SPLITS),
    Claim(424, "our method consistently provides positive collaboration gains to all participants", POSITIVE,
          each(CYCLE, everybody_gains), TABLES),
    Claim(424, "not the case for FedAvg or VPDL, which is evident in the outcomes for P1",
          "P1 loses in (0.8, 1) and (0.6, 1)",
          each(("fedavg", "vpdl"), first_loses, ("imbalanced-0.8-1", "imbalanced-0.6-1")), TABLES),
    Claim(395, "[CYCle's MCG stands above VPDL's in every split]", "larger MCG than VPDL",
          compare("cycle", ("vpdl",), more), TABLES),
    Claim(395, "[CYCle's CGS stands below VPDL's in every split]", "smaller CGS than VPDL",
          compare("cycle", ("vpdl",), fairer), TABLES),
    Claim(502, "higher importance is given to P1 by all the other participants",
          "(0.8, 1): at the first calibration each scores P1 above the mean of the rest",
          each(CYCLE, rich_score_higher(1), ("imbalanced-0.8-1",)), TABLES),
    Claim(502, "the reputation of P1 intensifies further, while the reputation scores of other participants decrease",
          "(0.8, 1): from first to last calibration",
          each(CYCLE, rich_rise_poor_fall(1), ("imbalanced-0.8-1",)), TABLES),
    Claim(502, "participants with an equal amount of data receive equal reputation scores",
          "(0.8, 1): the scores of P2 to P5 lie closer together, for their mean, at the last calibration than at "
          f"the first (undecided if the mean ends below {NOTHING})",
          each(CYCLE, equals_converge, ("imbalanced-0.8-1",)), TABLES),
    Claim(502, "A similar pattern can be observed [...] where the first two participants possess larger amounts of "
          "data", "(0.35, 2): the same for P1 and P2", each(CYCLE, rich_rise_poor_fall(2), ("imbalanced-0.35-2",)),
          TABLES),
    Claim(1052, "In the homogeneous setting, participants have similar reputation scores",
          "homogeneous: lowest and highest score, mean over all calibrations, are similar",
          each(CYCLE, scores_alike, ("homogeneous",)), TABLES),
    Claim(1052, "Over time, these scores trend downwards", "homogeneous: mean score, first to last",
          each(CYCLE, scores_fall, ("homogeneous",)), TABLES),
    Claim(1052, "the reputation scores align with the size of the data they possess",
          "Dirichlet (0.5), (0.6, 1): Pearson of size and score above 0",
          each(CYCLE, scores_follow_sizes, ("dirichlet-0.5", "imbalanced-0.6-1")), TABLES),
    Claim(1052, "since P1 holds 60% of the data, its reputation remains consistent",
          "(0.6, 1): P1's mean score is similar at the first and the last calibration",
          each(CYCLE, first_stays, ("imbalanced-0.6-1",)), TABLES),
    Claim(1347, "ensuring positive collaboration gains for each participant",
          f"five more imbalanced splits: {POSITIVE}", each(CYCLE, everybody_gains), ("imbalance",)),
    Claim(1347, "lower CGS across all five settings", "smaller CGS than FedAvg and VPDL",
          compare("cycle", ("fedavg", "vpdl"), fairer), ("imbalance",)),
    Claim(1347, "VPDL [...] significantly underperforms in both accuracy and fairness",
          "less MVA and more CGS than CYCle",
          compare("vpdl", CYCLE, both(has("mva", -1), wider)), ("imbalance",)),
    Claim(1452, "On average, CYCle achieves the highest MCG [...] in the 10 scenarios",
          "larger mean MCG than each other method", on_average(ALL, "mcg", 1, 10), TEN_SPLITS),
    Claim(1452, "On average, CYCle achieves [...] the lowest CGS in the 10 scenarios",
          "smaller mean CGS than each other method", on_average(ALL, "cgs", -1, 10), TEN_SPLITS),
    Claim(993, "a 35-50% reduction in encrypted communication", "35 to 50 % of the answers are not sent",
          each(CYCLE, saves_a_third_to_a_half), (*TEN_SPLITS, *BY_NUMBER)),
    Claim(983, "substantially lower per-round cryptographic overhead", "at least 35 % of the answers are not sent",
          each(CYCLE, lambda trial: trial.saved >= 0.35), (*TEN_SPLITS, *BY_NUMBER)),
    Claim(1271, "VPDL [...] underperforms in both MVA and MCG across all scenarios",
          "CIFAR-100: less MCG than FedAvg and CYCle",
          compare("vpdl", ("fedavg", "cycle"), less), ("cifar100",)),
    Claim(1269, "in the imbalanced (0.8, 1) scenario, the FedAvg algorithm results in a decline in accuracy for P1",
          "CIFAR-100: P1 loses under FedAvg", each(("fedavg",), first_loses, ("imbalanced-0.8-1",)), ("cifar100",)),
    Claim(479, "In all settings, we consistently achieve a positive collaboration gain for all participants",
          f"N = 5, 10: {POSITIVE}", of_five_or_ten(each(CYCLE, everybody_gains)), BY_NUMBER),
    Claim(479, "the CYCle method consistently has lower CGS compared to VPDL", "N = 5, 10: smaller CGS",
          of_five_or_ten(compare("cycle", ("vpdl",), fairer)), BY_NUMBER),
)  # fmt: skip
