"""The chapter on privacy names a test for each promise: it exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_promise_names_a_test_that_exists():
    named = re.findall(r'"(test_\w+): ([\w ]+)"\]', (ROOT / "book" / "privacy.md").read_text(encoding="utf-8"))
    assert len(named) >= 10
    for module, words in named:
        source = (ROOT / "tests" / "cycle" / f"{module}.py").read_text(encoding="utf-8")
        assert f"def test_{words.replace(' ', '_')}" in source, (module, words)
