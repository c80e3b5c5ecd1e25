import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cycle import metrics
from reproduction import paper

PLAYERS = [f"P{n}" for n in range(1, 6)]
accuracies = st.lists(st.floats(0, 100), min_size=5, max_size=5)


def per_participant_rows():
    frame = paper.participants()
    frame = frame[~frame["table"].str.startswith("free-rider")]
    alone = frame[frame["method"] == "SA"].set_index(["table", "split"])[PLAYERS]
    for _, row in frame[frame["method"] != "SA"].iterrows():
        yield row, alone.loc[(row["table"], row["split"])].to_numpy(float), row[PLAYERS].to_numpy(float)


def printed(row, name):
    """The value in the row's own table, for CIFAR-100 in the main table (its detail table prints no averages)."""
    table = {"performance-study-table-c100": "performance-study-c100"}.get(row["table"], row["table"])
    frame = paper.tables()
    same = (frame["table"] == table) & (frame["split"] == row["split"]) & (frame["method"] == row["method"])
    return float(frame[same & (frame["participant_or_metric"] == name)]["value"].iloc[0])


def test_reproduces_every_average_that_the_paper_prints():
    rows = list(per_participant_rows())
    assert len(rows) == 50
    for row, before, after in rows:
        report = metrics.fairness_report(before, after, ddof=0)
        # both the accuracies and the averages are printed with two digits
        assert report.mva == pytest.approx(printed(row, "MVA"), abs=0.0101)
        assert report.mcg == pytest.approx(printed(row, "MCG"), abs=0.0101)
        assert report.cgs == pytest.approx(printed(row, "CGS"), abs=0.0101)


def test_the_printed_spread_is_not_the_one_of_the_equation():
    spreads = [(metrics.fairness_report(b, a, ddof=1).cgs, printed(row, "CGS")) for row, b, a in per_participant_rows()]
    assert all(equation > stated + 0.02 for equation, stated in spreads)


@given(accuracies, accuracies)
def test_report_agrees_with_numpy(before, after):
    report = metrics.fairness_report(before, after)
    gain = np.array(after) - np.array(before)
    assert report.mcg == pytest.approx(gain.sum() / 5)
    assert report.cgs == pytest.approx(np.sqrt(((gain - gain.sum() / 5) ** 2).sum() / 4))
    assert report.losers == sum(a < b for a, b in zip(after, before, strict=True))
    assert report.min_gain == min(gain)
    if np.ptp(before) > 1e-3 and np.ptp(after) > 1e-3:
        assert report.correlation == pytest.approx(np.corrcoef(before, after)[0, 1], abs=1e-6)


def test_the_papers_example():
    report = metrics.fairness_report([60, 80], [70, 70.1])
    assert report.correlation == pytest.approx(1) and report.losers == 1
    assert report.min_gain == pytest.approx(-9.9) and report.mcg == pytest.approx(0.05)


def test_undefined_values_are_nan():
    constant = metrics.fairness_report([70, 70, 70], [71, 72, 73])
    assert np.isnan(constant.correlation) and np.isnan(constant.correlation_p)
    assert np.isnan(metrics.fairness_report([50, 60], [40, 50]).cantelli_bound)
    assert metrics.fairness_report([50, 60], [52, 64]).cantelli_bound == pytest.approx(2 / (2 + 9))


def test_the_bound_survives_numbers_whose_squares_vanish():
    assert metrics.cantelli_bound(1e-196, 0.0) == 0
    assert metrics.cantelli_bound(1e-196, 1e-196) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "before, after, ddof, named",
    [
        ([1, 2], [1, 2, 3], 1, "collaborative"),
        ([1], [1], 1, "standalone"),
        ([1, np.nan], [1, 2], 1, "standalone"),
        ([1, 2], [1, 2], 2, "ddof"),
    ],
)
def test_refuses(before, after, ddof, named):
    with pytest.raises(ValueError, match=named):
        metrics.fairness_report(before, after, ddof)
