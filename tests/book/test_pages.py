"""The reference pages keep up with the code and the chapters."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK / "_ext"))

import docstrings  # noqa: E402 (the Sphinx extensions of the API pages)
import modules  # noqa: E402


def test_every_module_has_a_page_that_says_what_it_holds():
    for package in ("cycle", "reproduction"):
        paths = [path for path in (ROOT / package).rglob("*.py") if path.name != "__main__.py"]
        assert len(modules.modules(package)) == len(paths) > 30  # all have a docstring
    assert modules.modules("cycle")["cycle.metrics"].startswith("How much collaboration gave each participant")


def test_docstrings_are_plain_text_with_code():
    lines = ["Rows of |x| and *all* of `a_b`."]
    docstrings.as_plain_text(None, "function", "cycle.some", None, None, lines)
    assert lines == [r"Rows of \|x\| and \*all\* of ``a_b``."]
    lines = [">>> cycle.run(a, *b)", "|x|", "", "a_b"]
    docstrings.as_plain_text(None, "function", "cycle.some", None, None, lines)
    assert lines == [">>> cycle.run(a, *b)", "|x|", "", r"a\_b"]


def test_constants_are_those_of_the_module_itself():
    import reproduction.draw.tables

    assert "MEASURES" in docstrings.constants("reproduction.draw.tables") and hasattr(
        reproduction.draw.tables, "EXPERIMENTS"
    )
    assert "EXPERIMENTS" not in docstrings.constants("reproduction.draw.tables")


def cited(page):
    """The keys that a page cites."""
    groups = re.findall(r"\{cite:[pt]\}`([^`]+)`", page.read_text(encoding="utf-8"))
    return {key.strip() for group in groups for key in group.split(",")}


def test_every_citation_has_an_entry_and_every_entry_is_cited():
    keys = re.findall(r"^@\w+\{([^,]+),", (BOOK / "references.bib").read_text(encoding="utf-8"), re.M)
    assert len(keys) == len(set(keys))
    assert set().union(*(cited(page) for page in BOOK.rglob("*.md"))) == set(keys)


OURS = (
    "introduction",
    "fairness",
    "reputation",
    "mean-estimation",
    "encryption",
    "privacy",
    "appendix/related-work",
    "appendix/audit",
)


@pytest.mark.parametrize("name", OURS)
def test_works_are_cited_not_typed(name):
    """'(Name et al., 2020)', 'Name et al. (2020)', "Name's (2020)" and the like have no place beside citations."""
    typed = r"\(?[A-Z][\w-]+( et al\.| and [A-Z][\w-]+|'s),? \(?(19|20)\d\d\b|\([A-Z][\w-]+, (19|20)\d\d"
    assert not re.search(typed, (BOOK / f"{name}.md").read_text(encoding="utf-8"))


CHAPTERS = ("fairness", "reputation", "mean-estimation", "encryption", "privacy")


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_link_the_words_of_the_glossary(name):
    """Each linked word has an entry (Sphinx would warn as well), and a main chapter links several."""
    entries = set(
        re.findall(r"^([A-Za-z][^\n]*)\n  \S", (BOOK / "appendix" / "glossary.md").read_text(encoding="utf-8"), re.M)
    )
    linked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", (BOOK / f"{name}.md").read_text(encoding="utf-8"))
    assert set(linked) <= entries and len(set(linked)) >= 5


@pytest.mark.parametrize("name", CHAPTERS)
def test_main_chapters_end_with_exercises_and_folded_solutions(name):
    """Three or more; a solution is a dropdown, or a folded cell that asserts what it claims."""
    text = (BOOK / f"{name}.md").read_text(encoding="utf-8")
    exercises = re.split(r":::\{admonition\} Exercise \d", text)[1:]
    assert len(exercises) >= 3 and all(":class: dropdown" in part or "hide-cell" in part for part in exercises)
    cells = re.findall(r"```\{code-cell\} ipython3\n:tags: \[hide-cell\]\n(.*?)```", text, re.S)
    assert cells and all("assert " in cell for cell in cells)
