"""Tables: short ones in a chapter, long ones in the appendix with their numbers as a file."""

import base64
import html
import itertools
import re

from IPython.display import HTML

from reproduction.draw import origin

COLUMNS, ROWS = 7, 12  # of a table in a chapter; a longer one goes to the appendix


def table(frame, digits: int = 2, runs=(), mark=None) -> HTML:
    """A short table; `mark` is a frame of booleans like it (the winner of each row), `runs` the records behind it."""
    if len(frame.columns) > COLUMNS or len(frame) > ROWS:
        raise ValueError(
            f"frame must have at most {COLUMNS} columns and {ROWS} rows in a chapter, got {len(frame.columns)} and "
            f"{len(frame)}: choose those that decide, and show all with long_table in the appendix"
        )
    return HTML(_grid(frame, digits, mark) + _from(runs))


def long_table(frame, name: str, digits: int = 2, runs=()) -> HTML:
    """A table of any length for the appendix, with the same numbers as `name`.csv to keep."""
    if not re.fullmatch(r"[\w-]+", name):
        raise ValueError(f"name must be of letters, digits and hyphens, got {name!r}")
    data = base64.b64encode(frame.to_csv(index=False, float_format="%.6g").encode()).decode()
    file = f'<a class="cycle-csv" download="{name}.csv" href="data:text/csv;base64,{data}">{name}.csv</a>'
    count = f"{len(frame)} rows" if len(frame) != 1 else "1 row"
    return HTML(_grid(frame, digits) + f'<p class="cycle-origin">{count}, to keep: {file}</p>' + _from(runs))


def folded(summary: str, frame, digits: int = 2) -> str:
    """A table behind a line that opens it, as HTML."""
    return f'<details class="cycle-numbers"><summary>{html.escape(summary)}</summary>{_grid(frame, digits)}</details>'


def _from(runs) -> str:
    return f'<p class="cycle-origin">{origin.link(runs)}</p>' if len(runs) else ""


def _grid(frame, digits: int, mark=None) -> str:
    shown = frame.astype(object).where(frame.notna(), "").rename_axis(columns=None)  # a name would be a cell more
    text = shown.to_html(index=False, border=0, float_format=lambda value: _number(value, digits), na_rep="")
    kinds = itertools.cycle([_kind(column) for _, column in frame.items()])  # the header row and then every other
    text = re.sub("<(t[hd])>", lambda cell: f'<{cell[1]} class="{next(kinds)}">', text)
    if mark is not None:
        marks = iter(mark.to_numpy(dtype=bool).ravel())
        text = re.sub(
            r'(<td class="\w+)">(.*?)</td>',
            lambda cell: f'{cell[1]} best">{cell[2]}</td>' if next(marks) else cell[0],
            text,
        )
    return f'<div class="cycle-table">{text}</div>'


def _number(value: float, digits: int) -> str:
    """Fixed digits, a real minus, and no negative zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if not float(text) else text.replace("-", "−")


def _kind(column) -> str:
    """How a column is set: sentences may wrap, words stand to the left, numbers to the right."""
    texts = [value for value in column if isinstance(value, str)]
    if any(len(text) > 24 for text in texts):
        return "sentences"
    return "words" if any(text[:1].isalpha() for text in texts) else "numbers"
