"""Something a reader moves: computed for every position when the book is built, drawn by the page itself (explore.js).

    >>> explore(
        "What does an angle earn?",
        {"angle": slider("angle between the gradients", range(0, 181, 5), start=90, unit="°")},
        [panel("Score", x="misalignment", y="score")],
        lambda angle: (f"At {angle}° the score is ...", [[line(s, h(s)), dots([here], [h(here)], "cycle")]]),
    )

With a kernel that somebody sits at (Jupyter, Colab) the same controls compute anew.
"""

import html
import itertools
import json
import os
import zlib
from dataclasses import asdict, dataclass, field

from reproduction.draw import still

DIGITS = 5  # significant ones of what is drawn


@dataclass(frozen=True)
class Control:
    """One thing to move, with a label in words: a slider over numbers or buttons for categories."""

    label: str
    values: list
    start: object
    unit: str = ""
    buttons: bool = False

    def __post_init__(self):
        if len(self.values) < 2 or self.start not in self.values:
            raise ValueError(f"values of {self.label!r} must be two or more, the start {self.start!r} one of them")

    def texts(self) -> list[str]:
        return [f"{value:g}{self.unit}" if isinstance(value, (int, float)) else str(value) for value in self.values]


def slider(label: str, values, start, unit: str = "") -> Control:
    """A slider over these numbers, which starts at the paper's."""
    return Control(label, [value.item() if hasattr(value, "item") else value for value in values], start, unit)


def buttons(label: str, values, start) -> Control:
    """A button for each category."""
    return Control(label, list(values), start, buttons=True)


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


def panel(title: str, **axes) -> Panel:
    return Panel(title, **axes)


def line(x, y, colour="", label="", dashed=False) -> dict:
    """A curve; `colour` is a method's name or nothing (the text's)."""
    return {"mark": "line", "x": _short(x), "y": _short(y), "colour": colour, "label": label, "dashed": dashed}


def area(x, low, high, colour="", label="") -> dict:
    """What lies between two curves."""
    ends = {"y": _short(low), "toy": _short(high)}
    return {"mark": "area", "x": _short(x), **ends, "colour": colour, "label": label}


def dots(x, y, colour="", label="", hollow=False) -> dict:
    """Dots; hollow ones are printed values."""
    return {"mark": "dots", "x": _short(x), "y": _short(y), "colour": colour, "label": label, "hollow": hollow}


def bars(x, y, colour="", label="", width=0.36) -> dict:
    """Bars from zero (or from the panel's lower end) to y."""
    return {"mark": "bars", "x": _short(x), "y": _short(y), "colour": colour, "label": label, "width": width}


def arrows(x, y, to_x, to_y, colour="", label="", widths=()) -> dict:
    """Arrows from (x, y) to (to_x, to_y)."""
    ends = {"x": _short(x), "y": _short(y), "tox": _short(to_x), "toy": _short(to_y)}
    return {"mark": "arrows", **ends, "colour": colour, "label": label, "widths": _short(widths)}


def grid(values, colour="vpdl") -> dict:
    """A matrix from 0 to 1, row 0 on top at y = 0, written in where there is room; None is left out."""
    return {"mark": "grid", "z": [_short(row) for row in values], "colour": colour, "label": ""}


def _short(values) -> list:
    """Numbers with few digits, None for what is undefined."""
    return [float(f"{value:.{DIGITS}g}") + 0.0 if value is not None and value == value else None for value in values]


class Explore:
    """What `explore` shows: a block of HTML, or widgets where a kernel listens."""

    def __init__(self, question: str, controls: dict[str, Control], panels: list[Panel], at):
        self.question, self.controls, self.at = question, controls, at
        self.states = [self._state(values) for values in itertools.product(*[c.values for c in controls.values()])]
        if any(len(marks) != len(panels) for _, marks in self.states):
            raise ValueError(f"at must return a sentence and {len(panels)} lists of marks, one for each panel")
        drawn = [[mark for _, marks in self.states for mark in marks[number]] for number in range(len(panels))]
        self.panels = [still.with_limits(asdict(one), marks) for one, marks in zip(panels, drawn, strict=True)]

    def _state(self, values) -> tuple[str, list]:
        sentence, marks = self.at(**dict(zip(self.controls, values, strict=True)))
        return sentence, marks

    def data(self) -> str:
        """Everything the page needs: marks that several positions share stand once."""
        pool: dict[str, int] = {}
        states = []
        for sentence, marks in self.states:
            places = [[pool.setdefault(json.dumps(m), len(pool)) for m in one] for one in marks]
            states.append([sentence, places])
        text = json.dumps(
            {"panels": self.panels, "texts": [c.texts() for c in self.controls.values()], "states": states},
            ensure_ascii=False,
            separators=(",", ":"),
        )
        return f'{text[:-1]},"marks":[{",".join(pool)}]}}'.replace("</", "<\\/")

    def html(self) -> str:
        """Controls, the panels as they are at the start, a sentence that says what they show, and the data."""
        start = 0
        for control in self.controls.values():
            start = start * len(control.values) + control.values.index(control.start)
        sentence, marks = self.states[start]
        parts = [_buttons(c, n) if c.buttons else _slider(c) for n, c in enumerate(self.controls.values())]
        return (
            f'<div class="cycle-explore" role="group" aria-label="{html.escape(self.question)}">'
            f'<p class="cycle-question">{html.escape(self.question)}</p>{"".join(parts)}'
            f'<div class="cycle-panels">{still.svg_of(self.panels, marks, sentence)}</div>'
            f'<p class="cycle-says" aria-live="polite">{html.escape(sentence)}</p>'
            f'<script type="application/json">{self.data()}</script></div>'
        )

    def widget(self):
        """The same with ipywidgets: `at` is asked again at every move."""
        import ipywidgets

        chosen = {}
        for name, c in self.controls.items():
            kind = ipywidgets.ToggleButtons if c.buttons else ipywidgets.SelectionSlider
            options = list(zip(c.texts(), c.values, strict=True))
            chosen[name] = kind(
                options=options, value=c.start, description=c.label, style={"description_width": "auto"}
            )
            chosen[name].layout.width = "100%"
        shown = ipywidgets.HTML()

        def show(_=None):
            sentence, marks = self._state([one.value for one in chosen.values()])
            shown.value = f"{still.svg_of(self.panels, marks, sentence)}<p>{html.escape(sentence)}</p>"

        for one in chosen.values():
            one.observe(show, "value")
        show()
        return ipywidgets.VBox([ipywidgets.HTML(f"<b>{html.escape(self.question)}</b>"), *chosen.values(), shown])

    def _repr_mimebundle_(self, **_):
        bundle = {"text/plain": self.question, "text/html": self.html()}
        # Jupyter's server and Colab set these for a kernel that somebody sits at. When a chapter is built or tested
        # nobody does, and a widget would be a dead view that asks the network for its scripts.
        if "JPY_SESSION_NAME" in os.environ or "COLAB_RELEASE_TAG" in os.environ:
            bundle |= self.widget()._repr_mimebundle_()
        return bundle


def explore(question: str, controls: dict[str, Control], panels: list[Panel], at) -> Explore:
    """A question that a reader answers by moving `controls`.

    `at(**values)` returns a sentence (what is seen, with numbers) and a list of marks for each panel.
    """
    return Explore(question, controls, panels, at)


def _slider(control: Control) -> str:
    texts, start = control.texts(), control.values.index(control.start)
    return (
        f'<label class="cycle-control"><span>{html.escape(control.label)}</span>'
        f'<input type="range" min="0" max="{len(texts) - 1}" step="1" value="{start}" '
        f'aria-valuetext="{html.escape(texts[start])}"><output>{html.escape(texts[start])}</output></label>'
    )


def _buttons(control: Control, number: int) -> str:
    group = f"cycle-{zlib.crc32(''.join([control.label, *control.texts()]).encode()):x}-{number}"
    choices = "".join(
        f'<label><input type="radio" name="{group}" value="{place}"{" checked" * (value == control.start)}>'
        f"<span>{html.escape(text)}</span></label>"
        for place, (value, text) in enumerate(zip(control.values, control.texts(), strict=True))
    )
    legend = f"<legend>{html.escape(control.label)}</legend>"
    return f'<fieldset class="cycle-control cycle-buttons">{legend}{choices}</fieldset>'
