"""The tables of printed values that claims ask."""

import pandas as pd

from cycle import metrics
from reproduction.paper.printed_runs import RUN, per_participant, smallest_gains

TEN_SPLITS = ("performance-study", "imbstudy")  # the tables that have them


def values(printed: pd.DataFrame) -> pd.DataFrame:
    frame = printed.rename(columns={"participant_or_metric": "measure"})
    names = frame["dataset"] + " " + frame["method"] + " " + frame["measure"]
    return frame.assign(case=names + ": " + frame["value"].astype(str))


def pairs(printed: pd.DataFrame) -> pd.DataFrame:
    """One row for each summary of a method and each other method of the same run, whose columns end in _other.

    `MCG` is what is printed of a method in the same place.
    """
    key = ["table", *RUN]
    frame = values(printed)[[*key, "measure", "method", "value"]]
    gain = frame[frame["measure"] == "MCG"].drop(columns="measure").rename(columns={"value": "MCG"})
    frame = frame[~frame["measure"].str.fullmatch(r"P\d")].merge(gain, on=[*key, "method"], how="left")
    both = frame.merge(frame, on=[*key, "measure"], suffixes=("", "_other")).query("method != method_other")
    ours, theirs = (both[name].map("{:.2f}".format) for name in ("value", "value_other"))
    return both.assign(case=_place(both) + ": " + ours + " against " + both["method_other"] + " " + theirs)


def averages(printed: pd.DataFrame) -> pd.DataFrame:
    """CYCle's mean over the ten splits, ResNet18, beside that of each other method."""
    frame = printed[printed["table"].isin(TEN_SPLITS) & printed["model"].eq("ResNet18")]
    rows = []
    for measure, group in frame.groupby("participant_or_metric"):
        mean = group.groupby("method")["value"].mean()
        for method, value in mean.drop("CYCle").items():
            case = f"CYCle {mean['CYCle']:.2f}, {method} {value:.2f}"
            rows.append({"case": case, "measure": measure, "value": mean["CYCle"], "value_other": value})
    return pd.DataFrame(rows)


def splits(printed: pd.DataFrame) -> pd.DataFrame:
    """For how many of the ten splits each method has values."""
    count = printed[printed["table"].isin(TEN_SPLITS)].groupby("method")["label"].nunique()
    return pd.DataFrame([{"case": f"{method}: {splits} splits", "splits": splits} for method, splits in count.items()])


def gains(printed: pd.DataFrame) -> pd.DataFrame:
    """Everybody's gain in the runs that are printed by participant, and whether it is the best alone."""
    rows = []
    for row in per_participant(printed).itertuples():
        for n, gain in enumerate(metrics.gains(row.before, row.after)):
            found = {"table": row.table, "method": row.method, "participant": n + 1, "gain": gain}
            found |= dict(zip(RUN, row.run, strict=True)) | {"best": n == row.before.argmax()}
            rows.append(found)
    frame = pd.DataFrame(rows)
    who = ", P" + frame["participant"].astype(str) + ": " + frame["gain"].map("{:+.2f}".format)
    return frame.assign(case=frame["method"] + " " + _place(frame) + who)


def least_gains(printed: pd.DataFrame) -> pd.DataFrame:
    """The smallest gain that MCG and CGS leave possible, where a table prints nothing else."""
    frame = smallest_gains(printed).rename(columns={"smallest possible gain": "gain"})
    return frame.assign(case=frame["run"] + ": " + frame["gain"].map("{:.2f}".format))


def _place(frame: pd.DataFrame) -> pd.Series:
    return frame["dataset"] + " " + frame["label"] + ", N = " + frame["N"].astype(str)
