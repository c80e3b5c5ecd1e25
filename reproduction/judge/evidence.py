"""The tables that claims ask: recorded runs, each beside the others of its setting, and groups of them."""

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction import paper
from reproduction.judge.readings import frame_of, pairs_of, reading_of
from reproduction.judge.trials import SETTING, Trial, measures, runs

GRAPHS = ("complete", "ring", "exponential", "cycle")
PRINTED_BETAS = (5, 15, 35, 50, 100)
PRINTED_PEARSON = {"complete": -0.2649, "cycle": 0.9577}  # Fed-ISIC2019: L1183 and L1185, in the text only
PRINTED_P = {"cycle": 0.0026}


def pairs(found: list[Trial]) -> pd.DataFrame:
    """One row for each trial and each other of its setting, whose columns end in _other."""
    frame = runs(found)
    both = frame.merge(frame, on=SETTING, suffixes=("", "_other")).query("method != method_other")
    return both.assign(case=both["case"] + " against " + both["method_other"])


def averages(found: list[Trial], splits: int = 10) -> pd.DataFrame:
    """How far CYCle is ahead of other methods in the mean over splits, for each network that has so many of them.

    Each split counts once, however many seeds it has. Where no network has so many splits, one row says so.
    """
    both = pairs(found).query("method == 'cycle'")
    both = both.assign(MCG=both["MCG"] - both["MCG_other"], CGS=both["CGS"] - both["CGS_other"])
    by_split = both.groupby(["method_other", "model", "split"], sort=False)[["MCG", "CGS"]].mean()
    rows = []
    for other, group in by_split.groupby("method_other", sort=False):
        networks = [(model, part) for model, part in group.groupby("model", sort=False) if len(part) >= splits]
        for model, part in networks:
            case = f"{model} against {other}, mean over {splits} splits"
            rows.append({"case": case, "method_other": other, "splits": len(part)} | part.mean().to_dict())
        if not networks:
            rows.append({"case": f"against {other}, fewer than {splits} splits", "method_other": other, "splits": 0})
    return pd.DataFrame(rows, columns=["case", "method_other", "splits", "MCG", "CGS"])


def grid(found: list[Trial]) -> pd.DataFrame:
    """One row for each setting and option that takes three values or more: how the measures go with it."""
    rows = []
    for place, variants in runs(found).query("kind == 'cycle'").groupby("place", sort=False):
        for option in ("tau_opt", "tau_max"):
            if variants[option].nunique() > 2:
                row = {"case": f"{place}, {option}", "split": variants["split"].iloc[0], "option": option}
                for name in ("MCG", "CGS"):
                    row |= {f"{name}_least": variants[name].min(), f"{name}_most": variants[name].max()}
                    row |= {f"{name}_with_it": metrics.pearson(variants[option], variants[name])[0]}
                rows.append(row)
    return pd.DataFrame(rows)


def after_mixing(found: list[Trial]) -> pd.DataFrame:
    """CYCle's gossip beside the complete graph, as tested after the mixing."""
    frame = frame_of(found)
    return frame[frame["tested"] == "after"] if len(frame) else frame


def betas(found: list[Trial]) -> pd.DataFrame:
    """One row for each setting: CYCle's gossip over the printed betas, and at beta = 0 beside the complete graph."""
    groups: dict[str, tuple] = {}
    for one, complete in pairs_of(found):
        if reading_of(one.record) == "as printed":
            groups.setdefault(str(complete), (complete, {}))[1][one.record["options"]["beta"]] = one
    rows = []
    for place, (complete, by_beta) in groups.items():
        row = {"case": place, "zero_missing": 0 not in by_beta}
        row |= {"some_missing": not by_beta.keys() >= set(PRINTED_BETAS)}
        if 0 in by_beta:
            row |= {"apart_from_complete": _apart([by_beta[0], complete])}
            row |= {"sent": by_beta[0].record["messages"]["sent"], "sent_complete": complete.record["messages"]["sent"]}
        if not row["some_missing"]:
            points = {beta: (by_beta[beta].report.mcg, by_beta[beta].report.correlation) for beta in PRINTED_BETAS}
            row |= {"apart": _apart([by_beta[beta] for beta in PRINTED_BETAS])}
            row |= {f"rho_{beta}": rho for beta, (_, rho) in points.items()}
            row |= {f"beaten_{beta}": _beaten(points[beta], points.values()) for beta in PRINTED_BETAS}
        rows.append(row)
    return pd.DataFrame(rows)


def _apart(trials: list[Trial]) -> float:
    """The largest difference of one participant's accuracies."""
    return float(np.ptp([trial.record["accuracy"] for trial in trials], axis=0).max())


def _beaten(point: tuple, points) -> bool:
    """Whether one of the points is larger in both."""
    return any(gain > point[0] and rho > point[1] for gain, rho in points)


def by_graph(found: list[Trial]) -> list[dict[str, Trial]]:
    """For each setting the gossip of the three graphs, and CYCle's."""
    groups: dict[tuple, dict[str, Trial]] = {}
    for trial in found:
        if "gossip" in trial.run.method:
            name = "cycle" if trial.run.method == "cycle-gossip" else trial.record["options"]["topology"]
            groups.setdefault(trial.setting, {})[name] = trial
    return list(groups.values())


def graphs(found: list[Trial]) -> pd.DataFrame:
    """One row for each of these settings: the measures by graph, and who is how good alone."""
    rows = []
    for group in by_graph(found):
        trial = next(iter(group.values()))
        alone = trial.record["standalone"]
        row = {"case": str(trial), "alone": np.std(alone), "fifth": alone[4], "sixth": alone[5]}
        row |= {"third_and_fourth_best": set(np.argsort(alone)[-2:].tolist()) == {2, 3}}
        row |= {"kept_in_print": kept_in_print()}
        row |= {f"{name}_missing": name not in group for name in GRAPHS}
        measured = {name: measures(one) for name, one in group.items()}
        row |= {f"{key}_{name}": value for name, found in measured.items() for key, value in found.items()}
        row["CGS_of_the_graphs"] = min((measured[name]["CGS"] for name in group if name != "cycle"), default=np.nan)
        row["MCG_of_the_others"] = max((measured[name]["MCG"] for name in group if name != "complete"), default=np.nan)
        if "cycle" in group:
            weights = [np.array(entry["matrix"]) for entry in group["cycle"].record["reputation"]]
            for when, W in (("first", weights[0]), ("last", weights[-1])):
                row[f"fourth_at_{when}"] = W[0, 3] / W[0, 1:].mean()
        rows.append(row)
    return pd.DataFrame(rows)


def kept_in_print() -> float:
    """The part of the complete graph's MCG that CYCle keeps on Fed-ISIC2019 in the paper's table."""
    cycle, complete = (paper.metric("fed-isic", method, "natural", 6, "MCG") for method in ("cycle-gossip", "gossip"))
    return cycle / complete
