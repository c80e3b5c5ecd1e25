"""The examples run as they are, each in a process of its own, and say what their first line promises."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))


def said(example):
    command = [sys.executable, "-W", "error::UserWarning", example.name]
    finished = subprocess.run(command, cwd=example.parent, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_nobody_ends_near_guessing(example):
    """In the test data 63 of 100 tumours are benign."""
    accuracies = [float(number) for number in re.findall(r"\b\d{2}\.\d\b", said(example))]
    assert len(accuracies) >= 3 and min(accuracies) > 80


def test_all_four_rules_are_shown():
    text = next(path for path in EXAMPLES if path.stem == "own_rule").read_text()
    keys = {key.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Dict) for key in node.keys}
    assert {"score", "weigh", "share", "count"} <= keys
