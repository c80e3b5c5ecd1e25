import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cycle import metrics
from reproduction import paper

PLAYERS = [f"P{n}" for n in range(1, 6)]
accuracies = st.lists(st.floats(0, 100), min_size=5, max_size=5)


def per_participant_rows():
    frame = paper.tables()
    frame = frame[frame["participant_or_metric"].isin(PLAYERS) & ~frame["table"].str.startswith("free-rider")]
    key = ["table", "split", "method"]
    frame = frame.pivot_table(index=key, columns="participant_or_metric", values="value").reset_index()
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


def test_bytes_do_not_wrap_around():
    alone, together = np.array([200, 100], np.uint8), np.array([100, 200], np.uint8)
    assert metrics.gains(alone, together).tolist() == [-100, 100]
    assert metrics.pearson(alone, together)[0] == pytest.approx(-1)


@given(accuracies, accuracies)
def test_pearson_is_numpys_and_its_p_value_scipys(x, y):
    found, p = metrics.pearson(x, y)
    if np.ptp(x) > 1e-3 and np.ptp(y) > 1e-3:
        assert found == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-6)
        t = found * np.sqrt(3 / max(1e-300, 1 - found**2))
        assert p == pytest.approx(2 * stats.t.sf(abs(t), df=3), abs=1e-6)
    assert np.isnan(metrics.pearson(x, [7.0] * 5)).all() and np.isnan(metrics.pearson([7.0] * 5, y)).all()


def test_two_points_have_a_correlation_without_a_p_value():
    found, p = metrics.pearson([1, 2], [5, 3])
    assert found == pytest.approx(-1) and np.isnan(p)


@given(accuracies, accuracies)
def test_every_field_of_a_report_by_hand(before, after):
    report = metrics.fairness_report(before, after, ddof=0)
    gain = np.subtract(after, before)
    assert np.array_equal(report.gains, gain) and report.mva == pytest.approx(np.mean(after))
    assert report.cgs == pytest.approx(np.sqrt(((gain - gain.mean()) ** 2).mean()))
    for found, pair in ((report.correlation, (before, after)), (report.gain_correlation, (before, gain))):
        assert found == pytest.approx(metrics.pearson(*pair)[0], nan_ok=True)
    assert report.correlation_p == pytest.approx(metrics.pearson(before, after)[1], nan_ok=True)
    assert report.cantelli_bound == pytest.approx(metrics.cantelli_bound(report.mcg, report.cgs), nan_ok=True)


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


@pytest.mark.parametrize("x, named", [(np.eye(2), "x must have 1 dimension"), ([1.0], "x must hold at least 2 value")])
def test_pearson_is_of_two_rows_of_points(x, named):
    with pytest.raises(ValueError, match=named):
        metrics.pearson(x, x)
