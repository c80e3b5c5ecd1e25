"""Distances from the printed accuracies, against values computed by hand from records made here."""

import numpy as np
import pytest

from reproduction.judge import printed_numbers

SPLIT = "imbalanced-0.6-1"
ALONE, CYCLE = [74.23, 45.08, 46.08, 43.8, 45.05], [76.22, 64.17, 61.88, 59.1, 63.3]  # as the paper prints them


def test_what_is_printed_is_the_papers_table():
    assert printed_numbers.printed("standalone", SPLIT).tolist() == ALONE
    assert printed_numbers.printed("cycle", SPLIT).tolist() == CYCLE


def curve(last, best, after_local):
    rounds = {-16: 0 * np.array(last), -1: after_local, 40: best, 74: last}
    return [{"round": t, "accuracy": list(map(float, values))} for t, values in rounds.items()]


@pytest.fixture
def frame(recorded, tmp_path, monkeypatch):
    """Alone: 3 points above print at the end, on it at best, 10 below after the local epochs. CYCle: P1 is 5 below."""
    monkeypatch.setattr(printed_numbers.records, "checked", lambda record, run, path: record)
    alone = np.array(ALONE)
    recorded("cifar10-cnn", [0] * 5, "standalone", profile="paper", accuracy=list(alone + 3), standalone=[0.0] * 5,
             curve=curve(alone + 3, alone + [4, 3, 3, 3, 3], alone - 10))  # fmt: skip
    ours = np.array(CYCLE) - [5, 0, 0, 0, 0]
    recorded("cifar10-cnn", [0] * 5, profile="paper", accuracy=list(ours), curve=curve(ours, ours, ours))
    recorded(
        "cifar10-cnn", [0] * 5, profile="paper", seed=1, accuracy=list(ours + 2), curve=curve(ours + 2, ours, ours)
    )
    return printed_numbers.accuracies(results=tmp_path)


def test_distances_by_hand(frame):
    rows = printed_numbers.distances(frame).set_index("taken")
    assert rows["alone"].to_dict() == pytest.approx(
        {"last epoch": 3, "best epoch": np.sqrt((16 + 4 * 9) / 5), "after the local epochs": 10}
    )
    assert rows["CYCle"].to_dict() == pytest.approx(
        {"last epoch": np.sqrt(5), "best epoch": np.sqrt(5), "after the local epochs": np.nan}, nan_ok=True
    )
    assert rows["CYCle, values"].to_dict() == {"last epoch": 5, "best epoch": 5, "after the local epochs": 0}
    assert printed_numbers.distances(frame, ["homogeneous"]).empty


def test_noise(frame):
    """The second seed of CYCle is two points above the first; the printed one was asked 6,000 questions."""
    assert printed_numbers.noise_between_seeds(frame) == pytest.approx(2)
    half = frame.assign(printed=50.0)
    assert printed_numbers.noise_of_print(half) == pytest.approx(100 * 0.5 / np.sqrt(6000))
