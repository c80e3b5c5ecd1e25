"""Algorithm 3 on dense matrices, beside which the generators of cycle.gossip_sgd are held."""

from collections.abc import Iterator

import numpy as np

from cycle import gossip, sharing


def reference(x, gradient, links, lr, rounds, beta=None, alpha=0.5, period=5, rng=None) -> Iterator[tuple]:
    """Algorithm 3 on a dense matrix: yields x^(t+1/2), x^(t+1) and W of each round; beta=None is
    plain Gossip-SGD.

    Row i of x is participant i, gradient(i, x_i) its gradient there, links an adjacency.
    """
    x, W, links = np.asarray(x, dtype=float), gossip.mixing_matrix(links), np.asarray(links, dtype=bool)
    for t in range(rounds):
        g = np.stack([gradient(i, row) for i, row in enumerate(x)])
        if beta is not None and t % period == 0:
            unit = g / np.linalg.norm(g, axis=1, keepdims=True)
            W = gossip.reweigh(W, (1 + unit @ unit.T) / 2, links, beta, alpha)
        half = x - lr * g
        shares = links.T if beta is None else sharing.draw_shares(W, t, None, rng)
        x = gossip.masked_mixing(W, shares) @ half
        yield half, x, W
