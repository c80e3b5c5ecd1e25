"""What a chapter calls to put something on its page (book/WRITING.md says how): from reproduction.draw import page."""

# ruff: noqa: F401 (names for chapters)
from reproduction.draw.diagram import diagram
from reproduction.draw.explore import Explore as explore
from reproduction.draw.explore import buttons, slider
from reproduction.draw.lead import differences, lead
from reproduction.draw.listing import long_table, table
from reproduction.draw.marks import Panel as panel
from reproduction.draw.marks import area, arrows, bars, dots, grid, line
from reproduction.draw.picture import columns, figure
from reproduction.draw.prose import answer, check, say
from reproduction.draw.rule import rule
from reproduction.draw.style import COLOURS, MARKERS, name, split, style
