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
from dataclasses import asdict, dataclass

from reproduction.draw import still
from reproduction.draw.marks import Panel


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

    def html(self, number: int) -> str:
        label, texts, start = html.escape(self.label), self.texts, self.values.index(self.start)
        if not self.buttons:
            return (
                f'<label class="cycle-control"><span>{label}</span>'
                f'<input type="range" min="0" max="{len(texts) - 1}" step="1" value="{start}" '
                f'aria-valuetext="{html.escape(texts[start])}"><output>{html.escape(texts[start])}</output></label>'
            )
        group = f"cycle-{zlib.crc32(''.join([self.label, *texts]).encode()):x}-{number}"
        choices = "".join(
            f'<label><input type="radio" name="{group}" value="{place}"{" checked" * (place == start)}>'
            f"<span>{html.escape(text)}</span></label>"
            for place, text in enumerate(texts)
        )
        return f'<fieldset class="cycle-control cycle-buttons"><legend>{label}</legend>{choices}</fieldset>'

    def widget(self):
        import ipywidgets

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
        self.question, self.controls, self.at = question, controls, at
        positions = itertools.product(*[control.values for control in controls.values()])
        self.states = [at(**dict(zip(controls, values, strict=True))) for values in positions]
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
        needed = {"panels": self.panels, "texts": [c.texts for c in self.controls.values()], "states": states}
        text = json.dumps(needed, ensure_ascii=False, separators=(",", ":"))
        return f'{text[:-1]},"marks":[{",".join(pool)}]}}'.replace("</", "<\\/")

    def html(self) -> str:
        """Controls, the panels as they are at the start, a sentence that says what they show, and the data."""
        start = 0
        for control in self.controls.values():
            start = start * len(control.values) + control.values.index(control.start)
        sentence, marks = self.states[start]
        controls = "".join(control.html(number) for number, control in enumerate(self.controls.values()))
        return (
            f'<div class="cycle-explore" role="group" aria-label="{html.escape(self.question)}">'
            f'<p class="cycle-question">{html.escape(self.question)}</p>{controls}'
            f'<div class="cycle-panels">{still.svg_of(self.panels, marks, sentence)}</div>'
            f'<p class="cycle-says" aria-live="polite">{html.escape(sentence)}</p>'
            f'<script type="application/json">{self.data()}</script></div>'
        )

    def widget(self):
        """The same with ipywidgets: `at` is asked again at every move."""
        import ipywidgets

        shown, chosen = ipywidgets.HTML(), {name: control.widget() for name, control in self.controls.items()}

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
