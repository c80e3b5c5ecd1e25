"""What the printed accuracies need: how far from them each reading of the paper's setting ends.

A reading is a setting that was run at the paper's scale, and a moment at which its accuracies are taken: the last
epoch, everybody's best, or, of those who train alone, the end of the local epochs.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import paper, records
from reproduction.records import RESULTS

PRINTED = "performance-study-table-c10-right"  # every participant's accuracy, CNN, five splits
METHODS = ("standalone", "cycle")
TESTED = 2000 * 3  # the answers behind a printed accuracy, as its digits say (see the audit)


@dataclass(frozen=True)
class Reading:
    """A setting: how a table calls it, the experiment that runs it, under which variant."""

    name: str
    experiment: str
    variant: str = ""


READINGS = (
    Reading("plain images, rate 0.05", "cifar10-cnn"),
    Reading("rate 0.1", "learning-rate", "lr0.1"),
    Reading("rate 0.1, cross-entropy at T", "own-temperature", "own-T5-lr0.1"),
    Reading("λ₀ for each peer", "cifar10-cnn-per-peer", "per-peer"),
    Reading("augmented", "augmentation", "augmented"),
    Reading("augmented, rate 0.1", "cifar10-cnn-augmented", "augmented-lr0.1"),
    Reading("augmented, rate 0.1, λ₀ for each peer", "cifar10-cnn-augmented", "augmented-lr0.1-per-peer"),
    Reading("augmented, rate 0.1, decays at 50 and 75", "printed-numbers", "augmented-lr0.1-late"),
    Reading("augmented, rate 0.1, decays at 50 and 75, T = 10", "printed-numbers", "augmented-lr0.1-late-T10"),
)


def last(record: dict) -> list[float]:
    return record["accuracy"]


def best(record: dict) -> list[float]:
    """Everybody's best over the tested epochs of the rounds: of a curve that is not shown, the peak."""
    curve = [point["accuracy"] for point in record["curve"] if point["round"] >= 0]
    return np.max(curve, axis=0).tolist()


def after_local(record: dict) -> list[float] | None:
    """What the local epochs alone gave: another B_n than that of participants who train to the end."""
    return next((point["accuracy"] for point in record["curve"] if point["round"] == -1), None)


MOMENTS = {"last epoch": last, "best epoch": best, "after the local epochs": after_local}


def printed(method: str, split: str) -> np.ndarray:
    """The printed accuracies P1 to P5 of a method of the CNN's table on a split."""
    frame = paper.participants()
    names = paper.METHOD_NAMES[method]
    row = frame[frame["table"].eq(PRINTED) & frame["split"].eq(split) & frame["method"].isin(names)]
    return row[["P1", "P2", "P3", "P4", "P5"]].to_numpy(dtype=float)[0]


def accuracies(profile: str = "paper", results: Path = RESULTS) -> pd.DataFrame:
    """One row for each participant, reading and moment: its accuracy here and in print. Alone and under CYCle."""
    rows, seen = [], set()
    for reading in READINGS:
        for run, record in records.read(reading.experiment, profile, results=results):
            if run.method not in METHODS or run.variant != reading.variant or run.path in seen:
                continue
            seen.add(run.path)
            for moment, taken in MOMENTS.items():
                values = taken(record)
                if values is None or (moment == "after the local epochs" and run.method != "standalone"):
                    continue
                pairs = zip(values, printed(run.method, run.split), strict=True)
                rows += [
                    {
                        "reading": reading.name,
                        "taken": moment,
                        "method": run.method,
                        "split": run.split,
                        "seed": run.seed,
                        "path": run.path,
                        "participant": f"P{n + 1}",
                        "images": record["sizes"][n],
                        "here": here,
                        "printed": there,
                    }
                    for n, (here, there) in enumerate(pairs)
                ]
    return pd.DataFrame(rows)


def distances(frame: pd.DataFrame, splits=None, seed: int = 0) -> pd.DataFrame:
    """Root mean square distance from print, in points, of each reading at each moment, and of how many values."""
    frame = frame[frame["seed"].eq(seed) & (True if splits is None else frame["split"].isin(splits))]
    rows = []
    for (reading, taken), group in frame.groupby(["reading", "taken"], sort=False):
        row = {"reading": reading, "taken": taken}
        for method, name in zip(METHODS, ("alone", "CYCle"), strict=True):
            apart = (group["here"] - group["printed"])[group["method"].eq(method)]
            row |= {name: float(np.sqrt((apart**2).mean())) if len(apart) else np.nan, f"{name}, values": len(apart)}
        rows.append(row)
    return pd.DataFrame(rows)


def noise_of_print(frame: pd.DataFrame) -> float:
    """What the size of the printed test set alone moves a printed accuracy by, in points (one standard deviation)."""
    share = frame["printed"].to_numpy() / 100
    return float(100 * np.sqrt(np.mean(share * (1 - share)) / TESTED))


def noise_between_seeds(frame: pd.DataFrame) -> float:
    """How far two seeds of one reading end from each other, in points (root mean square)."""
    key = ["reading", "taken", "method", "split", "participant"]
    wide = frame[frame["taken"].eq("last epoch")].pivot_table(index=key, columns="seed", values="here")
    return float(np.sqrt(((wide[1] - wide[0]) ** 2).mean()))


def without_the_dip(frame: pd.DataFrame, dip: int = 5000) -> pd.DataFrame:
    """The printed mean gains of those with `dip` images, and what they were if their B lay on the curve of the rest.

    The curve is the printed accuracy alone against the logarithm of the amount of data, straight between two sizes.
    """
    even = frame[~frame["split"].str.startswith("dirichlet")].drop_duplicates(["method", "split", "participant"])
    alone, together = (even[even["method"] == method] for method in METHODS)
    curve = alone.groupby("images")["printed"].mean()
    others = curve.drop(dip)
    expected = float(np.interp(np.log(dip), np.log(others.index), others))
    reached = together[together["images"] == dip].groupby("split", sort=False)["printed"].mean()
    found = alone[alone["images"] == dip].groupby("split", sort=False)["printed"].mean()
    return pd.DataFrame(
        {"B": found, "B on the curve": expected, "gain": reached - found, "gain on the curve": reached - expected}
    )
