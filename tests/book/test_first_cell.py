"""The first cell of a chapter: one address everywhere; what it installs and says; fetching the book from a clone."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import prepare  # noqa: E402 (the scripts beside the chapters)
import record  # noqa: E402

ADDRESS = yaml.safe_load((ROOT / "_config.yml").read_text())["repository"]["url"]


def first_cell(chapter):
    return next(cell for cell in record.notebook(chapter).cells if cell["cell_type"] == "code")["source"]


def test_every_mention_of_the_repository_is_the_configured_one():
    """To change it: python3 run.py address URL."""
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["repository-code"] == ADDRESS
    clones = 0
    for path in [ROOT / "README.md", *(ROOT / "book").rglob("*.md"), *(ROOT / "book").rglob("*.ipynb")]:
        for mention in re.findall(r"git clone [^\n]*?(https://[^\s\\]+)", path.read_text(encoding="utf-8")):
            assert mention == ADDRESS, path.name
            clones += 1
    assert clones >= 2 * len(record.chapters()) + 1  # text and notebook of each chapter, README


@pytest.mark.parametrize("chapter", record.chapters(), ids=record.name)
def test_every_chapter_begins_with_the_same_cell(chapter):
    """Those of the appendix lie one folder deeper."""
    name = record.name(chapter)
    expected = first_cell(ROOT / "book" / "fairness.md").replace("prepare.py fairness", f"prepare.py {name}")
    if name.startswith("appendix/"):
        expected = expected.replace('"prepare.py"', '"../prepare.py"').replace("%run prepare", "%run ../prepare")
        expected = expected.replace("cycle-book/book", "cycle-book/book/appendix", 2).replace(
            "cycle-book/book/appendix cycle-book", "cycle-book/book cycle-book"
        )
    assert first_cell(chapter) == expected
    measured = prepare.recorded(name)
    assert measured["seconds"] > 0 and measured["megabytes"] > 50


def test_the_packages_are_those_of_the_module():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    needed = [*project["dependencies"], *extras["fhe"], *extras["reproduction"]]
    assert sorted(prepare.PACKAGES.values()) == sorted(re.match(r"[\w-]+", line)[0] for line in needed)
    assert prepare.missing() == []


def test_binder_has_the_same_torch():
    pins = (ROOT / "requirements.txt").read_text().split()
    binder = (ROOT / ".binder" / "requirements.txt").read_text().split()
    builds = [word for word in binder if word.endswith("+cpu")]
    assert len(builds) == 2 and all(word.removesuffix("+cpu") in pins for word in builds)
    assert (ROOT / ".binder" / "runtime.txt").read_text().strip() == "python-3.11"


def test_only_what_is_missing_is_installed_with_its_pin(monkeypatch, capsys):
    calls = []
    found = prepare.importlib.util.find_spec
    monkeypatch.setattr(
        prepare.importlib.util, "find_spec", lambda name: None if name in ("tenseal", "yaml") else found(name)
    )
    monkeypatch.setattr(prepare.subprocess, "run", lambda command, check: calls.append(command))
    prepare.main("fairness")
    pins = dict(line.split("==") for line in (ROOT / "requirements.txt").read_text().split() if "==" in line)
    assert sorted(calls[0][-2:]) == [f"pyyaml=={pins['pyyaml']}", f"tenseal=={pins['tenseal']}"]
    assert "install" in calls[0] and not any("torch" in word for word in calls[0])
    assert re.search(r"needs: \d+ seconds, \d\.\d GB memory, no GPU", capsys.readouterr().out)


def in_an_empty_folder(cell, empty, tmp_path):
    """As on Colab: `cycle` is not installed, only the notebook was opened."""
    hide = (
        "import sys, importlib.abc\nsys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
    )
    hide += f"sys.path = [p for p in sys.path if p not in ('', {str(ROOT)!r})]\n"
    script = tmp_path / "cell.ipy"
    script.write_text(hide + cell)
    return subprocess.run(
        [sys.executable, "-m", "IPython", "--quick", "--no-banner", "--colors=NoColor", str(script)],
        cwd=empty,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
        capture_output=True,
        text=True,
    )


def test_a_book_that_cannot_be_fetched_is_told(tmp_path):
    cell = first_cell(ROOT / "book" / "fairness.md").replace(ADDRESS, (tmp_path / "nowhere").as_uri())
    (tmp_path / "content").mkdir()
    finished = in_an_empty_folder(cell, tmp_path / "content", tmp_path)
    said = finished.stdout + finished.stderr
    assert "AssertionError: the book could not be fetched (git says why)" in said
    assert "fatal: " in said and "prepare.py" not in said.split("AssertionError: ")[1]


def test_a_notebook_opened_alone_fetches_the_book(tmp_path):
    """The clone comes from a repository on this disk."""
    source = tmp_path / "source"
    (source / "book").mkdir(parents=True)
    for name in ("requirements.txt", "book/prepare.py", "book/fairness.ipynb"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "cycle", source / "cycle", ignore=shutil.ignore_patterns("__pycache__"))
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main", "-C", str(source)]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "book"]):
        subprocess.run([*git, *arguments], check=True, stdout=subprocess.DEVNULL)
    empty = tmp_path / "content"
    empty.mkdir()
    cell = first_cell(ROOT / "book" / "fairness.md").replace(ADDRESS, source.as_uri())
    check = "\nimport cycle, cycle.metrics\nprint('FROM', cycle.__file__)\n"
    finished = in_an_empty_folder(cell + check, empty, tmp_path)
    assert f"FROM {empty / 'cycle-book' / 'cycle'}" in finished.stdout, finished.stdout + finished.stderr
    assert "needs: " in finished.stdout
