import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from cycle import theory
from cycle.theory import CYCLE, FEDAVG
from reproduction import estimators
from reproduction.estimators import HUBER, ORACLE, PLUG_IN, SCALED, STANDALONE, huber, james_stein, simulate_clients

RULES = {"fedavg": FEDAVG, "cycle": CYCLE, "oracle": ORACLE, "plug-in": PLUG_IN, "huber": HUBER, "scaled": SCALED}


def test_closed_forms():
    gamma, gamma_g = np.geomspace(0.05, 20, 25)[:, None], np.linspace(0, 10, 21)[None, :]
    share = ORACLE(1.0, gamma, gamma_g) / 2
    useful, oracle = theory.usefulness_fedavg(gamma, gamma_g, share=share), estimators.mse_oracle(gamma, gamma_g)
    np.testing.assert_allclose(theory.usefulness(ORACLE, gamma, gamma_g), useful, atol=1e-13)
    np.testing.assert_allclose(theory.mse(ORACLE, gamma, gamma_g), oracle, rtol=1e-12)
    np.testing.assert_allclose(theory.mse(STANDALONE, gamma, gamma_g), gamma**2 + 0 * gamma_g, rtol=1e-12)
    assert (oracle <= theory.mse(FEDAVG, gamma, gamma_g) * (1 + 1e-12)).all()


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("gamma_peer", [None, 0.6, 2.0])
def test_every_rule_agrees_with_simulation(name, gamma_peer):
    for gamma, gamma_g in [(1.0, 0.0), (1.0, 0.8), (0.5, 1.2)]:
        runs = 40_000
        seen = simulate_clients(RULES[name], gamma, [2 * gamma_g], runs, seed=3, gamma_peer=gamma_peer)
        exact = theory.outcomes(RULES[name], gamma, gamma_g, gamma_peer)
        for outcome, p in exact.items():
            assert abs(seen[outcome] - p) <= 4 * np.sqrt(p * (1 - p) / runs) + 1 / runs
        assert seen["mse"] == pytest.approx(theory.mse(RULES[name], gamma, gamma_g, gamma_peer), rel=0.05)


def test_the_bound_is_sharp():
    """A peer that always answers theta_1 + 3/2 leaves Phi(-1 / (2 gamma)) + Phi(-3 / (2 gamma)), nearly the bound."""
    for gamma in (0.3, 1.0):
        seen = simulate_clients(CYCLE, gamma, [1.5], 200_000, seed=1, gamma_peer=0.0)["useful"]
        p = ndtr(-1 / (2 * gamma)) + ndtr(-3 / (2 * gamma))
        assert abs(seen - p) < 4 * np.sqrt(p * (1 - p) / 200_000)


@settings(max_examples=40, deadline=None)
@given(st.floats(0.2, 3), st.lists(st.floats(-6, 6), min_size=1, max_size=5), st.floats(0.1, 3), st.floats(0, 2))
def test_monotone_rules_keep_the_bound_with_many_clients(gamma, peers, kappa, gamma_peer):
    runs, n = 4_000, len(peers) + 1
    seen = simulate_clients(huber(kappa), gamma, peers, runs, seed=0, gamma_peer=gamma_peer)["useful"]
    p = theory.lower_bound(gamma, reach=2 * (n - 1) * kappa * gamma / n)
    assert seen >= p - 4.5 * np.sqrt(p * (1 - p) / runs)


def test_three_clients_break_the_bound():
    """Exact peers at +-2 sqrt 2 push client 1 outwards from everywhere between them: U = 2 Phi(-2 sqrt 2 / gamma)."""
    peers, runs = [-2 * np.sqrt(2), 2 * np.sqrt(2)], 400_000
    seen = simulate_clients(CYCLE, 1.0, peers, runs, seed=5, gamma_peer=0.0)["useful"]
    p = 2 * ndtr(-2 * np.sqrt(2))
    assert abs(seen - p) < 4 * np.sqrt(p / runs)
    assert seen < estimators.printed_lower_bound(1.0) / 10 < theory.lower_bound(1.0, reach=4 / 3) / 10


@settings(max_examples=30, deadline=None)
@given(st.floats(0.3, 3), st.integers(1, 6), st.floats(0, 5), st.floats(0, 2))
def test_the_bound_holds_in_many_dimensions(gamma, dimension, distance, gamma_peer):
    peer = np.zeros((1, dimension))
    peer[0, 0] = distance
    seen = simulate_clients(CYCLE, gamma, peer, 4_000, seed=2, gamma_peer=gamma_peer)["useful"]
    p = theory.lower_bound(gamma)
    assert seen >= p - 4.5 * np.sqrt(p * (1 - p) / 4_000)


@pytest.mark.parametrize("dimension", [3, 10])
@pytest.mark.parametrize("distance", [0.0, 1.0, 4.0, 12.0])
def test_james_stein_beats_standing_alone(dimension, distance):
    peer = np.full((1, dimension), distance / np.sqrt(dimension))
    seen = simulate_clients(james_stein(dimension), 1.0, peer, 200_000, seed=4)
    assert seen["mse"] < dimension + 4 * np.sqrt(2 * dimension / 200_000) - (0.1 if distance < 2 else 0)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: simulate_clients(CYCLE, 1, [], 10, seed=0), "peers"),
        (lambda: simulate_clients(CYCLE, 0, [1], 10, seed=0), "gamma"),
        (lambda: simulate_clients(CYCLE, 1, [1], 10, seed=0, gamma_peer=-1), "gamma_peer"),
        (lambda: simulate_clients(CYCLE, 1, [1], 0, seed=0), "runs"),
        (lambda: huber(0), "kappa"),
        (lambda: james_stein(2), "dimension"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()
