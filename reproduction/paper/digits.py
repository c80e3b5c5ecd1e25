"""What the last digits of the printed accuracies give away: on how many answers, and over how many runs."""

import numpy as np
import pandas as pd

from reproduction.paper.printed_runs import PLAYERS


def granularity(values: pd.DataFrame) -> pd.DataFrame:
    """For each group of printed accuracies the smallest number of answers (in thousands) that allows all of them.

    `chance` is the probability that as many arbitrary values of two decimals would all be allowed, as a power of ten.
    """
    frame = values[values["participant_or_metric"].isin(PLAYERS)]
    flipped = np.where(frame["method"].str.contains(r"flip=0\.[1-9]|flip=1", regex=True), ", labels flipped", "")
    rows = []
    for group, cells in frame.groupby(frame["table"] + flipped, sort=False):
        printed = np.round(cells["value"].to_numpy() * 100)
        size = next(size for size in range(1000, 10_001, 1000) if np.isin(printed, _allowed(size)).all())
        chance = len(printed) * np.log10(len(_allowed(size)) / 10_001)
        rows.append({"table": group, "values": len(printed), "answers": size, "chance": f"10^{chance:.0f}"})
    return pd.DataFrame(rows)


def last_digits(values: pd.DataFrame, table: str) -> pd.DataFrame:
    """Last digits of a table's accuracies, and those expected of means over two and three runs on 2,000 samples."""
    cells = values[values["table"].str.startswith(table) & values["participant_or_metric"].isin(PLAYERS)]
    counted = np.bincount(np.round(cells["value"].to_numpy() * 100).astype(int) % 10, minlength=10)
    expected = {"counted": counted}
    for runs in (2, 3):
        # A mean that ends in exactly half a hundredth may be printed up or down.
        exact = np.arange(20 * runs) * 100 / (20 * runs)
        up, down = (np.bincount(np.round(exact + nudge).astype(int) % 10, minlength=10) for nudge in (1e-6, -1e-6))
        expected[f"{runs} runs"] = len(cells) * (up + down) / (2 * len(exact))
    return pd.DataFrame(expected).rename_axis("last digit").reset_index()


def _allowed(size):
    """Hundredths of a percent that an accuracy out of `size` answers can be printed as, ties up or down."""
    exact = np.arange(size + 1) * 10_000 / size
    return np.unique(np.concatenate([np.ceil(exact - 0.5 - 1e-9), np.floor(exact + 0.5 + 1e-9)]))
