"""The paper against itself: what its printed values, bold face, colours and sentences say about each other.

Every check takes the printed values as `paper.tables()` returns them. A finding says where (table and line of the
source), what is printed, what follows from the other printed values, and what this book does about it.
"""

import re

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction.paper.printed_runs import (
    GOSSIP,
    HONEST,
    PLAYERS,
    RUN,
    name_of,
    one_name_each,
    per_participant,
    recomputed,
    without_rows,
)

BEST = {"MVA": "max", "MCG": "max", "CGS": "min", "rho": "max"}
COLUMNS = ["kind", "where", "printed", "follows", "chose"]


def findings(values: pd.DataFrame) -> pd.DataFrame:
    """All contradictions among the printed values, one a row: kind, where, printed, follows, chose."""
    checks = (
        own_rows,
        other_tables,
        implied_standalone,
        pipelines,
        bold_face,
        colours,
        amount_of_data,
        dirichlet,
        flippers,
    )
    return pd.concat([check(values) for check in checks], ignore_index=True)


def own_rows(values: pd.DataFrame) -> pd.DataFrame:
    """Printed summaries that no rounding makes equal to what the participants' rows give (CGS with 1/N)."""
    frame = recomputed(values)
    wrong = frame[(frame["printed"] - frame["from the rows"]).abs() > frame["tolerance"]]
    cells = zip(wrong["where"], wrong["printed"], wrong["from the rows"], strict=True)
    rows = [(where, f"{printed:.2f}", f"{follows:.2f}") for where, printed, follows in cells]
    return _table("rows", rows, "printed values stand beside ours as they are; the chapter on fairness uses the rows")


def other_tables(values: pd.DataFrame) -> pd.DataFrame:
    """One quantity of one run printed with different values, where no participants' rows can decide between them."""
    frame = without_rows(values)
    frame, rows = frame[frame["participant_or_metric"] != "avg_honest"], []
    groups = frame.groupby([*RUN, "method", "participant_or_metric"], sort=False)
    apart = groups["value"].transform("max") - groups["value"].transform("min") > 0.005
    for (*run, method, metric), group in frame[apart].groupby(groups.keys, sort=False):
        first, *others = (f"{row.value:.2f} ({row.table}, L{row.line})" for row in group.itertuples())
        rows.append((f"{name_of(run)}, {method}, {metric}", first, "; ".join(others)))
    return _table("tables", rows, "each stands beside ours as it is printed")


def implied_standalone(values: pd.DataFrame) -> pd.DataFrame:
    """Splits whose mean standalone accuracy MVA - MCG is not the same for all methods of one pipeline."""
    rows = []
    for (table, *run, _), alone in _standalone(without_rows(values)):
        if np.ptp(alone) > 0.02 + 1e-9:  # four roundings of half a hundredth
            first, *others = (f"{method} {value:.2f}" for method, value in alone.items())
            rows.append((f"{table}: {name_of(run)}, MVA - MCG", first, "; ".join(others)))
    return _table("standalone", rows, "our own standalone runs, one for all methods")


def pipelines(values: pd.DataFrame) -> pd.DataFrame:
    """Runs whose distillation rows and gossip rows start from different standalone accuracies."""
    found = {}
    for (table, dataset, _, label, n, pipeline), alone in _standalone(one_name_each(values)):
        if table.startswith("noofparticipants"):
            found.setdefault((table, dataset, n, label), {})[pipeline] = alone.mean()
    rows = [
        (f"{table}: {dataset} {label}, N = {n}, MVA - MCG", f"distillation {pair['other']:.2f}", f"gossip {other:.2f}")
        for (table, dataset, n, label), pair in found.items()
        if abs((other := pair["gossip"]) - pair["other"]) > 0.02
    ]
    return _table("pipelines", rows, "gains of the two are not compared with each other")


def bold_face(values: pd.DataFrame) -> pd.DataFrame:
    """Values in bold that are not the best of their group, and best ones that are not, in measures a table bolds."""
    frame, rows = values[(values["method"] != "SA") & values["participant_or_metric"].isin(BEST)], []
    frame = frame.assign(pipeline=_pipeline(frame))
    for (table, metric), column in frame.groupby(["table", "participant_or_metric"], sort=False):
        if column["bold"].any():
            column = column.assign(best=column.groupby([*RUN, "pipeline"])["value"].transform(BEST[metric]))
            for row in column[column["value"].eq(column["best"]) != column["bold"].eq(1)].itertuples():
                run = name_of((row.dataset, row.model, row.label, row.N))
                printed = f"{row.value:.2f} {'bold' if row.bold else 'not bold'}"
                rows.append(
                    (f"{table}, L{row.line}: {run}, {row.method}, {metric}", printed, f"best is {row.best:.2f}")
                )
    return _table("bold", rows, "bold is ignored")


def colours(values: pd.DataFrame) -> pd.DataFrame:
    """Participants that lose and are not red, or are red and do not lose, in the tables that colour cells."""
    frame, rows = per_participant(values), []
    for row in frame[~frame["table"].isin(HONEST)].itertuples():
        gain = metrics.gains(row.before, row.after)
        for n in np.flatnonzero((gain < -1e-9) != (row.colour == "lightred")):
            where = f"{row.table}, L{row.line[n]}: {name_of(row.run)}, {row.method}, {PLAYERS[n]}"
            rows.append((where, f"{row.after[n]:.2f} {row.colour[n] or 'not coloured'}", f"gain {gain[n]:.2f}"))
    return _table("colour", rows, "losers are counted from the gains")


def amount_of_data(values: pd.DataFrame) -> pd.DataFrame:
    """Splits in which participants with less data of the same distribution are better alone than others with more."""
    frame, rows = per_participant(values), []
    frame = frame[(frame["method"] == "SA") & ~frame["table"].isin(HONEST)]
    for table, group in frame.groupby("table", sort=False):
        shares = []  # (share of the data, mean standalone accuracy, split)
        for row in group.itertuples():
            share = _shares(row.run[2])
            shares += [(part, row.before[share == part].mean(), row.run[2]) for part in np.unique(share)]
        for small, low, split in shares:
            for large, high, other in shares:
                if small < large - 1e-9 and low > high:
                    where = f"{table}: standalone, {100 * small:.0f} % of the data ({split})"
                    rows.append((where, f"{low:.2f}", f"below {high:.2f}, of {100 * large:.0f} % ({other})"))
    return _table("data", rows, "our own standalone runs on our own split")


def dirichlet(values: pd.DataFrame) -> pd.DataFrame:
    """Dirichlet splits in which everybody is worse alone than anybody with an equal share.

    If only the sizes varied, as L363 says, somebody would hold an equal share or more.
    """
    frame, rows = per_participant(values), []
    frame = frame[(frame["method"] == "SA") & ~frame["table"].isin(HONEST)]
    for table, group in frame.groupby("table", sort=False):
        alone = {row.run[2]: row.before for row in group.itertuples()}
        best, equal = alone["Dirichlet (0.5)"].max(), alone["Homogeneous"].min()
        if best < equal:
            where = f"L363 and {table}: Dirichlet (0.5), best standalone"
            rows.append((where, f"{best:.2f}", f"at least about {equal:.2f}, the worst with an equal share"))
    return _table("dirichlet", rows, "shares are drawn for each class; the sentence is the option quantity_skew")


def flippers(values: pd.DataFrame) -> pd.DataFrame:
    """Flip rates at which P5 ends elsewhere as the only flipper than beside a second one (by 4 standard errors).

    At rate 1 nobody scores it above zero, nor does it anybody (L553): it learns alone in both studies.
    """
    studies = [
        values[values["table"] == table].set_index(["method", "participant_or_metric"])["value"] for table in HONEST
    ]
    rows = []
    for method in studies[0].index.get_level_values(0).unique():
        if method != "SA":
            one, two = (study[method, "P5"] for study in studies)
            error = np.sqrt(sum(part * (100 - part) for part in (one, two)) / 2000)
            if abs(one - two) > 4 * error:
                where = f"free-rider tables, {method}: P5 as the only flipper, and beside P4"
                rows.append((where, f"{one:.2f}", f"{two:.2f}, {abs(one - two) / error:.0f} standard errors apart"))
    return _table("flippers", rows, "one and two flippers are run with the same kind of flip")


def spread_convention(values: pd.DataFrame) -> dict[str, int]:
    """How many printed CGS (the zeros of SA aside) fit their rows with 1/N, with 1/(N-1), with neither."""
    spread = recomputed(values).query("metric == 'CGS' and printed > 0")
    population, sample = (
        (spread["printed"] - spread[column]).abs() <= spread["tolerance"]
        for column in ("from the rows", "with 1/(N-1)")
    )
    return {
        "printed CGS": len(spread),
        "fit 1/N": int(population.sum()),
        "fit 1/(N-1)": int(sample.sum()),
        "fit neither": int((~population & ~sample).sum()),
    }


def _standalone(frame):
    """For each table, run and pipeline: MVA - MCG by method."""
    keys = ["table", *RUN, "pipeline"]
    frame = frame.assign(pipeline=_pipeline(frame))
    wide = frame.pivot_table(index=[*keys, "method"], columns="participant_or_metric", values="value", sort=False)
    for key, alone in (wide["MVA"] - wide["MCG"]).dropna().groupby(level=keys, sort=False):
        yield key, alone.droplevel(keys)


def _pipeline(frame):
    return np.where(frame["method"].isin(GOSSIP), "gossip", "other")


def _shares(label):
    """The shares of five participants in a split by size, 'Homogeneous' or 'Imbalanced (kappa, m)'; else none."""
    if label == "Homogeneous":
        return np.full(5, 0.2)
    if not label.startswith("Imbalanced"):
        return np.array([])
    kappa, m = (float(part) for part in re.findall(r"[\d.]+", label))
    return np.where(np.arange(5) < m, kappa, (1 - m * kappa) / (5 - m)).round(6)


def _table(kind, rows, chose):
    return pd.DataFrame([(kind, *row, chose) for row in rows], columns=COLUMNS)
