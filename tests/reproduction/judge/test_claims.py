"""Claims about beta and Fed-ISIC2019 on trials in which each is true; one change makes one of them false."""

import numpy as np
import pytest

from reproduction.judge import evidence
from reproduction.judge.chapters import CLAIMS
from reproduction.judge.claim import counted, read

ALONE = [40.0, 50.0, 60.0, 45.0, 55.0]
ON_BETA = [claim for claim in CLAIMS["sensitivity"] if claim.name]
AGREED = [72.0, 71.9, 71.8, 72.0, 71.9]


def shifted(values, by):
    return [value + by for value in values]


def answers(claims, found):
    frame = counted(claims, {"now": found})
    return dict(zip((claim.name for claim in claims), frame["now"], strict=True))


def fairer(beta):
    """The better alone, the better with a larger beta; at 0 as on the complete graph."""
    return AGREED if beta == 0 else [72 + beta / 100 * (b - 50) / 10 - 0.1 * (n == 0) for n, b in enumerate(ALONE)]


@pytest.fixture(scope="session")
def over_betas(trial):
    def make(accuracy_of, betas=(0, 5, 15, 35, 50, 100), sent=300):
        found = [trial("cycle-gossip", accuracy_of(beta), beta=float(beta)) for beta in betas]
        found[0].record["messages"]["sent"] = sent
        return [trial("gossip", AGREED), *found]

    return make


def test_claims_about_beta(over_betas):
    def told(*arguments, **more):
        return answers(ON_BETA, over_betas(*arguments, **more))

    assert set(told(fairer, sent=600).values()) == {"yes"}
    assert told(fairer)["sends like complete"] == "no"
    assert told(lambda beta: fairer(beta if beta in (0, 15, 35, 50) else 105 - beta))["fairer"] == "no"
    assert told(lambda beta: shifted(fairer(beta), -3 * (beta == 100)))["varies slightly"] == "no"
    assert told(lambda beta: shifted(fairer(beta), -1 * (beta in (35, 50))))["35 or 50 unbeaten in both"] == "no"
    assert told(fairer, (0, 5, 15, 35, 50))["fairer"] == "undecided"


SKIN_ALONE = [40.0, 35.0, 50.0, 45.0, 18.0, 16.0]
TRUE = {
    "complete": [68.0, 68.1, 68.0, 68.0, 68.1, 68.2],
    "ring": [66.0, 65.0, 64.0, 66.0, 67.0, 65.0],
    "exponential": [67.0, 66.0, 67.0, 66.0, 67.0, 66.0],
    "cycle": [60.0, 59.0, 66.0, 62.0, 50.0, 49.0],
}


@pytest.fixture(scope="session")
def on_skin(trial):
    """Trials in which every sentence about Fed-ISIC2019 is true, but for what is changed."""

    def make(risen=0.3, **changes):
        weights = [np.full((6, 6), 1 / 6), np.full((6, 6), 1 / 6)]
        weights[0][0, 3], weights[1][0, 3] = 0.05, risen
        scored = [{"round": 5 * t, "matrix": W.tolist()} for t, W in enumerate(weights)]
        common = {"split": "natural", "n": 6, "alone": SKIN_ALONE}
        *graphs, cycle = (TRUE | changes).items()
        found = [trial("gossip", accuracy, topology=name, **common) for name, accuracy in graphs]
        return [*found, trial("cycle-gossip", cycle[1], reputation=scored, **common)]

    return make


def test_claims_about_skin(on_skin, monkeypatch):
    monkeypatch.setattr(evidence, "kept_in_print", lambda: 0.6)
    assert set(answers(CLAIMS["fed-isic"], on_skin()).values()) == {"yes"}

    def flipped(**changes):
        told = answers(CLAIMS["fed-isic"], on_skin(**changes))
        return {name for name, answer in told.items() if answer == "no"}

    assert answers(CLAIMS["fed-isic"], on_skin(complete=[68.0] * 6))["complete negative"] == "undecided"
    assert flipped(ring=shifted(SKIN_ALONE, 30)) == {"ring unfair", "lowest CGS"}
    assert flipped(exponential=[70.0, 69.0, 70.0, 69.0, 70.0, 69.0]) == {"complete highest"}
    assert flipped(cycle=[54.0, 53.0, 60.0, 56.0, 44.0, 43.0]) == {"utility"}
    assert flipped(risen=0.05) == {"P4 rises"}
    assert answers(CLAIMS["fed-isic"], on_skin()[:1])["lowest CGS"] == "undecided"


def test_a_misspelt_table_is_named():
    with pytest.raises(ValueError, match="table must be .* sensitivity: '"):
        read("sensitivity")  # its tables are functions of a module that is not given
