"""What benchmarks share: a bar for those who watch, a record with its origin."""

import json

from reproduction.bench import recording


def test_steps_are_the_same_things_and_silent_where_nobody_watches(capsys):
    assert list(recording.steps(zip("ab", (1, 2), strict=True), "pairs")) == [("a", 1), ("b", 2)]
    assert capsys.readouterr().err == ""


def test_a_record_says_where_it_is_from(tmp_path):
    recording.write(tmp_path / "x.json", "python -m here", lambda: {"number": 1.5})
    record = json.loads((tmp_path / "x.json").read_text())
    assert record["measured"] == {"number": 1.5} and len(record["load"]) == 3
    assert record["provenance"]["command"] == "python -m here" and "1 thread(s)" in record["provenance"]["hardware"]


def test_the_clock_goes_forward():
    before = recording.clock()
    sum(range(10**5))
    assert recording.clock() > before
