"""Two-client mean estimation (section 4.3, appendices A and B): exact values, bounds and the simulation they replace.

Client 1 has the estimate X ~ N(0, gamma^2), its peer sends Y ~ N(2 gamma_g, gamma_peer^2), both minus theta_1. With
x = (Y - X) / 2, a rule r gives w = X + r(x^2) x. Collaboration is useful when w^2 <= X^2, which happens
when r = 0 or when X + r x / 2 does not have the sign of x.
Arguments broadcast like NumPy arrays: gamma > 0, gamma_g >= 0, gamma_peer > 0 (the same as gamma if None).
"""

from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, owens_t

from cycle.estimators import CYCLE, FEDAVG, check_simulation

# Gauss-Legendre nodes, and the panel width in units of the integrand's scale up to which they reach 1e-12 (measured).
NODES = ((8, 1.8), (16, 7), (32, 18), (64, 40), (128, 85), (256, 170), (512, np.inf))
WINDOW = (
    13  # standard deviations of x to integrate: beyond is 1e-38, nothing beside Phi(-10), the bound at gamma = 0.05
)


def usefulness_fedavg(gamma, gamma_g, gamma_peer=None, share=0.5):
    """P(w^2 <= X^2) for w = (1 - share) X + share Y in closed form, with Owen's T function.

    share is the peer's weight in (0, 1]: 1/2 in FedAvg, gamma^2 / (gamma^2 + gamma_peer^2) if sample sizes weigh.
    """
    gamma, gamma_g, gamma_peer = _checked(gamma, gamma_g, gamma_peer)
    share = np.asarray(share, dtype=float)
    if not np.all((share > 0) & (share <= 1)):
        raise ValueError(f"share must lie in (0, 1], got {share}")
    slope = gamma / gamma_peer
    h = share * gamma_g / np.hypot((1 - share / 2) * gamma, share / 2 * gamma_peer)
    k = 2 * gamma_g / np.hypot(gamma, gamma_peer)
    return 2 * owens_t(h, slope * (2 - share) / share) + 2 * owens_t(k, slope)


def usefulness_cycle(gamma, gamma_g, gamma_peer=None):
    """P(w^2 <= X^2) under the paper's reputation, to a relative error below 1e-10.

    Tested for gamma in [0.05, 20], gamma_g in [0, 10] and gamma_peer from a tenth of gamma upwards.
    """
    return usefulness(CYCLE, gamma, gamma_g, gamma_peer)


def usefulness(rule, gamma, gamma_g, gamma_peer=None):
    """P(w^2 <= X^2) under any rule of cycle.estimators: the chance of a gain or a tie."""
    arguments = _checked(gamma, gamma_g, gamma_peer)
    return _silent(rule, *arguments)[0] + _expectation(_chance_of_gain, rule, *arguments)


def outcomes(rule, gamma, gamma_g, gamma_peer=None):
    """Exact probabilities that client 1 ends up better, in a tie with, or worse than its own estimate, as a dict."""
    arguments = _checked(gamma, gamma_g, gamma_peer)
    return {
        "better": _expectation(_chance_of_gain, rule, *arguments),
        "tie": _silent(rule, *arguments)[0],
        "worse": _expectation(_chance_of_harm, rule, *arguments),
    }


def mse(rule, gamma, gamma_g, gamma_peer=None):
    """E w^2 = Var(X | x) + E (E(X | x) + r x)^2, exactly."""
    gamma, gamma_g, gamma_peer = _checked(gamma, gamma_g, gamma_peer)
    beta, tau, _ = _conditional(gamma, gamma_peer)
    silent = beta**2 * _silent(rule, gamma, gamma_g, gamma_peer)[1]
    return tau**2 + silent + _expectation(_squared_mean, rule, gamma, gamma_g, gamma_peer)


def mse_cycle(gamma, gamma_g, gamma_peer=None):
    """E w^2 under the paper's reputation."""
    return mse(CYCLE, gamma, gamma_g, gamma_peer)


def mse_oracle(gamma, gamma_g):
    """The least E w^2 of any fixed r: gamma^2 (1 - r / 2) at r = gamma^2 / (gamma^2 + 2 gamma_g^2)."""
    gamma, gamma_g, _ = _checked(gamma, gamma_g, None)
    return gamma**2 * (1 - gamma**2 / (gamma**2 + 2 * gamma_g**2) / 2)


def lower_bound(gamma, reach=1.0):
    """Phi(-reach / (2 gamma)), below which no peer can push a rule with |r x| <= reach; for CYCle reach is 1."""
    return ndtr(-_non_negative("reach", reach) / (2 * _positive("gamma", gamma)))


def printed_lower_bound(gamma):
    """The paper's theorem: exp(-1 / (4 gamma^2)) / 8."""
    return np.exp(-1 / (4 * _positive("gamma", gamma) ** 2)) / 8


def printed_upper_bound(gamma, gamma_g):
    """The paper's lemma for FedAvg: 2 exp(-gamma_g^2 / (5 gamma^2))."""
    gamma, gamma_g, _ = _checked(gamma, gamma_g, None)
    return 2 * np.exp(-(gamma_g**2) / (5 * gamma**2))


def simulate(gamma, gamma_g, runs, seed, gamma_peer=None):
    """Appendix B at one point: how often fedavg and cycle are useful, and cycle strictly_better or a tie, as a dict."""
    gamma_peer = gamma if gamma_peer is None else gamma_peer
    check_simulation(runs, gamma=gamma, gamma_g=gamma_g, gamma_peer=gamma_peer)
    rng = np.random.default_rng(seed)
    own = gamma * rng.standard_normal(runs)
    x = (2 * gamma_g + gamma_peer * rng.standard_normal(runs) - own) / 2
    standalone, fedavg, cycle = abs(own), abs(own + FEDAVG(x**2) * x), abs(own + CYCLE(x**2) * x)
    return {
        "fedavg": float(np.mean(fedavg <= standalone)),
        "cycle": float(np.mean(cycle <= standalone)),
        "strictly_better": float(np.mean(cycle < standalone)),
        "tie": float(np.mean(cycle == standalone)),
    }


def _checked(gamma, gamma_g, gamma_peer):
    """The three as float arrays of one shape."""
    gamma_peer = gamma if gamma_peer is None else gamma_peer
    return np.broadcast_arrays(
        _positive("gamma", gamma), _non_negative("gamma_g", gamma_g), _positive("gamma_peer", gamma_peer)
    )


def _positive(name, value):
    value = np.asarray(value, dtype=float)
    if not np.all(np.isfinite(value) & (value > 0)):
        raise ValueError(f"{name} must be positive and finite")
    return value


def _non_negative(name, value):
    value = np.asarray(value, dtype=float)
    if not np.all(np.isfinite(value) & (value >= 0)):
        raise ValueError(f"{name} must be non-negative and finite")
    return value


def _conditional(gamma, gamma_peer):
    """X given x is N(-beta (x - gamma_g), tau^2), and x is N(gamma_g, sigma^2)."""
    total = np.hypot(gamma, gamma_peer)
    return 2 * (gamma / total) ** 2, gamma * gamma_peer / total, total / 2


def _chance_of_gain(x, r, gamma_g, beta, tau):
    """P(X + r x / 2 has not the sign of x, given x)."""
    return ndtr(np.sign(x) * (beta * (x - gamma_g) - r * x / 2) / tau)


def _chance_of_harm(x, r, gamma_g, beta, tau):
    return ndtr(-np.sign(x) * (beta * (x - gamma_g) - r * x / 2) / tau)


def _squared_mean(x, r, gamma_g, beta, tau):
    """(E(X | x) + r x)^2."""
    return (r * x - beta * (x - gamma_g)) ** 2


def _silent(rule, gamma, gamma_g, gamma_peer):
    """P(r = 0) and E[(x - gamma_g)^2; r = 0]: two Gaussian tails, known in closed form."""
    if not rule.compact:
        return np.zeros_like(gamma), np.zeros_like(gamma)
    sigma = _conditional(gamma, gamma_peer)[2]
    upper, lower = (rule.kinks(gamma)[-1] - gamma_g) / sigma, (-rule.kinks(gamma)[-1] - gamma_g) / sigma
    density = [np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) for z in (upper, lower)]
    mass = ndtr(-upper) + ndtr(lower)
    return mass, sigma**2 * (mass + upper * density[0] - lower * density[1])


def _expectation(integrand, rule, gamma, gamma_g, gamma_peer):
    """E[integrand(x); r > 0] by Gauss-Legendre between 0 and the kinks of r, more nodes on wider panels."""
    shape, (gamma, gamma_g, gamma_peer) = gamma.shape, (a.ravel() for a in (gamma, gamma_g, gamma_peer))
    beta, tau, sigma = _conditional(gamma, gamma_peer)
    scale = np.minimum(sigma, tau / (beta + 2))  # r x has slope 1 to -4, so the integrand changes no faster
    cuts = [0.0, *rule.kinks(gamma)] + ([] if rule.compact else [np.inf])
    total = np.zeros_like(gamma)
    for near, far in pairwise(cuts):
        for low, high in ((near, far), (-far, -near)):
            low, high = (np.clip(end, gamma_g - WINDOW * sigma, gamma_g + WINDOW * sigma) for end in (low, high))
            width, narrower = (high - low) / scale, 0.0
            for nodes, wider in NODES:
                at = np.flatnonzero((width > narrower) & (width <= wider))
                narrower = wider
                if at.size:
                    g, mean, b, t, s = gamma[at], gamma_g[at], beta[at], tau[at], sigma[at]
                    middle, half = (low[at] + high[at]) / 2, (high[at] - low[at]) / 2
                    panel = np.zeros_like(g)
                    for node, weight in zip(*_legendre(nodes), strict=True):
                        x = middle + half * node
                        r = rule(x * x, g, mean)
                        panel += weight * np.exp(-(((x - mean) / s) ** 2) / 2) * integrand(x, r, mean, b, t)
                    total[at] += panel * half / (s * np.sqrt(2 * np.pi))
    return total.reshape(shape)[()]


@cache
def _legendre(nodes):
    return np.polynomial.legendre.leggauss(nodes)
