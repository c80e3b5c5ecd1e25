"""The rule by which methods are compared, against values computed by hand and SciPy's own interval."""

import numpy as np
import pytest
from scipy import stats

from reproduction import records
from reproduction.judge import compare

SPLITS = ("imbalanced-0.6-1", "homogeneous")


@pytest.mark.parametrize(
    "low, high, word",
    [(-0.5, 0.5, "tie"), (0.1, 0.4, "tie"), (-0.1, 0.6, "undecided"), (0.1, 0.6, "higher"), (-0.6, -0.1, "lower"),
     (-0.6, 0.1, "undecided"), (0.0, 0.6, "undecided"), (np.nan, np.nan, "undecided")],
)  # fmt: skip
def test_words(low, high, word):
    assert compare.word(low, high) == word


def test_the_interval_by_hand():
    """1, 2, 3: mean 2, deviation 1, t(0.975, 2) = 4.3027, so 2 -+ 4.3027 / sqrt(3) = 2 -+ 2.4841."""
    assert compare.interval([1, 2, 3]) == pytest.approx((2, 2 - 2.48414, 2 + 2.48414), abs=1e-4)
    values = np.random.default_rng(0).normal(size=9)
    ours, theirs = compare.interval(values), stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert ours == pytest.approx((values.mean(), theirs.low, theirs.high))
    assert compare.interval([4.0])[0] == 4 and np.isnan(compare.interval([4.0])[1:]).all()


def test_only_pairs_of_one_setting_and_seed_count(recorded, tmp_path):
    """CYCle is ahead by 1, 2, 3 in three pairs; a run without counterpart, or without B, says nothing."""
    for (split, seed), ahead in zip([(SPLITS[0], 0), (SPLITS[0], 1), (SPLITS[1], 0)], (1, 2, 3), strict=True):
        recorded("cifar10-cnn", [2, 3, 4, 5, 6], "vpdl", split=split, seed=seed)
        recorded("cifar10-cnn", np.array([2, 3, 4, 5, 6]) + ahead, split=split, seed=seed)
    recorded("cifar10-cnn", [45] * 5, split=SPLITS[1], seed=1)
    recorded("cifar10-cnn", [45] * 5, "vpdl", split="dirichlet-0.5")
    recorded("cifar10-cnn", [45] * 5, split="dirichlet-0.5", standalone=None)
    found = records.read("cifar10-cnn", "laptop", results=tmp_path)
    assert compare.differences(found, "cycle", "vpdl")["MCG"].tolist() == pytest.approx([1, 2, 3])
    rows = compare.compare(found + found, ("cycle", "vpdl")).set_index("outcome")  # read twice, counted once
    assert rows["runs"].tolist() == [3] * 4
    assert rows.loc["smallest gain", ["difference", "low"]].tolist() == pytest.approx([2, -0.48414], abs=1e-4)
    assert rows["verdict"].to_dict() == {
        "mean accuracy": "undecided", "MCG": "undecided", "CGS": "tie", "smallest gain": "undecided",
    }  # fmt: skip
    split = compare.compare(found, ("vpdl", "cycle"), by=("split",)).set_index(["split", "outcome"])
    assert split.loc[(SPLITS[0], "MCG"), "difference"] == pytest.approx(-1.5)
    assert split.loc[(SPLITS[1], "MCG"), ["runs", "verdict"]].tolist() == [1, "undecided"]


def test_outcomes_by_hand():
    """Gains 1, 3 and 5 of three: mean 3, spread sqrt(8 / 3), smallest 1."""
    found = compare.outcomes({"standalone": [10, 20, 30], "accuracy": [11, 23, 35]})
    assert found == pytest.approx({"mean accuracy": 23, "MCG": 3, "CGS": np.sqrt(8 / 3), "smallest gain": 1})


def test_of_methods_that_never_met_nothing_is_said(tmp_path):
    assert compare.compare([], ("cycle", "vpdl")).empty
