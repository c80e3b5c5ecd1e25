"""The reference pages keep up with the code and the chapters."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def test_the_api_page_lists_a_module_after_those_it_imports():
    listed = re.findall(r"automodule:: (\S+)", (BOOK / "api.md").read_text())
    for number, module in enumerate(listed):
        source = ROOT / (module.replace(".", "/") + ".py")
        found = re.findall(r"^from (cycle[\w.]*) import ([\w, ]+)", source.read_text(), re.M) if source.exists() else []
        imported = {f"{package}.{name.strip()}" for package, names in found for name in names.split(",")}
        imported |= {package for package, _ in found}
        assert not imported & set(listed[number + 1 :]), f"{module} stands before what it imports"


def test_docstrings_are_plain_text_with_code():
    lines = ["Rows of |x| and *all* of `a_b`."]
    docstrings.as_plain_text(None, "function", "cycle.some", None, None, lines)
    assert lines == [r"Rows of \|x\| and \*all\* of ``a_b``."]


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
    assert set().union(*(cited(page) for page in BOOK.glob("*.md"))) == set(keys)


OURS = ("introduction", "fairness", "reputation", "mean-estimation", "encryption", "privacy", "related-work", "audit")


@pytest.mark.parametrize("name", OURS)
def test_works_are_cited_not_typed(name):
    """'(Name et al., 2020)', 'Name et al. (2020)', "Name's (2020)" and the like have no place beside citations."""
    typed = r"\(?[A-Z][\w-]+( et al\.| and [A-Z][\w-]+|'s),? \(?(19|20)\d\d\b|\([A-Z][\w-]+, (19|20)\d\d"
    assert not re.search(typed, (BOOK / f"{name}.md").read_text(encoding="utf-8"))


CHAPTERS = ("fairness", "reputation", "mean-estimation", "encryption", "privacy")


@pytest.mark.parametrize("name", CHAPTERS)
def test_chapters_link_the_words_of_the_glossary(name):
    """Each linked word has an entry (Sphinx would warn as well), and a main chapter links several."""
    entries = set(re.findall(r"^([A-Za-z][^\n]*)\n  \S", (BOOK / "glossary.md").read_text(encoding="utf-8"), re.M))
    linked = re.findall(r"\{term\}`(?:[^`<]*<)?([^`>]+)>?`", (BOOK / f"{name}.md").read_text(encoding="utf-8"))
    assert set(linked) <= entries and len(set(linked)) >= 5


@pytest.mark.parametrize("chapter", sorted(page.stem for page in BOOK.glob("*.ipynb")))
def test_chapters_begin_with_what_you_will_know_and_how_long_it_takes(chapter):
    """Until they are rewritten: then they begin with their answer."""
    if "page.answer(" in (BOOK / f"{chapter}.md").read_text(encoding="utf-8"):
        return
    text = (BOOK / f"{chapter}.md").read_text(encoding="utf-8").split("```{code-cell}")[0]
    block = re.search(r":::\{admonition\} What you will know afterwards\n(.*?)\n:::", text, re.S)[1]
    assert len(re.findall(r"^- ", block, re.M)) >= 3 and re.search(r"\d s\b|second|minute", block)


@pytest.mark.parametrize("name", CHAPTERS)
def test_main_chapters_end_with_exercises_and_folded_solutions(name):
    """Three or more; a solution is a dropdown, or a folded cell that asserts what it claims."""
    text = (BOOK / f"{name}.md").read_text(encoding="utf-8")
    exercises = re.split(r":::\{admonition\} Exercise \d", text)[1:]
    assert len(exercises) >= 3 and all(":class: dropdown" in part or "hide-cell" in part for part in exercises)
    cells = re.findall(r"```\{code-cell\} ipython3\n:tags: \[hide-cell\]\n(.*?)```", text, re.S)
    assert cells and all("assert " in cell for cell in cells)
