"""The measures recomputed from the accuracies that are printed by participant, beside what is printed."""

from functools import cache

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction import paper

PLAYERS = [f"P{n}" for n in range(1, 6)]
ROUNDING = 0.0101  # two printed digits: a recomputed mean or spread may differ by 0.01
PRINTED_IN = {"performance-study-table-c100": "performance-study-c100"}  # where a table's averages stand, if elsewhere
DETAIL = {  # the table by participant behind a line of the main tables
    ("performance-study", "ResNet18"): "performance-study-table-c10-left",
    ("performance-study", "CNN"): "performance-study-table-c10-right",
    ("performance-study-c100", "ResNet18"): "performance-study-table-c100",
}


@cache
def accuracies() -> pd.DataFrame:
    """One row for each method and split that is printed by participant (free riders aside): alone and together."""
    printed = paper.participants()
    printed = printed[~printed["table"].str.startswith("free-rider")]
    alone = printed[printed["method"] == "SA"].set_index(["table", "split"])[PLAYERS]
    rows = [
        {"table": row["table"], "data": row["dataset"], "model": row["model"], "split": row["split"]}
        | {"method": row["method"].lower(), "before": alone.loc[(row["table"], row["split"])].to_numpy(dtype=float)}
        | {"after": row[PLAYERS].to_numpy(dtype=float)}
        for _, row in printed[printed["method"] != "SA"].iterrows()
    ]
    return pd.DataFrame(rows)


@cache
def measures() -> pd.DataFrame:
    """Every measure of each of these rows, CGS by both conventions."""
    rows = []
    for row in accuracies().itertuples():
        sample, population = (metrics.fairness_report(row.before, row.after, ddof) for ddof in (1, 0))
        rows.append(
            {"table": row.table, "data": row.data, "model": row.model, "split": row.split, "method": row.method}
            | {"MVA": sample.mva, "MCG": sample.mcg, "CGS 1/(N-1)": sample.cgs, "CGS 1/N": population.cgs}
            | {"smallest gain": sample.min_gain, "losers": sample.losers, "correlation": sample.correlation}
            | {"p": sample.correlation_p, "correlation (B, G)": sample.gain_correlation}
            | {"Cantelli": sample.cantelli_bound}
        )
    return pd.DataFrame(rows)


def agreement() -> pd.DataFrame:
    """Of the averages printed beside accuracies, how many each convention meets within rounding."""
    rows = []
    for ours in measures().to_dict("records"):
        for name in ("MVA", "MCG", "CGS"):
            stated = _printed(PRINTED_IN.get(ours["table"], ours["table"]), ours["split"], ours["method"], name)
            if stated is not None:
                fits = {key: abs(ours[key] - stated) <= ROUNDING for key in ours if key.startswith(name)}
                rows += [{"measure": key, "agrees": fit} for key, fit in fits.items()]
    found = pd.DataFrame(rows).groupby("measure", sort=False)["agrees"].agg(["sum", "size"])
    return found.reset_index().rename(columns={"sum": "agrees", "size": "printed"})


def repeated() -> pd.DataFrame:
    """Averages that the main tables repeat from the tables by participant, with both values."""
    rows = []
    for row in paper.tables().itertuples():
        if detail := DETAIL.get((row.table, row.model)):
            other = _printed(detail, row.split, row.method.lower(), row.participant_or_metric)
            if other is not None:
                where = {"model": row.model, "split": row.split, "method": row.method.lower()}
                values = {"measure": row.participant_or_metric, "main table": row.value, "by participant": other}
                rows.append(where | values)
    return pd.DataFrame(rows)


@cache
def _all() -> dict[tuple, float]:
    frame = paper.tables().drop_duplicates(["table", "split", "method", "participant_or_metric"])
    keys = zip(frame["table"], frame["split"], frame["method"].str.lower(), frame["participant_or_metric"], strict=True)
    return dict(zip(keys, frame["value"], strict=True))


def _printed(table: str, split: str, method: str, measure: str) -> float | None:
    return _all().get((table, split, method, measure))


def if_losers_fall_back() -> pd.DataFrame:
    """The method with the smallest spread on each split, as printed and where a loser keeps its own model instead."""
    rows = []
    for key, group in accuracies().groupby(["data", "model", "split"], sort=False):
        gains = {row.method: metrics.gains(row.before, row.after) for row in group.itertuples()}
        kept = {method: np.maximum(gain, 0) for method, gain in gains.items()}
        best = [min(found, key=lambda method: found[method].std()) for found in (gains, kept)]
        rows.append(dict(zip(("data", "model", "split", "as printed", "losers fall back"), (*key, *best), strict=True)))
    return pd.DataFrame(rows)
