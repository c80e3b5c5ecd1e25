"""Verdicts are computed: a synthetic pair of records that fits the paper; one changed value flips one verdict."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction import paper
from reproduction.judge import chapters, readings

ALONE = [40.0, 50.0, 60.0, 45.0, 55.0]  # mean 50, spread 7.07
AGREED = [72.0, 71.9, 71.8, 72.0, 71.9]  # on the complete graph: alike, and lower for whoever is better alone
ON_GOSSIP = chapters.CLAIMS["gossip"]
SENTENCES = (*ON_GOSSIP, *chapters.ELSEWHERE)
FAIR = [69.0, 71.0, 73.0, 70.0, 72.0]  # CYCle: alike in the mean, ordered as alone


@pytest.fixture(scope="session")
def pair(trial):
    """Both methods, with accuracies that fit the paper unless told otherwise."""
    return lambda complete=AGREED, cycle=FAIR, **more: [
        trial("gossip", complete, **more), trial("cycle-gossip", cycle, **more)
    ]  # fmt: skip


def verdicts(found, point="after", claims=chapters.TRAITS):
    judged = readings.by_reading(found, claims)
    row = judged[judged["tested"] == point].iloc[0]
    return {claim.name: row[claim.name] for claim in claims}


def shifted(values, by):
    return [value + by for value in values]


def moved(found, **changes):
    """The same trials of another setting, as far as it is asked for."""
    return [replace(trial, run=replace(trial.run, **changes)) for trial in found]


# Each changes the accuracies of one method such that exactly the named traits no longer hold.
CHANGES = {
    "corr. defined": ("gossip", [72.0] * 5, {"corr. defined"}),
    "corr. negative": ("gossip", AGREED[2::-1] + AGREED[3:], {"corr. negative"}),
    "CYCle corr. high": ("cycle-gossip", [70.0, 72.0, 72.0, 71.5, 69.5], {"CYCle corr. high"}),
    "MCG alike": ("cycle-gossip", shifted(FAIR, -2.0), {"MCG alike"}),
    "CGS not above": ("cycle-gossip", [50.0, 71.0, 92.0, 60.5, 81.5], {"CGS not above"}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_one_change_flips_one_verdict(pair, name):
    method, accuracy, expected = CHANGES[name]
    changed = pair(accuracy) if method == "gossip" else pair(cycle=accuracy)
    found = verdicts(changed)
    assert {trait for trait, answer in found.items() if answer == "no"} == expected
    concluded = readings.conclude(readings.by_reading(changed, chapters.TRAITS), chapters.TRAITS)
    assert set(concluded["conclusion"]) == {"contradicted"}
    assert set(concluded["against"].iloc[0].split(", ")) == expected


def test_a_pair_that_fits_is_consistent_in_every_trait_and_claim(pair):
    assert set(verdicts(pair()).values()) == set(verdicts(pair(), claims=SENTENCES).values()) == {"yes"}
    concluded = readings.conclude(readings.by_reading(pair(), chapters.TRAITS), chapters.TRAITS)
    assert set(concluded["conclusion"]) == {"consistent"}


def test_size_of_the_gain_is_compared_with_the_printed_one(pair):
    low = pair(shifted(AGREED, -12), shifted(FAIR, -12))  # gains of 10, not 22.98
    assert verdicts(low)["MCG of that size"] == "no" and verdicts(low)["CGS not above"] == "yes"
    assert verdicts(moved(low, n=7))["MCG of that size"] == ""  # nothing is printed for seven participants


def test_a_loser_and_a_lost_gain_are_seen(pair):
    for loser in (59.9, ALONE[2]):  # who gains nothing gains nothing
        changed = pair(cycle=[69.0, 71.0, loser, 70.0, 72.0])
        assert verdicts(changed, claims=ON_GOSSIP)["every gain positive"] == "no"
    printed = readings.limits()["MCG given up"]
    for lost, answer in ((printed - 0.2, "yes"), (printed + 0.2, "no")):
        changed = pair(cycle=shifted(FAIR, np.mean(AGREED) - np.mean(FAIR) - lost))
        assert verdicts(changed, claims=ON_GOSSIP)["MCG kept"] == answer


def test_points_seeds_and_readings_stay_apart(trial):
    found = [
        trial("gossip", [72.0] * 5, before=AGREED),
        trial("cycle-gossip", FAIR),
        trial("gossip", AGREED, seed=1),
        trial("cycle-gossip", FAIR, seed=1),
        trial("cycle-gossip", FAIR, link_rule="relative"),
        trial("cycle-gossip", FAIR, local_steps=5),  # no partner that mixes every five minibatches
    ]
    judged = readings.by_reading(found, chapters.TRAITS).set_index(["reading", "tested"])
    assert list(judged.index) == [(r, p) for r in ("as printed", "relative links") for p in ("after", "before")]
    assert judged.loc[("as printed", "after"), "corr. defined"] == "1 of 2"
    assert judged.loc[("as printed", "before"), "corr. defined"] == "yes"
    assert judged.loc[("relative links", "after"), "corr. defined"] == "no"
    concluded = readings.conclude(judged.reset_index(), chapters.TRAITS).set_index(["reading", "tested"])["conclusion"]
    assert concluded[("as printed", "after")] == "possible"
    table = readings.numbers(readings.frame_of(found)).set_index(["reading", "tested"])
    assert table.loc[("as printed", "after"), "complete Pearson (p)"] == "undefined"
    assert table.loc[("as printed", "before"), "CYCle Pearson (p)"] == "1.00 ± 0.00 (0.00, 0.00)"
    assert table.loc[("as printed", "after"), "CYCle MCG"] == "21.0 ± 0.0" and table["seeds"].tolist() == [2, 2, 1, 1]


def test_effects_are_differences_on_the_same_seeds(trial):
    found = [
        trial("gossip", AGREED, before=shifted(AGREED, -5)),
        trial("cycle-gossip", FAIR, before=shifted(FAIR, -6)),
        trial("cycle-gossip", shifted(FAIR, 3), before=shifted(FAIR, -2), link_rule="relative"),
        trial("gossip", AGREED, seed=1),
        trial("cycle-gossip", FAIR, link_rule="relative", seed=1),  # no base with this seed
    ]
    moved = readings.effects(readings.frame_of(found)).set_index("change")
    assert list(moved.index) == ["as printed: tested before", "relative links: tested before", "relative links"]
    assert moved["cases"].tolist() == [1, 2, 1]
    assert moved["CYCle MCG"].tolist() == pytest.approx([-6, (-5 + 0) / 2, 3])
    assert moved["complete MCG"].tolist() == pytest.approx([-5, (-5 + 0) / 2, 0])
    assert moved["CYCle Pearson"].tolist() == pytest.approx([0, 0, 0])
    assert readings.effects(readings.frame_of([])).empty


@pytest.mark.parametrize("steps, name", [(1, "mixing every minibatch"), (5, "mixing every 5 minibatches")])
def test_readings_are_named_by_what_differs(trial, steps, name):
    def named(**changes):
        return readings.reading_of(trial("gossip", AGREED, local_steps=steps, **changes).record)

    assert named() == name and named(mix_buffers=False) == f"{name}, buffers local"
    assert named(mix_buffers=False, width=8) == f"slim ResNet, {name}, buffers local"


def test_two_participants_say_nothing_about_cycle(pair):
    two = moved(pair(), n=2)
    silent = {"corr. defined", "corr. negative", "CYCle corr. high", "MCG alike"}
    assert {name for name, answer in verdicts(two).items() if answer == ""} >= silent
    assert set(verdicts(two, claims=ON_GOSSIP).values()) == {""}


def test_significantly_is_more_than_on_par(pair):
    """CGS 7.07 on the complete graph (its participants end alike); CYCle's must be below 6.0."""
    for factor, answer in ((0.1, "no"), (0.3, "yes")):
        changed = pair([72.0] * 5, [72 + factor * (b - 50) for b in ALONE])
        assert verdicts(changed, claims=ON_GOSSIP)["CGS reduced"] == answer


def test_correlations_say_nothing_among_equals(pair):
    found = verdicts(pair(split="homogeneous"))
    assert found["corr. defined"] == found["corr. negative"] == found["CYCle corr. high"] == ""


def test_without_partner_there_is_no_case(pair, trial):
    complete, cycle = pair()
    assert readings.pairs_of([cycle, trial("standalone", ALONE)]) == []
    assert readings.pairs_of([trial("gossip", AGREED, topology="ring"), cycle]) == []
    assert readings.pairs_of([complete, cycle]) == [(cycle, complete)]


def test_limits_are_those_of_the_printed_tables():
    facts = readings.printed(paper.tables())
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
