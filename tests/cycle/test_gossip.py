import networkx as nx
import numpy as np
import pytest
from dense_gossip import reference
from hypothesis import given
from hypothesis import strategies as st

from cycle import gossip


@st.composite
def graphs(draw):
    n = draw(st.integers(2, 9))
    seed = draw(st.integers(0, 10_000))
    return nx.gnp_random_graph(n, draw(st.floats(0.0, 1.0)), seed=seed)


@st.composite
def weights_and_shares(draw):
    links = gossip.adjacency(draw(graphs()))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    W = rng.random(links.shape) * (links | np.eye(len(links), dtype=bool))
    return W / W.sum(axis=1, keepdims=True), rng.random(links.shape) < 0.5, links


def test_topologies_by_hand():
    assert gossip.adjacency("complete", 3).tolist() == [[False, True, True], [True, False, True], [True, True, False]]
    ring = gossip.adjacency("ring", 5)
    assert [np.flatnonzero(row).tolist() for row in ring] == [[1, 4], [0, 2], [1, 3], [2, 4], [0, 3]]
    exponential = gossip.adjacency("exponential", 6)  # row: receiver; 0 hears those from whom 1, 2 or 4 steps lead to 0
    assert np.flatnonzero(exponential[0]).tolist() == [2, 4, 5]
    assert np.flatnonzero(exponential[:, 0]).tolist() == [1, 2, 4]
    both = gossip.adjacency("exponential-undirected", 6)
    assert np.array_equal(both, exponential | exponential.T)
    assert gossip.adjacency("ring", 2).tolist() == [[False, True], [True, False]]


@given(graphs())
def test_any_networkx_graph_also_as_text(graph):
    links = gossip.adjacency(graph)
    expected = {(i, j) for i, j in graph.edges} | {(j, i) for i, j in graph.edges}
    assert {(int(i), int(j)) for i, j in np.argwhere(links)} == expected
    text = "graph6:" + nx.to_graph6_bytes(graph, header=False).decode().strip()
    assert np.array_equal(gossip.adjacency(text, len(graph)), links)


def test_an_edge_of_a_directed_graph_leads_from_sender_to_receiver():
    links = gossip.adjacency(nx.DiGraph([(0, 1), (1, 1)]))  # the self loop is left out
    assert np.argwhere(links).tolist() == [[1, 0]]


@pytest.mark.parametrize("n, gaps", [(6, (1, 1 / 3, 1 / 2)), (5, (1, None, None)), (16, (1, None, 2 / 5))])
def test_spectral_gaps(n, gaps):
    for name, gap in zip(("complete", "ring", "exponential"), gaps, strict=True):
        W = gossip.mixing_matrix(gossip.adjacency(name, n))
        assert np.allclose(W.sum(axis=0), 1) and np.allclose(W.sum(axis=1), 1)
        if gap is not None:
            assert gossip.spectral_gap(W) == pytest.approx(gap, abs=1e-9)


@pytest.mark.parametrize("n", [4, 7, 12, 30])
def test_closed_forms_of_ring_and_exponential(n):
    """Ring: eigenvalues (1 + 2 cos(2 pi k / n)) / 3. Exponential, n even: 2 / (1 + ceil(log2 n)), Ying et al."""
    ring = gossip.spectral_gap(gossip.mixing_matrix(gossip.adjacency("ring", n)))
    assert ring == pytest.approx(2 / 3 * (1 - np.cos(2 * np.pi / n)))
    if n % 2 == 0:
        exponential = gossip.spectral_gap(gossip.mixing_matrix(gossip.adjacency("exponential", n)))
        assert exponential == pytest.approx(2 / (1 + np.ceil(np.log2(n))))


def test_the_gap_is_the_rate_at_which_disagreement_shrinks():
    W = gossip.mixing_matrix(gossip.adjacency("ring", 9))
    x = np.random.default_rng(0).normal(size=9)
    spread = []
    for _ in range(60):
        x = W @ x
        spread.append(np.linalg.norm(x - x.mean()))
    assert spread[-1] / spread[-2] == pytest.approx(1 - gossip.spectral_gap(W), abs=1e-6)


def test_gap_of_one_and_of_two_parts():
    assert gossip.spectral_gap([[1.0]]) == 1
    assert gossip.spectral_gap(np.eye(2)) == 0


@given(graphs())
def test_mixing_matrices_are_the_formulas(graph):
    links, n = gossip.adjacency(graph), len(graph)
    uniform, metropolis = gossip.mixing_matrix(links), gossip.mixing_matrix(links, "metropolis")
    for i in range(n):
        for j in range(n):
            joined = i == j or graph.has_edge(i, j)
            assert uniform[i, j] == pytest.approx(1 / (graph.degree[i] + 1) if joined else 0)
            if i != j:
                expected = 1 / (1 + max(graph.degree[i], graph.degree[j])) if joined else 0
                assert metropolis[i, j] == pytest.approx(expected)
    assert np.allclose(metropolis.sum(axis=1), 1) and np.allclose(metropolis, metropolis.T) and (metropolis >= 0).all()


@given(weights_and_shares())
def test_masked_mixing_is_the_definition(drawn):
    W, shares, _ = drawn
    mixed = gossip.masked_mixing(W, shares)
    for i in range(len(W)):
        kept = [W[i, j] if (i == j or shares[j, i]) else 0.0 for j in range(len(W))]
        assert np.allclose(mixed[i], np.array(kept) / sum(kept))
    assert (np.diag(mixed) > 0).all() and np.allclose(mixed.sum(axis=1), 1)


def test_who_hears_nothing_keeps_its_model():
    assert np.array_equal(gossip.masked_mixing([[0.5, 0.5], [0.5, 0.5]], np.zeros((2, 2))), np.eye(2))
    assert np.array_equal(gossip.masked_mixing([[0.0, 1.0], [1.0, 0.0]], np.zeros((2, 2))), np.eye(2))
    only_first_sends = [[0, 1], [0, 0]]
    assert np.allclose(gossip.masked_mixing([[0.5, 0.5], [0.25, 0.75]], only_first_sends), [[1, 0], [0.25, 0.75]])


@given(weights_and_shares(), st.floats(0, 40), st.floats(0, 1), st.integers(0, 1000))
def test_reweigh_is_the_algorithm_line_by_line(drawn, beta, alpha, seed):
    W, _, links = drawn
    s = np.random.default_rng(seed).random(W.shape)
    got = gossip.reweigh(W, s, links, beta, alpha)
    for i in range(len(W)):
        neighbours = np.flatnonzero(links[i])
        row = W[i].copy()
        for j in neighbours:
            r = np.exp(beta * s[i, j]) / sum(np.exp(beta * s[i, k]) for k in neighbours)
            row[j] = alpha * W[i, j] + (1 - alpha) * r
        assert np.allclose(got[i], row / row.sum(), atol=1e-12)


@given(weights_and_shares())
def test_link_rules(drawn):
    W, _, links = drawn
    plain, relative = gossip.link_probabilities(W), gossip.link_probabilities(W, "relative")
    assert np.array_equal(plain[links], W[links]) and not plain[~links].any()
    for i in np.flatnonzero(links.any(axis=1)):
        assert np.allclose(relative[i], plain[i] / plain[i].max()) and relative[i].max() == 1
    assert not relative[~links].any()


def test_without_sharpness_the_relative_rule_is_the_complete_graph():
    links = gossip.adjacency("complete", 5)
    W = gossip.reweigh(gossip.mixing_matrix(links), np.random.default_rng(0).random((5, 5)), links, beta=0.0)
    assert np.allclose(gossip.link_probabilities(W, "relative"), links)
    assert np.allclose(W.sum(axis=1), 1)


@given(weights_and_shares(), st.integers(0, 1000))
def test_submixing_is_the_block_of_those_present(drawn, seed):
    W, _, _ = drawn
    present = np.flatnonzero(np.random.default_rng(seed).random(len(W)) < 0.7)
    if present.size:
        block, weight = gossip.submixing(W, present)
        assert np.allclose(block.sum(axis=1), 1)
        assert np.allclose(block * weight, W[present][:, present])


def test_reference_minimises_the_mean_of_quadratics():
    """f_i(x) = |x - c_i|^2 / 2: the mean model follows plain gradient descent to the mean of the c_i."""
    centers = np.random.default_rng(0).normal(size=(6, 3))
    x = np.zeros((6, 3))
    links = gossip.adjacency("ring", 6)
    for t, (half, x, W) in enumerate(reference(x, lambda i, own: own - centers[i], links, 0.1, 50)):  # noqa: B020
        assert np.allclose(x, W @ half)
        assert np.allclose(x.mean(axis=0), (1 - 0.9 ** (t + 1)) * centers.mean(axis=0))


def test_reference_learns_whom_to_hear():
    """Two groups that pull in opposite directions end up with all their weight within the group."""
    centers = np.repeat([[1.0, 0.0], [-1.0, 0.0]], 3, axis=0)
    rng, links = np.random.default_rng(0), gossip.adjacency("complete", 6)
    rounds = reference(np.zeros((6, 2)), lambda i, x: x - centers[i], links, 0.05, 30, beta=15.0, rng=rng)
    *_, (_, x, W) = rounds
    assert W[:3, 3:].max() < 0.02 and W[3:, :3].max() < 0.02
    assert (x[:3, 0] > 0.5).all() and (x[3:, 0] < -0.5).all()


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: gossip.adjacency("star", 5), "name must be one of"),
        (lambda: gossip.adjacency(7, 5), "name must be one of"),
        (lambda: gossip.adjacency("ring", 1), "n must be a whole number"),
        (lambda: gossip.adjacency("ring"), "n must be a whole number"),
        (lambda: gossip.adjacency(nx.path_graph(4), 5), "n must be the number of nodes"),
        (lambda: gossip.adjacency("graph6:\x01", 5), "name must hold a graph"),
        (lambda: gossip.mixing_matrix(np.ones((2, 3))), "adjacency must be a square matrix"),
        (lambda: gossip.mixing_matrix(gossip.adjacency("ring", 4), "equal"), "weights must be"),
        (lambda: gossip.mixing_matrix(gossip.adjacency("exponential", 6), "metropolis"), "adjacency must be symmetric"),
        (lambda: gossip.spectral_gap(np.ones(3)), "W must be a square matrix"),
        (lambda: gossip.spectral_gap([[np.nan]]), "W must be finite"),
        (lambda: gossip.masked_mixing(np.eye(3), np.eye(2)), r"shares must have the shape \(3, 3\)"),
        (lambda: gossip.masked_mixing(-np.eye(2), np.eye(2)), "W must be at least 0"),
        (lambda: gossip.link_probabilities(np.eye(2), "softmax"), "rule must be one of"),
        (lambda: gossip.reweigh(np.eye(2), np.eye(2), ~np.eye(2, dtype=bool), beta=-1), "beta must be"),
        (lambda: gossip.submixing([[0.0, 1.0], [1.0, 0.0]], [0]), "W must give everybody present"),
    ],
)
def test_refuses(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_weights_may_be_whole_numbers():
    """Nobody hears anybody yet: the identity, as integers."""
    nobody, everybody = np.eye(3, dtype=int), ~np.eye(3, dtype=bool)
    assert np.array_equal(gossip.masked_mixing(nobody, everybody), np.eye(3))
    swap = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 1]])
    assert gossip.masked_mixing(swap, everybody).dtype == float
    found = gossip.reweigh(swap, np.full((3, 3), 0.5), everybody)
    assert np.array_equal(found, gossip.reweigh(swap.astype(float), np.full((3, 3), 0.5), everybody))
    assert found[0, 2] > 0
