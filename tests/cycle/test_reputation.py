import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cycle import reputation


def test_misalignment_of_known_angles():
    east, north = torch.tensor([1.0, 0.0]), torch.tensor([0.0, 2.0])
    assert reputation.misalignment(east, east * 7) == pytest.approx(0)
    assert reputation.misalignment(east, north) == pytest.approx(0.5)
    assert reputation.misalignment(east, -east) == pytest.approx(1)
    assert reputation.misalignment(east, east + north / 2) == pytest.approx((1 - np.sqrt(0.5)) / 2)


def test_zero_gradient_says_nothing():
    assert reputation.misalignment(torch.zeros(3), torch.ones(3)) == 0.5


@given(st.integers(0, 1000), st.integers(1, 30))
def test_misalignment_agrees_with_numpy(seed, size):
    a, b = np.random.default_rng(seed).normal(size=(2, size))
    expected = (1 - a @ b / np.sqrt((a @ a) * (b @ b))) / 2
    got = reputation.misalignment(torch.from_numpy(a).reshape(1, -1), torch.from_numpy(b).reshape(1, -1))
    assert got == pytest.approx(expected, abs=1e-12)


@given(st.floats(-1, 1))
def test_paper_thresholds_clip_one_half_plus_cosine(cosine):
    assert reputation.soft_clip((1 - cosine) / 2) == pytest.approx(min(1, max(0, 0.5 + cosine)))


def test_soft_clip_keeps_the_kind_of_its_argument():
    s = torch.tensor([0.0, 0.25, 0.5, 0.75, 1.0])
    assert torch.equal(reputation.soft_clip(s), torch.tensor([1.0, 1.0, 0.5, 0.0, 0.0]))
    assert np.array_equal(reputation.soft_clip(s.numpy()), [1, 1, 0.5, 0, 0])
    assert reputation.soft_clip(0.4, tau_opt=0.1, tau_max=0.5) == pytest.approx(0.25)


def test_update_is_an_exponential_mean_that_starts_at_the_first_score():
    r = reputation.update(None, 0.8)
    assert r == 0.8
    assert reputation.update(r, 0.2, alpha=0.75) == pytest.approx(0.75 * 0.8 + 0.25 * 0.2)


@given(st.integers(2, 8), st.floats(0, 50), st.integers(0, 99))
def test_alignment_softmax_is_scipys_on_the_neighbours(n, beta, seed):
    from scipy.special import softmax

    rng = np.random.default_rng(seed)
    alignment, neighbours = rng.random((n, n)), rng.random((n, n)) < 0.6
    for i in range(n):
        neighbours[i, (i + 1) % n] = True
    weights = reputation.alignment_softmax(alignment, neighbours, beta)
    np.fill_diagonal(neighbours, False)
    for i in range(n):
        links = np.flatnonzero(neighbours[i])
        assert np.allclose(weights[i, links], softmax(beta * alignment[i, links]))
        assert weights[i].sum() == pytest.approx(1) and np.count_nonzero(weights[i][~neighbours[i]]) == 0


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: reputation.soft_clip(0.5, 0.5, 0.5), "tau_opt"),
        (lambda: reputation.update(0.1, 0.2, alpha=1.5), "alpha"),
        (lambda: reputation.misalignment(torch.ones(2), torch.ones(3)), "grad_local and grad_peer"),
        (lambda: reputation.alignment_softmax(np.ones((2, 2)), np.zeros((2, 2))), "neighbours"),
        (lambda: reputation.alignment_softmax(np.ones((2, 2)), np.ones((2, 2)), beta=-1), "beta"),
    ],
)
def test_refuses(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_a_softmax_of_large_numbers_does_not_overflow():
    alignment, neighbours = np.array([[0, 900.0, 899.0], [900, 0, 899], [1, 0, 0]]), ~np.eye(3, dtype=bool)
    weights = reputation.alignment_softmax(alignment, neighbours, beta=2.0)
    one = 1 / (1 + np.exp(-2))
    assert weights == pytest.approx(np.array([[0, one, 1 - one], [one, 0, 1 - one], [one, 1 - one, 0]]))
    with_own = reputation.alignment_softmax(alignment, neighbours, beta=0.0, self_loops=True)
    assert with_own == pytest.approx(np.full((3, 3), 1 / 3))


def test_what_diverged_is_opposed_and_what_is_zero_says_nothing():
    ones = torch.ones(3)
    for bad in (torch.nan, torch.inf, -torch.inf):
        assert reputation.misalignment(ones, torch.tensor([bad, 1.0, 1.0])) == 1
        assert reputation.misalignment([bad, 1.0, 1.0], [1.0, 1.0, 1.0]) == 1
    assert reputation.cosine(torch.zeros(3), ones) == 0 and reputation.cosine(ones, torch.zeros(3)) == 0
    assert reputation.misalignment(1e-30 * ones, ones) == pytest.approx(0)


def test_plain_lists_will_do():
    assert reputation.misalignment([1.0, 0.0], [0.0, 1.0]) == 0.5 and reputation.soft_clip([0.1, 0.5]).tolist() == [
        1,
        0.5,
    ]
    assert reputation.update([0.5], [0.25]).tolist() == [0.375]
