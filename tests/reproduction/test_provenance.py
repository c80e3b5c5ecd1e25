"""Whose commit a record names, and where records go, for a clone, a copy and an installed package."""

import os
import subprocess
from pathlib import Path

import pytest

from reproduction import provenance


def git(folder, *arguments):
    who = {f"GIT_{role}_{what}": "a@b.c" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | who).stdout.strip()


def repository(folder):
    """A git repository with one commit of what is there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_text("something")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def lies_in(monkeypatch):
    """The code is run from another folder, which holds what a clone or an installation holds."""
    monkeypatch.delenv("CYCLE_RESULTS", raising=False)

    def move(folder: Path, clone: bool):
        for package in ("cycle", "reproduction"):
            (folder / package).mkdir(parents=True)
            (folder / package / "__init__.py").write_text("")
        if clone:
            (folder / "pyproject.toml").write_text((Path(__file__).parents[2] / "pyproject.toml").read_text())
        monkeypatch.setattr(provenance, "__file__", str(folder / "reproduction" / "provenance.py"))
        provenance.commit.cache_clear()

    yield move
    provenance.commit.cache_clear()


def test_a_clone_names_its_own_commit_and_whether_the_code_was_changed(tmp_path, lies_in):
    lies_in(tmp_path, clone=True)
    head = repository(tmp_path)
    assert provenance.commit() == head and provenance.results_folder() == tmp_path / "results"
    for file, found in (("README.md", head), ("cycle/new.py", f"{head}-dirty")):
        (tmp_path / file).write_text("changed")
        provenance.commit.cache_clear()
        assert provenance.commit() == found


def test_an_installed_package_names_no_commit_of_the_repository_around_it(tmp_path, lies_in, monkeypatch):
    repository(tmp_path)
    lies_in(tmp_path / "env" / "site-packages", clone=False)
    monkeypatch.chdir(tmp_path)
    assert provenance.commit() == "unknown" and provenance.results_folder() == tmp_path / "results"


def test_a_copy_inside_another_repository_names_none(tmp_path, lies_in, monkeypatch):
    repository(tmp_path)
    lies_in(tmp_path / "vendor" / "cycle-book", clone=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))  # as in a hook of that repository
    assert provenance.commit() == "unknown"
    assert provenance.results_folder() == tmp_path / "vendor" / "cycle-book" / "results"


def test_the_folder_of_records_can_be_named(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CYCLE_RESULTS", "~/records")
    assert provenance.results_folder() == tmp_path / "records"


@pytest.mark.parametrize("started", ["/somewhere/cycle/__main__.py", "/usr/local/bin/cycle"])
def test_a_command_is_recorded_as_it_was_typed(started, small_run, monkeypatch):
    monkeypatch.setattr(provenance.sys, "argv", [started, "run", "tau", "--seed", "3"])
    assert provenance.command_of(small_run("cycle"), "tau") == "python -m cycle run tau --seed 3"
