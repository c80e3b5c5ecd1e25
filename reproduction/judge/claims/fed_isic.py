"""Sentences about Fed-ISIC2019: six centers, three graphs and CYCle's gossip."""

from functools import cache

import numpy as np

from reproduction import paper
from reproduction.judge.claim import Check, Claim
from reproduction.judge.claims.gossip import UNIFORM
from reproduction.judge.trials import Trial, held

SIGNIFICANT = 0.05
GRAPHS = ("complete", "ring", "exponential")
PRINTED_PEARSON = {"complete": -0.2649, "cycle": 0.9577}  # L1183 and L1185, in the text only
PRINTED_P = {"cycle": 0.0026}


def by_method(found: list[Trial]) -> dict[tuple, dict[str, Trial]]:
    """By setting: the trials of the three graphs and of CYCle."""
    groups: dict[tuple, dict[str, Trial]] = {}
    for trial in found:
        if "gossip" in trial.run.method:
            name = "cycle" if trial.run.method == "cycle-gossip" else trial.record["options"]["topology"]
            groups.setdefault(trial.setting, {})[name] = trial
    return groups


def asked(holds, *needed: str) -> Check:
    """One case for each setting: holds(trials by method), undecided where one that is needed was not run."""

    def check(found):
        return [
            (str(next(iter(group.values()))), held(holds(group) if set(needed) <= set(group) else None))
            for group in by_method(found).values()
        ]

    return check


def alone(group) -> list[float]:
    return next(iter(group.values())).record["standalone"]


def fair(trial: Trial) -> bool:
    """A positive correlation of accuracy alone and together, by a small p-value."""
    return trial.report.correlation > 0 and trial.report.correlation_p < SIGNIFICANT


def of_complete(holds):
    """Of the complete graph, where its correlation is defined."""
    return lambda group: holds(group["complete"]) if np.isfinite(group["complete"].report.correlation) else None


def others(group, *without) -> list[Trial] | None:
    return [trial for name, trial in group.items() if name not in without] or None


def complete_is_best(group):
    rivals = others(group, "complete")
    return group["complete"].report.mcg > max(trial.report.mcg for trial in rivals) if rivals else None


def complete_is_uniform(group):
    return np.std(group["complete"].record["accuracy"]) <= UNIFORM * np.std(alone(group))


def lowest_spread(group):
    rivals = others(group, "cycle")
    return group["cycle"].report.cgs < min(trial.report.cgs for trial in rivals) if rivals else None


@cache
def kept_in_print() -> float:
    """The part of the complete graph's MCG that CYCle keeps in the paper's table."""
    cycle, complete = (paper.metric("fed-isic", method, "natural", 6, "MCG") for method in ("cycle-gossip", "gossip"))
    return cycle / complete


def fourth_rises(group):
    """What P1 thinks of P4 against its mean opinion of the others, at the first and at the last calibration."""
    weights = [np.array(entry["matrix"]) for entry in group["cycle"].record["reputation"]]
    first, last = (W[0, 3] / W[0, 1:].mean() for W in (weights[0], weights[-1]))
    return first < 1 and last > first


def claim(line, quote, name, means, holds, *needed):
    return Claim(line, quote, means, asked(holds, *needed), ("fed-isic",), name=name)


CLAIMS = (
    claim(577, "CYCle achieves the lowest CGS", "lowest CGS", "CGS below that of all three graphs", lowest_spread,
          "cycle"),
    claim(577, "while preserving collaborative utility [no more is given up than in print]", "utility",
          "no larger part of the complete graph's MCG given up than in print",
          lambda group: group["cycle"].report.mcg >= kept_in_print() * group["complete"].report.mcg,
          "cycle", "complete"),
    claim(1123, "initially, P1 assigns a lower reputation score to P4 [...] over time [it] improves", "P4 rises",
          "P1's weight of P4 against its mean weight: below 1 at first, higher at the end", fourth_rises, "cycle"),
    claim(1183, "participants 5 and 6 struggle significantly, [...] below 20%", "P5, P6 below 20",
          "alone both P5 and P6 below 20 %", lambda group: max(alone(group)[4:6]) < 20),
    claim(1183, "participants 3 and 4 achieve the best performance [alone]", "P3, P4 best",
          "alone P3 and P4 are the best two", lambda group: set(np.argsort(alone(group))[-2:].tolist()) == {2, 3}),
    claim(1183, "a complete graph topology achieves the highest overall performance", "complete highest",
          "the complete graph's MCG above that of ring, exponential and CYCle", complete_is_best, "complete"),
    claim(1183, "all participants converge to a uniform final performance", "complete uniform",
          f"complete graph: spread of accuracy at most {UNIFORM:.0%} of the spread alone", complete_is_uniform,
          "complete"),
    claim(1183, "it fails to provide equitable outcomes", "complete unfair",
          f"complete graph: Pearson (B, A) not above 0 with p below {SIGNIFICANT}",
          of_complete(lambda trial: not fair(trial)), "complete"),
    claim(1183, "Pearson's corr. coefficient of -0.2649 [below zero]", "complete negative",
          "complete graph: Pearson (B, A) below 0", of_complete(lambda trial: trial.report.correlation < 0),
          "complete"),
    claim(1185, "a high correlation coefficient [...], with a small p-value", "CYCle significant",
          f"Pearson (B, A) above 0, p below {SIGNIFICANT}", lambda group: fair(group["cycle"]), "cycle"),
    claim(1185, "a ring topology [...] fails to deliver fair outcomes", "ring unfair",
          f"ring: Pearson (B, A) not above 0 with p below {SIGNIFICANT}", lambda group: not fair(group["ring"]),
          "ring"),
)  # fmt: skip
