"""Where numbers came from: one link under a figure or a table to the page that lists the runs."""

import html
import re
from itertools import groupby
from pathlib import Path

LIST = "records.html"  # of the appendix
SEEDED = re.compile(r"\.seed\d+\.json$")


def anchor(path: str) -> str:
    """The place in that list of a record: `paper/cifar10-cnn-n5/homogeneous/vpdl.seed0.json` is in its folder's."""
    folders = path.split("/")[:2] if SEEDED.search(path) else path.split("/")[:1]
    return "runs-" + re.sub(r"[^a-z0-9]+", "-", "-".join(folders).lower())


def link(runs) -> str:
    """`from 12 runs`, as HTML, for paths of records below results/; where they lie in several folders, a link each."""
    places = [(place, len(list(paths))) for place, paths in groupby(sorted(set(runs), key=anchor), key=anchor)]
    if not places:
        raise ValueError("runs must name at least one record, got none")
    up = "" if Path.cwd().name == "appendix" else "appendix/"
    one = [f'<a href="{up}{LIST}#{html.escape(place)}">{count}</a>' for place, count in places]
    total = sum(count for _, count in places)
    what = "run" if total == 1 else "runs"
    if len(places) == 1:
        return one[0].replace(f">{total}<", f">from {total} {what}<")
    return f"from {total} {what}: {' + '.join(one)}"
