"""The grain and the last digits of printed accuracies."""

import numpy as np
import pytest

from reproduction import paper
from reproduction.paper import digits

DETAIL = "performance-study-table-c10-"


def test_granularity_sees_a_single_foreign_value(altered):
    sizes = digits.granularity(paper.tables()).set_index("table")["answers"]
    assert sizes["performance-study-table-c100"] == 2000
    one = digits.granularity(altered(56.11, line=1207, participant_or_metric="P1", method="CYCle")).set_index("table")[
        "answers"
    ]
    assert one["performance-study-table-c100"] > 2000
    assert one.drop("performance-study-table-c100").equals(sizes.drop("performance-study-table-c100"))


@pytest.mark.parametrize("runs", [2, 3])
def test_last_digits_are_those_of_simulated_runs(runs):
    """Means over runs on 2,000 samples, printed with two decimals: the expected digits occur, and no others."""
    right = np.random.default_rng(0).integers(1000, 1800, size=(40_000, runs)).mean(axis=1)
    simulated = np.bincount([int(f"{100 * value / 2000:.2f}"[-1]) for value in right], minlength=10) / len(right)
    expected = digits.last_digits(paper.tables(), DETAIL)
    assert np.allclose(simulated, expected[f"{runs} runs"] / expected["counted"].sum(), atol=0.03)
