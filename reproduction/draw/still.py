"""The panels of an explorable figure at one position, drawn here: before a script runs, on paper, in a notebook."""

import matplotlib.pyplot as plt
import numpy as np

from reproduction.draw.style import COLOURS, WIDE, svg


def with_limits(panel: dict, marks: list[dict]) -> dict:
    """The panel with limits that hold everything ever drawn in it, and a little room."""
    full = dict(panel)
    grids = [np.shape(mark["z"]) for mark in marks if mark["mark"] == "grid"]
    for axis in ("x", "y"):
        if panel[f"{axis}lim"] is None:
            found = [value for mark in marks for key in (axis, f"to{axis}") for value in mark.get(key, ())]
            found += [end - 0.5 for shape in grids for end in (0, shape[axis == "x"])]
            found = [value for value in found if value is not None] + [0.0] * (axis == "y" and panel["zero"])
            if not found:
                raise ValueError(f"{axis}lim of panel {panel['title']!r} must be given: nothing is drawn in it")
            low, high = min(found), max(found)
            room = 0.0 if grids else 0.05 * (high - low) or 0.5
            full[f"{axis}lim"] = [float(f"{low - room:.4g}"), float(f"{high + room:.4g}")]
    return full


def svg_of(panels: list[dict], marks: list[list[dict]], label: str) -> str:
    """All panels side by side as one drawing."""
    height = max(panel["height"] for panel in panels) / 96 + 0.3
    figure, axes = plt.subplots(1, len(panels), figsize=(WIDE, height), squeeze=False)
    for ax, panel, one in zip(axes.flat, panels, marks, strict=True):
        for mark in one:
            _draw(ax, mark, panel)
        ax.set(xlabel=panel["x"], ylabel=panel["y"], xlim=panel["xlim"], ylim=panel["ylim"], title=panel["title"])
        for axis, ticks in ((ax.xaxis, panel["xticks"]), (ax.yaxis, panel["yticks"])):
            if ticks:
                axis.set_ticks(*zip(*ticks, strict=True))
        if any(mark["mark"] == "grid" for mark in one):
            ax.invert_yaxis()
            ax.grid(False)
        if panel["zero"]:
            ax.axhline(0, color="#000000", linewidth=0.8)
        if any(mark["label"] for mark in one):
            ax.legend()
    return svg(figure, label)


def _draw(ax, mark: dict, panel: dict) -> None:
    colour, label = COLOURS.get(mark["colour"], "#000000"), mark["label"] or None
    x, y, to_x, to_y = (np.array(mark.get(key, ()), dtype=float) for key in ("x", "y", "tox", "toy"))  # None is NaN
    match mark["mark"]:
        case "line":
            ax.plot(x, y, color=colour, label=label, linestyle="--" if mark["dashed"] else "-")
        case "area":
            ax.fill_between(x, y, to_y, color=colour, linewidth=0, label=label)
        case "dots":
            inside = "#ffffff" if mark["hollow"] else colour
            ax.scatter(x, y, 40, edgecolors=colour, facecolors=inside, label=label, zorder=3)
        case "bars":
            base = np.clip(0.0, *panel["ylim"])
            ax.bar(x, y - base, mark["width"], base, color=colour, label=label)
        case "arrows":
            for n, width in enumerate(mark["widths"] or [2.0] * len(x)):
                if width > 0:
                    style = {"arrowstyle": "-|>", "color": colour, "lw": width}
                    ax.annotate("", (to_x[n], to_y[n]), (x[n], y[n]), arrowprops=style)
            ax.plot([], [], color=colour, label=label)
        case "grid":
            for (row, column), value in np.ndenumerate(np.array(mark["z"], dtype=float)):
                if np.isfinite(value):
                    look = {"color": colour, "alpha": 0.05 + 0.6 * value, "lw": 0}
                    ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, **look))
                    ax.text(column, row, f"{value:.2f}", ha="center", va="center", size=9)
