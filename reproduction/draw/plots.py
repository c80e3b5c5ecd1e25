"""Pictures of points for older chapters: sliders over frames, heatmaps, bars. page.py has the newer means."""

import base64
import html
import inspect
import io
import itertools
import json
import os
import re

import matplotlib.pyplot as plt
import numpy as np
from IPython.display import HTML, Markdown

from reproduction.draw import tables
from reproduction.draw.style import COLOURS, MARKERS, style  # noqa: F401 (older chapters ask for them here)


def source(*functions) -> Markdown:
    """The code of `cycle` itself, shown in a chapter: never a copy."""
    text = "\n\n".join(inspect.getsource(function).rstrip() for function in functions)
    return Markdown(f"```python\n{text}\n```")


def table(frame, digits: int = 2) -> HTML:
    """A data frame as a plain table without its index; floats with `digits` decimals, nothing for NaN."""
    text = frame.to_html(index=False, border=0, float_format=lambda value: f"{value:.{digits}f}", na_rep="")
    kinds = itertools.cycle([_kind(column) for _, column in frame.items()])  # the header row and then every other
    text = re.sub("<(t[hd])>", lambda cell: f'<{cell[1]} class="{next(kinds)}">', text)
    return HTML(f'<div class="cycle-table">{text}</div>')


def _kind(column) -> str:
    """How a column is set: sentences may wrap, words stand to the left, numbers to the right."""
    texts = [value for value in column if isinstance(value, str)]
    if any(len(text) > 24 for text in texts):
        return "sentences"
    return "words" if any(text[:1].isalpha() for text in texts) else "numbers"


def provenance(name: str, profile: str, seeds=None) -> HTML:
    """The line under a recorded table or figure: where its numbers, of these seeds or of all, came from."""
    return HTML(f'<p class="provenance">{html.escape(tables.provenance_line(name, profile, seeds=seeds))}</p>')


def _png(figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=80)
    plt.close(figure)
    return buffer.getvalue()


# Reads all range inputs of the block, shows the frame of that combination and the values beside the sliders.
_MOVE = (
    "const b=this.closest('.cycle-slider'),v=JSON.parse(b.dataset.values);let f=0;"
    "b.querySelectorAll('input').forEach((s,i)=>{f=f*v[i].length+Number(s.value);"
    "s.nextElementSibling.textContent=v[i][s.value]});"
    "b.querySelectorAll('img').forEach((m,i)=>{m.style.display=i===f?'block':'none'})"
)


class Slider:
    """A figure with one control for each name: pre-rendered frames on a page, drawn anew where a kernel listens."""

    def __init__(self, draw, values: dict[str, list], alt: str):
        if not values or any(len(row) < 2 for row in values.values()):
            raise ValueError("values: needs at least one name, each with a list of two or more values")
        self.draw, self.values, self.alt = draw, values, alt

    def frames(self) -> str:
        """HTML with every combination drawn; moving an input shows another one. Needs no kernel."""
        texts = [
            [f"{value:g}" if isinstance(value, (int, float)) else str(value) for value in row]
            for row in self.values.values()
        ]
        controls = "".join(
            f'<label>{html.escape(name)} <input type="range" min="0" max="{len(row) - 1}" value="0" step="1" '
            f'aria-label="{html.escape(name)}" oninput="{html.escape(_MOVE)}"><output>{row[0]}</output></label> '
            for name, row in zip(self.values, texts, strict=True)
        )
        images = []
        for combination in itertools.product(*self.values.values()):
            frame = base64.b64encode(_png(self.draw(**dict(zip(self.values, combination, strict=True))))).decode()
            images.append(
                f'<img alt="{html.escape(self.alt)} ({html.escape(", ".join(map(str, combination)))})" '
                f'style="display:{"none" if images else "block"};max-width:100%" src="data:image/png;base64,{frame}">'
            )
        return (
            f'<div class="cycle-slider" data-values="{html.escape(json.dumps(texts))}">'
            f'<p class="cycle-slider-controls">{controls}</p>{"".join(images)}</div>'
        )

    def widget(self):
        """Jupyter controls that call `draw`: numbers may take any value between the smallest and the largest."""
        import ipywidgets

        def control(name, row):
            if all(isinstance(value, int) for value in row):
                return ipywidgets.IntSlider(row[0], min(row), max(row), description=name)
            if all(isinstance(value, (int, float)) for value in row):
                low, high = min(row), max(row)
                return ipywidgets.FloatSlider(
                    row[0], min=low, max=high, step=(high - low) / 100, readout_format=".3g", description=name
                )
            return ipywidgets.SelectionSlider(options=row, description=name)

        controls = {name: control(name, row) for name, row in self.values.items()}
        picture = ipywidgets.Image(format="png")

        def show(_=None):
            picture.value = _png(self.draw(**{name: control.value for name, control in controls.items()}))

        for one in controls.values():
            one.continuous_update = False
            one.observe(show, "value")
        show()
        return ipywidgets.VBox([ipywidgets.HBox(list(controls.values())), picture])

    def _repr_mimebundle_(self, **_):
        bundle = {"text/plain": self.alt, "text/html": self.frames()}
        # Jupyter's server and Colab set these for a kernel that somebody sits at. When a chapter is built or tested
        # nobody does, and a widget would be a dead view that asks the network for its scripts.
        if "JPY_SESSION_NAME" in os.environ or "COLAB_RELEASE_TAG" in os.environ:
            bundle |= self.widget()._repr_mimebundle_()
        return bundle


def slider(draw, values: dict[str, list], alt: str) -> Slider:
    """A slider for each name in `values` that works on a page without a kernel and draws anew in Jupyter.

    draw(**combination) returns a figure; every combination is drawn. `alt` describes what the frames show.
    """
    return Slider(draw, values, alt)


def names(n: int) -> list[str]:
    return [f"P{index + 1}" for index in range(n)]


def heatmap(ax, matrix, title: str = "", rows=None):
    """A matrix of values from 0 to 1, written in; the diagonal of a square one is left out."""
    matrix = np.array(matrix, dtype=float)
    if matrix.shape[0] == matrix.shape[1]:
        np.fill_diagonal(matrix, np.nan)
    ax.imshow(matrix, vmin=0, vmax=1, cmap="Blues")
    for (row, column), value in np.ndenumerate(matrix):
        if np.isfinite(value):
            dark = value > 0.5
            ax.text(column, row, f"{value:.2f}", ha="center", va="center", size=8, color="white" if dark else "black")
    ax.set_xticks(range(matrix.shape[1]), names(matrix.shape[1]))
    ax.set_yticks(range(matrix.shape[0]), rows or names(matrix.shape[0]))
    ax.grid(False)
    ax.set_title(title)
    for spine in ax.spines.values():
        spine.set_visible(False)


def gain_bars(ax, gains: dict[str, list[float]]):
    """Collaboration gains, one group for each participant, one bar for each method."""
    width = 0.8 / len(gains)
    for number, (method, values) in enumerate(gains.items()):
        places = np.arange(len(values)) + (number - (len(gains) - 1) / 2) * width
        ax.bar(places, values, width, label=method, color=COLOURS.get(method))
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_xticks(range(len(values)), names(len(values)))
    ax.set_ylabel("collaboration gain (points)")
    ax.legend()
