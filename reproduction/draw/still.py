"""The panels of an explorable figure at one position, drawn here: before a script runs, on paper, in a notebook."""

import matplotlib.pyplot as plt
import numpy as np

from reproduction.draw.style import COLOURS, WIDE, svg


def with_limits(panel: dict, marks: list[dict]) -> dict:
    """The panel with limits that hold everything ever drawn in it, and a little room."""
    full = dict(panel)
    for axis in ("x", "y"):
        if panel[f"{axis}lim"] is None:
            found = [value for mark in marks for key in (axis, f"to{axis}") for value in mark.get(key, ())]
            if grids := [mark["z"] for mark in marks if mark["mark"] == "grid"]:
                found += [-0.5, (len(grids[0][0]) if axis == "x" else len(grids[0])) - 0.5]
            found = [value for value in found if value is not None] + [0.0] * (axis == "y" and panel["zero"])
            if not found:
                raise ValueError(f"{axis}lim of panel {panel['title']!r} must be given: nothing is drawn in it")
            low, high = min(found), max(found)
            room = 0.0 if any(mark["mark"] == "grid" for mark in marks) else 0.05 * (high - low) or 0.5
            full[f"{axis}lim"] = [float(f"{low - room:.4g}"), float(f"{high + room:.4g}")]
    return full


def svg_of(panels: list[dict], marks: list[list[dict]], label: str) -> str:
    """All panels side by side as one drawing."""
    height = max(panel["height"] for panel in panels) / 96 + 0.3
    figure, axes = plt.subplots(1, len(panels), figsize=(WIDE, height), squeeze=False)
    for ax, panel, one in zip(axes.flat, panels, marks, strict=True):
        for mark in one:
            DRAW[mark["mark"]](ax, mark, COLOURS.get(mark["colour"], "#000000"), panel)
        ax.set(xlabel=panel["x"], ylabel=panel["y"], xlim=panel["xlim"], ylim=panel["ylim"], title=panel["title"])
        for axis, ticks in ((ax.xaxis, panel["xticks"]), (ax.yaxis, panel["yticks"])):
            if ticks:
                axis.set_ticks([place for place, _ in ticks], [text for _, text in ticks])
        if any(mark["mark"] == "grid" for mark in one):
            ax.invert_yaxis()
            ax.grid(False)
        if panel["zero"]:
            ax.axhline(0, color="#000000", linewidth=0.8)
        if any(mark["label"] for mark in one):
            ax.legend()
    return svg(figure, label)


def _floats(values) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def _line(ax, mark, colour, panel):
    ax.plot(
        _floats(mark["x"]), _floats(mark["y"]), color=colour, label=mark["label"] or None,
        linestyle="--" if mark["dashed"] else "-",
    )  # fmt: skip


def _area(ax, mark, colour, panel):
    low, high = _floats(mark["y"]), _floats(mark["toy"])
    ax.fill_between(_floats(mark["x"]), low, high, color=colour, linewidth=0, label=mark["label"] or None)


def _dots(ax, mark, colour, panel):
    inside = "#ffffff" if mark["hollow"] else colour
    ax.scatter(mark["x"], mark["y"], 40, edgecolors=colour, facecolors=inside, label=mark["label"] or None, zorder=3)


def _bars(ax, mark, colour, panel):
    base = min(max(0.0, panel["ylim"][0]), panel["ylim"][1])
    heights = _floats(mark["y"]) - base
    ax.bar(_floats(mark["x"]), heights, mark["width"], base, color=colour, label=mark["label"] or None)


def _arrows(ax, mark, colour, panel):
    ends = zip(mark["x"], mark["y"], mark["tox"], mark["toy"], strict=True)
    widths = mark["widths"] or [2.0] * len(mark["x"])
    for (x, y, to_x, to_y), width in zip(ends, widths, strict=True):
        if width > 0:
            style = {"arrowstyle": "-|>", "color": colour, "lw": width}
            ax.annotate("", (to_x, to_y), (x, y), arrowprops=style)
    ax.plot([], [], color=colour, label=mark["label"] or None)


def _grid(ax, mark, colour, panel):
    for (row, column), value in np.ndenumerate(np.array([_floats(line) for line in mark["z"]])):
        if np.isfinite(value):
            ax.add_patch(plt.Rectangle((column - 0.5, row - 0.5), 1, 1, color=colour, alpha=0.05 + 0.6 * value, lw=0))
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", size=9)


DRAW = {"line": _line, "area": _area, "dots": _dots, "bars": _bars, "arrows": _arrows, "grid": _grid}
