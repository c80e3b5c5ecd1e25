"""The claims of each chapter, judged on all that is recorded."""

from functools import cache
from pathlib import Path

import pandas as pd

from reproduction.judge import evidence, free_riders, printed
from reproduction.judge.claim import Claim, judge, read
from reproduction.judge.trials import trials
from reproduction.records import RESULTS
from reproduction.settings import RECORDED


def once_more(experiment: str, variant: str, how: str) -> tuple[Claim, ...]:
    """The main sentences about CYCle and VPDL, both trained in a way that the paper does not print or name."""
    return read("main", evidence, variant=variant, experiments=(experiment,), how=how)


CLAIMS = {
    "cifar": read("cifar", evidence),
    "printed-numbers": once_more("augmentation", "augmented", "with augmented images")
    + once_more("cifar10-cnn-augmented", "augmented-lr0.1", "with augmented images at the printed rate"),
    "baselines": read("baselines", evidence),
    "when-somebody-lies": read("when-somebody-lies", evidence, free_riders),
    "sensitivity": read("sensitivity", evidence)
    + once_more("cifar10-cnn-per-peer", "per-peer", "with lambda_0 for each peer"),
    "gossip": read("gossip", evidence),
    "fed-isic": read("fed-isic", evidence),
}
TRAITS = read("gossip-traits", evidence)  # of the printed tables of gossip
ELSEWHERE = read("gossip-elsewhere", evidence)  # printed of other data, asked of every reading of gossip
PRINTED = read("audit", printed, otherwise="contradicted")  # held to the printed values
VERDICTS = ["reproduced", "partly", "not reproduced", "undecided", "not run"]
STAND_IN = "laptop, synthetic stand-in"
AGAIN = ", in another setting"


def verdicts(chapter: str | None = None, results: Path = RESULTS) -> pd.DataFrame:
    """One row for each claim and scale, of one chapter or of all: cases, in favour, undecided, verdict, against."""
    found, frames = cache(lambda experiments, profile: trials(experiments, profile, results)), []
    for name in CLAIMS if chapter is None else [chapter]:
        for profile in RECORDED:
            frame = judge(CLAIMS[name], lambda experiments, profile=profile: found(experiments, profile))
            frames.append(frame.assign(chapter=name, profile=profile))
    return pd.concat(frames, ignore_index=True)


def board(chapter: str, results: Path = RESULTS) -> pd.DataFrame:
    """The same, one row for each claim and one column for each scale: the verdict and in how many cases."""
    rows: dict[tuple, dict] = {}
    for row in verdicts(chapter, results).to_dict("records"):
        key = {name: row[name] for name in ("line", "the paper", "checked")}
        counted = f": {row['in favour']} of {row['cases']}" if row["cases"] else ""
        counted += f" ({row['undecided']} undecided)" if row["cases"] and row["undecided"] else ""
        rows.setdefault(tuple(key.values()), key)[row["profile"]] = row["verdict"] + counted
    return pd.DataFrame(rows.values())


def against(chapter: str, results: Path = RESULTS, most: int = 6) -> pd.DataFrame:
    """The cases against the claims of a chapter: all, or by name, of many the first few and how many more there are."""
    frame = verdicts(chapter, results).query("against != ''")

    def shortened(row):
        names = row["against"].split("; ")
        more = [f"and {len(names) - most} more"] if len(names) > most + 1 else []
        return "; ".join(names[: most if more else None] + more) if row["in favour"] else "all"

    return frame.assign(against=frame.apply(shortened, axis=1))[["line", "checked", "profile", "against"]]


def counts(results: Path = RESULTS) -> pd.DataFrame:
    """How many claims have which verdict, by scale, and how many of these rest on a single case.

    What was judged once more in another setting, or on a drawn stand-in for medical images, has rows of its own.
    """
    frame = verdicts(results=results)
    drawn = (frame["chapter"] == "fed-isic") & (frame["profile"] == "laptop")
    frame["profile"] = frame["profile"].mask(drawn, STAND_IN)
    frame["profile"] = frame["profile"].mask(frame["how"] != "", frame["profile"] + AGAIN)
    rows = [*RECORDED, *(profile + AGAIN for profile in RECORDED), STAND_IN]
    table = pd.crosstab(frame["profile"], frame["verdict"]).reindex(index=rows, columns=VERDICTS, fill_value=0)
    single = frame[frame["cases"] == 1].groupby("profile").size().reindex(rows, fill_value=0)
    return table.assign(**{"on one case": single}).rename_axis(columns=None).reset_index()
