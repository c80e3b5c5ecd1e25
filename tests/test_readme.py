"""What the README shows is so: its ten lines run, the fields it names exist, its commands are understood."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
import torch
from torch import nn

import cycle
from cycle.metrics import FairnessReport
from reproduction import cli

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def block(heading, language):
    """The first block of a language below a heading."""
    return re.search(rf"^## {heading}\n.*?```{language}\n(.*?)```", TEXT, re.MULTILINE | re.DOTALL)[1]


def table(begin):
    """The names in the first column of the table after a text."""
    rows = re.search(rf"{re.escape(begin)}[^|]*\n((?:\|.*\n)+)", TEXT)[1]
    return re.findall(r"`(\w+)[^`]*`", " ".join(row.split("|")[1] for row in rows.splitlines()))


@pytest.fixture
def mine():
    """Two parties of 40 and 20 samples with different networks."""
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(100, 4, generator=generator)
    labels = (inputs[:, 0] > 0).long()
    models = nn.Linear(4, 2), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    parts = slice(0, 40), slice(40, 60)
    return [(model, inputs[part], labels[part]) for model, part in zip(models, parts, strict=True)], inputs, labels


def test_the_ten_lines_run(mine, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parties, inputs, labels = mine
    names = {"mine": parties, "X_test": inputs[60:], "y_test": labels[60:]}
    exec(block("Ten lines", "python"), names)
    result = names["result"]
    assert len(result.accuracy) == 2 and result.reputation.shape == (2, 2)
    assert cycle.load("out", [nn.Linear(4, 2), parties[1][0]])["method"] == "cycle"


def test_the_fields_it_names_exist():
    known = {field.name for field in fields(cycle.Result)} | set(dir(cycle.Result))
    assert set(table("Of a `Result`:")) - {"load", "round", "losses", "refused", "cycle"} <= known
    assert set(table("gives a `Round` an epoch")) == {field.name for field in fields(cycle.Round)}
    named = re.search(r"same seed: (.*?), correlations", TEXT)[1]
    assert set(re.findall(r"`(\w+)`", named)) <= {field.name for field in fields(FairnessReport)}
    rules = re.findall(r"^def (\w+)\((.*?)\)", TEXT, re.MULTILINE)
    assert [name for name, _ in rules] == ["score", "weigh", "share", "count", "combine"]
    assert all(
        hasattr(cycle.Rules, "__dataclass_fields__") and name in cycle.Rules.__dataclass_fields__ for name, _ in rules
    )


@pytest.mark.parametrize("line", [line for line in TEXT.splitlines() if re.match(r"cycle \w|.*-m cycle \w", line)])
def test_its_commands_are_understood(line):
    words = shlex.split(line, comments=True)
    cli.parser().parse_args(words[words.index("cycle") + 1 :])


def test_the_paths_it_names_exist():
    named = re.findall(r"^\| `([\w/]+)`", TEXT, re.MULTILINE)
    assert "cycle/" in named and all((ROOT / path).exists() for path in named if path.endswith("/"))
    links = re.findall(r"\]\(([^)#:]+)\)", TEXT)
    assert links and all((ROOT / link).exists() for link in links)
