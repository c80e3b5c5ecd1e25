"""A figure on a page: drawn for a desk and for a phone, described, captioned, its numbers folded under it."""

import html

from IPython.display import HTML

from reproduction.draw import listing, origin
from reproduction.draw.style import NARROW, WIDE, svg

BY_SCREEN = (  # the pages' own style sheet says the same; a notebook elsewhere has only this
    "<style>.cycle-narrow{display:none}@media(max-width:600px){.cycle-wide{display:none}.cycle-narrow{display:inline}}"
    "</style>"
)


def figure(draw, alt: str, caption: str, numbers=None, runs=(), digits: int = 2) -> HTML:
    """What `draw(width)` draws, for a wide and a narrow screen (inches: panels stand side by side or below).

    `alt` says what one sees, for those who do not; `caption` how to read it; `numbers` is a frame of what is drawn
    (folded, compared by the tests); `runs` the paths of the records behind it.
    """
    if not alt.strip() or not caption.strip():
        raise ValueError("alt and caption must say something: a figure is described and explained")
    drawn = svg(draw(WIDE), alt, "cycle-wide") + svg(draw(NARROW), alt, "cycle-narrow")
    came = f" <span class='cycle-origin'>{origin.link(runs)}</span>" if len(runs) else ""
    table = "" if numbers is None else listing.folded("The numbers in this figure", numbers, digits)
    return HTML(
        f'{BY_SCREEN}<figure class="cycle-figure">{drawn}<figcaption>{html.escape(caption, quote=False)}{came}'
        f"</figcaption></figure>{table}"
    )


def columns(width: float, panels: int) -> int:
    """How many panels stand side by side where `width` inches are wide."""
    return min(panels, 2 if width > NARROW else 1)
