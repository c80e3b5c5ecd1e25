"""One method minus the others: a dot for each run, a bar over their range, printed values hollow, a line at zero."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from reproduction.draw import style


def differences(reports: pd.DataFrame, measure: str, of: str = "cycle", others=None) -> pd.DataFrame:
    """`of` minus each other method with the same split and seed: one row for each, with both values."""
    pairs = reports[reports["method"] == of].merge(
        reports[reports["method"] != of], on=["split", "seed"], suffixes=("", " of the other")
    )
    pairs = pairs[pairs["method of the other"].isin(others)] if others is not None else pairs
    found = pairs[["split", "method of the other", "seed"]].rename(columns={"method of the other": "minus"})
    return found.assign(difference=pairs[measure] - pairs[f"{measure} of the other"]).reset_index(drop=True)


def lead(found: pd.DataFrame, title: str, label: str, printed: pd.DataFrame | None = None, height: float = 0):
    """Draws a frame of `differences`; `printed` has the columns split, minus and difference. For page.figure."""

    def draw(width: float) -> Figure:
        splits, others = (list(dict.fromkeys(found[column])) for column in ("split", "minus"))
        tall = height or 0.9 + 0.2 * len(splits) * (len(others) + 1) + 0.2 * (width < style.WIDE) * len(others)
        figure, ax = plt.subplots(figsize=(width, tall))
        for place, other in enumerate(others):
            colour, mark = style.COLOURS.get(other.split("+")[0]), style.MARKERS.get(other.split("+")[0], "o")
            for row, split in enumerate(splits):
                values = _of(found, split, other)
                y = row + (place - (len(others) - 1) / 2) / (len(others) + 1)
                ax.plot([values.min(), values.max()], [y, y], color=colour, linewidth=2, alpha=0.5)
                name = style.name(other) if row == 0 else None
                ax.plot(values, np.full(len(values), y), mark, color=colour, markersize=5, label=name)
                if printed is not None:
                    shown = _of(printed, split, other)
                    look = {"markerfacecolor": "white", "markeredgecolor": colour, "markeredgewidth": 1.5}
                    ax.plot(shown, np.full(len(shown), y), mark, markersize=7, linestyle="", **look)
        ax.axvline(0, color="black", linewidth=1)
        ax.set_yticks(range(len(splits)), splits)
        ax.set(ylim=(len(splits) - 0.4, -0.6), xlabel=label)
        ax.set_title(title, loc="left", wrap=True)
        figure.legend(loc="outside lower center", ncols=3 if width < style.WIDE else 6)
        figure.set_layout_engine("constrained")
        return figure

    return draw


def _of(frame: pd.DataFrame, split: str, other: str) -> np.ndarray:
    values = frame.loc[(frame["split"] == split) & (frame["minus"] == other), "difference"].to_numpy(dtype=float)
    return values if len(values) else np.array([np.nan])
