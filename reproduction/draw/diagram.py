"""Schemes of boxes and arrows: a chapter says what they hold, here they are drawn."""

import itertools

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from reproduction.draw.style import COLOURS, WIDE


def diagram(titles: dict, boxes: dict, arrows: list, theirs: float = 100) -> Figure:
    """On a field of 100 x 100: titles {text: x}, boxes {name: (x, y, text, "mine" or "theirs")}, arrows between names.

    An arrow is (from, to, text, look); the look is of `once` (blue and dashed), `dashed`, `bend`, and `at`, where the
    text stands if not in the middle. From x = `theirs` on the ground is shaded. A phone scrolls it in its box.
    """
    figure, ax = plt.subplots(figsize=(WIDE, 4.4))
    ax.set(xlim=(0, 100), ylim=(0, 100))
    ax.axis("off")
    if theirs < 100:
        ax.axvspan(theirs, 100, ymax=0.93, color=COLOURS["theirs"], alpha=0.35, zorder=0)
    for text, x in titles.items():
        ax.text(x, 97, text, ha="center", weight="bold")
    middle = {"ha": "center", "va": "center", "size": 9}
    drawn = {}
    for name, (x, y, text, ground) in boxes.items():
        style = {"boxstyle": "round,pad=0.45", "facecolor": COLOURS[ground], "edgecolor": "black", "linewidth": 0.8}
        drawn[name] = ax.text(x, y, text, bbox=style, zorder=3, **middle)
    for start, end, text, look in arrows:
        ends = [drawn[name].get_position() for name in (start, end)]
        colour = COLOURS["vpdl"] if look.get("once") else "black"
        style = {"arrowstyle": "-|>", "color": colour, "lw": 1.3, "shrinkA": 2, "shrinkB": 4}
        style |= {"linestyle": "--" if look.get("once") or look.get("dashed") else "-"}
        style |= {"connectionstyle": f"arc3,rad={look.get('bend', 0.0)}"}
        style |= {"patchA": drawn[start].get_bbox_patch(), "patchB": drawn[end].get_bbox_patch()}
        ax.annotate("", ends[1], ends[0], arrowprops=style, zorder=4)  # after the boxes, whose outlines end it
        if text:
            ground = {"facecolor": "white", "edgecolor": "none", "pad": 1}
            at = look.get("at") or [sum(pair) / 2 for pair in zip(*ends, strict=True)]
            ax.text(*at, text, color=colour, bbox=ground, zorder=5, **middle)
    for (one, first), (other, second) in itertools.combinations(drawn.items(), 2):
        if first.get_window_extent().overlaps(second.get_window_extent()):
            raise ValueError(f"boxes must not overlap, got {one!r} and {other!r}")
    return figure
