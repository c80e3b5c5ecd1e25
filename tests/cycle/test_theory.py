import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from cycle import theory
from cycle.theory import CYCLE, FEDAVG, Rule
from reproduction import estimators
from reproduction.bench.theory import GRID

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
    fixed = Rule(lambda d, gamma, gamma_g: 0.6 * np.ones_like(d))  # the peer's weight is half of it
    for rule, share in [(FEDAVG, 0.5), (fixed, 0.3)]:
        exact = theory.usefulness_fedavg(gamma, gamma_g, share=share)
        np.testing.assert_allclose(theory.usefulness(rule, gamma, gamma_g), exact, atol=1e-13)
        square = (1 - share) ** 2 * gamma**2 + share**2 * (gamma**2 + 4 * gamma_g**2)
        np.testing.assert_allclose(theory.mse(rule, gamma, gamma_g), square, rtol=1e-12)


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
    assert theory.usefulness_fedavg(gamma, gamma_g) <= estimators.printed_upper_bound(gamma, gamma_g) / 2 + 1e-15


def test_the_theorem_on_a_wide_grid():
    useful = theory.usefulness_cycle(*GRID)
    bound = theory.lower_bound(GRID[0])
    assert (useful >= bound).all()
    assert (bound >= 3 * estimators.printed_lower_bound(GRID[0])).all()
    assert (useful >= theory.usefulness_fedavg(*GRID) - 1e-13).all()


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
        (lambda: estimators.printed_lower_bound(0), "gamma"),
        (lambda: theory.simulate(1, 1, 0, seed=0), "runs"),
        (lambda: theory.simulate(1, 1, 10.5, seed=0), "runs"),
        (lambda: theory.simulate(0, 1, 10, seed=0), "gamma"),
        (lambda: theory.simulate(1, -1, 10, seed=0), "gamma_g"),
        (lambda: theory.simulate([1, 2], 1, 10, seed=0), "gamma"),
    ],
)
def test_bad_arguments_are_named(call, name):
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()
