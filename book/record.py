"""Chapters are MyST text (`x.md`); beside each lies `x.ipynb` with stored outputs, for nbval and Colab.

python book/record.py [NAME ...]     execute these chapters (default: all) and store their outputs
"""

import json
import os
import sys
from pathlib import Path

import jupytext
import prepare
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

BOOK = Path(__file__).resolve().parent
# Runs after the last cell: processor seconds (which do not depend on what else runs) and peak memory of the kernel.
MEASURE = """import json, resource
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"seconds": round(used.ru_utime + used.ru_stime), "megabytes": round(used.ru_maxrss / 1024)}))"""

HIDDEN = {"remove-cell", "remove-input", "hide-cell", "hide-input"}


def chapters() -> list[Path]:
    """The pages that run."""
    pages = sorted([*BOOK.glob("*.md"), *BOOK.glob("appendix/*.md")])
    return [path for path in pages if "kernelspec:" in path.read_text(encoding="utf-8")]


def name(chapter: Path) -> str:
    """What a command calls it: `fairness`, `appendix/tables`."""
    return chapter.relative_to(BOOK).with_suffix("").as_posix()


def notebook(chapter: Path):
    """The chapter as a notebook without outputs, with the same cell names every time."""
    read = jupytext.read(chapter)
    for number, cell in enumerate(read.cells):
        cell["id"] = f"cell-{number}"
        if HIDDEN & set(cell.metadata.get("tags", [])):  # what a page hides, Jupyter and Colab fold
            cell.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
    read.metadata = {"kernelspec": read.metadata["kernelspec"], "jupytext": {"formats": "md:myst,ipynb"}}
    read.nbformat, read.nbformat_minor = 4, 5
    return read


def record(chapter: Path) -> None:
    """Execute and store, with what it needed."""
    executed = notebook(chapter)
    executed.cells.append(new_code_cell(MEASURE))
    client = NotebookClient(
        executed,
        timeout=600,
        record_timing=False,
        store_widget_state=False,
        coalesce_streams=True,  # however the kernel flushed them
        resources={"metadata": {"path": str(chapter.parent)}},
    )
    client.execute()
    executed.metadata.pop("language_info", None)
    executed.metadata["needs"] = needs = json.loads(executed.cells.pop().outputs[0]["text"])
    for cell in executed.cells:
        if "prepare.py" in cell.source:
            cell.outputs[0]["text"] = prepare.needs(**needs) + "\n"
    jupytext.write(executed, chapter.with_suffix(".ipynb"))


def main() -> None:
    os.environ["PYTHONPATH"] = str(BOOK.parent)  # chapters compute with the code beside them, whatever is installed
    asked = sys.argv[1:]
    unknown = sorted(set(asked) - {name(chapter) for chapter in chapters()})
    if unknown:
        sys.exit(f"NAME must be a chapter that runs, got {', '.join(unknown)}")
    for chapter in chapters():
        if not asked or name(chapter) in asked:
            print(f"recording {chapter.name} ...", flush=True)
            record(chapter)


if __name__ == "__main__":
    main()
