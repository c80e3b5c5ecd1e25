"""Something a reader moves: computed for every position when the book is built, drawn by the page itself (explore.js).

    >>> explore(
        "What does an angle earn?",
        {"angle": slider("angle between the gradients", range(0, 181, 5), start=90, unit="°")},
        [panel("Score", x="misalignment", y="score")],
        lambda angle: (f"At {angle}° the score is ...", [[line(s, h(s)), dots([here], [h(here)], "cycle")]]),
    )

Where somebody sits at a kernel (Jupyter, Colab), which knows no script of the book, the script comes along.
"""

import itertools
import json
import os
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path

import jinja2

from reproduction.draw import still
from reproduction.draw.marks import Panel

TEMPLATE = jinja2.Template(Path(__file__).with_name("explore.html").read_text(encoding="utf-8"), autoescape=True)
VENDOR = Path(__file__).parents[2] / "book" / "_vendor"  # style and script of the pages


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


def slider(label: str, values, start, unit: str = "") -> Control:
    """A slider over these numbers, which starts at the paper's."""
    return Control(label, [value.item() if hasattr(value, "item") else value for value in values], start, unit)


def buttons(label: str, values, start) -> Control:
    """A button for each category."""
    return Control(label, list(values), start, buttons=True)


class Explore:
    """A question that a reader answers by moving `controls`: a block of HTML.

    `at(**values)` returns a sentence (what is seen, with numbers) and a list of marks for each panel.
    """

    def __init__(self, question: str, controls: dict[str, Control], panels: list[Panel], at):
        self.question, self.controls = question, list(controls.values())
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

    def _repr_mimebundle_(self, **_):
        shown = self.html()
        # Jupyter's server and Colab set these; when a chapter is built or tested its page brings both.
        if "JPY_SESSION_NAME" in os.environ or "COLAB_RELEASE_TAG" in os.environ:
            style, script = ((VENDOR / name).read_text(encoding="utf-8") for name in ("cycle.css", "explore.js"))
            shown += f"<style>{style}</style><script>{script}</script>"
        return {"text/plain": self.question, "text/html": shown}
