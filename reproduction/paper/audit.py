"""The paper against itself: what its printed values, bold face, colours and sentences say about each other.

Every check takes the printed values as `paper.tables()` returns them. A finding says where (table and line of the
source), what is printed, what follows from the other printed values, and what this book does about it.
"""

import itertools
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
    rows = [(kind, *found, chose) for kind, (check, chose) in CHECKS.items() for found in check(values)]
    return pd.DataFrame(rows, columns=COLUMNS)


def own_rows(values):
    """Printed summaries that no rounding makes equal to what the participants' rows give (CGS with 1/N)."""
    for row in recomputed(values).query("not fits").itertuples():
        where = f"{row.printed_in}, L{row.line}: {name_of(row.run)}, {row.method}, {row.metric}"
        yield where, f"{row.printed:.2f}", f"{row.follows:.2f}"


def other_tables(values):
    """One quantity of one run printed with different values, where no participants' rows can decide between them."""
    frame = without_rows(values)
    groups = frame[frame["participant_or_metric"] != "avg_honest"].groupby(
        [*RUN, "method", "participant_or_metric"], sort=False
    )
    for (*run, method, metric), group in groups:
        if np.ptp(group["value"]) > 0.005:
            first, *others = (f"{row.value:.2f} ({row.table}, L{row.line})" for row in group.itertuples())
            yield f"{name_of(run)}, {method}, {metric}", first, "; ".join(others)


def implied_standalone(values):
    """Splits whose mean standalone accuracy MVA - MCG is not the same for all methods of one pipeline."""
    for (table, *run, _), alone in _standalone(without_rows(values)):
        if np.ptp(alone) > 0.02 + 1e-9:  # four roundings of half a hundredth
            first, *others = (f"{method} {value:.2f}" for method, value in alone.items())
            yield f"{table}: {name_of(run)}, MVA - MCG", first, "; ".join(others)


def pipelines(values):
    """Runs whose distillation rows and gossip rows start from different standalone accuracies."""
    found = {}
    for (table, dataset, _, label, n, pipeline), alone in _standalone(one_name_each(values)):
        if table.startswith("noofparticipants"):
            found.setdefault(f"{table}: {dataset} {label}, N = {n}, MVA - MCG", {})[pipeline] = alone.mean()
    for where, alone in found.items():
        if abs(alone["gossip"] - alone["other"]) > 0.02:
            yield where, f"distillation {alone['other']:.2f}", f"gossip {alone['gossip']:.2f}"


def _standalone(frame):
    """For each table, run and pipeline: MVA - MCG by method."""
    keys = ["table", *RUN, "pipeline"]
    frame = frame.assign(pipeline=_pipeline(frame))
    wide = frame.pivot_table(index=[*keys, "method"], columns="participant_or_metric", values="value", sort=False)
    for key, alone in (wide["MVA"] - wide["MCG"]).dropna().groupby(level=keys, sort=False):
        yield key, alone.droplevel(keys)


def _pipeline(frame):
    return np.where(frame["method"].isin(GOSSIP), "gossip", "other")


def bold_face(values):
    """Values in bold that are not the best of their group, and best ones that are not, in measures a table bolds."""
    frame = values[(values["method"] != "SA") & values["participant_or_metric"].isin(BEST)]
    frame = frame.assign(pipeline=_pipeline(frame))
    for (table, metric), column in frame.groupby(["table", "participant_or_metric"], sort=False):
        column = column.assign(best=column.groupby([*RUN, "pipeline"])["value"].transform(BEST[metric]))
        wrong = column[column["value"].eq(column["best"]) != column["bold"].eq(1)]
        for row in wrong.itertuples() if column["bold"].any() else ():
            run = name_of((row.dataset, row.model, row.label, row.N))
            printed = f"{row.value:.2f} {'bold' if row.bold else 'not bold'}"
            yield f"{table}, L{row.line}: {run}, {row.method}, {metric}", printed, f"best is {row.best:.2f}"


def colours(values):
    """Participants that lose and are not red, or are red and do not lose, in the tables that colour cells."""
    for row in _with_clean_labels(values).itertuples():
        gain = metrics.gains(row.before, row.after)
        for n in np.flatnonzero((gain < -1e-9) != (row.colour == "lightred")):
            where = f"{row.table}, L{row.line[n]}: {name_of(row.run)}, {row.method}, {PLAYERS[n]}"
            yield where, f"{row.after[n]:.2f} {row.colour[n] or 'not coloured'}", f"gain {gain[n]:.2f}"


def _with_clean_labels(values):
    frame = per_participant(values)
    return frame[~frame["table"].isin(HONEST)]


def _alone(values):
    """For each table that prints participants: the accuracies alone by split."""
    frame = _with_clean_labels(values).query("method == 'SA'")
    for table, group in frame.groupby("table", sort=False):
        yield table, {row.run[2]: row.before for row in group.itertuples()}


def amount_of_data(values):
    """Splits in which participants with less data of the same distribution are better alone than others with more."""
    for table, alone in _alone(values):
        found = []  # (share of the data, mean accuracy alone, split)
        for split, before in alone.items():
            shares = _shares(split)
            found += [(share, before[shares == share].mean(), split) for share in np.unique(shares)]
        for (small, low, split), (large, high, other) in itertools.product(found, repeat=2):
            if small < large - 1e-9 and low > high:
                where = f"{table}: standalone, {100 * small:.0f} % of the data ({split})"
                yield where, f"{low:.2f}", f"below {high:.2f}, of {100 * large:.0f} % ({other})"


def _shares(label):
    """The shares of five participants in a split by size, 'Homogeneous' or 'Imbalanced (kappa, m)'; else none."""
    if label == "Homogeneous":
        return np.full(5, 0.2)
    if not label.startswith("Imbalanced"):
        return np.array([])
    kappa, m = (float(part) for part in re.findall(r"[\d.]+", label))
    return np.where(np.arange(5) < m, kappa, (1 - m * kappa) / (5 - m)).round(6)


def dirichlet(values):
    """Dirichlet splits in which everybody is worse alone than anybody with an equal share.

    If only the sizes varied, as L363 says, somebody would hold an equal share or more.
    """
    for table, alone in _alone(values):
        best, equal = alone["Dirichlet (0.5)"].max(), alone["Homogeneous"].min()
        if best < equal:
            where = f"L363 and {table}: Dirichlet (0.5), best standalone"
            yield where, f"{best:.2f}", f"at least about {equal:.2f}, the worst with an equal share"


def flippers(values):
    """Flip rates at which P5 ends elsewhere as the only flipper than beside a second one (by 4 standard errors).

    At rate 1 nobody scores it above zero, nor does it anybody (L553): it learns alone in both studies.
    """
    frame = values[values["participant_or_metric"].eq("P5") & values["method"].ne("SA")]
    one, two = (frame[frame["table"] == table].set_index("method")["value"] for table in HONEST)
    errors = np.sqrt((one * (100 - one) + two * (100 - two)) / 2000)
    apart = (one - two).abs() / errors
    for method in apart.index[apart > 4]:
        where = f"free-rider tables, {method}: P5 as the only flipper, and beside P4"
        yield where, f"{one[method]:.2f}", f"{two[method]:.2f}, {apart[method]:.0f} standard errors apart"


CHECKS = {  # and what this book does about what they find
    "rows": (own_rows, "printed values stand beside ours as they are; the chapter on fairness uses the rows"),
    "tables": (other_tables, "each stands beside ours as it is printed"),
    "standalone": (implied_standalone, "our own standalone runs, one for all methods"),
    "pipelines": (pipelines, "gains of the two are not compared with each other"),
    "bold": (bold_face, "bold is ignored"),
    "colour": (colours, "losers are counted from the gains"),
    "data": (amount_of_data, "our own standalone runs on our own split"),
    "dirichlet": (dirichlet, "shares are drawn for each class; the sentence is the option quantity_skew"),
    "flippers": (flippers, "one and two flippers are run with the same kind of flip"),
}
