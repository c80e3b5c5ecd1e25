"""What is no record is named with its field; what is committed is read as it stands."""

import copy
import json
import re
import time

import pytest

from reproduction import fields, records, settings

COMMITTED = [path for profile in settings.RECORDED for path in (records.RESULTS / profile).rglob("*.json")]


@pytest.fixture(scope="module")
def record():
    """A gossip run: reputations, two evaluation points."""
    path = records.RESULTS / "laptop/cifar10-cnn-n10/dirichlet-0.5/cycle-gossip.seed0.json"
    return json.loads(path.read_text())


def changed(record, place, value):
    record = copy.deepcopy(record)
    *way, last = place
    part = record
    for step in way:
        part = part[step]
    part[last] = value
    return record


def test_every_committed_record_is_valid_and_read_as_it_stands():
    assert len(COMMITTED) > 500
    plain = [json.loads(path.read_text()) for path in COMMITTED]
    begun = time.process_time()
    assert [fields.load(path) for path in COMMITTED] == plain
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "place, value, said",
    [
        (["options"], None, "options: Input should be a valid dictionary, got None"),
        (["accuracy"], {}, "accuracy: .* list"),
        (["accuracy"], [], "accuracy: has 0 values for 10 participants"),
        (["accuracy", 1], float("nan"), "accuracy.1: .* finite"),
        (["accuracy", 0], 1e9, r"accuracy.0: .* 100, got 1000000000.0"),
        (["accuracy", 0], "50", "accuracy.0: .* number, got '50'"),
        (["accuracy", 0], True, "accuracy.0: .* number, got True"),
        (["accuracy", 0], 12.5, "accuracy is .*, the curve ends with"),
        (["standalone"], [50.0, 50.0], "standalone: has 2 values for"),
        (["standalone", 0], -1.0, "standalone.0"),
        (["curve", 0, "accuracy", 0], float("inf"), "curve.0.accuracy.0: .* finite"),
        (["curve", 0, "accuracy"], [1.0], "curve.0.accuracy: has 1 values"),
        (["curve", 0, "points", "after"], [1.0], "curve.0.points.after: has 1 values"),
        (["curve", 0, "round"], 99, "curve must go from round to round"),
        (["losses", 0, "losses", 0, 0], float("nan"), "losses.0.losses.0.0: .* finite"),
        (["losses", 0, "losses"], [], "losses.0.losses: has 0 values"),
        (["reputation", 0, "matrix", 0, 1], 1.5, "reputation.0.matrix.0.1: .* 1, got 1.5"),
        (["reputation", 0, "matrix", 0], [0.5], "reputation.0.matrix.0: has 1 values"),
        (["reputation", 0, "matrix"], [], "reputation.0.matrix: has 0 values"),
        (["counted"], [{"round": 0, "matrix": []}], "counted.0.matrix: has 0 values"),
        (["counted"], [{"round": 0, "matrix": [[1.5] * 10] * 10}], "counted.0.matrix.0.0: .* 1, got 1.5"),
        (["sizes"], [5], "sizes: has 1 values"),
        (["shares"], [[1]], "shares must be a square"),
        (["shares", 0], [1], "shares must be a square"),
        (["shares", 0, 1], -1, "shares.0.1: .* 0, got -1"),
        (["messages", "sent"], 10**9, "messages says that 1000000000 were sent, shares add up to"),
        (["messages", "possible"], 1, "were sent of 1"),
        (["seconds"], float("inf"), "seconds: .* finite"),
        (["n"], 2, "accuracy: has 10 values for 2 participants"),
        (["n"], None, "n: .* integer, got None"),
        (["provenance"], "nowhere", "provenance: .* dictionary"),
        (["provenance", "commit"], 7, "provenance.commit: .* string, got 7"),
    ],
)
def test_a_damaged_field_is_named_in_one_line(record, tmp_path, place, value, said):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(changed(record, place, value)))
    with pytest.raises(ValueError, match=f"{path} is damaged ") as found:
        fields.load(path)
    assert re.search(said, str(found.value)) and "\n" not in str(found.value)
    assert str(found.value).endswith("restore or remove it")


@pytest.mark.parametrize("content", ["[]", "3", '"text"', "[" * 100_000, "", '{"accuracy": [1.0'])
def test_what_is_no_object_is_named_in_one_line(tmp_path, content):
    path = tmp_path / "run.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"{path} is damaged .*: restore or remove it") as found:
        fields.load(path)
    assert "\n" not in str(found.value)


def test_numbers_of_a_later_version_are_let_through(record, tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps(record | {"dropped": {"P1": 3}}))
    assert fields.load(path)["dropped"] == {"P1": 3}
