"""Sentences of the paper about its own tables, each with the check that the printed values allow."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction.paper import audit

TEN_SPLITS = ("performance-study", "imbstudy")
BY_NUMBER = ("noofparticipantsv3-part1",)


@dataclass(frozen=True)
class Claim:
    line: int
    quote: str
    check: Callable[[pd.DataFrame], tuple[int, list[str]]]  # how many cases it covers, and those against it
    otherwise: str = "contradicted"  # or "not shown" by what is printed, or "stretched": a word without a number
    share: float = 1.0  # of the cases that the sentence itself claims: "most" is a half


def verdicts(values: pd.DataFrame) -> pd.DataFrame:
    """One row for each claim: line, quote, cases it covers, cases against it (all named), verdict."""
    rows = []
    for claim in CLAIMS:
        cases, against = claim.check(values)
        verdict = "holds" if len(against) <= (1 - claim.share) * cases else claim.otherwise
        row = {"line": f"L{claim.line}", "claim": claim.quote, "cases": cases, "against": len(against)}
        rows.append({**row, "verdict": verdict, "which": "; ".join(against)})
    return pd.DataFrame(rows)


def everybody_gains(values):
    """Everybody gains with CYCle wherever participants are printed and nobody flips labels."""
    rows = audit.per_participant(values)
    rows = list(rows[rows["method"].eq("CYCle") & ~rows["table"].isin(audit.HONEST)].itertuples())
    gains = [(row, gain) for row in rows for gain in metrics.gains(row.before, row.after)]
    return len(gains), [f"{_where(row.run)}: {gain:.2f}" for row, gain in gains if gain <= 0]


def honest_gain(values):
    """P1 to P3 gain at every flip rate when P4 and P5 flip their labels."""
    rows = [row for row in audit.per_participant(values).itertuples() if row.method.endswith("two flip")]
    gains = [(row, gain) for row in rows for gain in metrics.gains(row.before, row.after)[:3]]
    return len(gains), [f"{row.method} {gain:.2f}" for row, gain in gains if gain <= 0]


def best_contributor_loses(values):
    """With CFFL, RFFL and CGSV, whoever is best alone loses."""
    rows = [row for row in audit.per_participant(values).itertuples() if row.method in ("CFFL", "RFFL", "CGSV")]
    gains = [(row, metrics.gains(row.before, row.after)[row.before.argmax()]) for row in rows]
    return len(rows), [f"{row.method} {row.run[2]} {gain:+.2f}" for row, gain in gains if gain >= 0]


def p1_loses_in_two_splits(values):
    """P1 loses with FedAvg and VPDL (ResNet18) in the two splits named."""
    named = ("Imbalanced (0.8, 1)", "Imbalanced (0.6, 1)")
    rows = audit.per_participant(values)
    rows = rows[rows["table"].eq("performance-study-table-c10-left") & rows["method"].isin(["FedAvg", "VPDL"])]
    gains = [(row, metrics.gains(row.before, row.after)[0]) for row in rows.itertuples() if row.run[2] in named]
    return len(gains), [f"{row.method} {row.run[2]} {gain:+.2f}" for row, gain in gains if gain >= 0]


def certified_by_number(values):
    return _certified(values, *BY_NUMBER)


def certified_imbalanced(values):
    return _certified(values, "imbstudy")


def fedavg_gains_most(values):
    return _compare(values, ("performance-study",), "FedAvg", ("VPDL", "CYCle"), "MCG", np.greater)


def vpdl_is_least(values):
    both = [
        _compare(values, ("performance-study-c100",), "VPDL", ("FedAvg", "CYCle"), metric, np.less)
        for metric in ("MVA", "MCG")
    ]
    return sum(cases for cases, _ in both), sum((against for _, against in both), [])


def lowest_spread_but_one(values):
    """With the CNN no method has a lower CGS than CYCle, the split (0.8, 1) aside."""
    others = values[values["label"] != "Imbalanced (0.8, 1)"]
    return _compare(others, ("performance-study",), "CYCle", ("CFFL", "RFFL", "CGSV"), "CGS", np.less)


def on_par_with_rffl(values):
    """... and there CYCle's CGS is not above RFFL's."""
    split = values[values["label"] == "Imbalanced (0.8, 1)"]
    return _compare(split, ("performance-study",), "CYCle", ("RFFL",), "CGS", np.less_equal)


def spread_below_vpdl(values):
    return _compare(values, BY_NUMBER, "CYCle[PDL]", ("VPDL",), "CGS", np.less)


def spread_below_gossip(values):
    return _compare(values, BY_NUMBER, "CYCle[Gossip]", ("DSGD",), "CGS", np.less)


def gain_not_below_gossip(values):
    return _compare(values, BY_NUMBER, "CYCle[Gossip]", ("DSGD",), "MCG", np.greater_equal)


def spread_below_both(values):
    return _compare(values, ("imbstudy",), "CYCle", ("FedAvg", "VPDL"), "CGS", np.less)


def utility_on_skin(values):
    gossip = ("Gossip-SGD (Complete)", "Gossip-SGD (Ring)", "Gossip-SGD (Exponential)")
    return _compare(values, ("cycle-gossip-sgd-mcg-cgs",), "CYCle", gossip, "MCG", np.greater_equal)


def highest_mean_gain(values):
    return _average(values, "MCG", np.greater_equal)


def lowest_mean_spread(values):
    return _average(values, "CGS", np.less_equal)


def flipping_lowers_the_average(values):
    """The honest participants' average is lower at every flip rate above zero than at zero."""
    frame = values[values["participant_or_metric"].eq("avg_honest") & values["method"].str.contains("flip")]
    against, cases = [], 0
    for table, group in frame.groupby("table", sort=False):
        average = group.set_index("method")["value"]
        clean, flipped = average["CYCle flip=0.0"], average.drop("CYCle flip=0.0")
        cases += len(flipped)
        against += [f"{table} {method}" for method, value in flipped.items() if value >= clean]
    return cases, against


def spread_below_fedavg(values):
    """In the imbalanced settings, with ResNet18."""
    imbalanced = values[values["label"].str.startswith("Imbalanced")]
    return _compare(imbalanced, ("performance-study",), "CYCle", ("FedAvg",), "CGS", np.less)


def gain_in_most(values):
    """MCG against CFFL, RFFL and CGSV."""
    return _compare(values, ("performance-study",), "CYCle", ("CFFL", "RFFL", "CGSV"), "MCG", np.greater)


def p1_loses_in_most(values):
    """P1's gain in the imbalanced settings under the methods with a server."""
    rows = audit.per_participant(values)
    rows = rows[rows["table"].str.contains("c10-") & rows["method"].isin(["FedAvg", "CFFL", "RFFL", "CGSV"])]
    gains = [(row, row.after[0] - row.before[0]) for row in rows.itertuples() if row.run[2].startswith("Imbalanced")]
    return len(gains), [f"{row.method} {row.run[2]} {gain:+.2f}" for row, gain in gains if gain >= 0]


def p1_declines(values):
    """FedAvg on CIFAR-100, imbalanced (0.8, 1)."""
    rows = audit.per_participant(values)
    rows = rows[rows["table"].eq("performance-study-table-c100") & rows["method"].eq("FedAvg")]
    gains = [
        metrics.gains(row.before, row.after)[0] for row in rows.itertuples() if row.run[2] == "Imbalanced (0.8, 1)"
    ]
    return len(gains), [f"{gain:+.2f}" for gain in gains if gain >= 0]


def complete_graph_gains_most(values):
    others = ("Gossip-SGD (Ring)", "Gossip-SGD (Exponential)", "CYCle")
    return _compare(values, ("cycle-gossip-sgd-mcg-cgs",), "Gossip-SGD (Complete)", others, "MCG", np.greater_equal)


def vpdl_is_neither_accurate_nor_fair(values):
    """VPDL has the lowest MVA and the highest CGS of the three methods."""
    both = [
        _compare(values, ("imbstudy",), "VPDL", ("FedAvg", "CYCle"), metric, holds)
        for metric, holds in (("MVA", np.less), ("CGS", np.greater))
    ]
    return sum(cases for cases, _ in both), sum((against for _, against in both), [])


def towards_vpdl_is_better(values):
    """VPDL's MCG is above CYCle's in the homogeneous setting, so that coming closer to it would raise MCG."""
    homogeneous = values[values["label"] == "Homogeneous"]
    tables = (*BY_NUMBER, "noofparticipantsv3-part2")
    return _compare(homogeneous, tables, "VPDL", ("CYCle[PDL]",), "MCG", np.greater)


def ten_scenarios_for_all(values):
    """Each method of the figure has values for all ten splits."""
    frame = values[values["table"].isin(TEN_SPLITS)].groupby("method")["label"].nunique()
    return len(frame), [f"{method}: {count} splits" for method, count in frame.items() if count < 10]


def cgsv_pays_with_spread(values):
    """Wherever CGSV's MCG is above CYCle's, so is its CGS."""
    frame = values[values["table"].eq("performance-study")]
    _, higher = _compare(frame, ("performance-study",), "CYCle", ("CGSV",), "MCG", np.greater)
    _, wider = _compare(frame, ("performance-study",), "CGSV", ("CYCle",), "CGS", np.greater)
    where = {text.split(":")[0] for text in higher}
    return len(where), [text for text in wider if text.split(":")[0] in where]


def quoted_numbers(values):
    """The figures that the text repeats from the table for N = 20."""
    table = values[values["table"] == "appendix-n20-results"].set_index(["dataset", "method", "participant_or_metric"])
    return len(QUOTED), [
        f"{' '.join(key)}: {quoted}" for key, quoted in QUOTED.items() if table["value"][key] != quoted
    ]


QUOTED = {
    ("CIFAR-10", "Gossip-SGD", "MCG"): 28.59,
    ("CIFAR-10", "CYCle", "MCG"): 27.87,
    ("CIFAR-10", "CYCle", "CGS"): 6.06,
    ("CIFAR-10", "Gossip-SGD", "CGS"): 7.70,
    ("CIFAR-10", "CYCle", "rho"): 0.9353,
    ("CIFAR-10", "Gossip-SGD", "rho"): -0.4637,
    ("CIFAR-100", "Gossip-SGD", "rho"): -0.7297,
    ("CIFAR-100", "CYCle", "rho"): 0.8164,
}

CLAIMS = (
    Claim(349, "this extension maintains fairness and improves utility", utility_on_skin, "stretched"),
    Claim(424, "FedAvg has better MCG compared to other methods", fedavg_gains_most),
    Claim(
        424, "significantly lower CGS values compared to the FedAvg algorithm in the imbalanced", spread_below_fedavg
    ),
    Claim(424, "our method consistently provides positive collaboration gains to all participants", everybody_gains),
    Claim(
        424,
        "not the case for FedAvg or VPDL, which is evident in the outcomes for P1 in the imbalanced (0.8, 1) and "
        "(0.6, 1) settings",
        p1_loses_in_two_splits,
    ),
    Claim(425, "better or comparable CG values [...] in most of the scenarios", gain_in_most, share=0.5),
    Claim(425, "the lowest CGS values in all but one scenario", lowest_spread_but_one),
    Claim(425, "the imbalanced (0.8, 1) setting, where it is on par with RFFL", on_par_with_rffl, "stretched"),
    Claim(
        426,
        "other methods degrade performance for the most contributing participant",
        best_contributor_loses,
        "stretched",
    ),
    Claim(
        479,
        "In all settings, we consistently achieve a positive collaboration gain for all participants",
        certified_by_number,
        "not shown",
    ),
    Claim(479, "the CYCle method consistently has lower CGS compared to VPDL", spread_below_vpdl),
    Claim(480, "CYCle significantly reduces CGS", spread_below_gossip, "stretched"),
    Claim(480, "without compromising MCG", gain_not_below_gossip, "stretched"),
    Claim(555, "in the presence of flipped labels, the collaboration gain declines", flipping_lowers_the_average),
    Claim(577, "the lowest CGS while preserving collaborative utility", utility_on_skin, "stretched"),
    Claim(1183, "Gossip-SGD with a complete graph topology achieves the highest", complete_graph_gains_most),
    Claim(1269, "FedAvg algorithm results in a decline in accuracy for P1", p1_declines),
    Claim(1271, "VPDL [...] underperforms in both MVA and MCG across all scenarios", vpdl_is_least),
    Claim(1347, "ensuring positive collaboration gains for each participant", certified_imbalanced, "not shown"),
    Claim(
        1347,
        "VPDL [...] significantly underperforms in both accuracy and fairness",
        vpdl_is_neither_accurate_nor_fair,
        "stretched",
    ),
    Claim(1347, "lower CGS across all five settings", spread_below_both),
    Claim(1353, "the honest participants (P1, P2, and P3) maintain positive collaboration gains", honest_gain),
    Claim(1422, "28.59 [...] 27.87 [...] 6.06 vs. 7.70 [...] 0.9353 [...] -0.4637 (and L1440)", quoted_numbers),
    Claim(1450, "the MCG and CGS values for 10 different data-split scenarios", ten_scenarios_for_all, "not shown"),
    Claim(1452, "On average, CYCle achieves the highest MCG [...] in the 10 scenarios", highest_mean_gain, "stretched"),
    Claim(1452, "On average, CYCle achieves [...] the lowest CGS in the 10 scenarios", lowest_mean_spread),
    Claim(
        1453, "CGSV may occasionally achieve a higher MCG, but its CGS is substantially worse", cgsv_pays_with_spread
    ),
    Claim(
        1466,
        "[improved MCG] is expected as higher values [of tau] bring our algorithm closer to the VPDL framework",
        towards_vpdl_is_better,
    ),
    Claim(
        1506,
        "negative gain experienced by the participant P1 [...] under most existing FL algorithms",
        p1_loses_in_most,
        share=0.5,
    ),
)


def _certified(values, table):
    """MCG and CGS of CYCle leave no room for a loser in a table that prints nothing else."""
    frame = audit.smallest_gains(values)
    frame = frame[frame["table"].eq(table) & frame["method"].isin(["CYCle", "CYCle[Gossip]"])]
    loses = frame[frame["verdict"] != "nobody loses"].set_index("run")["smallest possible gain"]
    return len(frame), [f"{run}: {gain:.2f}" for run, gain in loses.items()]


def _compare(values, tables, method, others, metric, holds):
    """Cases method-against-other in these tables, and those in which holds(method, other) fails."""
    frame = values[values["table"].isin(tables) & values["participant_or_metric"].eq(metric)]
    cases, against = 0, []
    for run, group in frame.groupby(audit.RUN, sort=False):
        value = group.set_index("method")["value"]
        for other in [other for other in others if {method, other} <= set(value.index)]:
            cases += 1
            if not holds(value[method], value[other]):
                against.append(f"{_where(run)}: {value[method]:.2f} against {other} {value[other]:.2f}")
    return cases, against


def _average(values, metric, holds):
    """CYCle's mean over the ten CIFAR-10 splits with ResNet18 against those of FedAvg and VPDL."""
    frame = values[values["table"].isin(TEN_SPLITS) & values["model"].eq("ResNet18")]
    mean = frame[frame["participant_or_metric"].eq(metric)].groupby("method")["value"].mean()
    others = mean.drop("CYCle")
    against = [f"CYCle {mean['CYCle']:.2f}, {other} {value:.2f}" for other, value in others.items()]
    return len(others), [text for text, value in zip(against, others, strict=True) if not holds(mean["CYCle"], value)]


def _where(run):
    dataset, _, label, n = run
    return f"{dataset} {label}, N = {n}"
