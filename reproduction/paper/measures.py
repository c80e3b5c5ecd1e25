"""The measures recomputed from the accuracies that are printed by participant, beside what is printed."""

from functools import cache

import pandas as pd

from cycle import metrics
from reproduction import paper
from reproduction.paper.printed_runs import HONEST, per_participant, recomputed
from reproduction.settings import split_slug

PRINTED_IN = {"performance-study-table-c100": "performance-study-c100"}  # where a table's averages stand, if elsewhere
DETAIL = {  # the table by participant behind a line of the main tables
    ("performance-study", "ResNet18"): "performance-study-table-c10-left",
    ("performance-study", "CNN"): "performance-study-table-c10-right",
    ("performance-study-c100", "ResNet18"): "performance-study-table-c100",
}


@cache
def accuracies() -> pd.DataFrame:
    """One row for each method and split that is printed by participant (free riders aside): alone and together."""
    frame = per_participant(paper.tables())
    frame = frame[~frame["table"].isin(HONEST) & frame["method"].ne("SA")].reset_index(drop=True)
    data, model, label, _ = zip(*frame["run"], strict=True)
    frame = frame.assign(data=data, model=model, split=list(map(split_slug, label)), method=frame["method"].str.lower())
    return frame[["table", "data", "model", "split", "method", "before", "after"]]


@cache
def measures() -> pd.DataFrame:
    """Every measure of each of these rows, CGS by both conventions."""
    rows = []
    for row in accuracies().to_dict("records"):
        sample, population = (metrics.fairness_report(row["before"], row["after"], ddof) for ddof in (1, 0))
        rows.append(
            {name: row[name] for name in ("table", "data", "model", "split", "method")}
            | {"MVA": sample.mva, "MCG": sample.mcg, "CGS 1/(N-1)": sample.cgs, "CGS 1/N": population.cgs}
            | {"smallest gain": sample.min_gain, "losers": sample.losers, "correlation": sample.correlation}
            | {"p": sample.correlation_p, "correlation (B, G)": sample.gain_correlation}
            | {"Cantelli": sample.cantelli_bound}
        )
    return pd.DataFrame(rows)


def agreement() -> pd.DataFrame:
    """Of the averages printed beside accuracies, how many each convention meets within rounding."""
    frame = recomputed(paper.tables())
    beside = frame["printed_in"].eq(frame["table"].replace(PRINTED_IN)) & ~frame["table"].isin(HONEST)
    rows = []
    for measure, fits in ("MVA", "fits"), ("MCG", "fits"), ("CGS 1/(N-1)", "fits_sample"), ("CGS 1/N", "fits"):
        fit = frame.loc[beside & frame["method"].ne("SA") & frame["metric"].eq(measure.split()[0]), fits]
        rows.append({"measure": measure, "agrees": fit.sum(), "printed": len(fit)})
    return pd.DataFrame(rows)


def repeated() -> pd.DataFrame:
    """Averages that the main tables repeat from the tables by participant, with both values."""
    frame = paper.tables()
    frame = frame.assign(method=frame["method"].str.lower(), measure=frame["participant_or_metric"])
    main = frame.assign(table=[DETAIL.get(place, "") for place in zip(frame["table"], frame["model"], strict=True)])
    both = main.merge(frame, on=["table", "split", "method", "measure"], suffixes=("", " by participant"))
    names = {"value": "main table", "value by participant": "by participant"}
    return both.rename(columns=names)[["model", "split", "method", "measure", *names.values()]]
