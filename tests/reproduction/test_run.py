"""run.py: what it says when a machine lacks something, and that it skips what is done."""

import ast
import importlib.util
import subprocess
import sys
from collections import namedtuple
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(tmp_path, monkeypatch):
    """run.py as a module, at work in an empty directory."""
    spec = importlib.util.spec_from_file_location("run_script", ROOT / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "requirements.txt").write_text("six\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(module, "PYTHON", tmp_path / ".venv" / "bin" / "python")
    return module


def test_needs_the_standard_library_only():
    tree = ast.parse((ROOT / "run.py").read_text(), feature_version=(3, 7))  # an old Python must reach the message
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names <= set(sys.stdlib_module_names)


def test_an_old_python_is_told(script, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1))
    monkeypatch.setattr(sys, "argv", ["run.py", "book"])
    with pytest.raises(SystemExit, match="Python 3.11 or newer"):
        script.main()


def test_a_full_disk_is_told(script, monkeypatch):
    usage = namedtuple("usage", "total used free")(10, 9, 1e9)
    monkeypatch.setattr(script.shutil, "disk_usage", lambda path: usage)
    with pytest.raises(SystemExit, match="1.0 GB free; the packages need 4 GB"):
        script.setup()


def test_no_network_is_told_and_nothing_is_called_done(script, monkeypatch):
    monkeypatch.setattr(script.venv, "create", lambda path, with_pip, clear: script.PYTHON.parent.mkdir(parents=True))
    monkeypatch.setattr(script.subprocess, "run", lambda *_, **__: subprocess.CompletedProcess([], 1))
    with pytest.raises(SystemExit, match="no network"):
        script.setup()
    assert not (script.VENV / "cycle-setup.txt").exists()


def test_a_half_made_environment_is_made_anew(script, monkeypatch):
    """As on Debian without python3-venv: the interpreter is there, pip is not."""
    script.PYTHON.parent.mkdir(parents=True)
    script.PYTHON.write_text("")
    cleared = []

    def create(path, with_pip, clear):
        cleared.append(clear)
        raise subprocess.CalledProcessError(1, "ensurepip")

    monkeypatch.setattr(script.venv, "create", create)
    with pytest.raises(SystemExit, match="apt install python3-venv"):
        script.setup()
    assert cleared == [True]


@pytest.mark.parametrize("change", ["gone", "another"])
def test_after_another_python_the_environment_is_made_anew(script, monkeypatch, change):
    cleared = []

    def create(path, with_pip, clear):
        cleared.append(clear)
        script.PYTHON.parent.mkdir(parents=True, exist_ok=True)
        script.PYTHON.write_text("")

    monkeypatch.setattr(script.venv, "create", create)
    monkeypatch.setattr(script.subprocess, "run", lambda *a, **_: subprocess.CompletedProcess([], 0))
    script.setup()
    if change == "gone":
        script.PYTHON.unlink()
    else:
        monkeypatch.setattr(sys, "version", "4.0")
    script.setup(), script.setup()
    assert cleared == [True, True]


def test_the_second_call_installs_nothing(script, monkeypatch):
    calls = []

    def create(path, with_pip, clear):
        script.PYTHON.parent.mkdir(parents=True)
        script.PYTHON.write_text("")

    monkeypatch.setattr(script.venv, "create", create)
    monkeypatch.setattr(script.subprocess, "run", lambda *a, **_: calls.append(a) or subprocess.CompletedProcess([], 0))
    script.setup(), script.setup()
    assert len(calls) == 1
    (script.ROOT / "requirements.txt").write_text("six==1.16\n")
    script.setup()
    assert len(calls) == 2  # changed requirements are installed


def test_the_cache_of_executed_chapters_goes_when_the_code_changes(script, monkeypatch):
    (script.ROOT / "cycle").mkdir()
    code = script.ROOT / "cycle" / "metrics.py"
    code.write_text("a = 1")
    cache = script.ROOT / "_build" / ".jupyter_cache"

    def build(*_, **__):
        cache.mkdir(parents=True, exist_ok=True)
        return 0

    monkeypatch.setattr(script, "python", build)
    assert script.book() == 0
    (cache / "kept").write_text("")
    assert script.book() == 0 and (cache / "kept").exists()
    code.write_text("a = 2")
    assert script.book() == 0 and not (cache / "kept").exists()


def test_the_address_is_replaced_everywhere(script):
    old, new = "https://github.com/a/b", "https://github.com/c/d"
    (script.ROOT / "book").mkdir()
    (script.ROOT / "_config.yml").write_text(f"repository:\n  url: {old}\n")
    (script.ROOT / "book" / "x.ipynb").write_text(f"git clone {old} https://github.com/other/one")
    assert script.address(new + "/") == 0
    assert (script.ROOT / "_config.yml").read_text() == f"repository:\n  url: {new}\n"
    assert (script.ROOT / "book" / "x.ipynb").read_text() == f"git clone {new} https://github.com/other/one"
    assert script.address(new + ".git") == 0 and f"url: {new}\n" in (script.ROOT / "_config.yml").read_text()
    for wrong in ("", "https://", "https://github.com/you", "http://github.com/you/book"):
        with pytest.raises(SystemExit, match="wants the https address"):
            script.address(wrong)


def test_only_accept_takes_chapters(script, monkeypatch, capsys):
    called = []
    monkeypatch.setattr(script, "setup", lambda: None)
    monkeypatch.setattr(script, "python", lambda *arguments: called.append(arguments) or 0)
    monkeypatch.setattr(sys, "argv", ["run.py", "accept", "cifar", "gossip"])
    with pytest.raises(SystemExit):
        script.main()
    assert called == [("book/record.py", "cifar", "gossip")]
    monkeypatch.setattr(sys, "argv", ["run.py", "book", "cifar"])
    with pytest.raises(SystemExit):
        script.main()
    assert "book takes no further argument, got cifar" in capsys.readouterr().err


@pytest.mark.parametrize(
    "build, pages, others, expected", [(0, 0, 0, 0), (1, 0, 0, 1), (0, 2, 0, 2), (0, 0, 3, 3), (1, 0, 3, 3)]
)
def test_pages_are_tested_after_the_build_and_any_failure_counts(script, monkeypatch, build, pages, others, expected):
    calls = []

    def python(*arguments, **_):
        if "--nbval" in arguments:
            return others
        calls.append(arguments[-len(script.OF_THE_PAGES) :])
        return pages

    monkeypatch.setattr(script, "book", lambda: calls.append("book") or build)
    monkeypatch.setattr(script, "python", python)
    assert script.test() == expected
    assert calls == (["book"] if build else ["book", script.OF_THE_PAGES])


def test_the_tests_of_the_pages_exist(script):
    assert all((ROOT / path).exists() for path in script.OF_THE_PAGES)
