"""The house: imports point downwards, files stay short, lint and format hold, chapters and notebooks agree."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

import record  # noqa: E402 (the script beside the chapters)

# A file may import from the lines above its own, never from below.
LAYERS = [
    {"files"},
    {"metrics", "reputation", "sharing", "distillation", "partition", "options", "vision", "lesions"},
    {"gossip", "ranks", "theory", "fhe", "models", "fetch"},
    {"fedisic"},
    {"datasets"},
    {"participants"},
    {"correspondence"},
    {"training"},
    {"baselines", "gossip_training"},
    {"methods"},
    {"runs"},
    {"experiments", "provenance", "checkpoints"},
    {"records", "paper"},
    {"tables", "audit", "readings", "evidence"},
    {"claims", "gossip_claims", "free_riders"},
    {"sentences"},
    {"verdicts", "scoreboard", "recipes"},
    {"plots", "diagrams", "bench"},
    {"figures"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def modules():
    for path in sorted((ROOT / "cycle").rglob("*.py")):
        parts = path.relative_to(ROOT / "cycle").with_suffix("").parts
        if parts != ("__init__",):
            yield path, parts[0]


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "cycle":
            inner = node.module.split(".")[1:]
            yield from inner[:1] or [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("cycle."):
                    yield alias.name.split(".")[1]


def test_imports_point_downwards():
    wrong = []
    for path, name in modules():
        assert name in LEVEL, f"{path.name} has no place in LAYERS"
        for other in imported(path):
            if other != name and LEVEL[other] >= LEVEL[name]:
                wrong.append(f"{name} imports {other}")
    assert not wrong


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]])
def test_ruff(command):
    finished = subprocess.run([sys.executable, "-m", "ruff", *command, "."], cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_files_of_the_module_stay_short():
    long = {path.name: count for path, _ in modules() if (count := len(path.read_text().splitlines())) > 350}
    assert not long


@pytest.mark.parametrize("chapter", record.chapters(), ids=lambda chapter: chapter.stem)
def test_the_stored_notebook_is_this_chapter(chapter):
    """After a change of a chapter: python3 run.py accept."""
    stored = json.loads(chapter.with_suffix(".ipynb").read_text(encoding="utf-8"))
    text = record.notebook(chapter)

    def sources(cells):
        return [(cell["cell_type"], "".join(cell["source"]).strip()) for cell in cells]

    assert sources(stored["cells"]) == sources(text.cells)
    code = [cell for cell in stored["cells"] if cell["cell_type"] == "code"]
    assert all(cell["execution_count"] for cell in code), "not executed"


def test_every_figure_has_alternative_text():
    for chapter in record.chapters():
        for cell in record.notebook(chapter).cells:
            if cell["cell_type"] == "code" and "plt.show()" in cell["source"]:
                assert cell["metadata"]["mystnb"]["image"]["alt"], f"{chapter.name}: a figure without alt text"


def test_every_page_is_in_the_table_of_contents():
    contents = (ROOT / "_toc.yml").read_text()
    for page in (ROOT / "book").glob("*.md"):
        assert f"book/{page.stem}" in contents, f"{page.name} is missing in _toc.yml"


def test_nbval_notices_a_change_of_a_thousandth(tmp_path):
    """A copy of `cycle` whose gains are 0.1 % larger must fail the chapter on fairness; the true one passes it."""
    import os
    import shutil

    shutil.copytree(ROOT / "cycle", tmp_path / "cycle", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "--nbval", "-q", "-p", "no:cacheprovider", "book/fairness.ipynb"]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}

    def passes():
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True).returncode == 0

    assert passes()
    file = tmp_path / "cycle" / "metrics.py"
    changed = file.read_text().replace("return after - before", "return 1.001 * (after - before)")
    assert changed != file.read_text()
    file.write_text(changed)
    assert not passes()
