"""What an explorable figure is made of: panels, and marks in them, as plain values that a page can draw."""

from dataclasses import dataclass, field

DIGITS = 5  # significant ones of what is drawn


@dataclass(frozen=True)
class Panel:
    """Axes that stay while what is drawn in them moves; limits are those of everything ever drawn, if not given."""

    title: str
    x: str = ""
    y: str = ""
    xlim: tuple | None = None
    ylim: tuple | None = None
    xticks: list = field(default_factory=list)  # [[place, text], ...] in the place of numbers
    yticks: list = field(default_factory=list)
    height: int = 260  # pixels
    zero: bool = False  # a line at zero


def line(x, y, colour="", label="", dashed=False) -> dict:
    """A curve; `colour` is a method's name or nothing (the text's)."""
    return _mark("line", {"x": x, "y": y}, colour, label, dashed=dashed)


def area(x, low, high, colour="", label="") -> dict:
    """What lies between two curves."""
    return _mark("area", {"x": x, "y": low, "toy": high}, colour, label)


def dots(x, y, colour="", label="", hollow=False) -> dict:
    """Dots; hollow ones are printed values."""
    return _mark("dots", {"x": x, "y": y}, colour, label, hollow=hollow)


def bars(x, y, colour="", label="", width=0.36) -> dict:
    """Bars from zero (or from the panel's lower end) to y."""
    return _mark("bars", {"x": x, "y": y}, colour, label, width=width)


def arrows(x, y, to_x, to_y, colour="", label="", widths=()) -> dict:
    """Arrows from (x, y) to (to_x, to_y)."""
    return _mark("arrows", {"x": x, "y": y, "tox": to_x, "toy": to_y}, colour, label, widths=_short(widths))


def grid(values, colour="vpdl") -> dict:
    """A matrix from 0 to 1, row 0 on top at y = 0, written in where there is room; None is left out."""
    return {"mark": "grid", "z": [_short(row) for row in values], "colour": colour, "label": ""}


def _mark(kind: str, places: dict, colour: str, label: str, **look) -> dict:
    shown = {key: _short(found) for key, found in places.items()}
    return {"mark": kind, **shown, "colour": colour, "label": label, **look}


def _short(values) -> list:
    """Numbers with few digits, None for what is undefined."""
    return [float(f"{value:.{DIGITS}g}") + 0.0 if value is not None and value == value else None for value in values]
