"""Every claim about the printed values is computed: one changed value moves the verdict on it and on no other."""

import pytest

from reproduction import paper
from reproduction.judge import chapters
from reproduction.judge.claim import judge

DETAIL = "performance-study-table-c10-"
HOMOGENEOUS, SKEWED = {"label": "Homogeneous"}, {"label": "Imbalanced (0.8, 1)"}


LEFT, RIGHT = {"table": DETAIL + "left"}, {"table": DETAIL + "right"}
TEN_N, FIVE_N = {"dataset": "CIFAR-10", "N": 10}, {"dataset": "CIFAR-10", "N": 5}
FIRST, MILD = {"label": "Imbalanced (0.4, 1)"}, {"label": "Imbalanced (0.23, 2)"}
# For each claim the cells (new value, line, column, more) whose change adds or removes a case against it, and against
# no other claim. Where one value cannot (a majority, two claims on one comparison), several cells or claims stand.
CLAIM_CHANGES = {
    ("this extension", "the lowest CGS while"): [(23.0, 1175, "MCG", {})],
    ("FedAvg has better",): [(2.0, 393, "MCG", HOMOGENEOUS)],
    ("significantly lower CGS",): [(2.0, 393, "CGS", SKEWED)],
    ("our method consistently",): [(83.0, 1521, "P1", LEFT | {"method": "CYCle"})],
    ("not the case for FedAvg", "negative gain"): [(93.0, 1541, "P1", LEFT | {"method": "FedAvg"})],
    ("better or comparable",): [
        (0.0, 400, "MCG", {"label": label}) for label in ("Homogeneous", "Imbalanced (0.8, 1)", "Imbalanced (0.35, 2)")
    ],
    ("the lowest CGS values in all",): [(0.5, 397, "CGS", HOMOGENEOUS)],
    ("the imbalanced (0.8, 1) setting",): [(2.4, 400, "CGS", SKEWED)],
    ("other methods degrade",): [(61.0, 1587, "P5", RIGHT | {"method": "CFFL"})],
    ("In all settings",): [(6.0, 463, "MCG", TEN_N)],
    ("the CYCle method consistently",): [(0.7, 458, "CGS", TEN_N)],
    ("DSGD [...] often",): [(3.0, 468, "CGS", FIVE_N)],
    ("CYCle significantly",): [(0.17, 460, "CGS", FIVE_N)],
    ("without compromising",): [(14.0, 461, "MCG", TEN_N)],
    ("in the presence of flipped",): [(86.4, 526, "avg_honest", {})],
    ("Gossip-SGD with a complete",): [(30.5, 1175, "MCG", {})],
    ("FedAvg algorithm results",): [(75.0, 1230, "P1", {"method": "FedAvg"})],
    ("VPDL [...] underperforms",): [(58.0, 1299, "MVA", HOMOGENEOUS)],
    ("ensuring positive",): [(2.0, 1333, "CGS", FIRST)],
    ("VPDL [...] significantly",): [(5.0, 1332, "CGS", FIRST)],
    ("lower CGS across all five",): [(1.1, 1331, "CGS", MILD)],
    ("the honest participants",): [(83.0, 1378, "P3", {})],
    ("28.59",): [(28.5, 1429, "MCG", {})],
    ("the MCG and CGS values",): [({"table": "elsewhere"}, 1332, metric, MILD) for metric in ("MVA", "MCG", "CGS")],
    ("On average, CYCle achieves the highest",): [(104.0, 1333, "MCG", MILD)],
    ("On average, CYCle achieves [...] the lowest",): [(20.0, 395, "CGS", HOMOGENEOUS)],
    ("CGSV may", "better or comparable"): [(7.0, 399, "MCG", SKEWED), (2.0, 399, "CGS", SKEWED)],
    ("[improved MCG]",): [(3.0, 458, "MCG", FIVE_N)],
    ("negative gain", "other methods degrade"): [
        (99.0, line, "P1", RIGHT | {"method": method}) for line in (1603, 1623) for method in ("CFFL", "RFFL", "CGSV")
    ],
}


def judged(values):
    """Verdict and number of cases against, by claim."""
    frame = judge(chapters.PRINTED, values)
    against = frame["cases"] - frame["in favour"]
    return dict(zip(frame["the paper"], zip(frame["verdict"], against, strict=True), strict=True))


@pytest.fixture(scope="module")
def verdicts():
    return judged(paper.tables())


@pytest.mark.parametrize("starts", CLAIM_CHANGES, ids=lambda starts: starts[0])
def test_one_value_moves_one_claim(altered, verdicts, starts):
    values = None
    for value, line, metric, more in CLAIM_CHANGES[starts]:
        values = altered(value, values, line=line, participant_or_metric=metric, **more)
    after = judged(values)
    moved = [claim for claim in verdicts if after[claim] != verdicts[claim]]
    assert sorted(moved) == sorted(claim for claim in verdicts if claim.startswith(starts))


def test_every_claim_is_moved_by_a_change(verdicts):
    starts = tuple(start for group in CLAIM_CHANGES for start in group)
    assert all(claim.startswith(starts) for claim in verdicts)
