"""The paper's sentences about its experiments, each with a check on recorded runs (`verdicts` judges by them).

`claims` holds sentences to the values that the paper prints; this file holds them to what was run for this book.
"""

import functools
from dataclasses import dataclass

import numpy as np

from cycle.metrics import similar
from reproduction import paper
from reproduction.catalogue import AUGMENTED, PRINTED_RATE
from reproduction.judge import gossip_claims, readings
from reproduction.judge.evidence import (
    NOTHING,
    Check,
    below_default_threshold,
    compare,
    each,
    equals_converge,
    gains_cost_fairness,
    on_average,
    over_grid,
    rich_rise_poor_fall,
    rich_score_higher,
    rich_stay,
    rises,
    scores_alike,
    scores_fall,
    scores_follow_sizes,
    where,
)
from reproduction.judge.free_riders import (
    falls_with_rate,
    flippers,
    flippers_gain_least,
    honest,
    marked_down,
    rates,
    refusal,
    score_by_flippers,
    score_of_flippers,
    told_apart,
)

TABLES = ("cifar10-cnn", "cifar10-resnet")
TEN_SPLITS = (*TABLES, "imbalance")
SOME = 1e-9  # of the cases: "may", "occasionally" claim one
FAIR = ("cffl", "rffl", "cgsv")
RIDERS = ("free-riders", "free-riders-two")
BY_NUMBER = ("participants", "participants-cifar100")
GOSSIP_BY_NUMBER = ("participants-gossip", "participants-gossip-cifar100")
TWENTY = ("participants-20", "participants-20-cifar100")


@dataclass(frozen=True)
class Sentence:
    """Of the paper (in brackets: what a table shows without saying so), where it is judged, and by what."""

    chapter: str
    line: int
    quote: str
    means: str  # what is checked, in our words
    experiments: tuple[str, ...]
    check: Check
    share: float = 1.0  # of the cases that the sentence itself claims: "most" is a half, "occasionally" any
    how: str = ""  # if judged once more, on runs trained in a way that the paper does not print or not name: in which

    @property
    def checked(self) -> str:
        return f"{self.how}: {self.means}" if self.how else self.means


def _more(one, other):
    return one.report.mcg > other.report.mcg


def _fairer(one, other):
    return one.report.cgs < other.report.cgs


def _kept(one, other):
    return one.report.mcg > other.report.mcg or similar(one.report.mcg, other.report.mcg)


def _everybody_gains(trial):
    return trial.report.min_gain > 0


def _first_loses(trial):
    return trial.report.gains[0] < 0


def _best_loses(trial):
    return trial.report.gains[trial.record["standalone"].index(max(trial.record["standalone"]))] < 0


def _saves_a_third_to_a_half(trial):
    return 0.35 <= trial.saved <= 0.5


def _honest_gain(flipped, clean):
    return min(flipped.report.gains[honest(flipped)]) > 0


def _honest_gain_less(flipped, clean):
    return flipped.report.gains[honest(flipped)].mean() < clean.report.gains[honest(flipped)].mean()


def _flippers_gain_least(flipped, clean):
    return max(flipped.report.gains[list(flippers(flipped))]) < min(flipped.report.gains[honest(flipped)])


def _positive(trial):
    return trial.report.correlation > 0 and trial.report.correlation_p < 0.05


def _negative(trial):
    return trial.report.correlation < 0 if np.isfinite(trial.report.correlation) else None


def _within(values, measured):
    return similar(min(measured), max(measured))


def _mcg(trial):
    return trial.report.mcg


def _cgs(trial):
    return trial.report.cgs


def otherwise(chapter: str, experiment: str, variant: str, how: str) -> tuple[Sentence, ...]:
    """The main sentences about CYCle and VPDL, both trained in a way that the paper does not print or not name."""
    cycle, vpdl = f"cycle {variant}", f"vpdl {variant}"
    checks = (
        (395, "[CYCle's MCG stands above VPDL's in every split]", "larger MCG than VPDL",
         compare(cycle, (vpdl,), _more)),
        (395, "[CYCle's CGS stands below VPDL's in every split]", "smaller CGS than VPDL",
         compare(cycle, (vpdl,), _fairer)),
        (424, "our method consistently provides positive collaboration gains to all participants",
         "the smallest gain is above 0", each((cycle,), _everybody_gains)),
        (424, "not the case for [...] VPDL, which is evident in the outcomes for P1", "P1 loses in (0.6, 1)",
         each((vpdl,), _first_loses, ("imbalanced-0.6-1",))),
        (1052, "since P1 holds 60% of the data, its reputation remains consistent",
         "(0.6, 1): P1's mean score is similar at the first and the last calibration",
         each((cycle,), rich_stay(1), ("imbalanced-0.6-1",))),
        (993, "a 35-50% reduction in encrypted communication", "35 to 50 % of the answers are not sent",
         each((cycle,), _saves_a_third_to_a_half)),
    )  # fmt: skip
    return tuple(
        Sentence(chapter, line, quote, means, (experiment,), check, how=how) for line, quote, means, check in checks
    )


def tested_after_mixing(cases_of, check) -> Check:
    """A check of the chapters on gossip, on the cases tested after the mixing that decide; if none does, on all."""

    def decide(found):
        facts = _printed()
        gossip = [trial.record for trial in found if "gossip" in trial.method]
        cases = [case for case in cases_of(gossip) if case["tested"] == "after"]
        answers = [(_case_name(case), check.holds(case, facts)) for case in cases]
        return [answer for answer in answers if answer[1] is not None] or answers

    return decide


def _case_name(case: dict) -> str:
    where = f"{case['dataset']} {case['split']} N={case['n']} " if "split" in case else ""
    return f"{where}seed {case['seed']}"


@functools.cache
def _printed() -> dict:
    return readings.printed() | {"kept": kept_in_print()}


def kept_in_print() -> float:
    """The part of the complete graph's MCG on Fed-ISIC2019 that CYCle keeps in the paper's table."""
    cycle, complete = (paper.metric("fed-isic", method, "natural", 6, "MCG") for method in ("cycle-gossip", "gossip"))
    return cycle / complete


SENTENCES = (
    Sentence("cifar", 424, "FedAvg has better MCG compared to other methods", "larger MCG than VPDL and CYCle",
             TABLES, compare("fedavg", ("vpdl", "cycle"), _more)),
    Sentence("cifar", 424, "significantly lower CGS values compared to the FedAvg algorithm in the imbalanced settings",
             "smaller CGS than FedAvg, imbalanced splits", TEN_SPLITS, compare("cycle", ("fedavg",), _fairer, "imb")),
    Sentence("cifar", 424, "our method consistently provides positive collaboration gains to all participants",
             "the smallest gain is above 0", TABLES, each(("cycle",), _everybody_gains)),
    Sentence("cifar", 424, "not the case for FedAvg or VPDL, which is evident in the outcomes for P1",
             "P1 loses in (0.8, 1) and (0.6, 1)", TABLES,
             each(("fedavg", "vpdl"), _first_loses, ("imbalanced-0.8-1", "imbalanced-0.6-1"))),
    Sentence("cifar", 395, "[CYCle's MCG stands above VPDL's in every split]", "larger MCG than VPDL", TABLES,
             compare("cycle", ("vpdl",), _more)),
    Sentence("cifar", 395, "[CYCle's CGS stands below VPDL's in every split]", "smaller CGS than VPDL", TABLES,
             compare("cycle", ("vpdl",), _fairer)),
    Sentence("cifar", 502, "higher importance is given to P1 by all the other participants",
             "(0.8, 1): at the first calibration each scores P1 above the mean of the rest", TABLES,
             each(("cycle",), rich_score_higher(1), ("imbalanced-0.8-1",))),
    Sentence("cifar", 502, "the reputation of P1 intensifies further, while the reputation scores of other "
             "participants decrease", "(0.8, 1): from first to last calibration", TABLES,
             each(("cycle",), rich_rise_poor_fall(1), ("imbalanced-0.8-1",))),
    Sentence("cifar", 502, "participants with an equal amount of data receive equal reputation scores",
             "(0.8, 1): the scores of P2 to P5 lie closer together, for their mean, at the last calibration than at "
             f"the first (undecided if the mean ends below {NOTHING})", TABLES,
             each(("cycle",), equals_converge(1), ("imbalanced-0.8-1",))),
    Sentence("cifar", 502, "A similar pattern can be observed [...] where the first two participants possess larger "
             "amounts of data", "(0.35, 2): the same for P1 and P2", TABLES,
             each(("cycle",), rich_rise_poor_fall(2), ("imbalanced-0.35-2",))),
    Sentence("cifar", 1052, "In the homogeneous setting, participants have similar reputation scores",
             "homogeneous: lowest and highest score, mean over all calibrations, are similar", TABLES,
             each(("cycle",), scores_alike, ("homogeneous",))),
    Sentence("cifar", 1052, "Over time, these scores trend downwards", "homogeneous: mean score, first to last", TABLES,
             each(("cycle",), scores_fall, ("homogeneous",))),
    Sentence("cifar", 1052, "the reputation scores align with the size of the data they possess",
             "Dirichlet (0.5), (0.6, 1): Pearson of size and score above 0", TABLES,
             each(("cycle",), scores_follow_sizes, ("dirichlet-0.5", "imbalanced-0.6-1"))),
    Sentence("cifar", 1052, "since P1 holds 60% of the data, its reputation remains consistent",
             "(0.6, 1): P1's mean score is similar at the first and the last calibration", TABLES,
             each(("cycle",), rich_stay(1), ("imbalanced-0.6-1",))),
    *otherwise("augmentation", "augmentation", AUGMENTED, "with augmented images"),
    *otherwise("augmentation", "cifar10-cnn-augmented", PRINTED_RATE, "with augmented images at the printed rate"),
    Sentence("cifar", 1347, "ensuring positive collaboration gains for each participant",
             "five more imbalanced splits: the smallest gain is above 0", ("imbalance",),
             each(("cycle",), _everybody_gains)),
    Sentence("cifar", 1347, "lower CGS across all five settings", "smaller CGS than FedAvg and VPDL", ("imbalance",),
             compare("cycle", ("fedavg", "vpdl"), _fairer)),
    Sentence("cifar", 1347, "VPDL [...] significantly underperforms in both accuracy and fairness",
             "less MVA and more CGS than CYCle", ("imbalance",),
             compare("vpdl", ("cycle",), lambda one, other: one.report.mva < other.report.mva and _fairer(other, one))),
    Sentence("cifar", 1452, "On average, CYCle achieves the highest MCG [...] in the 10 scenarios",
             "larger mean MCG than each other method", TEN_SPLITS,
             on_average("cycle", ("fedavg", "vpdl", *FAIR), _mcg, np.greater, 10)),
    Sentence("cifar", 1452, "On average, CYCle achieves [...] the lowest CGS in the 10 scenarios",
             "smaller mean CGS than each other method", TEN_SPLITS,
             on_average("cycle", ("fedavg", "vpdl", *FAIR), _cgs, np.less, 10)),
    Sentence("cifar", 993, "a 35-50% reduction in encrypted communication", "35 to 50 % of the answers are not sent",
             (*TEN_SPLITS, *BY_NUMBER), each(("cycle",), _saves_a_third_to_a_half)),
    Sentence("cifar", 983, "substantially lower per-round cryptographic overhead",
             "at least 35 % of the answers are not sent", (*TEN_SPLITS, *BY_NUMBER),
             each(("cycle",), lambda trial: trial.saved >= 0.35)),
    Sentence("cifar", 1271, "VPDL [...] underperforms in both MVA and MCG across all scenarios",
             "CIFAR-100: less MCG than FedAvg and CYCle", ("cifar100",),
             compare("vpdl", ("fedavg", "cycle"), lambda one, other: _more(other, one))),
    Sentence("cifar", 1269, "in the imbalanced (0.8, 1) scenario, the FedAvg algorithm results in a decline in "
             "accuracy for P1", "CIFAR-100: P1 loses under FedAvg", ("cifar100",),
             each(("fedavg",), _first_loses, ("imbalanced-0.8-1",))),
    Sentence("cifar", 479, "In all settings, we consistently achieve a positive collaboration gain for all "
             "participants", "N = 5, 10: the smallest gain is above 0", BY_NUMBER,
             where(lambda trial: trial.setting[1] > 2, each(("cycle",), _everybody_gains))),
    Sentence("cifar", 479, "the CYCle method consistently has lower CGS compared to VPDL", "N = 5, 10: smaller CGS",
             BY_NUMBER, where(lambda trial: trial.setting[1] > 2, compare("cycle", ("vpdl",), _fairer))),
    Sentence("baselines", 425, "better or comparable CG values when compared to CFFL, RFFL, and CGSV in most of the "
             "scenarios", "larger MCG, or similar", ("cifar10-cnn",), compare("cycle", FAIR, _kept), share=0.5),
    Sentence("baselines", 425, "the lowest CGS values in all but one scenario",
             "smaller CGS than CFFL, RFFL, CGSV, (0.8, 1) aside", ("cifar10-cnn",),
             where(lambda trial: trial.split != "imbalanced-0.8-1", compare("cycle", FAIR, _fairer))),
    Sentence("baselines", 425, "the imbalanced (0.8, 1) setting, where it is on par with RFFL",
             "CGS not more than 15 % above RFFL's", ("cifar10-cnn",),
             compare("cycle", ("rffl",), lambda a, b: _fairer(a, b) or similar(a.report.cgs, b.report.cgs),
                     "imbalanced-0.8-1")),
    Sentence("baselines", 426, "CYCle consistently achieves positive gains for all participants",
             "the smallest gain is above 0", ("cifar10-cnn",), each(("cycle",), _everybody_gains)),
    Sentence("baselines", 426, "other methods degrade performance for the most contributing participant",
             "whoever is best alone loses, the homogeneous split aside, where all contribute equally", ("cifar10-cnn",),
             where(lambda trial: trial.split != "homogeneous", each(FAIR, _best_loses))),
    Sentence("baselines", 1453, "CGSV may occasionally achieve a higher MCG, but its CGS is substantially worse",
             "larger MCG and larger CGS than CYCle, in one case at least", TEN_SPLITS,
             compare("cgsv", ("cycle",), lambda one, other: _more(one, other) and _fairer(other, one)), share=SOME),
    Sentence("baselines", 1453, "RFFL may better control CGS but fail to deliver sufficient gain",
             "smaller MCG than CYCle", TEN_SPLITS, compare("rffl", ("cycle",), lambda one, other: _more(other, one))),
    Sentence("baselines", 1453, "RFFL may better control CGS", "smaller CGS than CYCle, in one case at least",
             TEN_SPLITS, compare("rffl", ("cycle",), _fairer), share=SOME),
    Sentence("baselines", 1453, "improvements in collaborative gain often come at the cost of [...] larger CGS",
             "where the MCG is larger than CYCle's, the CGS is too; often: half of the cases", TEN_SPLITS,
             gains_cost_fairness(FAIR), share=0.5),
    Sentence("free-riders", 538, "Higher flip rates lead to P5 being rapidly identified as malicious",
             "the flippers' score, mean over all calibrations, falls from each rate to the next", RIDERS,
             falls_with_rate),
    *(Sentence("free-riders", line, quote, means, experiments, rates(holds), how=how)
      for experiments, how in ((RIDERS, ""), (("free-riders-augmented",), "with augmented images"))
      for line, quote, means, holds in (
             (553, "honest participants [...] quickly discern the anomaly with P5",
              "at the first calibration they score a flipper below what it has with clean labels", marked_down(0)),
             (538, "[...] being rapidly identified as malicious by others",
              "at the first calibration the honest score each flipper below every one of themselves", told_apart(0)),
             (538, "[the column of P5 ends below the others']", "the same at the last calibration", told_apart(-1)),
             (553, "they assign a reputation score of 0.0 to P5",
              f"every honest score of a flipper ends below {NOTHING}",
              lambda flipped, clean: score_of_flippers(flipped).max() < NOTHING),
      )),
    Sentence("free-riders", 553, "P5 accurately recognized that the other participants were beneficial when the label "
             "flipping rate was at 0.2", f"a flipper's mean score of the honest does not end at zero (below {NOTHING})",
             RIDERS,
             rates(lambda flipped, clean: score_by_flippers(flipped) >= NOTHING, lambda rate: rate == 0.2)),
    Sentence("free-riders", 553, "drops to zero for the case when the label space of P5 becomes completely different",
             f"at rate 1.0 it ends below {NOTHING}", RIDERS,
             rates(lambda flipped, clean: score_by_flippers(flipped) < NOTHING, lambda rate: rate == 1.0)),
    Sentence("free-riders", 555, "in the presence of flipped labels, the collaboration gain declines",
             "the honest gain less on average than with clean labels", RIDERS, rates(_honest_gain_less)),
    Sentence("free-riders", 1353, "the honest participants (P1, P2, and P3) maintain positive collaboration gains",
             "every honest gain is above 0", RIDERS, rates(_honest_gain)),
    Sentence("free-riders", 313, "Sharing noisy or malicious updates will [...] dampen P_k's ability to learn",
             "every flipper gains less than every honest participant; gains are against training alone on clean labels",
             RIDERS, rates(_flippers_gain_least)),
    Sentence("free-riders", 313, "Sharing noisy or malicious updates will [...] dampen P_k's ability to learn",
             "the same, gains against training alone on the labels at hand", RIDERS, flippers_gain_least),
    Sentence("free-riders", 590, "suboptimal for any client to reject collaboration entirely, as doing so reduces "
             "their own update quality", "who never answers (which we score 0) ends below what it has when it answers, "
             "by a point or more", ("refusal",), refusal("silent")),
    Sentence("free-riders", 311, "P_k needs to maintain a high reputation score with P_n. This, in turn, requires the "
             "sharing of updates", "who answers only when forced ends below what it has when it answers, by a point or "
             "more", ("refusal",), refusal("forced-only")),
    Sentence("sensitivity", 1466, "increasing the values of tau_max [...] correlates with improved MCG",
             "homogeneous: Pearson above 0 over the grid", ("tau",),
             over_grid("tau_max", "cycle", _mcg, rises, "homogeneous")),
    Sentence("sensitivity", 1466, "increasing the values of [...] tau_opt correlates with improved MCG",
             "homogeneous: Pearson above 0 over the grid", ("tau",),
             over_grid("tau_opt", "cycle", _mcg, rises, "homogeneous")),
    Sentence("sensitivity", 1466, "the MCG [...] values for different hyperparameter settings are comparable",
             "smallest and largest MCG of the grid are similar", ("tau",),
             over_grid("tau_opt", "cycle", _mcg, _within)),
    Sentence("sensitivity", 1466, "[...] CGS [...] values for different hyperparameter settings are comparable",
             "smallest and largest CGS of the grid are similar", ("tau",),
             over_grid("tau_opt", "cycle", _cgs, _within)),
    Sentence("sensitivity", 1484, "going below tau_opt=0.25 results in degraded collaboration fairness and utility",
             "less MCG and more CGS at tau_opt 0 than at 0.25", ("tau",), below_default_threshold),
    *otherwise("sensitivity", "cifar10-cnn-per-peer", "per-peer", "with lambda_0 for each peer"),
    Sentence("sensitivity", 1422, "both methods achieve similar MCG values", "N = 20: MCG larger or similar", TWENTY,
             compare("cycle-gossip", ("gossip",), _kept)),
    Sentence("sensitivity", 1422, "the collaboration gain spread (CGS) is considerably lower", "N = 20: smaller CGS",
             TWENTY, compare("cycle-gossip", ("gossip",), _fairer)),
    Sentence("sensitivity", 1422, "the strong positive correlation [...] under CYCle",
             "N = 20: Pearson above 0, p below 0.05", TWENTY, each(("cycle-gossip",), _positive)),
    Sentence("sensitivity", 1422, "Gossip-SGD shows a negative correlation", "N = 20: Pearson below 0", TWENTY,
             each(("gossip",), _negative)),
)  # fmt: skip
SENTENCES += tuple(  # sentences on gossip, judged as in its own chapter, on models tested after the mixing
    Sentence(chapter, check.line, check.quote, check.means, experiments, tested_after_mixing(cases, check))
    for chapter, experiments, cases, checks in (
        ("gossip", GOSSIP_BY_NUMBER, readings.cases, readings.CLAIMS[:3]),
        ("sensitivity", ("beta",), gossip_claims.beta_cases, gossip_claims.BETA_CLAIMS),
        ("fed-isic", ("fed-isic",), gossip_claims.skin_cases, gossip_claims.SKIN_CLAIMS),
    )
    for check in checks
)
