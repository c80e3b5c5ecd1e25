"""Something a reader moves: computed for every position when the book is built, drawn by the page itself (explore.js).

    >>> explore(
        "What does an angle earn?",
        {"angle": slider("angle between the gradients", range(0, 181, 5), start=90, unit="°")},
        [panel("Score", x="misalignment", y="score")],
        lambda angle: (f"At {angle}° the score is ...", [[line(s, h(s)), dots([here], [h(here)], "cycle")]]),
    )

With a kernel that somebody sits at (Jupyter, Colab) the same controls are widgets, which compute anew.
"""

import html
import itertools
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

import ipywidgets
import jinja2

from reproduction.draw import still
from reproduction.draw.marks import Panel

TEMPLATE = jinja2.Template(Path(__file__).with_name("explore.html").read_text(encoding="utf-8"), autoescape=True)


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

    @property
    def texts(self) -> list[str]:
        return [f"{value:g}{self.unit}" if isinstance(value, int | float) else str(value) for value in self.values]

    @property
    def group(self) -> str:
        return f"cycle-{zlib.crc32(''.join([self.label, *self.texts]).encode()):x}"

    def widget(self) -> ipywidgets.Widget:
        kind = ipywidgets.ToggleButtons if self.buttons else ipywidgets.SelectionSlider
        look = {"style": {"description_width": "auto"}, "layout": {"width": "100%"}}
        options = list(zip(self.texts, self.values, strict=True))
        return kind(options=options, value=self.start, description=self.label, **look)


def slider(label: str, values, start, unit: str = "") -> Control:
    """A slider over these numbers, which starts at the paper's."""
    return Control(label, [value.item() if hasattr(value, "item") else value for value in values], start, unit)


def buttons(label: str, values, start) -> Control:
    """A button for each category."""
    return Control(label, list(values), start, buttons=True)


class Explore:
    """A question that a reader answers by moving `controls`: a block of HTML, or widgets where a kernel listens.

    `at(**values)` returns a sentence (what is seen, with numbers) and a list of marks for each panel.
    """

    def __init__(self, question: str, controls: dict[str, Control], panels: list[Panel], at):
        self.question, self.controls, self.names, self.at = question, list(controls.values()), list(controls), at
        positions = list(itertools.product(*[control.values for control in self.controls]))
        self.states = [at(**dict(zip(controls, values, strict=True))) for values in positions]
        self.start = self.states[positions.index(tuple(control.start for control in self.controls))]
        if any(len(marks) != len(panels) for _, marks in self.states):
            raise ValueError(f"at must return a sentence and {len(panels)} lists of marks, one for each panel")
        drawn = [[mark for _, marks in self.states for mark in marks[number]] for number in range(len(panels))]
        self.panels = [still.with_limits(asdict(one), marks) for one, marks in zip(panels, drawn, strict=True)]

    def data(self) -> str:
        """Everything the page needs: marks that several positions share stand once."""
        pool: dict[str, int] = {}
        states = [
            [sentence, [[pool.setdefault(json.dumps(mark), len(pool)) for mark in one] for one in marks]]
            for sentence, marks in self.states
        ]
        needed = {"panels": self.panels, "texts": [control.texts for control in self.controls], "states": states}
        text = json.dumps(needed, ensure_ascii=False, separators=(",", ":"))
        return f'{text[:-1]},"marks":[{",".join(pool)}]}}'.replace("</", "<\\/")

    def html(self) -> str:
        """Controls, the panels as they are at the start, a sentence that says what they show, and the data."""
        sentence, marks = self.start
        drawn = still.svg_of(self.panels, marks, sentence)
        return TEMPLATE.render(vars(self), sentence=sentence, still=drawn, data=self.data())

    def widget(self) -> ipywidgets.Widget:
        """The same with ipywidgets: `at` is asked again at every move."""
        shown = ipywidgets.HTML()
        chosen = dict(zip(self.names, [control.widget() for control in self.controls], strict=True))

        def show(**values):
            sentence, marks = self.at(**values)
            shown.value = f"{still.svg_of(self.panels, marks, sentence)}<p>{html.escape(sentence)}</p>"

        ipywidgets.interactive_output(show, chosen)
        return ipywidgets.VBox([ipywidgets.HTML(f"<b>{html.escape(self.question)}</b>"), *chosen.values(), shown])

    def _repr_mimebundle_(self, **_):
        bundle = {"text/plain": self.question, "text/html": self.html()}
        # Jupyter's server and Colab set these for a kernel that somebody sits at. When a chapter is built or tested
        # nobody does, and a widget would be a dead view that asks the network for its scripts.
        if "JPY_SESSION_NAME" in os.environ or "COLAB_RELEASE_TAG" in os.environ:
            bundle |= self.widget()._repr_mimebundle_()
        return bundle
