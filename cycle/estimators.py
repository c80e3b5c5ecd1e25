"""What a client may do with a peer's estimate: reputation rules r(d), and how they fare in simulation.

Seen from client 1 and relative to its true mean: own error X, peer's estimate Y, x = (Y - X) / 2 and d = |x|^2.
A rule moves the estimate to w = X + r(d) x. With N clients, w = X + (2 / N) sum_k r(d_k) x_k.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Rule:
    """A reputation r(d, gamma, gamma_g) between 0 and 1, and what exact integration must know about its shape."""

    reputation: Callable
    kinks: Callable = lambda gamma: ()  # the |x| at which r is not smooth, ascending
    compact: bool = False  # r vanishes beyond the last kink

    def __call__(self, d, gamma=1.0, gamma_g=0.0):
        return self.reputation(np.asarray(d, dtype=float), gamma, gamma_g)


def huber(kappa):
    """r = min(1, kappa gamma / |x|): the peer moves the estimate by at most kappa gamma (kappa > 0)."""
    if not kappa > 0:
        raise ValueError(f"kappa must be positive, got {kappa}")

    def reputation(d, gamma, gamma_g):
        return kappa * gamma / np.maximum(np.sqrt(d), kappa * gamma)

    return Rule(reputation, lambda gamma: (kappa * gamma,))


def james_stein(dimension):
    """Positive-part James-Stein, r = min(1, (dimension - 2) gamma^2 / (2 d)); dimension is an integer of 3 or more."""
    if dimension < 3 or dimension != int(dimension):
        raise ValueError(f"dimension must be an integer of 3 or more, got {dimension}")
    return _shrinkage(dimension - 2)


def _shrinkage(constant):
    def reputation(d, gamma, gamma_g):
        edge = constant / 2 * gamma**2
        return edge / np.maximum(d, edge)

    return Rule(reputation, lambda gamma: (np.sqrt(constant / 2) * gamma,))


STANDALONE = Rule(lambda d, gamma, gamma_g: np.zeros_like(d), lambda gamma: (0.0,), compact=True)
FEDAVG = Rule(lambda d, gamma, gamma_g: np.ones_like(d))
CYCLE = Rule(lambda d, gamma, gamma_g: np.clip(2 - d, 0, 1), lambda gamma: (1.0, np.sqrt(2)), compact=True)
ORACLE = Rule(lambda d, gamma, gamma_g: gamma**2 / (gamma**2 + 2 * gamma_g**2) * np.ones_like(d))
PLUG_IN = _shrinkage(1)  # the oracle with gamma_g^2 replaced by d - gamma^2 / 2, whose mean it is
HUBER = huber(0.5)


def simulate_clients(rule, gamma, peers, runs, seed, gamma_peer=None):
    """Fractions useful, better, tie, worse and the mse of client 1 among N clients in any dimension.

    peers: array [N - 1, dimension] (or [N - 1]) of the peers' true means minus client 1's; gamma_peer: their standard
    deviation per coordinate (gamma if None, 0 for peers that know their mean exactly).
    """
    peers = np.atleast_1d(np.asarray(peers, dtype=float))
    peers = peers[:, None] if peers.ndim == 1 else peers
    if peers.ndim != 2 or peers.size == 0 or not np.isfinite(peers).all():
        raise ValueError("peers must be a finite array [N - 1] or [N - 1, dimension] with at least one peer")
    gamma_peer = gamma if gamma_peer is None else gamma_peer
    check_simulation(runs, gamma=gamma, gamma_peer=gamma_peer)
    rng = np.random.default_rng(seed)
    own = gamma * rng.standard_normal((runs, peers.shape[1]))
    moved = own.copy()
    for offset in peers:
        x = (offset + gamma_peer * rng.standard_normal(own.shape) - own) / 2
        reputation = rule((x**2).sum(axis=1), gamma, np.linalg.norm(offset) / 2)
        moved += 2 / (len(peers) + 1) * reputation[:, None] * x
    before, after = (own**2).sum(axis=1), (moved**2).sum(axis=1)
    return {
        "useful": np.mean(after <= before),
        "better": np.mean(after < before),
        "tie": np.mean(after == before),
        "worse": np.mean(after > before),
        "mse": np.mean(after),
    }


def check_simulation(runs, gamma, **others):
    """ValueError unless runs is a positive integer, gamma a positive number and every other number non-negative."""
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer) or runs < 1:
        raise ValueError(f"runs must be a positive integer, got {runs!r}")
    for name, value in {"gamma": gamma, **others}.items():
        if not (np.isscalar(value) and np.isfinite(value) and value >= 0):
            raise ValueError(f"{name} must be one finite, non-negative number, got {value}")
    if gamma == 0:
        raise ValueError("gamma must be positive, got 0")
