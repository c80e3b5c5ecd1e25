"""The printed values run by run: everybody's accuracies, the summaries that follow, the gains that must be."""

import numpy as np
import pandas as pd

from cycle import metrics

PLAYERS = [f"P{n}" for n in range(1, 6)]
HONEST = {"free-rider-study": 4, "free-rider-study-malicious2": 3}
# Farthest that a correctly computed and rounded value can lie from one recomputed from rows of two decimals.
ROUNDING = {"MVA": 0.01, "avg_honest": 0.01, "MCG": 0.015, "CGS": 0.015}
RUN = ["dataset", "model", "label", "N"]
GOSSIP = ("DSGD", "CYCle[Gossip]")
GOSSIP_TABLES = ("appendix-n20-results", "cycle-gossip-sgd-mcg-cgs", "cycle-gossip-sgd-mcg-cgs-a")  # of gossip only


def per_participant(values: pd.DataFrame) -> pd.DataFrame:
    """Every run printed participant by participant: standalone and final accuracies as arrays, and where."""
    frame = one_name_each(values)
    frame = frame[frame["participant_or_metric"].isin(PLAYERS)]
    frame = frame.set_index(["table", *RUN, "method", "participant_or_metric"])[["value", "colour", "line"]]
    wide = frame.unstack(sort=False)
    cells = {key: wide[key][PLAYERS].to_numpy() for key in ("value", "colour", "line")}
    alone = {index[:-1]: row for index, row in zip(wide.index, cells["value"], strict=True) if index[-1] == "SA"}
    rows = zip(wide.index, *cells.values(), strict=True)
    return pd.DataFrame(
        [(index[0], index[1:-1], index[-1], alone[index[:-1]], *row) for index, *row in rows],
        columns=["table", "run", "method", "before", "after", "colour", "line"],
    )


def recomputed(values: pd.DataFrame) -> pd.DataFrame:
    """Each printed MVA, MCG, CGS or average beside what the participants' rows give, the CGS in both conventions.

    `fits`, and for the CGS with 1/(N-1) `fits_sample`: whether rounding may explain the difference.
    """
    frame, found = one_name_each(values), []
    summaries = dict(list(frame[frame["participant_or_metric"].isin(ROUNDING)].groupby([*RUN, "method"])))
    for row in per_participant(values).itertuples():
        gain = metrics.gains(row.before, row.after)
        honest = row.after[: HONEST.get(row.table)].mean()
        follows = {"MVA": row.after.mean(), "MCG": gain.mean(), "CGS": gain.std(), "avg_honest": honest}
        for printed in summaries.get((*row.run, row.method), frame[:0]).itertuples():
            metric = printed.participant_or_metric
            # An average over the honest belongs to its own table; the other measures are repeated in several.
            if printed.table == row.table if metric == "avg_honest" else row.table not in HONEST:
                place = {"table": row.table, "printed_in": printed.table, "run": row.run, "method": row.method}
                place |= {"line": printed.line, "metric": metric, "printed": printed.value, "follows": follows[metric]}
                sample = gain.std(ddof=1) if metric == "CGS" else np.nan
                apart = np.abs(printed.value - np.array([follows[metric], sample]))
                found.append(place | dict(zip(("fits", "fits_sample"), apart <= ROUNDING[metric] + 1e-9, strict=True)))
    return pd.DataFrame(found)


def smallest_gains(values: pd.DataFrame) -> pd.DataFrame:
    """What MCG and CGS alone (1/N form) guarantee: no gain is below MCG - CGS sqrt(N - 1), and that can be attained.

    At N = 2 it is attained. One row for each run that is not printed participant by participant.
    """
    frame = without_rows(values)
    keys = [*RUN, "method"]
    wide = frame.pivot_table(index=keys, columns="participant_or_metric", values="value", aggfunc="last", sort=False)
    wide = wide[["MCG", "CGS"]].dropna().reset_index()
    least = wide["MCG"] - wide["CGS"] * np.sqrt(wide["N"] - 1)
    loser = np.where(wide["N"] == 2, "somebody loses", "not certified")
    table = frame.groupby(keys)["table"].last().loc[pd.MultiIndex.from_frame(wide[keys])].to_numpy()
    on_gossip = wide["method"].eq("CYCle") & np.isin(table, GOSSIP_TABLES)
    return pd.DataFrame(
        {
            "table": table,
            "run": [name_of(run) for run in wide[RUN].itertuples(index=False)],
            "method": wide["method"].mask(on_gossip, "CYCle[Gossip]"),
            "MCG": wide["MCG"],
            "CGS": wide["CGS"],
            "smallest possible gain": least,
            "verdict": np.where(least >= 0, "nobody loses", loser),
        }
    )


def one_name_each(values):
    """The printed values with one name for one run: the tables spell the same network and method differently."""
    method = values["method"].str.replace("[PDL]", "", regex=False).str.replace(" flip=0.0", "", regex=False)
    second = values["table"].eq("free-rider-study-malicious2") & method.str.contains("flip")
    by_number = values["table"].str.startswith("noofparticipants") & ~method.isin(GOSSIP)
    method = method.mask(second, method + ", two flip")
    return values.assign(method=method, model=values["model"].mask(by_number, "ResNet18"))


def without_rows(values):
    """What no participants' rows can check: their own cells, and summaries of runs printed without them."""
    frame = one_name_each(values)
    player = frame["participant_or_metric"].isin(PLAYERS)
    key = pd.MultiIndex.from_frame(frame[[*RUN, "method"]])
    return frame[player | ~key.isin(key[player])]


def name_of(run):
    dataset, model, label, n = run
    return f"{dataset} {model} {label}, N = {n}".replace("  ", " ")
