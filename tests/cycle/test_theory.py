import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from cycle import estimators, theory
from cycle.estimators import CYCLE, FEDAVG, HUBER, ORACLE, PLUG_IN, STANDALONE, huber, james_stein, simulate_clients
from reproduction.bench.theory import GRID

RULES = {"fedavg": FEDAVG, "cycle": CYCLE, "oracle": ORACLE, "plug-in": PLUG_IN, "huber": HUBER}
GAMMAS = st.floats(0.05, 20)
GAPS = st.floats(0, 10)
POINTS = [(gamma, gap) for gamma in (0.05, 0.07, 0.11, 0.25, 0.6, 1, 4, 20) for gap in (0, 0.3, 0.77, 1, 1.35, 2.5, 10)]


def close(value, reference):
    return abs(value - reference) <= max(1e-10 * abs(reference), 1e-14)


def usefulness_over_own_error(gamma, gamma_g, gamma_peer, digits=20):
    """CYCle's usefulness, integrated over X with so many digits (the module integrates over x). For X = -a < 0 the peer
    is useful when x <= -sqrt 2, when 0 <= x <= 2 a, and when x is beyond the larger root of x (2 - x^2) = 2 a."""
    mp.dps = digits
    gamma, gamma_g, gamma_peer = mpf(gamma), mpf(gamma_g), mpf(gamma_peer)

    def given_own(a, gap):
        def below(x):
            return mp.ncdf((2 * x - a - 2 * gap) / gamma_peer)

        if 2 * a >= 1:
            return below(-mp.sqrt(2)) + 1 - below(0)
        root = mp.sqrt(mpf(8) / 3) * mp.cos(mp.acos(-a * mpf(1.5) ** 1.5) / 3)
        above_root = mp.ncdf((2 * gap + a - 2 * root) / gamma_peer)
        return below(-mp.sqrt(2)) + below(2 * a) - below(0) + above_root

    def mirrored(a):  # X > 0 is the mirror image of X < 0 with the peer on the other side
        return mp.npdf(a / gamma) / gamma * (given_own(a, gamma_g) + given_own(a, -gamma_g))

    inner = mp.linspace(0, 0.5, 9 if min(gamma, gamma_peer) < 0.3 else 2)
    outer = [mpf(1) / 2 + k * gamma for k in (1, 3, 6, 11)]
    return mp.quad(mirrored, inner + outer, method="gauss-legendre", maxdegree=5)


@pytest.mark.parametrize(("gamma", "gamma_g"), POINTS[::3])
def test_cycle_agrees_with_twenty_digits(gamma, gamma_g):
    assert close(theory.usefulness_cycle(gamma, gamma_g), usefulness_over_own_error(gamma, gamma_g, gamma))


@pytest.mark.parametrize("ratio", [0.1, 0.4, 3, 12])
@pytest.mark.parametrize(("gamma", "gamma_g"), [(0.2, 0.8), (1, 0)])
def test_unequal_precision_agrees_with_twenty_digits(gamma, gamma_g, ratio):
    exact = theory.usefulness_cycle(gamma, gamma_g, ratio * gamma)
    assert close(exact, usefulness_over_own_error(gamma, gamma_g, ratio * gamma))


def test_tiny_usefulness_keeps_its_digits():
    exact, reference = theory.usefulness_cycle(0.05, 0.77), usefulness_over_own_error(0.05, 0.77, 0.05, digits=45)
    assert exact < 1e-20 and abs(exact / reference - 1) < 1e-10


def test_node_counts_are_enough_everywhere(monkeypatch):
    gamma, gamma_g = np.geomspace(0.05, 20, 60)[:, None], np.linspace(0, 10, 81)[None, :]
    quick = [theory.usefulness_cycle(gamma, gamma_g), theory.mse_cycle(gamma, gamma_g)]
    monkeypatch.setattr(theory, "NODES", ((300, np.inf),))
    slow = [theory.usefulness_cycle(gamma, gamma_g), theory.mse_cycle(gamma, gamma_g)]
    np.testing.assert_allclose(quick, slow, rtol=1e-11)


def test_fedavg_agrees_with_twenty_digits():
    """Useful means Y between X and -3 X: integrate that chance over X, in units of gamma."""
    mp.dps = 20
    for gamma, gamma_g in POINTS[1::4]:
        centre = 2 * mpf(gamma_g) / mpf(gamma)

        def between(a, centre=centre):
            return mp.npdf(a) * sum(mp.ncdf(3 * a - m) - mp.ncdf(-a - m) for m in (centre, -centre))

        reference = mp.quad(between, mp.linspace(0, 12, 9), method="gauss-legendre", maxdegree=4)
        assert close(theory.usefulness_fedavg(gamma, gamma_g), reference), (gamma, gamma_g)


@settings(max_examples=60, deadline=None)
@given(GAMMAS, GAPS, st.floats(0.2, 5), st.floats(0.05, 1))
def test_fixed_weights_agree_with_the_bivariate_normal_cdf(gamma, gamma_g, ratio, share):
    transform = np.array([[1 - share / 2, share / 2], [-0.5, 0.5]])  # (X, Y) to (V, x), useful if their signs differ
    mean, covariance = transform @ [0, 2 * gamma_g], transform @ np.diag([gamma**2, (ratio * gamma) ** 2]) @ transform.T
    either_negative = ndtr(-mean / np.sqrt(np.diag(covariance))).sum()
    both_negative = multivariate_normal(mean, covariance).cdf([0, 0])
    exact = theory.usefulness_fedavg(gamma, gamma_g, ratio * gamma, share)
    assert abs(exact - (either_negative - 2 * both_negative)) < 1e-9


def test_symmetric_limit_of_fedavg():
    q = np.array([0.1, 0.5, 1, 3, 10])  # gamma_peer^2 / gamma^2
    rho = (q - 3) / np.sqrt((1 + q) * (9 + q))
    np.testing.assert_allclose(theory.usefulness_fedavg(1, 0, np.sqrt(q)), 0.5 - np.arcsin(rho) / np.pi, rtol=1e-13)
    assert theory.usefulness_fedavg(0.3, 0) == pytest.approx(0.25 + np.arctan(3) / np.pi, rel=1e-13)


def test_general_quadrature_contains_the_closed_forms():
    gamma, gamma_g = np.geomspace(0.05, 20, 25)[:, None], np.linspace(0, 10, 21)[None, :]
    share = ORACLE(1.0, gamma, gamma_g) / 2
    np.testing.assert_allclose(
        theory.usefulness(FEDAVG, gamma, gamma_g), theory.usefulness_fedavg(gamma, gamma_g), atol=1e-13
    )
    np.testing.assert_allclose(
        theory.usefulness(ORACLE, gamma, gamma_g), theory.usefulness_fedavg(gamma, gamma_g, share=share), atol=1e-13
    )
    np.testing.assert_allclose(theory.mse(FEDAVG, gamma, gamma_g), gamma**2 / 2 + gamma_g**2, rtol=1e-12)
    np.testing.assert_allclose(theory.mse(ORACLE, gamma, gamma_g), theory.mse_oracle(gamma, gamma_g), rtol=1e-12)
    np.testing.assert_allclose(theory.mse(STANDALONE, gamma, gamma_g), gamma**2 + 0 * gamma_g, rtol=1e-12)


def test_mse_agrees_with_stein():
    """gamma^2 - gamma^2 E psi'(x) + E psi(x)^2, summed over a fine grid of x."""
    for gamma, gamma_g in [(0.1, 0.9), (0.5, 1.2), (1, 0), (1, 2), (3, 1)]:
        x, step = np.linspace(-25, 25, 500_001, retstep=True)
        weight = np.exp(-(((x - gamma_g) / gamma) ** 2)) / (gamma * np.sqrt(np.pi)) * step
        psi = np.where(x**2 < 1, x, np.where(x**2 < 2, 2 * x - x**3, 0))
        slope = np.where(x**2 < 1, 1, np.where(x**2 < 2, 2 - 3 * x**2, 0))
        stein = gamma**2 - gamma**2 * (weight @ slope) + weight @ psi**2
        assert theory.mse_cycle(gamma, gamma_g) == pytest.approx(stein, rel=1e-4)


@pytest.mark.parametrize(("gamma", "gamma_g"), POINTS)
def test_simulation_within_four_standard_errors(gamma, gamma_g):
    runs = 20_000
    seen = theory.simulate(gamma, gamma_g, runs, seed=7)
    exact = theory.outcomes(CYCLE, gamma, gamma_g)
    expected = {
        "fedavg": theory.usefulness_fedavg(gamma, gamma_g),
        "cycle": theory.usefulness_cycle(gamma, gamma_g),
        "strictly_better": exact["better"],
        "tie": exact["tie"],
    }
    for name, p in expected.items():
        assert abs(seen[name] - p) <= 4 * np.sqrt(p * (1 - p) / runs) + 1 / runs, name


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


@settings(max_examples=100, deadline=None)
@given(GAMMAS, GAPS, st.floats(0.1, 10))
def test_laws_of_usefulness(gamma, gamma_g, ratio):
    peer = ratio * gamma
    chances = theory.outcomes(CYCLE, gamma, gamma_g, peer)
    useful = theory.usefulness_cycle(gamma, gamma_g, peer)
    assert sum(chances.values()) == pytest.approx(1, abs=1e-12)
    assert useful == chances["better"] + chances["tie"]
    assert theory.lower_bound(gamma) <= useful * (1 + 1e-10)
    assert theory.usefulness_fedavg(gamma, gamma_g, peer) <= useful + 1e-13
    assert theory.usefulness_fedavg(gamma, gamma_g) <= theory.printed_upper_bound(gamma, gamma_g) / 2 + 1e-15
    assert theory.mse(ORACLE, gamma, gamma_g) <= theory.mse(FEDAVG, gamma, gamma_g) * (1 + 1e-12)


def test_the_theorem_on_a_wide_grid():
    useful = theory.usefulness_cycle(*GRID)
    bound = theory.lower_bound(GRID[0])
    assert (useful >= bound).all()
    assert (bound >= 3 * theory.printed_lower_bound(GRID[0])).all()
    assert (useful >= theory.usefulness_fedavg(*GRID) - 1e-13).all()


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
    assert seen < theory.printed_lower_bound(1.0) / 10 < theory.lower_bound(1.0, reach=4 / 3) / 10


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


def test_limits():
    assert theory.usefulness_cycle(1, 10) == pytest.approx(1, abs=1e-15)
    assert theory.usefulness_fedavg(0.05, 10) == 0
    assert theory.mse_cycle(1, 10) == pytest.approx(1, abs=1e-15)
    assert theory.usefulness_cycle(1000, 0) == pytest.approx(1, abs=2e-3)
    small = theory.usefulness_cycle(0.05, 0)
    assert small == pytest.approx(theory.usefulness_fedavg(0.05, 0), rel=1e-12)


def test_published_values_of_this_book():
    gaps = np.array([0, 1, 2, 5]) / 2
    np.testing.assert_allclose(theory.usefulness_fedavg(1, gaps), [0.647584, 0.536458, 0.333776, 0.057127], atol=5e-7)
    np.testing.assert_allclose(theory.usefulness_cycle(1, gaps), [0.660968, 0.585135, 0.519306, 0.938900], atol=5e-7)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: theory.usefulness_cycle(0, 1), "gamma"),
        (lambda: theory.usefulness_cycle([1, np.nan], 1), "gamma"),
        (lambda: theory.usefulness_cycle(1, -1), "gamma_g"),
        (lambda: theory.usefulness_fedavg(1, np.inf), "gamma_g"),
        (lambda: theory.usefulness_fedavg(1, 1, share=0), "share"),
        (lambda: theory.mse_cycle(1, 1, gamma_peer=0), "gamma_peer"),
        (lambda: theory.lower_bound(-1), "gamma"),
        (lambda: theory.lower_bound(1, reach=-1), "reach"),
        (lambda: theory.printed_lower_bound(0), "gamma"),
        (lambda: theory.simulate(1, 1, 0, seed=0), "runs"),
        (lambda: theory.simulate(1, 1, 10.5, seed=0), "runs"),
        (lambda: theory.simulate(0, 1, 10, seed=0), "gamma"),
        (lambda: theory.simulate(1, -1, 10, seed=0), "gamma_g"),
        (lambda: simulate_clients(CYCLE, 1, [], 10, seed=0), "peers"),
        (lambda: simulate_clients(CYCLE, 1, [1], 10, seed=0, gamma_peer=-1), "gamma_peer"),
        (lambda: estimators.huber(0), "kappa"),
        (lambda: estimators.james_stein(2), "dimension"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()
