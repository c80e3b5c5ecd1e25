"""Who averages with whom: topologies, mixing matrices, spectral gap, CYCle's dynamic mixing.

Graphs and matrices are [receiver, sender]: row i is what i makes of its neighbours. Shares are
[sender, receiver].
"""

import networkx as nx
import numpy as np

from cycle import reputation
from cycle.checks import (
    check,
    check_choice,
    check_flag,
    check_links,
    check_mixing,
    check_number,
    check_numbers,
    check_square,
    check_whole,
)

TOPOLOGIES = ("complete", "ring", "exponential", "exponential-undirected")
KNOWN = f"one of {', '.join(TOPOLOGIES)}, graph6:... or a networkx graph"


def adjacency(name: str | nx.Graph, n: int | None = None) -> np.ndarray:
    """Bool [receiver, sender] without self loops: of a name, `graph6:...`, or a networkx graph.

    `exponential` is directed, i sends to i + 2^k mod n; an edge u -> v of a directed networkx
    graph: u sends to v.
    """
    graph = _named(name, n) if isinstance(name, str) else name
    check(isinstance(graph, nx.Graph), "name", f"be {KNOWN}", name)
    nodes = len(graph)
    check(nodes > 1, "name", "be a graph of at least 2 nodes", nodes)
    check(n in (None, nodes), "n", f"be the number of nodes of the graph ({nodes})", n)
    links = nx.to_numpy_array(graph, weight=None).T > 0
    np.fill_diagonal(links, False)
    return links


def _named(name, n):
    if name.startswith("graph6:"):
        try:
            return nx.from_graph6_bytes(name.removeprefix("graph6:").encode())
        except (nx.NetworkXError, ValueError, IndexError) as error:
            what = "a graph in graph6 text after 'graph6:'"
            raise ValueError(f"name must hold {what}, got {name!r}") from error
    check(name in TOPOLOGIES, "name", f"be {KNOWN}", name)
    check_whole(n, "n", 2, 10_000)  # matrices are dense
    if name == "complete":
        return nx.complete_graph(n)
    if name == "ring":
        return nx.cycle_graph(n)
    graph = nx.empty_graph(n, create_using=nx.DiGraph if name == "exponential" else nx.Graph)
    jumps = [2**k for k in range(int(n - 1).bit_length())]
    graph.add_edges_from((i, (i + jump) % n) for i in range(n) for jump in jumps)
    return graph


def mixing_matrix(adjacency, weights: str = "uniform") -> np.ndarray:
    """W of the paper, w_ij = 1 / (|N(i)| + 1), or `metropolis`, which is doubly stochastic."""
    check_links(adjacency, "adjacency")
    check_choice(weights, "weights", ("uniform", "metropolis"))
    own = np.eye(len(adjacency), dtype=bool)
    links = np.asarray(adjacency, dtype=bool) & ~own
    degree = links.sum(axis=1, keepdims=True)
    if weights == "uniform":
        return (links | own) / (degree + 1)
    check((links == links.T).all(), "adjacency", "be symmetric for metropolis weights", adjacency)
    W = links / (1 + np.maximum(degree, degree.T))
    return W + np.diag(1 - W.sum(axis=1))


def spectral_gap(W) -> float:
    """1 - |lambda_2|: the part of the disagreement that each mixing removes; 1 agrees at once."""
    check_mixing(W, "W")
    moduli = np.sort(np.abs(np.linalg.eigvals(np.asarray(W, dtype=float))))
    return float(1 - moduli[-2]) if len(moduli) > 1 else 1.0


def masked_mixing(W, shares) -> np.ndarray:
    """W~ = W * S^T with every S_ii = 1, rows normalised; shares[sender, receiver] says who sent to
    whom.

    Whoever heard nothing, and gives itself no weight, keeps its own model.
    """
    check_square(W, "W", least=0)
    check_links(shares, "shares", like=W)
    W, shares = np.asarray(W, dtype=float), np.asarray(shares, dtype=bool)
    heard = W * (shares.T | np.eye(len(W), dtype=bool))
    silent = heard.sum(axis=1) == 0
    heard[silent, silent] = 1
    return heard / heard.sum(axis=1, keepdims=True)


def reweigh(
    W, alignment, neighbours, beta: float = 15.0, alpha: float = 0.5, self_loops: bool = False
) -> np.ndarray:
    """Lines 4-8: w_ij <- alpha w_ij + (1 - alpha) softmax_j(beta s_ij), rows normalised.

    The own weight w_ii takes no part in the average, so only normalisation moves it, unless there
    are `self_loops`: then s_ii counts like the others. Rows without neighbours stay.
    """
    check_mixing(W, "W")
    check_links(neighbours, "neighbours", like=W)
    check_square(alignment, "alignment", like=W)
    check_number(alpha, "alpha", 0, 1)
    check_number(beta, "beta", least=0)
    check_flag(self_loops, "self_loops")
    W, neighbours = np.asarray(W, dtype=float), np.asarray(neighbours, dtype=bool)
    linked = neighbours.any(axis=1)
    if not linked.any():
        return W.copy()
    # The softmax needs a neighbour in each row; what it makes of rows that have none is not used.
    fresh = reputation.alignment_softmax(alignment, neighbours | ~linked[:, None], beta, self_loops)
    scored = neighbours | (np.diag(linked) & self_loops)
    moved = np.where(scored, reputation.update(W, fresh, alpha), W)
    return moved / moved.sum(axis=1, keepdims=True)


def link_probabilities(W, rule: str = "weight") -> np.ndarray:
    """How probably i sends to j: w_ij (Algorithm 3), or `relative`: w_ij / max_j w_ij."""
    check_square(W, "W", 0, 1)
    W = np.asarray(W, dtype=float)
    check_choice(rule, "rule", ("weight", "relative"))
    others = W * ~np.eye(len(W), dtype=bool)
    if rule == "weight":
        return others
    largest = others.max(axis=1, keepdims=True)
    return np.divide(others, largest, out=np.zeros_like(others), where=largest > 0)


def submixing(W, present) -> tuple[np.ndarray, np.ndarray]:
    """The mixing matrix among those present, rows normalised, and each row's weight on them."""
    check_square(W, "W", least=0)
    check_numbers(present, "present", ndim=1, least=0, most=len(W) - 1)
    chosen = np.asarray(present)
    different = chosen.dtype.kind in "iu" and np.unique(chosen).size == chosen.size
    check(different, "present", f"be different whole numbers below {len(W)}", present)
    block = np.asarray(W, dtype=float)[np.ix_(present, present)]
    weight = block.sum(axis=1, keepdims=True)
    what = "give everybody present a positive weight on somebody present"
    check((weight > 0).all(), "W", what, W)
    return block / weight, weight
