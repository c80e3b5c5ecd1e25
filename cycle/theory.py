"""Two-client mean estimation (section 4.3, appendices A and B): exact values, bounds, simulation.

Client 1 has the estimate X ~ N(0, gamma^2), its peer sends Y ~ N(2 gamma_g, gamma_peer^2), both
minus theta_1. With x = (Y - X) / 2 and d = x^2, a rule r moves client 1 to w = X + r(d) x.
That is useful when w^2 <= X^2: when r = 0, or when X + r x / 2 has not the sign of x.
Arguments broadcast like arrays: gamma > 0, gamma_g >= 0, gamma_peer > 0 (None: that of client 1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, owens_t

from cycle.checks import check, check_kind, check_numbers, check_whole

# Gauss-Legendre nodes, and up to which width of a panel they reach 1e-12 (measured), in units of
# the scale on which the integrand changes.
NODES = ((8, 1.8), (16, 7), (32, 18), (64, 40), (128, 85), (256, 170), (512, np.inf))
# Standard deviations of x to integrate: beyond is 1e-38, nothing beside Phi(-10) at gamma = 0.05.
WINDOW = 13
_nodes_and_weights = cache(np.polynomial.legendre.leggauss)
SMALLEST = 1e-100  # of what must be positive: its square is still positive


@dataclass(frozen=True)
class Rule:
    """A reputation r(d, gamma, gamma_g) in [0, 1], and the |x| at which its formula changes.

    Beyond the last of these edges r = 0; infinity stands for a rule that never falls silent.
    """

    reputation: Callable
    edges: Callable = lambda gamma: (np.inf,)

    def __call__(self, d, gamma=1.0, gamma_g=0.0):
        return self.reputation(np.asarray(d, dtype=float), gamma, gamma_g)


FEDAVG = Rule(lambda d, gamma, gamma_g: np.ones_like(d))
CYCLE = Rule(lambda d, gamma, gamma_g: np.clip(2 - d, 0, 1), lambda gamma: (1.0, np.sqrt(2)))


def usefulness_fedavg(gamma, gamma_g, gamma_peer=None, share=0.5):
    """P(w^2 <= X^2) for w = (1 - share) X + share Y in closed form, with Owen's T function.

    share is the peer's weight in (0, 1]: 1/2 in FedAvg, gamma^2 / (gamma^2 + gamma_peer^2) if
    sample sizes weigh.
    """
    gamma, gamma_g, gamma_peer = checked(gamma, gamma_g, gamma_peer)
    check_numbers(share, "share", least=SMALLEST, most=1)
    share = np.asarray(share, dtype=float)
    slope = gamma / gamma_peer
    h = share * gamma_g / np.hypot((1 - share / 2) * gamma, share / 2 * gamma_peer)
    k = 2 * gamma_g / np.hypot(gamma, gamma_peer)
    return 2 * owens_t(h, slope * (2 - share) / share) + 2 * owens_t(k, slope)


def usefulness_cycle(gamma, gamma_g, gamma_peer=None):
    """P(w^2 <= X^2) under the paper's reputation, to a relative error below 1e-10.

    Tested for gamma in [0.05, 20], gamma_g in [0, 10] and gamma_peer from gamma / 10 upwards.
    """
    return usefulness(CYCLE, gamma, gamma_g, gamma_peer)


def usefulness(rule, gamma, gamma_g, gamma_peer=None):
    """P(w^2 <= X^2) under any rule: the chance of a gain or a tie."""
    setting = checked(gamma, gamma_g, gamma_peer, rule)
    return _silent(rule, *setting) + _expectation(_chance(-1), rule, *setting)


def outcomes(rule, gamma, gamma_g, gamma_peer=None):
    """Probabilities that client 1 ends up better, in a tie with, or worse than alone, as a dict."""
    setting = checked(gamma, gamma_g, gamma_peer, rule)
    return {
        "better": _expectation(_chance(-1), rule, *setting),
        "tie": _silent(rule, *setting),
        "worse": _expectation(_chance(1), rule, *setting),
    }


def mse(rule, gamma, gamma_g, gamma_peer=None):
    """E w^2 = gamma^2 + E[r x (r x + 2 E(X | x))]."""
    setting = checked(gamma, gamma_g, gamma_peer, rule)
    return setting[0] ** 2 + _expectation(_change_of_square, rule, *setting)


def mse_cycle(gamma, gamma_g, gamma_peer=None):
    """E w^2 under the paper's reputation."""
    return mse(CYCLE, gamma, gamma_g, gamma_peer)


def lower_bound(gamma, reach=1.0):
    """Phi(-reach / (2 gamma)): no peer pushes a rule with |r x| <= reach below (CYCle: reach 1)."""
    check_numbers(gamma, "gamma", least=SMALLEST)
    check_numbers(reach, "reach", least=0)
    return ndtr(-np.asarray(reach, dtype=float) / (2 * np.asarray(gamma, dtype=float)))


def simulate(gamma, gamma_g, runs, seed, gamma_peer=None):
    """Appendix B: how often fedavg and cycle are useful, and cycle strictly_better or a tie."""
    gamma, gamma_g, gamma_peer = checked(gamma, gamma_g, gamma_peer)
    check(not gamma.shape, "gamma", "be one number, as gamma_g and gamma_peer", gamma)
    check_whole(runs, "runs", 1, 10**8)
    check_whole(seed, "seed", 0)
    rng = np.random.default_rng(seed)
    own = gamma * rng.standard_normal(runs)
    x = (2 * gamma_g + gamma_peer * rng.standard_normal(runs) - own) / 2
    alone, fedavg, cycle = abs(own), abs(own + FEDAVG(x**2) * x), abs(own + CYCLE(x**2) * x)
    return {
        "fedavg": float(np.mean(fedavg <= alone)),
        "cycle": float(np.mean(cycle <= alone)),
        "strictly_better": float(np.mean(cycle < alone)),
        "tie": float(np.mean(cycle == alone)),
    }


def checked(gamma, gamma_g, gamma_peer=None, rule=CYCLE):
    """The three as float arrays of one shape."""
    check_kind(rule, "rule", Rule, "a theory.Rule")
    gamma_peer = gamma if gamma_peer is None else gamma_peer
    check_numbers(gamma, "gamma", least=SMALLEST)
    check_numbers(gamma_g, "gamma_g", least=0)
    check_numbers(gamma_peer, "gamma_peer", least=SMALLEST)
    arrays = [np.asarray(values, dtype=float) for values in (gamma, gamma_g, gamma_peer)]
    try:
        return np.broadcast_arrays(*arrays)
    except ValueError:
        got = ", ".join(str(array.shape) for array in arrays)
        raise ValueError(f"gamma, gamma_g, gamma_peer must broadcast, got shapes {got}") from None


def _conditional(gamma, gamma_peer):
    """X given x is N(-beta (x - gamma_g), tau^2), and x is N(gamma_g, sigma^2)."""
    total = np.hypot(gamma, gamma_peer)
    return 2 * (gamma / total) ** 2, gamma * gamma_peer / total, total / 2


# What is averaged over x where r > 0: X given x is N(mean, tau^2).


def _chance(side):
    """P(X + r x / 2 has the sign of side x, given x): 1 for harm, -1 for a gain."""
    return lambda x, r, mean, tau: ndtr(side * np.sign(x) * (mean + r * x / 2) / tau)


def _change_of_square(x, r, mean, tau):
    """E[(X + r x)^2 - X^2, given x]."""
    return r * x * (r * x + 2 * mean)


def _silent(rule, gamma, gamma_g, gamma_peer):
    """P(r = 0): the Gaussian tails beyond the last edge."""
    sigma = _conditional(gamma, gamma_peer)[2]
    last = rule.edges(gamma)[-1]
    return ndtr((gamma_g - last) / sigma) + ndtr((-last - gamma_g) / sigma)


def _expectation(integrand, rule, gamma, gamma_g, gamma_peer):
    """E[integrand(x, r, E(X | x), tau); r > 0], between 0 and the edges of r on both sides."""
    shape = gamma.shape
    gamma, gamma_g, gamma_peer = (values.ravel() for values in (gamma, gamma_g, gamma_peer))
    beta, tau, sigma = _conditional(gamma, gamma_peer)

    def panel(nodes, low, high, gamma, gamma_g, beta, tau, sigma):
        middle, half, total = (low + high) / 2, (high - low) / 2, 0.0
        for node, weight in zip(*_nodes_and_weights(nodes), strict=True):
            x = middle + half * node
            r, mean = rule(x * x, gamma, gamma_g), -beta * (x - gamma_g)
            density = np.exp(-(((x - gamma_g) / sigma) ** 2) / 2)
            total += weight * density * integrand(x, r, mean, tau)
        return total * half / (sigma * np.sqrt(2 * np.pi))

    scale = np.minimum(sigma, tau / (beta + 2))  # r x has slope 1 to -4: nothing changes faster
    window = gamma_g - WINDOW * sigma, gamma_g + WINDOW * sigma
    edges, total = list(pairwise((0.0, *rule.edges(gamma)))), np.zeros_like(gamma)
    for low, high in [side for n, f in edges for side in ((n, f), (-f, -n))]:
        low, high = np.clip(low, *window), np.clip(high, *window)
        arrays = low, high, gamma, gamma_g, beta, tau, sigma
        width, narrower = (high - low) / scale, 0.0
        for nodes, wider in NODES:  # each entry with as many as its width needs; none where it is 0
            at = np.flatnonzero((width > narrower) & (width <= wider))
            if at.size:
                total[at] += panel(nodes, *(values[at] for values in arrays))
            narrower = wider
    return total.reshape(shape)[()]
