"""The noise between processors is what two recordings differ by, and verdicts are undecided within it."""

import json

import numpy as np
import pytest

from reproduction.fields import load
from reproduction.judge import chapters, noise, trials
from reproduction.judge.claim import all_of
from reproduction.records import RESULTS


def again(path, tmp_path, by):
    """The same run below results/again, its accuracies moved."""
    record = json.loads(path.read_text())
    moved = tmp_path / noise.AGAIN / path.relative_to(tmp_path)
    moved.parent.mkdir(parents=True, exist_ok=True)
    moved.write_text(json.dumps(record | {"accuracy": np.add(record["accuracy"], by).tolist(), "curve": []}))


def test_recorded_again(recorded, tmp_path):
    """3, 4 and three zeros: the root of 25 / 5; what agrees everywhere was made on one processor."""
    again(recorded("cifar10-cnn", [1] * 5), tmp_path, [3, 4, 0, 0, 0])
    again(recorded("cifar10-cnn", [1] * 5, seed=1), tmp_path, [0] * 5)
    assert noise.of_one("laptop", tmp_path) == pytest.approx(np.sqrt(5))
    assert noise.limit("laptop", tmp_path) == pytest.approx(1.959964 * np.sqrt(5))
    assert noise.of_one("paper", tmp_path) == 0


def test_the_same_participant_in_two_runs_alone(recorded, tmp_path):
    """P3 to P5 hold the same images in (0.6, 1) and (0.35, 2); beside a flipper nobody else changes."""
    sizes = {"imbalanced-0.6-1": [30, 5, 5, 5, 5], "imbalanced-0.35-2": [17, 18, 5, 5, 5]}
    recorded("cifar10-cnn", [0] * 5, "standalone", split="imbalanced-0.6-1", sizes=sizes["imbalanced-0.6-1"])
    recorded("cifar10-cnn", [9, 9, 0, 0, 1], "standalone", split="imbalanced-0.35-2", sizes=sizes["imbalanced-0.35-2"])
    recorded("cifar10-cnn", [9] * 5, "standalone", split="imbalanced-0.35-2", seed=1)  # of another seed
    recorded("learning-rate", [9] * 5, "standalone", variant="lr0.1", sizes=sizes["imbalanced-0.6-1"])
    recorded("free-riders", [5] * 5, "standalone", split="homogeneous")
    recorded("free-riders", [5, 7, 5, 5, 9], "standalone", "flip1.0x1", split="homogeneous")
    frame = noise.recorded_twice("laptop", tmp_path)
    apart = (frame["again"] - frame["first"]).tolist()
    assert frame["participant"].tolist() == [0, 1, 2, 3, 2, 3, 4] and apart == [0, 2, 0, 0, 0, 0, 1]


def test_equal_bounds_make_equal_parts():
    """What the rule above rests on: splits are dealt by one shuffle for each class."""
    from cycle import partition

    labels = np.repeat(np.arange(10), 50)
    one, two = (partition.imbalanced(labels, 5, share, m, seed=3) for share, m in ((0.6, 1), (0.35, 2)))
    ends = [np.cumsum([0, *map(len, parts)]) for parts in (one, two)]
    for n in range(5):
        equal = np.array_equal(np.sort(one[n]), np.sort(two[n]))
        assert equal == np.array_equal(ends[0][n : n + 2], ends[1][n : n + 2]) == (n > 1)


@pytest.mark.parametrize("ahead, held", [(0.9, True), (0.7, None), (-0.7, None), (-0.9, False)])
def test_within_the_noise_a_case_is_undecided(recorded, tmp_path, ahead, held):
    """Recorded twice, one accuracy is 0.9 apart: 1.76 points are noise for one gain, and 0.79 for a mean of five."""
    again(recorded("cifar10-cnn", [2] * 5, seed=1), tmp_path, [0.9] * 5)
    recorded("cifar10-cnn", np.array([2] * 5) + ahead)
    recorded("cifar10-cnn", [2] * 5, "vpdl")
    found = trials.trials(("cifar10-cnn",), "laptop", tmp_path)
    asked = {claim.checked: claim.check(found) for claim in chapters.CLAIMS["cifar"]}
    assert [one for _, one in asked["larger MCG than VPDL"]] == [held]
    positive = dict(asked["the smallest gain is above 0"])
    assert [answer for name, answer in positive.items() if "seed 0" in name] == [True if ahead > 0 else None]


def test_all_is_false_before_it_is_undecided():
    for first in (True, False, None):
        for second in (True, False, None):
            expected = False if False in (first, second) else None if None in (first, second) else True
            assert all_of([first, second]) is expected


def test_what_is_recorded_again_is_the_same_run_on_another_processor():
    again = sorted((RESULTS / noise.AGAIN).rglob("*.json"))
    assert again
    for path in again:
        one, other = load(RESULTS / path.relative_to(RESULTS / noise.AGAIN)), load(path)
        for name in ("method", "variant", "split", "seed", "n", "sizes", "images", "data_hash", "start"):
            assert one.get(name) == other.get(name), f"{path}: {name}"
        assert other["options"].items() >= one["options"].items()  # later records know more options
        assert one["provenance"]["hardware"] != other["provenance"]["hardware"]
