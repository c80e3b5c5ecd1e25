"""One look for every figure: a colour and a mark for a method, text for a phone, lines that turn in the dark."""

import hashlib
import html
import io
import re

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.text import Text

COLOURS = {  # after Okabe and Ito; the same everywhere
    "cycle": "#d55e00",
    "vpdl": "#0072b2",
    "fedavg": "#009e73",
    "cffl": "#cc79a7",
    "rffl": "#b8860b",
    "cgsv": "#56b4e9",
    "standalone": "#6e6e6e",
    "echo": "#8a6d3b",
    "blank": "#9467bd",
    "better": "#b3d4f2",  # grounds, not lines: what becomes of somebody who listens
    "tie": "#dedede",
    "worse": "#f5c3a8",
}
COLOURS |= {"cycle-gossip": COLOURS["cycle"], "gossip": COLOURS["vpdl"]}
IN_THE_DARK = {  # the same hues, lighter
    "cycle": "#ff8f45",
    "vpdl": "#5fa8ff",
    "fedavg": "#2fc79a",
    "cffl": "#e8a6cb",
    "rffl": "#e0b040",
    "cgsv": "#8fd6ff",
    "standalone": "#a8a8a8",
    "echo": "#c9a667",
    "blank": "#bb9be0",
    "better": "#274f78",
    "tie": "#4a4a4a",
    "worse": "#7a4127",
}
GROUNDS = {"mine": "#fbe3d2", "theirs": "#d6e8f5", "plain": "#eeeeee"}  # behind text
GROUNDS_IN_THE_DARK = {"mine": "#5a3319", "theirs": "#1d3f5a", "plain": "#3a3a3a"}
MARKERS = {"standalone": "X", "vpdl": "s", "cycle": "o", "fedavg": "^", "cffl": "D", "rffl": "v", "cgsv": "P"}
MARKERS |= {"cycle-gossip": "o", "gossip": "s"}
NAMES = {  # what a method is called in prose and figures
    "standalone": "alone",
    "vpdl": "VPDL",
    "cycle": "CYCle",
    "fedavg": "FedAvg",
    "cffl": "CFFL",
    "rffl": "RFFL",
    "cgsv": "CGSV",
    "gossip": "Gossip-SGD",
    "cycle-gossip": "CYCle-Gossip",
}
WIDE, NARROW = 7.1, 3.55  # inches that the text of a page and of a phone leave to a figure, at 96 pixels


def name(method: str) -> str:
    """The method as readers know it; a variant keeps what sets it apart."""
    base, plus, variant = method.partition("+")
    return NAMES.get(base, base) + (f" ({variant})" if plus else "")


def split(slug: str) -> str:
    """A split as readers know it: `imbalanced-0.6-1` is (0.6, 1), `dirichlet-0.5` is Dirichlet (0.5)."""
    kind, _, numbers = slug.partition("-")
    values = f"({', '.join(numbers.split('-'))})"
    return {"imbalanced": values, "dirichlet": f"Dirichlet {values}"}.get(kind, slug)


def style() -> None:
    """Call it once in a chapter, before the first figure."""
    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.4),
            "figure.dpi": 100,
            "figure.facecolor": "white",
            "savefig.facecolor": "white",
            "savefig.bbox": "tight",
            "font.size": 10,
            "axes.titlesize": 10,
            "axes.titleweight": "bold",
            "axes.labelsize": 10,
            "legend.fontsize": 9,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.25,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "image.cmap": "viridis",
            "axes.prop_cycle": plt.cycler(color=["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#56b4e9"]),
        }
    )


def svg(figure: Figure, label: str, screens: str = "") -> str:
    """The figure as markup for a page: the same for the same figure, black as the page's text, methods by variable.

    `label` is its alternative text; `screens` a class that says on which screens it shows.
    """
    if figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")
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


def _for_the_page(text: str) -> str:
    """What is inside of Matplotlib's <svg>: own names for what is referred to, the page's fonts and colours."""
    inner = text[text.index("</defs>") + len("</defs>") : text.rindex("</svg>")]  # the first holds a style for all
    own = hashlib.sha256(inner.encode()).hexdigest()[:8]
    used = set(re.findall(r'(?:url\(|href=")#([^")]+)', inner))
    inner = re.sub(r' id="([^"]*)"', lambda found: f' id="{own}-{found[1]}"' * (found[1] in used), inner)
    inner = re.sub(r'(url\(|href=")#', rf"\1#{own}-", inner)
    inner = re.sub(r"font-family: [^;\"]*;? ?|<!--.*?-->", "", inner, flags=re.DOTALL)
    inner = re.sub(r"\s*\n\s*", "\n", inner).strip()
    for name, colour in ({method: COLOURS[method] for method in IN_THE_DARK} | GROUNDS).items():
        inner = inner.replace(f" {colour}", f" var(--cycle-{name}, {colour})")
    return inner.replace("#000000", "currentColor").replace("fill: #ffffff", "fill: var(--cycle-ground, #fff)")
