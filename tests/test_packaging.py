"""What is installed: the lock is whole, and the wheel works in a folder of its own."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import cycle

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LINES = [line for line in (ROOT / "requirements.txt").read_text().splitlines() if not line.startswith("#")]


def canonical(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(requirement, extra=""):
    """The packages that a requirement pulls in, and which extras of each."""
    name = canonical(requirement.name)
    yield name
    for extra in ["", *requirement.extras]:
        for line in metadata.requires(name) or ():
            inner = Requirement(line)
            if inner.marker is None or inner.marker.evaluate({"extra": extra}):
                yield from needed(inner)


def roots():
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(line) for line in [*PROJECT["dependencies"], *(line for extra in extras for line in extra)]]


def test_the_lock_names_every_package_that_is_needed_and_no_other():
    """After a change of pyproject.toml: CONTRIBUTING.md, "A package"."""
    assert LINES[-1] == "-e ." and LINES.count("torch==2.13.0") == 1
    pinned = dict(line.split("==") for line in LINES[:-1])
    assert all(canonical(name) == name for name in pinned) and list(pinned) == sorted(pinned)
    wanted = {name for requirement in roots() for name in needed(requirement)}
    assert set(pinned) == wanted
    assert pinned == {name: metadata.version(name).partition("+")[0] for name in pinned}


def test_every_requirement_has_a_lower_bound_that_the_lock_keeps():
    pinned = dict(line.split("==") for line in LINES[:-1])
    for requirement in roots():
        assert ">=" in str(requirement.specifier), f"{requirement} wants a lower bound in pyproject.toml"
        assert requirement.specifier.contains(pinned[canonical(requirement.name)]), requirement


def test_there_is_one_version():
    """In pyproject.toml, the package, CITATION.cff and, newest first, CHANGELOG.md."""
    cited = re.search(r"^version: (\S+)", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    newest = re.search(r"^## \[([\d.]+)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1]
    assert PROJECT["version"] == cycle.__version__ == cited == newest


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The wheel, unpacked as pip does, in a folder that is no clone but lies in somebody else's repository."""
    place = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = place / "source"
    kept = [
        path
        for name in ("cycle", "reproduction")
        for path in (ROOT / name).rglob("*")
        if path.suffix in (".py", ".csv", ".toml")
    ]
    for path in [*kept, *(ROOT / name for name in ("pyproject.toml", "README.md", "LICENSE"))]:
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", place, source]
    subprocess.run(wheel, check=True, capture_output=True)
    (file,) = place.glob("*.whl")
    subprocess.run([*pip, "install", "--no-deps", "--target", place / "site", file], check=True, capture_output=True)
    (place / "work").mkdir()
    subprocess.run(["git", "init", "--quiet", place], check=True)
    return file, place / "site", place / "work"


def command(installed, *arguments):
    """The console script, with the packages of this Python and `cycle` from the wheel."""
    _, site, work = installed
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CYCLE_")}
    return subprocess.run(
        [sys.executable, site / "bin" / "cycle", *arguments],
        cwd=work,
        env=environment | {"PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
    )


def test_the_wheel_holds_the_code_and_the_papers_tables(installed):
    names = zipfile.ZipFile(installed[0]).namelist()
    assert {"cycle/metrics.py", "reproduction/cli.py", "reproduction/paper/paper_tables.csv"} <= set(names)
    assert not [name for name in names if not name.startswith(("cycle/", "reproduction/", "cycle_book-"))]


def test_the_console_script_works_outside_the_repository(installed):
    assert command(installed, "--help").stdout.startswith("usage: cycle ")
    finished = command(installed, "run", "learning-rate", "--methods", "standalone", "--variants", "unchanged")
    assert finished.returncode == 0, finished.stderr
    work = installed[2]
    (record,) = work.rglob("*.json")
    assert record.relative_to(work).parts[:2] == ("results", "smoke")
    text = record.read_text()
    assert '"commit": "unknown"' in text  # not that of the repository around it
    listed = command(installed, "list").stdout
    assert "learning-rate" in listed and "1 seed" not in listed  # smoke is not counted
