"""Every finding is computed: changing the one printed value behind it changes that finding and no other."""

import re

import numpy as np
import pytest

from reproduction import paper
from reproduction.paper import audit, printed_runs

DETAIL = "performance-study-table-c10-"


def cell(line, metric, **more):
    return {"line": line, "participant_or_metric": metric, **more}


@pytest.fixture(scope="module")
def as_printed():
    return set(audit.findings(paper.tables()).itertuples(index=False, name=None))


HOMOGENEOUS, SKEWED = {"label": "Homogeneous"}, {"label": "Imbalanced (0.8, 1)"}
CHANGES = {
    "rows broken": ("rows", 7.3, cell(1300, "MCG", **SKEWED)),
    "average broken": ("rows", 85.2, cell(526, "avg_honest")),
    "tables broken": ("tables", 24.79, cell(567, "MCG")),
    "standalone broken": ("standalone", 86.5, cell(1331, "MVA", label="Imbalanced (0.23, 2)")),
    "bold broken": ("bold", {"bold": 0}, cell(1548, "CGS", method="CYCle")),
    "colour broken": ("colour", {"colour": ""}, cell(1230, "P1", method="VPDL")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_value_flips_one_finding(altered, as_printed, change):
    kind, value, where = CHANGES[change]
    found = set(audit.findings(altered(value, **where)).itertuples(index=False, name=None))
    assert [finding[0] for finding in found - as_printed] == [kind]
    assert not as_printed - found


REPAIRS = [
    finding for finding in audit.findings(paper.tables()).itertuples() if finding.kind in ("rows", "bold", "colour")
]


@pytest.mark.parametrize("finding", REPAIRS, ids=lambda finding: f"{finding.kind}-{finding.Index}")
def test_every_finding_goes_with_the_value_behind_it(altered, as_printed, finding):
    """Print the value that follows, take off the bold face, colour the cell: this finding goes and nothing else."""
    table, line, label, method, metric = re.match(
        r"(\S+), L(\d+): .*?((?:Hom|Dir|Imb)[^:]*?), N = \d+, (\S+), (\S+)$", finding.where
    ).groups()
    new = {"rows": finding.follows, "bold": {"bold": 0}, "colour": {"colour": "lightred"}}[finding.kind]
    where = cell(int(line), metric, table=table, label=label)
    frame = paper.tables()
    dataset = next(dataset for dataset in ("CIFAR-100", "CIFAR-10") if f": {dataset} " in finding.where)
    row = frame[(frame["line"] == int(line)) & frame["method"].str.startswith(method) & frame["dataset"].eq(dataset)]
    where |= {"method": row["method"].iloc[0], "dataset": dataset}
    values = altered(float(new) if finding.kind == "rows" else new, **where)
    found = set(audit.findings(values).itertuples(index=False, name=None))
    assert as_printed - found == {tuple(finding[1:])} and not found - as_printed


def test_pipelines_agree_once_both_gossip_rows_start_where_distillation_does(altered):
    where = {"line": 460, "dataset": "CIFAR-10", "N": 5}
    values = altered(84.05 - 83.40, **where, participant_or_metric="MCG")
    values = altered(84.22 - 83.40, values, **where | {"line": 461}, participant_or_metric="MCG")
    before, after = list(audit.pipelines(paper.tables())), list(audit.pipelines(values))
    gone = {where for where, *_ in before} - {where for where, *_ in after}
    assert len(after) == len(before) - 1 and "CIFAR-10 Homogeneous, N = 5" in gone.pop()


@pytest.mark.parametrize("line, value", [(527, 36.0), (528, 3.2)])
def test_flippers_need_two_different_accuracies(altered, line, value):
    before = list(audit.flippers(paper.tables()))
    assert len(list(audit.flippers(altered(value, **cell(line, "P5"))))) == len(before) - 1


def test_amount_of_data_needs_the_order_of_the_printed_accuracies():
    """Five per cent of the data must not beat ten: lower the four small participants and both findings go."""
    values = paper.tables().copy()
    small = values["table"].eq(DETAIL + "right") & values["method"].eq("SA") & values["label"].eq("Imbalanced (0.8, 1)")
    assert len(list(audit.amount_of_data(values))) == 2
    values.loc[small & values["participant_or_metric"].isin(["P2", "P3", "P4", "P5"]), "value"] = 40.0
    assert not list(audit.amount_of_data(values))


@pytest.mark.parametrize("line, table, value", [(1533, "left", 84.0), (1594, "right", 60.0)])
def test_dirichlet_needs_everybody_below(altered, line, table, value):
    values = altered(value, line=line, table=DETAIL + table, method="SA")
    assert len(list(audit.dirichlet(paper.tables()))) == len(list(audit.dirichlet(values))) + 1


def test_printed_spread_is_the_population_form(altered):
    def with_sample_form(values):
        return printed_runs.recomputed(values).query("metric == 'CGS' and printed > 0")["fits_sample"].sum()

    assert with_sample_form(paper.tables()) == 0
    gains = np.array([93.80 - 92.77, 63.02 - 56.85, 62.82 - 53.82, 63.35 - 58.00, 63.30 - 57.68])  # L1541 to L1545
    assert round(float(np.sqrt(np.mean((gains - gains.mean()) ** 2))), 2) == 2.56
    sample = altered(round(float(gains.std(ddof=1)), 2), **cell(1548, "CGS", method="CYCle"))
    assert with_sample_form(sample) == 1
