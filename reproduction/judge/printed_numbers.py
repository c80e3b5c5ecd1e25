"""What the printed accuracies need: how far from them each reading of the paper's setting ends.

A reading is a setting that was run at the paper's scale, and a moment at which its accuracies are taken: the last
epoch, everybody's best, or, of those who train alone, the end of the local epochs.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import paper, records
from reproduction.records import RESULTS

METHODS = {"standalone": "alone", "cycle": "CYCle"}
MOMENTS = ("last epoch", "best epoch", "after the local epochs")
TESTED = 2000 * 3  # the answers behind a printed accuracy, as its digits say (see the audit)
READINGS = {  # by its name in a table: the experiment that runs it, and under which variant
    "plain images, rate 0.05": ("cifar10-cnn", ""),
    "rate 0.1": ("learning-rate", "lr0.1"),
    "rate 0.1, cross-entropy at T": ("own-temperature", "own-T5-lr0.1"),
    "λ₀ for each peer": ("cifar10-cnn-per-peer", "per-peer"),
    "augmented": ("augmentation", "augmented"),
    "augmented, rate 0.1": ("cifar10-cnn-augmented", "augmented-lr0.1"),
    "augmented, rate 0.1, λ₀ for each peer": ("cifar10-cnn-augmented", "augmented-lr0.1-per-peer"),
    "augmented, rate 0.1, decays at 50 and 75": ("printed-numbers", "augmented-lr0.1-late"),
    "augmented, rate 0.1, decays at 50 and 75, T = 10": ("printed-numbers", "augmented-lr0.1-late-T10"),
}


def moments(record: dict) -> dict[str, list[float]]:
    """Everybody's accuracy at each moment; the best is that over the tested epochs of the rounds."""
    curve = {point["round"]: point["accuracy"] for point in record["curve"]}
    best = np.max([accuracy for tested, accuracy in curve.items() if tested >= 0], axis=0).tolist()
    found = dict(zip(MOMENTS, (record["accuracy"], best, curve.get(-1)), strict=True))
    if record["method"] != "standalone" or -1 not in curve:
        del found["after the local epochs"]
    return found


def printed(method: str, split: str) -> np.ndarray:
    """The printed accuracies P1 to P5 of a method of the CNN's table on a split."""
    return np.array([paper.metric("cifar10-cnn", method, split, 5, f"P{n}") for n in range(1, 6)])


def accuracies(profile: str = "paper", results: Path = RESULTS) -> pd.DataFrame:
    """One row for each participant, reading and moment: its accuracy here and in print. Alone and under CYCle."""
    frames: dict[tuple, pd.DataFrame] = {}
    for reading, (experiment, variant) in READINGS.items():
        for run, record in records.read(experiment, profile, results=results):
            for moment, here in moments(record).items() if run.method in METHODS and run.variant == variant else ():
                names = {"reading": reading, "taken": moment, "method": run.method, "split": run.split}
                names |= {"seed": run.seed, "path": run.path, "participant": [f"P{n}" for n in range(1, run.n + 1)]}
                values = {"images": record["sizes"], "here": here, "printed": printed(run.method, run.split)}
                frames.setdefault((run.path, moment), pd.DataFrame(names | values))
    return pd.concat(frames.values(), ignore_index=True)


def distances(frame: pd.DataFrame, splits=None, seed: int = 0) -> pd.DataFrame:
    """Root mean square distance from print, in points, of each reading at each moment, and of how many values."""
    frame = frame[frame["seed"].eq(seed) & (True if splits is None else frame["split"].isin(splits))]
    rows = []
    for (reading, taken), group in frame.groupby(["reading", "taken"], sort=False):
        row = {"reading": reading, "taken": taken}
        for method, name in METHODS.items():
            apart = (group["here"] - group["printed"])[group["method"].eq(method)]
            row |= {name: np.sqrt((apart**2).mean()), f"{name}, values": len(apart)}
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
