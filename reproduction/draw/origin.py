"""Where numbers came from: one link under a figure or a table to the page that lists the runs."""

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
    counts = {place: len(list(paths)) for place, paths in groupby(sorted(set(runs), key=anchor), key=anchor)}
    if not counts:
        raise ValueError("runs must name at least one record, got none")
    total = f"from {sum(counts.values())} run" + "s" * (sum(counts.values()) > 1)
    texts = counts if len(counts) > 1 else dict.fromkeys(counts, total)
    up = "" if Path.cwd().name == "appendix" else "appendix/"
    links = " + ".join(f'<a href="{up}{LIST}#{place}">{text}</a>' for place, text in texts.items())
    return f"{total}: {links}" if len(counts) > 1 else links
