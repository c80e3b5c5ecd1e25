"""Sentences of the paper about beta and about Fed-ISIC2019, each with the check that recorded runs allow."""

import numpy as np
import pandas as pd

from reproduction.judge import readings
from reproduction.judge.readings import POINTS, UNIFORM, Trait

PRINTED_BETAS = (5, 15, 35, 50, 100)
SLIGHT = 2.0  # points by which an accuracy may change and be said to vary slightly
SIGNIFICANT = 0.05
METHODS = {("gossip", "complete"): "complete", ("gossip", "ring"): "ring", ("gossip", "exponential"): "exponential",
           ("cycle-gossip", "complete"): "cycle"}  # fmt: skip
PRINTED_PEARSON = {"complete": -0.2649, "cycle": 0.9577}  # L1183 and L1185, in the text only
PRINTED_P = {"cycle": 0.0026}


def beta_cases(records: list[dict]) -> list[dict]:
    """One case for each seed and evaluation point: what each beta gave, and the complete graph."""
    found = [case for case in readings.cases(records) if case["reading"] == "as printed"]
    return [
        {"seed": seed, "tested": point, "betas": {case["beta"]: case for case in group}}
        for (seed, point), group in readings.grouped(found, "seed", "tested").items()
    ]


def _all_betas(case):
    betas = case["betas"]
    return {beta: betas[beta]["cycle"] for beta in PRINTED_BETAS} if set(PRINTED_BETAS) <= set(betas) else None


def _complete_without_beta(case, facts):
    """beta = 0 reaches the complete graph's accuracies, participant by participant."""
    zero = case["betas"].get(0)
    return zero and _apart([zero["cycle"]["accuracy"], zero["complete"]["accuracy"]]) <= SLIGHT


def _complete_messages(case, facts):
    zero = case["betas"].get(0)
    return zero and bool(zero["messages"] >= 1)


def _fairer_with_beta(case, facts):
    by_beta = _all_betas(case)
    return by_beta and bool(by_beta[max(PRINTED_BETAS)]["Pearson"] > by_beta[min(PRINTED_BETAS)]["Pearson"])


def _varies_slightly(case, facts):
    by_beta = _all_betas(case)
    return by_beta and _apart([one["accuracy"] for one in by_beta.values()]) <= SLIGHT


def _balance_between(case, facts):
    """35 or 50 is a fair choice: no other printed beta has both a higher MCG and a higher correlation."""
    by_beta = _all_betas(case)
    if by_beta is None:
        return None
    points = {beta: (one["MCG"], one["Pearson"]) for beta, one in by_beta.items()}
    beaten = {beta for beta, (mcg, rho) in points.items() if any(m > mcg and r > rho for m, r in points.values())}
    return not {35, 50} <= beaten


def _apart(rows) -> float:
    """The largest difference of one participant's accuracies."""
    return float(np.ptp(np.array(rows), axis=0).max())


BETA_CLAIMS = (
    Trait("like complete", 908, "lower values [...] emulating a fully-connected graph [its accuracies]",
          _complete_without_beta, f"beta = 0: each accuracy within {SLIGHT:g} points of the complete graph's"),
    Trait("sends like complete", 908, "lower values [...] emulating a fully-connected graph [its messages]",
          _complete_messages, "beta = 0: no fewer messages than on the complete graph"),
    Trait("fairer", 908, "higher values of beta [...] promoting fairness", _fairer_with_beta,
          f"Pearson (B, A) higher at beta = {max(PRINTED_BETAS)} than at {min(PRINTED_BETAS)}"),
    Trait("varies slightly", 1486, "participant-level performance varies slightly", _varies_slightly,
          f"each participant's accuracies over the printed betas within {SLIGHT:g} points"),
    Trait("35 or 50 unbeaten in both", 1486, "intermediate values of beta (e.g., 35-50) strike a favorable balance",
          _balance_between, "35 or 50: no other printed beta has both a higher MCG and a higher Pearson (B, A)"),
)  # fmt: skip


def skin_cases(records: list[dict]) -> list[dict]:
    """One case for each seed and evaluation point of the experiment fed-isic: B, and what each method gave."""
    groups = {}
    for record in records:
        method = METHODS.get((record["method"], record["options"].get("topology")))
        if method and record["standalone"] is not None:
            groups.setdefault(record["seed"], {})[method] = record
    found = []
    for seed, by_method in groups.items():
        alone = next(iter(by_method.values()))["standalone"]
        for point in POINTS:
            case = {"seed": seed, "tested": point, "alone": alone}
            case |= {method: readings.measured(record, point) for method, record in by_method.items()}
            if "cycle" in by_method:
                case["weights"] = [np.array(entry["matrix"]) for entry in by_method["cycle"]["reputation"]]
            found.append(case)
    return found


def _two_struggle(case, facts):
    return max(case["alone"][4:6]) < 20


def _two_are_best(case, facts):
    return set(np.argsort(case["alone"])[-2:].tolist()) == {2, 3}


def _complete_is_best(case, facts):
    others = [case[name]["MCG"] for name in ("ring", "exponential", "cycle") if name in case]
    return bool(case["complete"]["MCG"] > max(others)) if "complete" in case and others else None


def _complete_is_uniform(case, facts):
    return bool(case["complete"]["spread"] <= UNIFORM * np.std(case["alone"])) if "complete" in case else None


def _complete_is_negative(case, facts):
    known = "complete" in case and np.isfinite(case["complete"]["Pearson"])
    return bool(case["complete"]["Pearson"] < 0) if known else None


def _complete_fails(case, facts):
    known = "complete" in case and np.isfinite(case["complete"]["Pearson"])
    return not _fair(case["complete"]) if known else None


def _significant(case, facts):
    return _fair(case["cycle"]) if "cycle" in case else None


def _ring_fails(case, facts):
    return not _fair(case["ring"]) if "ring" in case else None


def _fair(measured):
    return bool(measured["Pearson"] > 0 and measured["p"] < SIGNIFICANT)


def _lowest_spread(case, facts):
    others = [case[name]["CGS"] for name in ("complete", "ring", "exponential") if name in case]
    return bool(case["cycle"]["CGS"] < min(others)) if "cycle" in case and others else None


def _utility(case, facts):
    """No larger part of the complete graph's MCG is given up than in print."""
    if not {"cycle", "complete"} <= set(case):
        return None
    return bool(case["cycle"]["MCG"] >= facts["kept"] * case["complete"]["MCG"])


def _fourth_rises(case, facts):
    """What P1 thinks of P4 against its mean opinion of the others, at the first and at the last calibration."""
    if "weights" not in case:
        return None
    first, last = (W[0, 3] / W[0, 1:].mean() for W in (case["weights"][0], case["weights"][-1]))
    return bool(first < 1 and last > first)


SKIN_CLAIMS = (
    Trait("lowest CGS", 577, "CYCle achieves the lowest CGS", _lowest_spread, "CGS below that of all three graphs"),
    Trait("utility", 577, "while preserving collaborative utility [no more is given up than in print]", _utility,
          "no larger part of the complete graph's MCG given up than in print"),
    Trait("P4 rises", 1123, "initially, P1 assigns a lower reputation score to P4 [...] over time [it] improves",
          _fourth_rises, "P1's weight of P4 against its mean weight: below 1 at first, higher at the end"),
    Trait("P5, P6 below 20", 1183, "participants 5 and 6 struggle significantly, [...] below 20%", _two_struggle,
          "alone both P5 and P6 below 20 %"),
    Trait("P3, P4 best", 1183, "participants 3 and 4 achieve the best performance [alone]", _two_are_best,
          "alone P3 and P4 are the best two"),
    Trait("complete highest", 1183, "a complete graph topology achieves the highest overall performance",
          _complete_is_best, "the complete graph's MCG above that of ring, exponential and CYCle"),
    Trait("complete uniform", 1183, "all participants converge to a uniform final performance", _complete_is_uniform,
          f"complete graph: spread of accuracy at most {UNIFORM:.0%} of the spread alone"),
    Trait("complete unfair", 1183, "it fails to provide equitable outcomes", _complete_fails,
          f"complete graph: Pearson (B, A) not above 0 with p below {SIGNIFICANT}"),
    Trait("complete negative", 1183, "Pearson's corr. coefficient of -0.2649 [below zero]", _complete_is_negative,
          "complete graph: Pearson (B, A) below 0"),
    Trait("CYCle significant", 1185, "a high correlation coefficient [...], with a small p-value", _significant,
          f"Pearson (B, A) above 0, p below {SIGNIFICANT}"),
    Trait("ring unfair", 1185, "a ring topology [...] fails to deliver fair outcomes", _ring_fails,
          f"ring: Pearson (B, A) not above 0 with p below {SIGNIFICANT}"),
)  # fmt: skip


def verdicts(found: list[dict], checks, facts: dict | None = None) -> pd.DataFrame:
    """One row for each sentence: line, quote, verdict after and before the mixing."""
    rows = []
    for check in checks:
        row = {"line": f"L{check.line}", "claim": check.quote}
        for point in POINTS:
            tested = [case for case in found if case["tested"] == point]
            undecided = "undecided" if tested else "not run"  # e.g. a correlation that is undefined
            row[f"tested {point} mixing"] = readings.verdict(tested, check, facts or {}) or undecided
        rows.append(row)
    return pd.DataFrame(rows)
