"""Verdicts are computed: a synthetic pair of records that fits the paper; one changed value flips one verdict."""

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cycle.options import Options
from reproduction import paper
from reproduction.judge import gossip_claims, readings

ALONE = [40.0, 50.0, 60.0, 45.0, 55.0]  # mean 50, spread 7.07
AGREED = [72.0, 71.9, 71.8, 72.0, 71.9]  # on the complete graph: alike, and lower for whoever is better alone
FAIR = [69.0, 71.0, 73.0, 70.0, 72.0]  # CYCle: alike in the mean, ordered as alone


def record(method, accuracy, before=None, seed=0, **options):
    """What readings look at of a record, accuracies tested after and before mixing."""
    settings = {"local_epochs": 0, "lr_decay": 0.1, "local_steps": 0, "mix_buffers": True, "participation": 1.0,
                "topology": "complete", "link_rule": "weight", "alignment": "gradients", "beta": 15.0}  # fmt: skip
    assert set(options) <= set(settings) and set(settings) <= set(Options.__dataclass_fields__)
    points = {"after": accuracy, "before": before or accuracy}
    return {
        "profile": "laptop", "dataset": "cifar10", "model": "cnn", "width": None, "n": 5, "split": "dirichlet-0.5",
        "seed": seed, "method": method, "standalone": list(ALONE), "accuracy": accuracy,
        "curve": [{"round": 29, "accuracy": accuracy, "points": points}], "options": settings | options,
        "messages": {"sent": 600 if method == "gossip" else 300, "possible": 600}, "reputation": [],
    }  # fmt: skip


def verdicts(records, point="after", checks=readings.TRAITS):
    judged = readings.judge(readings.cases(records), checks)
    row = judged[judged["tested"] == point].iloc[0]
    return {check.name: row[check.name] for check in checks}


FITTING = [record("gossip", AGREED), record("cycle-gossip", FAIR)]


def test_a_pair_that_fits_is_consistent_in_every_trait_and_claim():
    assert set(verdicts(FITTING).values()) == {"yes"}
    assert set(verdicts(FITTING, checks=readings.CLAIMS).values()) == {"yes"}
    assert set(readings.conclude(readings.judge(readings.cases(FITTING)))["conclusion"]) == {"consistent"}


def shifted(values, by):
    return [value + by for value in values]


# Each changes the accuracies of one method such that exactly the named traits no longer hold.
CHANGES = {
    "corr. defined": ("gossip", [72.0] * 5, {"corr. defined"}),
    "corr. negative": ("gossip", AGREED[2::-1] + AGREED[3:], {"corr. negative"}),
    "CYCle corr. high": ("cycle-gossip", [70.0, 72.0, 72.0, 71.5, 69.5], {"CYCle corr. high"}),
    "MCG alike": ("cycle-gossip", shifted(FAIR, -2.0), {"MCG alike"}),
    "CGS not above": ("cycle-gossip", [50.0, 71.0, 92.0, 60.5, 81.5], {"CGS not above"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_flips_one_verdict(name):
    method, accuracy, expected = CHANGES[name]
    changed = [record(method, accuracy) if one["method"] == method else one for one in FITTING]
    found = verdicts(changed)
    assert {trait for trait, answer in found.items() if answer == "no"} == expected
    concluded = readings.conclude(readings.judge(readings.cases(changed)))
    assert set(concluded["conclusion"]) == {"contradicted"}
    assert set(concluded["against"].iloc[0].split(", ")) == expected


def test_size_of_the_gain_is_compared_with_the_printed_one():
    low = [record("gossip", shifted(AGREED, -12)), record("cycle-gossip", shifted(FAIR, -12))]  # gains of 10, not 22.98
    assert verdicts(low)["MCG of that size"] == "no" and verdicts(low)["CGS not above"] == "yes"
    elsewhere = [one | {"n": 7} for one in low]  # nothing is printed for seven participants
    assert verdicts(elsewhere)["MCG of that size"] == ""


def test_a_loser_and_a_lost_gain_are_seen():
    loser = [FITTING[0], record("cycle-gossip", [69.0, 71.0, 59.9, 70.0, 72.0])]
    assert verdicts(loser, checks=readings.CLAIMS)["every gain positive"] == "no"
    even = [FITTING[0], record("cycle-gossip", [ALONE[0], *FAIR[1:]])]  # nobody loses, and one gains nothing
    assert verdicts(even, checks=readings.CLAIMS)["every gain positive"] == "no"
    printed = readings.printed()["MCG given up"]
    for lost, answer in ((printed - 0.2, "yes"), (printed + 0.2, "no")):
        kept = [FITTING[0], record("cycle-gossip", shifted(FAIR, np.mean(AGREED) - np.mean(FAIR) - lost))]
        assert verdicts(kept, checks=readings.CLAIMS)["MCG kept"] == answer


def test_points_seeds_and_readings_stay_apart():
    records = [
        record("gossip", [72.0] * 5, before=AGREED),
        record("cycle-gossip", FAIR),
        record("gossip", AGREED, seed=1),
        record("cycle-gossip", FAIR, seed=1),
        record("cycle-gossip", FAIR, link_rule="relative"),
        record("cycle-gossip", FAIR, local_steps=5),  # no partner that mixes every five minibatches
    ]
    judged = readings.judge(readings.cases(records)).set_index(["reading", "tested"])
    assert list(judged.index) == [(r, p) for r in ("as printed", "relative links") for p in ("after", "before")]
    assert judged.loc[("as printed", "after"), "corr. defined"] == "1 of 2"
    assert judged.loc[("as printed", "before"), "corr. defined"] == "yes"
    assert judged.loc[("relative links", "after"), "corr. defined"] == "no"
    concluded = readings.conclude(judged.reset_index()).set_index(["reading", "tested"])["conclusion"]
    assert concluded[("as printed", "after")] == "possible"
    table = readings.numbers(readings.cases(records)).set_index(["reading", "tested"])
    assert table.loc[("as printed", "after"), "complete Pearson (p)"] == "undefined"
    assert table.loc[("as printed", "before"), "CYCle Pearson (p)"] == "1.00 ± 0.00 (0.00, 0.00)"
    assert table.loc[("as printed", "after"), "CYCle MCG"] == "21.0 ± 0.0" and table["seeds"].tolist() == [2, 2, 1, 1]


def test_effects_are_differences_on_the_same_seeds():
    records = [
        record("gossip", AGREED, before=shifted(AGREED, -5)),
        record("cycle-gossip", FAIR, before=shifted(FAIR, -6)),
        record("cycle-gossip", shifted(FAIR, 3), before=shifted(FAIR, -2), link_rule="relative"),
        record("gossip", AGREED, seed=1),
        record("cycle-gossip", FAIR, link_rule="relative", seed=1),  # no base with this seed
    ]
    moved = readings.effects(readings.cases(records)).set_index("change")
    assert list(moved.index) == ["as printed: tested before", "relative links: tested before", "relative links"]
    assert moved["cases"].tolist() == [1, 2, 1]
    assert moved["CYCle MCG"].tolist() == pytest.approx([-6, (-5 + 0) / 2, 3])
    assert moved["complete MCG"].tolist() == pytest.approx([-5, (-5 + 0) / 2, 0])
    assert moved["CYCle Pearson"].tolist() == pytest.approx([0, 0, 0])
    assert readings.effects([]).empty


def test_course_follows_both_points_through_the_rounds():
    one = record("gossip", AGREED, before=FAIR)
    early = {"round": 4, "accuracy": ALONE, "points": {"after": [30.0] * 5, "before": ALONE}}
    frame = readings.course([one | {"curve": [early, *one["curve"]]}, record("standalone", ALONE)])
    frame = frame.set_index(["round", "tested"])
    assert frame.loc[(4, "after"), "accuracy"] == 30 and np.isnan(frame.loc[(4, "after"), "Pearson"])
    assert frame.loc[(4, "before"), "Pearson"] == pytest.approx(1)
    assert frame.loc[(29, "before"), "accuracy"] == np.mean(FAIR) and len(frame) == 4


@pytest.mark.parametrize("steps, name", [(1, "mixing every minibatch"), (5, "mixing every 5 minibatches")])
def test_readings_are_named_by_what_differs(steps, name):
    assert readings.reading_of(record("gossip", AGREED, local_steps=steps)) == name
    slim = record("gossip", AGREED, local_steps=steps, mix_buffers=False) | {"model": "resnet18", "width": 8}
    assert readings.reading_of(slim) == f"slim ResNet, {name}, buffers local"
    assert readings.reading_of(slim | {"width": None}) == f"{name}, buffers local"


def test_two_participants_say_nothing_about_cycle():
    two = [one | {"n": 2} for one in FITTING]
    silent = {"corr. defined", "corr. negative", "CYCle corr. high", "MCG alike"}
    assert {name for name, answer in verdicts(two).items() if answer == ""} >= silent
    assert set(verdicts(two, checks=readings.CLAIMS[:3]).values()) == {""}


def test_significantly_is_more_than_on_par():
    """CGS 7.07 on the complete graph (its participants end alike); CYCle's must be below 6.0."""
    for factor, answer in ((0.1, "no"), (0.3, "yes")):
        pair = [record("gossip", [72.0] * 5), record("cycle-gossip", [72 + factor * (b - 50) for b in ALONE])]
        assert verdicts(pair, checks=readings.CLAIMS)["CGS reduced"] == answer


def test_correlations_say_nothing_among_equals():
    equal = [one | {"split": "homogeneous"} for one in FITTING]
    found = verdicts(equal)
    assert found["corr. defined"] == found["corr. negative"] == found["CYCle corr. high"] == ""


def test_without_partner_or_standalone_there_is_no_case():
    assert readings.cases([FITTING[1], record("standalone", ALONE) | {"options": {}}]) == []
    assert readings.cases([FITTING[0], FITTING[1] | {"standalone": None}]) == []
    ring = record("gossip", AGREED, topology="ring")
    assert readings.cases([ring, FITTING[1]]) == []


def test_limits_are_those_of_the_printed_tables():
    facts = readings.printed()
    assert facts["Pearson"] == 0.8164 and facts["MCG"]["CIFAR-10", "dirichlet-0.5", 20] == 28.59
    assert facts["MCG apart"] == pytest.approx(1 - 13.02 / 13.75)
    assert facts["MCG given up"] == pytest.approx(28.26 - 26.92)
    lower = paper.tables().copy()
    lower.loc[lower["value"].eq(0.8164), "value"] = 0.5
    assert readings.printed(lower)["Pearson"] == 0.5


@given(st.floats(0.05, 0.95), st.floats(0.05, 0.98), st.integers(0, 99))
def test_implied_spreads_hold_the_spread_they_were_made_from(rho, part, seed):
    """Accuracies made with correlation rho and part * rho of the spread alone: the other root mirrors it at rho."""
    alone, other = np.random.default_rng(seed).normal(50, 9, size=(2, 5))
    unit = (alone - alone.mean()) / alone.std()
    other -= other.mean() + unit * (other @ unit) / 5
    spread = part * rho * alone.std()
    after = spread * (rho * unit + np.sqrt(1 - rho**2) * other / other.std())
    both = [spread, (2 - part) * rho * alone.std()]
    assert readings.implied_spreads(alone.std(), (after - alone).std(), rho) == pytest.approx(both, rel=1e-6)
    assert len(readings.implied_spreads(1.0, 0.1, 0.5)) == 0
    assert readings.implied_spreads(1.0, 1.5, 0.0) == pytest.approx([1.25**0.5])


def beta_records(accuracy_of, messages=None):
    found = [record("gossip", AGREED)]
    for beta in (0, 5, 15, 35, 50, 100):
        one = record("cycle-gossip", accuracy_of(beta), beta=float(beta))
        found.append(one | {"messages": {"sent": (messages or {}).get(beta, 300), "possible": 600}})
    return found


def beta_verdicts(records):
    frame = gossip_claims.verdicts(gossip_claims.beta_cases(records), gossip_claims.BETA_CLAIMS)
    return dict(zip((check.name for check in gossip_claims.BETA_CLAIMS), frame["tested after mixing"], strict=True))


def test_claims_about_beta():
    def fairer(beta):  # the better alone, the better with a larger beta
        return AGREED if beta == 0 else [72 + beta / 100 * (b - 50) / 10 - 0.1 * (n == 0) for n, b in enumerate(ALONE)]

    as_said = beta_verdicts(beta_records(fairer, {0: 600}))
    assert set(as_said.values()) == {"yes"}
    assert beta_verdicts(beta_records(fairer))["sends like complete"] == "no"

    def unfairer(beta):
        return fairer(beta) if beta in (0, 15, 35, 50) else fairer(105 - beta)

    assert beta_verdicts(beta_records(unfairer))["fairer"] == "no"
    uneven = beta_records(lambda beta: shifted(fairer(beta), -3 * (beta == 100)))
    assert beta_verdicts(uneven)["varies slightly"] == "no"
    low_between = beta_records(lambda beta: shifted(fairer(beta), -1 * (beta in (35, 50))))
    assert beta_verdicts(low_between)["35 or 50 unbeaten in both"] == "no"
    without = [one for one in beta_records(fairer) if one["options"]["beta"] != 100]
    assert beta_verdicts(without)["fairer"] == "undecided"


SKIN_ALONE = [40.0, 35.0, 50.0, 45.0, 18.0, 16.0]


def skin_records():
    """Records in which every sentence about Fed-ISIC2019 is true."""
    weights = [np.full((6, 6), 1 / 6), np.full((6, 6), 1 / 6)]
    weights[0][0, 3], weights[1][0, 3] = 0.05, 0.3
    gossip = {"complete": [68.0, 68.1, 68.0, 68.0, 68.1, 68.2], "ring": [66.0, 65.0, 64.0, 66.0, 67.0, 65.0],
              "exponential": [67.0, 66.0, 67.0, 66.0, 67.0, 66.0]}  # fmt: skip
    found = [record("gossip", accuracy, topology=name) for name, accuracy in gossip.items()]
    cycle = record("cycle-gossip", [60.0, 59.0, 66.0, 62.0, 50.0, 49.0])
    found.append(cycle | {"reputation": [{"round": 5 * t, "matrix": W.tolist()} for t, W in enumerate(weights)]})
    return [one | {"standalone": list(SKIN_ALONE), "split": "natural", "n": 6} for one in found]


def skin_verdicts(records):
    frame = gossip_claims.verdicts(gossip_claims.skin_cases(records), gossip_claims.SKIN_CLAIMS, {"kept": 0.6})
    return dict(zip((check.name for check in gossip_claims.SKIN_CLAIMS), frame["tested after mixing"], strict=True))


def changed(records, method, topology, accuracy):
    found = copy.deepcopy(records)
    for one in found:
        if (one["method"], one["options"]["topology"]) == (method, topology):
            one["curve"][-1]["points"]["after"] = accuracy
    return found


def test_claims_about_skin():
    true = skin_records()
    assert set(skin_verdicts(true).values()) == {"yes"}

    def flipped(records):
        return {name for name, answer in skin_verdicts(records).items() if answer == "no"}

    assert skin_verdicts(changed(true, "gossip", "complete", [68.0] * 6))["complete negative"] == "undecided"
    assert flipped(changed(true, "gossip", "ring", shifted(SKIN_ALONE, 30))) == {"ring unfair", "lowest CGS"}
    assert flipped(changed(true, "gossip", "exponential", [70.0, 69.0, 70.0, 69.0, 70.0, 69.0])) == {"complete highest"}
    assert flipped(changed(true, "cycle-gossip", "complete", [54.0, 53.0, 60.0, 56.0, 44.0, 43.0])) == {"utility"}
    silent = [one | {"reputation": one["reputation"][:1] * 2} for one in true]
    assert flipped(silent) == {"P4 rises"}
    assert skin_verdicts(true[:1])["lowest CGS"] == "undecided"
