"""The rule that chooses a setting, on records made here."""

import pytest

from reproduction.experiments.questions import SETTINGS
from reproduction.judge import chosen


def test_the_best_of_the_first_five_in_which_nobody_loses(recorded, tmp_path):
    """Means: setting01 46.2, ..., each 1 less; in the first two P5 loses 3 and 2 points, in the third nobody."""
    assert chosen.chosen(chosen.ranking(results=tmp_path)) is None
    for number, last in enumerate((-3, -2, 0.5, 0.5, 0.5, 0.5), start=1):
        gains = [5.0 - 1.25 * number - last / 4] * 4 + [last]
        recorded("search", gains, variant=f"setting{number:02d}", alone=[43.0] * 5, standalone=[43.0] * 5)
    frame = chosen.ranking(results=tmp_path)
    assert frame["setting"].head(6).tolist() == [f"setting{number:02d}" for number in range(1, 7)]
    assert frame["accuracy"].head(6).tolist() == pytest.approx([46, 45, 44, 43, 42, 41])
    assert chosen.chosen(frame) == "setting03"
    assert len(frame) == len(SETTINGS) == 25 and frame["accuracy"].isna().sum() == 25 - 6
    assert frame.set_index("setting").loc["setting02", ["lambda_0", "temperature"]].tolist() == [27.0, 5.4]


def test_who_loses_least_where_somebody_always_loses(recorded, tmp_path):
    for number, last in enumerate((-3, -1, -2), start=1):
        recorded(
            "search", [5, 5, 5, 5, last - number], variant=f"setting{number:02d}", alone=[43] * 5, standalone=[43] * 5
        )
    assert chosen.chosen(chosen.ranking(results=tmp_path)) == "setting02"
