"""The directive `recorded-runs`: every run under results/, folder by folder, where figures link to."""

import html
import json
import sys
from itertools import groupby
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from reproduction.draw import origin  # noqa: E402 (the book is built from its own clone)

HEADS = ("run", "accuracy", "minutes", "date", "commit", "processor", "command")


def row(path: str, record: dict, address: str) -> list[str]:
    """The cells of one run, as HTML; a run that was resumed elsewhere says so."""
    source = record["provenance"]
    name = path.split("/", 2)[-1].removesuffix(".json")
    accuracy = record.get("accuracy")
    seconds = record.get("seconds")
    commit = source["commit"]
    short = commit[:8] + "-dirty" * commit.endswith("-dirty")
    resumed = " (resumed)" if source.get("earlier") else ""
    return [
        f'<a href="{address}/blob/main/results/{html.escape(path)}">{html.escape(name)}</a>',
        f"{sum(accuracy) / len(accuracy):.2f}" if isinstance(accuracy, list) else "",
        f"{seconds / 60:.1f}" if isinstance(seconds, (int, float)) else "",
        source["date"][:10] + resumed,
        f"<code>{short}</code>",
        html.escape(source["hardware"].split(",")[0]),
        f"<code>{html.escape(source['command'])}</code>",
    ]


class RecordedRuns(SphinxDirective):
    """Folder by folder: how many runs, of which seeds, and each with where it came from."""

    def run(self):
        results = Path(self.env.srcdir) / "results"
        address = self.config.html_theme_options["repository_url"]
        read = {}
        for path in sorted(results.rglob("*.json")):
            record = json.loads(path.read_text(encoding="utf-8"))
            if "provenance" in record:
                read[path.relative_to(results).as_posix()] = record
        self.env.note_dependency(str(results))
        made: list[nodes.Node] = []
        for place, paths in groupby(sorted(read, key=origin.anchor), key=origin.anchor):
            rows = [row(path, read[path], address) for path in paths]
            title = place.removeprefix("runs-")
            cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in line) + "</tr>" for line in rows)
            heads = "".join(f"<th>{head}</th>" for head in HEADS)
            text = (
                f'<details id="{place}" class="cycle-records"><summary>{title}: {len(rows)} runs</summary>'
                f'<div class="cycle-table"><table><thead><tr>{heads}</tr></thead><tbody>{cells}</tbody></table></div>'
                "</details>"
            )
            made.append(nodes.raw("", text, format="html"))
        return made


def setup(app):
    app.add_directive("recorded-runs", RecordedRuns)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
