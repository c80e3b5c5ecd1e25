"""The reference pages keep up with the code and the chapters."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK / "_ext"))

import docstrings  # noqa: E402 (the Sphinx extension of the API page)


def public_modules():
    """Every module of cycle but the command line and the benchmarks, e.g. 'cycle.fhe.owner'."""
    for path in sorted((ROOT / "cycle").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if len(parts) > 1 and not {"bench", "__main__"} & set(parts):
            yield ".".join(parts)


def test_every_public_module_is_on_the_api_page_once():
    listed = re.findall(r"automodule:: (\S+)", (BOOK / "api.md").read_text())
    assert sorted(listed) == sorted(public_modules())


def test_docstrings_are_plain_text_with_code():
    lines = ["Rows of |x| and *all* of `a_b`."]
    docstrings.as_plain_text(None, "function", "cycle.some", None, None, lines)
    assert lines == [r"Rows of \|x\| and \*all\* of ``a_b``."]


def test_constants_are_those_of_the_module_itself():
    import cycle.tables

    assert "MEASURES" in docstrings.constants("cycle.tables") and hasattr(cycle.tables, "EXPERIMENTS")
    assert "EXPERIMENTS" not in docstrings.constants("cycle.tables")
