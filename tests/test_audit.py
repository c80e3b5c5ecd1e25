"""Every finding is computed: changing the one printed value behind it changes that finding and no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cycle import audit, claims, paper

DETAIL = "performance-study-table-c10-"


def altered(value, **where):
    """The printed values with one cell, named by its columns, replaced; `value` may also be a dict of columns."""
    frame = paper.tables().copy()
    chosen = np.logical_and.reduce([frame[column] == wanted for column, wanted in where.items()])
    assert chosen.sum() == 1, f"{chosen.sum()} cells fit {where}"
    for column, new in (value if isinstance(value, dict) else {"value": value}).items():
        frame.loc[chosen, column] = new
    return frame


def cell(line, metric, **more):
    return {"line": line, "participant_or_metric": metric, **more}


@pytest.fixture(scope="module")
def as_printed():
    return set(audit.findings(paper.tables()).itertuples(index=False, name=None))


HOMOGENEOUS, SKEWED = {"label": "Homogeneous"}, {"label": "Imbalanced (0.8, 1)"}
CHANGES = {
    "rows repaired": ("rows", -1, altered(2.13, **cell(395, "CGS", label="Dirichlet (0.5)"))),
    "rows broken": ("rows", 1, altered(7.3, **cell(1300, "MCG", **SKEWED))),
    "average broken": ("rows", 1, altered(85.2, **cell(526, "avg_honest"))),
    "tables broken": ("tables", 1, altered(24.79, **cell(567, "MCG"))),
    "standalone broken": ("standalone", 1, altered(86.5, **cell(1331, "MVA", label="Imbalanced (0.23, 2)"))),
    "bold repaired": ("bold", -1, altered({"bold": 0}, **cell(1610, "CGS", method="CYCle"))),
    "bold broken": ("bold", 1, altered({"bold": 0}, **cell(1548, "CGS", method="CYCle"))),
    "colour repaired": ("colour", -1, altered({"colour": "lightred"}, **cell(1551, "P1", method="VPDL"))),
    "colour broken": ("colour", 1, altered({"colour": ""}, **cell(1230, "P1", method="VPDL"))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_value_flips_one_finding(as_printed, change):
    kind, sign, values = CHANGES[change]
    found = set(audit.findings(values).itertuples(index=False, name=None))
    gone, new = as_printed - found, found - as_printed
    assert [finding[0] for finding in (new if sign > 0 else gone)] == [kind]
    assert not (gone if sign > 0 else new)


def test_amount_of_data_needs_the_order_of_the_printed_accuracies():
    """Five per cent of the data must not beat ten: lower the four small participants and both findings go."""
    values = paper.tables().copy()
    small = values["table"].eq(DETAIL + "right") & values["method"].eq("SA") & values["label"].eq("Imbalanced (0.8, 1)")
    assert len(audit.amount_of_data(values)) == 2
    values.loc[small & values["participant_or_metric"].isin(["P2", "P3", "P4", "P5"]), "value"] = 40.0
    assert audit.amount_of_data(values).empty


def test_dirichlet_needs_everybody_below():
    values = altered(84.0, **cell(1533, "P3", method="SA"))
    assert len(audit.dirichlet(paper.tables())) == len(audit.dirichlet(values)) + 1


def test_printed_spread_is_the_population_form():
    counts = audit.spread_convention(paper.tables())
    assert counts["fit 1/N"] + counts["fit neither"] == counts["printed CGS"] and counts["fit 1/(N-1)"] == 0
    gains = np.array([93.80 - 92.77, 63.02 - 56.85, 62.82 - 53.82, 63.35 - 58.00, 63.30 - 57.68])  # L1541 to L1545
    assert round(float(np.sqrt(np.mean((gains - gains.mean()) ** 2))), 2) == 2.56
    sample = altered(round(float(gains.std(ddof=1)), 2), **cell(1548, "CGS", method="CYCle"))
    assert audit.spread_convention(sample)["fit 1/(N-1)"] == 1


def test_granularity_sees_a_single_foreign_value():
    sizes = audit.granularity(paper.tables()).set_index("table")["answers"]
    assert sizes["performance-study-table-c100"] == 2000
    one = audit.granularity(altered(56.11, **cell(1207, "P1", method="CYCle"))).set_index("table")["answers"]
    assert one["performance-study-table-c100"] > 2000
    assert one.drop("performance-study-table-c100").equals(sizes.drop("performance-study-table-c100"))


@pytest.mark.parametrize("runs", [2, 3])
def test_last_digits_are_those_of_simulated_runs(runs):
    """Means over runs on 2,000 samples, printed with two decimals: the expected digits occur, and no others."""
    right = np.random.default_rng(0).integers(1000, 1800, size=(40_000, runs)).mean(axis=1)
    digits = np.bincount([int(f"{100 * value / 2000:.2f}"[-1]) for value in right], minlength=10) / len(right)
    expected = audit.last_digits(paper.tables(), DETAIL)
    assert np.allclose(digits, expected[f"{runs} runs"] / expected["counted"].sum(), atol=0.03)


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=12))
def test_no_gain_lies_below_mean_minus_spread_times_root(gains):
    gains = np.array(gains)
    assert gains.min() >= gains.mean() - gains.std() * np.sqrt(len(gains) - 1) - 1e-9


def test_smallest_gain_is_attained_by_one_participant_against_the_rest():
    for row in audit.smallest_gains(paper.tables()).itertuples():
        n = int(row.run.rsplit(" ", 1)[1])
        gains = np.full(n, row.MCG + row.CGS / np.sqrt(n - 1))
        gains[0] = row._6
        assert np.isclose(gains.mean(), row.MCG) and np.isclose(gains.std(), row.CGS)
        assert (row.verdict == "nobody loses") == (gains.min() >= 0)


CLAIM_CHANGES = {
    "our method consistently": altered(83.0, **cell(1521, "P1", method="CYCle", table=DETAIL + "left")),
    "the lowest CGS values in all": altered(0.5, **cell(397, "CGS", **HOMOGENEOUS)),
    "the imbalanced (0.8, 1) setting": altered(2.4, **cell(400, "CGS", **SKEWED)),
    "the CYCle method consistently": altered(0.7, **cell(458, "CGS", dataset="CIFAR-10", N=10)),
    "CYCle significantly": altered(0.17, **cell(460, "CGS", dataset="CIFAR-10", N=5)),
    "in the presence of flipped": altered(86.4, **cell(526, "avg_honest")),
    "lower CGS across all five": altered(1.1, **cell(1331, "CGS", label="Imbalanced (0.23, 2)")),
    "the honest participants": altered(83.0, **cell(1378, "P3")),
    "On average, CYCle achieves the highest": altered(104.0, **cell(1333, "MCG", label="Imbalanced (0.4, 1)")),
}


@pytest.fixture(scope="module")
def verdicts():
    return claims.verdicts(paper.tables()).set_index("claim")["verdict"]


@pytest.mark.parametrize("start", CLAIM_CHANGES)
def test_one_value_flips_one_claim(verdicts, start):
    after = claims.verdicts(CLAIM_CHANGES[start]).set_index("claim")["verdict"]
    changed = verdicts.index[verdicts != after]
    assert len(changed) == 1 and changed[0].startswith(start)
