"""What a chapter calls to put something on its page (book/WRITING.md says how): from reproduction.draw import page."""

# ruff: noqa: F401 (names for chapters)
import html
import math
import string

from IPython.display import HTML, Markdown

from reproduction.draw import listing, origin
from reproduction.draw.diagram import diagram
from reproduction.draw.explore import Explore as explore
from reproduction.draw.explore import buttons, slider
from reproduction.draw.lead import differences, lead
from reproduction.draw.listing import long_table, table
from reproduction.draw.marks import Panel as panel
from reproduction.draw.marks import area, arrows, bars, dots, grid, line
from reproduction.draw.rule import rule
from reproduction.draw.style import COLOURS, MARKERS, NARROW, WIDE, name, split, style, svg

BY_SCREEN = (  # the pages' own style sheet says the same; a notebook elsewhere has only this
    "<style>.cycle-narrow{display:none}@media(max-width:600px){.cycle-wide{display:none}.cycle-narrow{display:inline}}"
    "</style>"
)


class _Filled(string.Formatter):
    """Fills {name:.1f} from what was computed; refuses what is undefined, misspelt or left over."""

    def get_field(self, field, args, kwargs):
        value, first = super().get_field(field, args, kwargs)
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"{field} must be a number to stand in a sentence, got {value}")
        return value, first

    def format_field(self, value, spec):
        text = super().format_field(value, spec)
        return text if isinstance(value, str) else text.replace("-", "−").replace("%", "\u00a0%")

    def check_unused_args(self, used, args, kwargs):
        if left := sorted(set(kwargs) - {str(one).split(".")[0] for one in used}):
            raise ValueError(f"values must all stand in the text, got {', '.join(left)} besides")


def say(text: str, **values) -> Markdown:
    """Paragraphs whose numbers come from `values`: say("{losers} of {runs} lose.", losers=3, runs=5).

    A brace of mathematics is doubled.
    """
    return Markdown(_Filled().vformat(text.strip(), (), values))


def answer(text: str, **values) -> Markdown:
    """**The answer** of a chapter, in three sentences with numbers; stands before its first figure."""
    return Markdown(f'<div class="cycle-answer">\n\n**The answer.** {say(text, **values).data}\n\n</div>')


def check(sentence: str, holds) -> None:
    """Beside a sentence that asserts an order or a sign: stops the book where the records contradict it."""
    if not bool(holds):
        raise AssertionError(f"the records contradict: {sentence}")


def figure(draw, alt: str, caption: str, numbers=None, runs=(), digits: int = 2) -> HTML:
    """What `draw(width)` draws, for a wide and a narrow screen (inches: panels stand side by side or below).

    `alt` says what one sees, for those who do not; `caption` how to read it; `numbers` is a frame of what is drawn
    (folded, compared by the tests); `runs` the paths of the records behind it.
    """
    if not alt.strip() or not caption.strip():
        raise ValueError("alt and caption must say something: a figure is described and explained")
    drawn = svg(draw(WIDE), alt, "cycle-wide") + svg(draw(NARROW), alt, "cycle-narrow")
    came = f" <span class='cycle-origin'>{origin.link(runs)}</span>" if len(runs) else ""
    folded = "" if numbers is None else listing.folded("The numbers in this figure", numbers, digits)
    return HTML(
        f'{BY_SCREEN}<figure class="cycle-figure">{drawn}<figcaption>{html.escape(caption, quote=False)}{came}'
        f"</figcaption></figure>{folded}"
    )


def columns(width: float, panels: int) -> int:
    """How many panels stand side by side where `width` inches are wide."""
    return min(panels, 2 if width > NARROW else 1)
