"""The bounds that the paper prints, other rules than its own, and simulation with more clients and dimensions.

As in cycle.theory: own error X, peer's estimate Y, x = (Y - X) / 2, d = |x|^2, and a rule moves client 1 to
w = X + r(d) x; with N clients to w = X + (2 / N) sum_k r(d_k) x_k.
"""

import numpy as np

from cycle.checks import check_number, check_whole
from cycle.theory import Rule, checked


def printed_lower_bound(gamma):
    """The paper's theorem: exp(-1 / (4 gamma^2)) / 8."""
    gamma, _, _ = checked(gamma, 0)
    return np.exp(-1 / (4 * gamma**2)) / 8


def printed_upper_bound(gamma, gamma_g):
    """The paper's lemma for FedAvg: 2 exp(-gamma_g^2 / (5 gamma^2))."""
    gamma, gamma_g, _ = checked(gamma, gamma_g)
    return 2 * np.exp(-(gamma_g**2) / (5 * gamma**2))


def huber(kappa):
    """r = min(1, kappa gamma / |x|): a pull of at most kappa gamma (kappa > 0)."""
    check_number(kappa, "kappa", above=0)

    def reputation(d, gamma, gamma_g):
        return kappa * gamma / np.maximum(np.sqrt(d), kappa * gamma)

    return Rule(reputation, lambda gamma: (kappa * gamma, np.inf))


def james_stein(dimension):
    """Positive-part James-Stein, r = min(1, (dimension - 2) gamma^2 / (2 d)); dimension is an integer of 3 or more."""
    check_whole(dimension, "dimension", 3)
    return _shrinkage(dimension - 2)


def _shrinkage(constant):
    """r = min(1, constant gamma^2 / (2 d))."""

    def reputation(d, gamma, gamma_g):
        edge = constant / 2 * gamma**2
        return edge / np.maximum(d, edge)

    return Rule(reputation, lambda gamma: (np.sqrt(constant / 2) * gamma, np.inf))


STANDALONE = Rule(lambda d, gamma, gamma_g: np.zeros_like(d), lambda gamma: (0.0,))
ORACLE = Rule(lambda d, gamma, gamma_g: gamma**2 / (gamma**2 + 2 * gamma_g**2) * np.ones_like(d))
PLUG_IN = _shrinkage(1)  # the oracle with gamma_g^2 replaced by d - gamma^2 / 2, whose mean it is
HUBER = huber(0.5)
SCALED = Rule(  # CYCle with its thresholds in units of gamma^2
    lambda d, gamma, gamma_g: np.clip(2 - d / gamma**2, 0, 1), lambda gamma: (gamma, np.sqrt(2) * gamma)
)


def mse_oracle(gamma, gamma_g):
    """The least E w^2 of any fixed r: gamma^2 (1 - r / 2) at r = gamma^2 / (gamma^2 + 2 gamma_g^2)."""
    return gamma**2 * (1 - gamma**2 / (gamma**2 + 2 * np.asarray(gamma_g) ** 2) / 2)


def simulate_clients(rule, gamma, peers, runs, seed, gamma_peer=None):
    """Fractions useful, better, tie, worse and the mse of client 1 among N clients in any dimension.

    peers: array [N - 1, dimension] (or [N - 1]) of the peers' true means minus client 1's; gamma_peer: their standard
    deviation per coordinate (gamma if None, 0 for peers that know their mean exactly).
    """
    peers = np.asarray(peers, dtype=float)
    peers = peers[:, None] if peers.ndim == 1 else peers
    if peers.ndim != 2 or peers.size == 0 or not np.isfinite(peers).all():
        raise ValueError("peers must be a finite array [N - 1] or [N - 1, dimension] with at least one peer")
    gamma_peer = gamma if gamma_peer is None else gamma_peer
    check_number(gamma, "gamma", above=0)
    check_number(gamma_peer, "gamma_peer", least=0)
    check_whole(runs, "runs", 1)
    rng = np.random.default_rng(seed)
    own = gamma * rng.standard_normal((runs, peers.shape[1]))
    moved = own.copy()
    for offset in peers:
        x = (offset + gamma_peer * rng.standard_normal(own.shape) - own) / 2
        reputation = rule((x**2).sum(axis=1), gamma, np.linalg.norm(offset) / 2)
        moved += 2 / (len(peers) + 1) * reputation[:, None] * x
    before, after = (own**2).sum(axis=1), (moved**2).sum(axis=1)
    seen = {"useful": after <= before, "better": after < before, "tie": after == before, "worse": after > before}
    return {name: np.mean(where) for name, where in (seen | {"mse": after}).items()}
