"""Sentences about CYCle beside CFFL, RFFL and CGSV."""

import numpy as np

from reproduction.judge.claim import SOME, Check, Claim
from reproduction.judge.claims.cifar import POSITIVE, TEN_SPLITS
from reproduction.judge.noise import beyond
from reproduction.judge.trials import (
    both,
    compare,
    each,
    everybody_gains,
    fairer,
    kept,
    less,
    more,
    pairs,
    similar,
    where,
    wider,
)

FAIR = ("cffl", "rffl", "cgsv")
CNN = ("cifar10-cnn",)


def best_loses(trial):
    return beyond(-trial.report.gains[np.argmax(trial.record["standalone"])], trial.noise)


def gains_cost_fairness(others: tuple[str, ...]) -> Check:
    """One case for each setting in which another method has the larger MCG than CYCle: its CGS is larger too."""

    def check(found):
        rivals = [(f"{one}, {other.method}", other, one) for one, other in pairs(found, "cycle", *others)]
        return [(name, more(*two) and wider(*two)) for name, *two in rivals if more(*two) is not False]

    return check


def not_above(one, other):
    return similar(one.report.cgs, other.report.cgs) or fairer(one, other)


CLAIMS = (
    Claim(425, "better or comparable CG values when compared to CFFL, RFFL, and CGSV in most of the scenarios",
          "larger MCG, or similar", compare("cycle", FAIR, kept), CNN, share=0.5),
    Claim(425, "the lowest CGS values in all but one scenario", "smaller CGS than CFFL, RFFL, CGSV, (0.8, 1) aside",
          where(lambda trial: trial.split != "imbalanced-0.8-1", compare("cycle", FAIR, fairer)), CNN),
    Claim(425, "the imbalanced (0.8, 1) setting, where it is on par with RFFL", "CGS not more than 15 % above RFFL's",
          compare("cycle", ("rffl",), not_above, "imbalanced-0.8-1"), CNN),
    Claim(426, "CYCle consistently achieves positive gains for all participants", POSITIVE,
          each(("cycle",), everybody_gains), CNN),
    Claim(426, "other methods degrade performance for the most contributing participant",
          "whoever is best alone loses, the homogeneous split aside, where all contribute equally",
          where(lambda trial: trial.split != "homogeneous", each(FAIR, best_loses)), CNN),
    Claim(1453, "CGSV may occasionally achieve a higher MCG, but its CGS is substantially worse",
          "larger MCG and larger CGS than CYCle, in one case at least",
          compare("cgsv", ("cycle",), both(more, wider)), TEN_SPLITS, share=SOME),
    Claim(1453, "RFFL may better control CGS but fail to deliver sufficient gain", "smaller MCG than CYCle",
          compare("rffl", ("cycle",), less), TEN_SPLITS),
    Claim(1453, "RFFL may better control CGS", "smaller CGS than CYCle, in one case at least",
          compare("rffl", ("cycle",), fairer), TEN_SPLITS, share=SOME),
    Claim(1453, "improvements in collaborative gain often come at the cost of [...] larger CGS",
          "where the MCG is larger than CYCle's, the CGS is too; often: half of the cases", gains_cost_fairness(FAIR),
          TEN_SPLITS, share=0.5),
)  # fmt: skip
