"""One look for every figure: a colour and a mark for a method, text for a phone, lines that turn in the dark."""

import hashlib
import html
import io
import re
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

METHODS = {  # what readers call it, its colour (after Okabe and Ito), its mark
    "cycle": ("CYCle", "#d55e00", "o"),
    "vpdl": ("VPDL", "#0072b2", "s"),
    "fedavg": ("FedAvg", "#009e73", "^"),
    "cffl": ("CFFL", "#cc79a7", "D"),
    "rffl": ("RFFL", "#b8860b", "v"),
    "cgsv": ("CGSV", "#56b4e9", "P"),
    "standalone": ("alone", "#6e6e6e", "X"),
    "echo": ("echo", "#8a6d3b", "o"),
    "blank": ("blank", "#9467bd", "o"),
    "cycle-gossip": ("CYCle-Gossip", "#d55e00", "o"),
    "gossip": ("Gossip-SGD", "#0072b2", "s"),
}
GROUNDS = {  # behind lines: what becomes of somebody who listens; behind text: whose it is
    "better": "#b3d4f2",
    "tie": "#dedede",
    "worse": "#f5c3a8",
    "mine": "#fbe3d2",
    "theirs": "#d6e8f5",
}
COLOURS = {method: colour for method, (_, colour, _) in METHODS.items()} | GROUNDS  # lighter in the dark: cycle.css
MARKERS = {method: mark for method, (*_, mark) in METHODS.items()}
WIDE, NARROW = 7.1, 3.55  # inches that the text of a page and of a phone leave to a figure, at 96 pixels


def name(method: str) -> str:
    """The method as readers know it; a variant keeps what sets it apart."""
    base, plus, variant = method.partition("+")
    return METHODS.get(base, [base])[0] + (f" ({variant})" if plus else "")


def split(slug: str) -> str:
    """A split as readers know it: `imbalanced-0.6-1` is (0.6, 1), `dirichlet-0.5` is Dirichlet (0.5)."""
    kind, _, numbers = slug.partition("-")
    values = f"({', '.join(numbers.split('-'))})"
    return {"imbalanced": values, "dirichlet": f"Dirichlet {values}"}.get(kind, slug)


def style() -> None:
    """Call it once in a chapter, before the first figure."""
    plt.style.use(Path(__file__).with_name("book.mplstyle"))


def svg(figure: Figure, label: str, screens: str = "") -> str:
    """The figure as markup for a page: the same for the same figure, black as the page's text, methods by variable.

    `label` is its alternative text; `screens` a class that says on which screens it shows.
    """
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
    _wrap(figure)
    buffer = io.StringIO()
    drawn = any("\\math" in text.get_text() for text in figure.findobj(Text))  # letters that no page's font has
    kind = "path" if drawn else "none"
    with plt.rc_context({"svg.hashsalt": "cycle", "svg.fonttype": kind, "savefig.bbox": None}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    width, height = figure.get_size_inches() * 96
    plt.close(figure)
    least = f"min-width:{width:.0f}px;" if screens == "cycle-narrow" and width > NARROW * 96 + 1 else ""  # scrolls
    return (
        f'<svg class="cycle-svg {screens}" role="img" aria-label="{html.escape(label)}" '
        f'viewBox="0 0 {width * 0.75:g} {height * 0.75:g}" fill="currentColor" stroke-linejoin="round" '
        f'style="width:100%;{least}max-width:{width:.0f}px;height:auto" xmlns="http://www.w3.org/2000/svg" '
        f'xmlns:xlink="http://www.w3.org/1999/xlink">\n{_for_the_page(buffer.getvalue())}</svg>'
    )


def _wrap(figure: Figure) -> None:
    """Titles and labels that would leave the figure go on in a second line."""
    figure.draw_without_rendering()
    edge = figure.bbox.width
    for text in (text for ax in figure.axes for text in (ax._left_title, ax.xaxis.label)):
        words, box = text.get_text(), text.get_window_extent()
        left = text.get_horizontalalignment() == "left"
        room = edge - box.x0 if left else min(box.x0 + box.x1, 2 * edge - box.x0 - box.x1)
        if box.width > room and "$" not in words:
            text.set_text("\n".join(textwrap.wrap(words, int(len(words) * room / box.width))))


def _for_the_page(text: str) -> str:
    """What is inside of Matplotlib's <svg>: own names for what is referred to, the page's fonts and colours."""
    inner = text[text.index("</defs>") + len("</defs>") : text.rindex("</svg>")]  # the first holds a style for all
    own = hashlib.sha256(inner.encode()).hexdigest()[:8]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', inner))
    inner = re.sub(r' id="([^"]*)"', lambda found: f' id="{own}-{found[1]}"' * (found[1] in used), inner)
    inner = re.sub(r'(url\(|href=")#', rf"\1#{own}-", inner)
    inner = re.sub(r"font-family: [^;\"]*;? ?|<!--.*?-->", "", inner, flags=re.DOTALL)
    inner = re.sub(r"\s*\n\s*", "\n", inner).strip()
    names = {colour: name for name, colour in reversed(COLOURS.items())}  # the first of each colour
    for colour, name in names.items():
        inner = inner.replace(f" {colour}", f" var(--cycle-{name}, {colour})")
    return inner.replace("#000000", "currentColor").replace("fill: #ffffff", "fill: var(--cycle-ground, #fff)")
