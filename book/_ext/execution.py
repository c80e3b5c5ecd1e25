"""The directive `recorded-needs`: what each chapter needed when its outputs were stored (the notebooks' metadata)."""

import json
from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from myst_nb.ext import execution_tables
from sphinx.util.docutils import SphinxDirective


class RecordedNeeds(SphinxDirective):
    """A table with one line for each chapter that runs, and their sum."""

    def run(self):
        lines = [
            "| chapter | code cells | processor time (s) | peak memory (GB) | notebook (MB) |",
            "|---|--:|--:|--:|--:|",
        ]
        total = 0
        for path in sorted((Path(self.env.srcdir) / "book").rglob("*.ipynb")):
            self.env.note_dependency(str(path))
            notebook = json.loads(path.read_text(encoding="utf-8"))
            needs = notebook["metadata"]["needs"]
            seconds, gigabytes, size = needs["seconds"], needs["megabytes"] / 1000, path.stat().st_size / 1e6
            cells = sum(cell["cell_type"] == "code" for cell in notebook["cells"])
            total += seconds
            page = path.relative_to(self.env.srcdir).with_suffix(".md").as_posix()
            lines.append(f"| [](/{page}) | {cells} | {seconds} | {gigabytes:.1f} | {size:.1f} |")
        lines.append(f"| all | | {total} | | |")
        container = nodes.container()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, container)
        return [container]


def setup(app):
    app.add_directive("recorded-needs", RecordedNeeds)
    # words: the signs that myst-nb puts here are missing in many fonts
    execution_tables._key2transform["succeeded"] = lambda succeeded: "ran" if succeeded else "failed"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
