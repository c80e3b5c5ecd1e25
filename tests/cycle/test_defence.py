"""The margin rule and the bounds on models by hand, and what hostile models can do at most."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cycle import defence
from cycle.heard import Heard
from cycle.weights import average

ANSWERS = torch.tensor(
    [
        [[2.0, -1.0, -1.0], [0.0, 4.0, -4.0]],  # right by 3; wrong: prefers class 1 to the true 0 by 4
        [[0.0, 0.0, 0.0], [9.0, -3.0, -6.0]],  # says nothing; right by 12
    ]
)
LABELS = torch.tensor([0, 0])


def test_margins_and_counts_by_hand():
    assert defence.margins(ANSWERS, LABELS).tolist() == [[3.0, -4.0], [0.0, 12.0]]
    assert torch.allclose(defence.by_margin(4.0)(ANSWERS, LABELS), torch.tensor([[0.75, 0.0], [0.0, 1.0]]))


def test_what_counts_has_its_largest_value_at_the_true_label():
    answers = torch.randn(4, 100, 5, generator=torch.Generator().manual_seed(0))
    labels = torch.arange(100) % 5
    counts = defence.by_margin()(answers, labels)
    right = answers.argmax(dim=2) == labels
    assert ((counts > 0) == right).all() and 0 <= counts.min() and counts.max() <= 1


def test_who_sends_no_numbers_does_not_count_and_silences_nobody():
    answers = ANSWERS.clone()
    answers[1, 1, 2] = torch.nan
    heard = Heard([lambda inputs, rows, k=k: answers[k] for k in range(2)], torch.ones(2), None, defence.by_margin(4.0))
    loss = heard.loss(torch.zeros(2, 3), None, None, LABELS, 1.0)
    only = Heard([lambda inputs, rows: answers[0]], torch.ones(1), None, defence.by_margin(4.0))
    assert loss == only.loss(torch.zeros(2, 3), None, None, LABELS, 1.0) > 0
    assert torch.cat(heard.counted, dim=1).tolist() == [[0.75, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("scale", [0, -1.0, float("inf"), float("nan"), "5", None])
def test_a_scale_that_cannot_be(scale):
    with pytest.raises(ValueError, match="scale must be a positive number"):
        defence.by_margin(scale)


LAST = torch.tensor([1.0, 0.0])
MODELS = [torch.tensor([1.0, 1.0]), torch.tensor([4.0, 4.0]), torch.tensor([1.0, -2.0])]  # steps of 1, 5 and 2
THIRDS = [1 / 3] * 3


def test_the_papers_rule_is_the_weighted_mean():
    assert average(LAST, MODELS, [0.5, 0.25, 0.25]).tolist() == [1.75, 1.0]


def test_clipping_by_hand():
    """The median step is 2 long: that of 5 is shortened to it. A party whose own step is 5 shortens nothing."""
    expected = LAST + (torch.tensor([0.0, 1.0]) + 0.4 * torch.tensor([3.0, 4.0]) + torch.tensor([0.0, -2.0])) / 3
    assert torch.allclose(defence.clipped(LAST, MODELS, THIRDS), expected)
    assert torch.allclose(defence.clipped(LAST, MODELS, THIRDS, 0), expected)
    assert torch.allclose(defence.clipped(LAST, MODELS, THIRDS, 1), average(LAST, MODELS, THIRDS))


@pytest.mark.parametrize(
    "weights, scales",
    [
        ([0.6, 0.2, 0.2], [1, 0.2, 0.5]),  # half of the weight is reached by the shortest step
        ([0.2, 0.2, 0.6], [1, 0.4, 1]),
        ([0.2, 0.6, 0.2], [1, 1, 1]),  # who has most of the weight is not bounded, whatever it sends
        ([0.25, 0.5, 0.25], [1, 0.4, 1]),  # half, not more
        ([0.0, 1.0, 0.0], [1, 1, 1]),
    ],
)
def test_a_servers_median_counts_models_as_they_are_weighted(weights, scales):
    steps = [torch.tensor([0.0, 1.0]), torch.tensor([3.0, 4.0]), torch.tensor([0.0, -2.0])]
    expected = sum(w * scale * step for w, scale, step in zip(weights, scales, steps, strict=True))
    assert torch.allclose(defence.clipped(LAST, MODELS, weights) - LAST, expected)


@pytest.mark.parametrize("weight", [0.3, 0.9, 1.0])
def test_a_partys_median_counts_heads_since_a_liar_may_have_earned_most_of_the_weight(weight):
    rest = (1 - weight) / 3
    models = [MODELS[0], torch.tensor([1e30, 1e30]), MODELS[2], MODELS[0]]
    mixed = defence.clipped(LAST, models, [rest, weight, rest, rest], 0)
    assert (mixed - LAST).norm() <= 2 and torch.equal(
        mixed, defence.clipped(LAST, models, [rest, weight, rest, rest], 3)
    )


def test_clipped_a_lone_peer_moves_one_no_further_than_oneself_and_nobody_can_hold_one_back():
    own = torch.tensor([1.0, 1.0])
    for sent in (torch.tensor([1e38, -1e38]), torch.tensor([1.0, 0.0])):
        mixed = defence.clipped(LAST, [own, sent], [0.5, 0.5], 0)
        assert (mixed - LAST - (own - LAST) / 2).norm() <= 0.5 + 1e-6


@given(st.integers(0, 999), st.sampled_from([None, 0, 3]), st.sampled_from([1e30, -1e38, 0.0, 7.0]))
def test_a_minority_moves_nobody_further_than_the_longest_honest_step(seed, own, size):
    rng = torch.Generator().manual_seed(seed)
    last, honest = torch.randn(9, generator=rng), [torch.randn(9, generator=rng) for _ in range(3)]
    models = [*honest, torch.full((9,), size), torch.full((9,), -size)]
    if own == 3:
        models = [models[3], models[4], *honest]
    longest = max((model - last).norm() for model in honest)
    mixed = defence.clipped(last, models, [0.2] * 5, own)
    assert mixed.isfinite().all() and (mixed - last).norm() <= longest * (1 + 1e-5)


@given(st.integers(0, 999), st.floats(0.01, 0.49), st.sampled_from([None, 0]), st.sampled_from([1e30, -3e38, 7.0]))
def test_one_far_off_model_below_half_of_the_weight_moves_nobody_far(seed, share, own, size):
    """No further than the longest honest step, however unequal the honest are; numbers stay finite."""
    rng = torch.Generator().manual_seed(seed)
    last, honest = torch.randn(9, generator=rng), [torch.randn(9, generator=rng) for _ in range(4)]
    parts = torch.rand(4, generator=rng).double() + 1e-3
    weights = [*(parts / parts.sum() * (1 - share)).tolist(), share]
    mixed = defence.clipped(last, [*honest, torch.full((9,), size)], weights, own)
    longest = max((model - last).norm() for model in honest)
    assert mixed.isfinite().all() and (mixed - last).norm() <= longest * (1 + 1e-5)


@given(st.integers(0, 999), st.sampled_from([None, 1]), st.sampled_from([2.0**-20, 0.5, 2.0**30]))
def test_clipping_knows_no_unit(seed, own, unit):
    """Numbers in another unit give the same result in that unit; models in another order the same."""
    rng = torch.Generator().manual_seed(seed)
    last, *models = torch.randn(6, 9, generator=rng)
    weights = torch.rand(5, generator=rng).softmax(dim=0).tolist()
    mixed = defence.clipped(last, models, weights, own)
    assert torch.equal(defence.clipped(unit * last, [unit * model for model in models], weights, own), unit * mixed)
    back = None if own is None else 4 - own
    assert torch.allclose(defence.clipped(last, models[::-1], weights[::-1], back), mixed, atol=1e-6)


def test_differences_beyond_all_numbers_stay_finite():
    far = torch.full((2,), 3e38)
    assert defence.clipped(-far, [far, -far, -far], THIRDS).tolist() == pytest.approx((-far).tolist())


def test_clipping_leaves_models_that_agree():
    assert torch.equal(defence.clipped(LAST, [LAST, LAST], [0.5, 0.5], 0), LAST)


def test_the_trimmed_mean_by_hand():
    """Without an own model the middle of three stays in each coordinate; one's own always stays."""
    assert defence.trimmed_mean()(LAST, MODELS, THIRDS).tolist() == [1.0, 1.0]
    four = [*MODELS, torch.tensor([9.0, 9.0])]
    mixed = defence.trimmed_mean()(LAST, four, [0.2, 0.2, 0.2, 0.4], 3)
    assert torch.allclose(mixed, torch.tensor([(0.2 * 1 + 0.4 * 9) / 0.6, (0.2 * 1 + 0.4 * 9) / 0.6]))
    assert torch.allclose(defence.trimmed_mean(0)(LAST, MODELS, THIRDS), average(LAST, MODELS, THIRDS))


@pytest.mark.parametrize("others", [0, 1, 2])
def test_trimmed_with_too_few_others_one_keeps_ones_own(others):
    own = torch.tensor([5.0, 6.0])
    assert torch.equal(defence.trimmed_mean()(LAST, [own, *MODELS[:others]], [1 / (others + 1)] * (others + 1), 0), own)
    assert torch.equal(defence.trimmed_mean()(LAST, MODELS[:others], [0.5] * others), LAST)


def test_trimming_takes_a_whole_number():
    with pytest.raises(ValueError, match="number must be a whole number"):
        defence.trimmed_mean(0.5)


def test_what_arrives_is_used_only_if_it_is_so_many_finite_numbers():
    rows = {(0, 1): torch.ones(3), (2, 1): torch.tensor([1.0, torch.inf, 0.0]), (3, 1): torch.ones(2)}
    kept, wrong = defence.usable(rows, 3)
    assert list(kept) == [(0, 1)] and defence.usable({}, 3) == ({}, {})
    assert wrong == {(2, 1): "numbers that are not finite", (3, 1): "too many numbers, or too few"}
