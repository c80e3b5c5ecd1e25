import numpy as np
import pytest
import torch
from scipy.special import log_softmax

from cycle import distillation


def logits(seed, rows=6, classes=4):
    return torch.from_numpy(np.random.default_rng(seed).normal(scale=3, size=(rows, classes)))


def test_kl_is_scipys_with_the_student_first():
    student, peer, temperature = logits(0), logits(1), 2.0
    p, q = (log_softmax(z.numpy() / temperature, axis=1) for z in (student, peer))
    expected = (np.exp(p) * (p - q)).sum(axis=1).mean()
    assert distillation.kl(student, peer, temperature).item() == pytest.approx(expected)
    assert distillation.kl(peer, student, temperature).item() != pytest.approx(expected)


def test_approximate_kl_has_another_value_and_the_same_gradient():
    student, peer = logits(0).requires_grad_(), logits(1)
    exact, approximate = distillation.kl(student, peer), distillation.approximate_kl(student, peer)
    assert exact.item() - approximate.item() == pytest.approx(torch.logsumexp(peer / 5, dim=1).mean().item())
    (first,) = torch.autograd.grad(exact, student)
    (second,) = torch.autograd.grad(approximate, student)
    assert torch.allclose(first, second, atol=1e-14)


def test_weighted_kl_is_the_weighted_sum():
    student, peers, weights = logits(0), [logits(1), logits(2), logits(3)], [0.3, 2.0, 0.7]
    target = sum(w * torch.log_softmax(z / 5, dim=1) for w, z in zip(weights, peers, strict=True))
    expected = sum(w * distillation.kl(student, z) for w, z in zip(weights, peers, strict=True))
    assert distillation.weighted_kl(student, target, sum(weights)).item() == pytest.approx(expected.item())


@pytest.mark.parametrize("counted", [False, True])
def test_a_target_is_the_sum_over_the_peers_that_are_usable(counted):
    """Three peers, of which the second answers something that is no number; by hand in NumPy."""
    peers, weights = [logits(1), logits(2), logits(3)], np.array([0.3, 2.0, 0.7])
    peers[1][2, 1] = np.nan
    counts = np.random.default_rng(0).random((3, 6)) if counted else None
    each = weights[[0, 2], None] * (counts[[0, 2]] if counted else np.ones((2, 6)))
    expected = sum(w[:, None] * log_softmax(z.numpy() / 2, axis=1) for w, z in zip(each, peers[::2], strict=True))
    found, weight, usable = distillation.target(
        torch.stack(peers), torch.from_numpy(weights), None if counts is None else torch.from_numpy(counts), 2.0
    )
    assert np.allclose(found.numpy(), expected, atol=1e-14) and usable.tolist() == [True, False, True]
    assert np.allclose(weight.numpy().ravel(), each.sum(axis=0) if counted else 1.0, atol=1e-14)
    student = logits(0)
    by_hand = np.mean(
        [
            sum(
                w[i] * distillation.kl(student[i : i + 1], z[i : i + 1], 2.0).item()
                for w, z in zip(each, peers[::2], strict=True)
            )
            for i in range(6)
        ]
    )
    assert distillation.weighted_kl(student, found, weight, 2.0).item() == pytest.approx(by_hand)


@pytest.mark.parametrize("bad", [torch.inf, -torch.inf, torch.nan])
def test_one_answer_that_is_not_finite_takes_its_peer_out(bad):
    answers = torch.stack([logits(1), logits(2)])
    answers[0, 5, 3] = bad
    found, weight, usable = distillation.target(answers, torch.ones(2, dtype=torch.float64))
    assert usable.tolist() == [False, True] and weight.item() == 1
    assert torch.equal(found, torch.log_softmax(logits(2) / 5, dim=1))


def test_a_weight_is_one_number_or_one_for_each_sample():
    student, peer = logits(0), torch.log_softmax(logits(1) / 5, dim=1)
    one = distillation.weighted_kl(student, peer, 1.0)
    for weight in (torch.tensor(1.0), torch.ones(1, 1), torch.ones(6, 1)):
        assert distillation.weighted_kl(student, peer, weight).item() == pytest.approx(one.item())
    for weight in (torch.ones(6, 2), torch.ones(6), torch.ones(1, 6), torch.ones(5, 1), -1.0, 2e9):
        with pytest.raises(ValueError, match="weight must be a number"):
            distillation.weighted_kl(student, peer, weight)


@pytest.mark.parametrize("temperature", [0, 0.9e-6, 1.1e6, float("nan"), "5", None])
def test_temperatures_out_of_range_are_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be a number"):
        distillation.kl(logits(0), logits(1), temperature)


@pytest.mark.parametrize("peer, temperature, named", [(logits(0, rows=5), 5, "logits"), (logits(1), 0, "temperature")])
def test_refuses(peer, temperature, named):
    for loss in (distillation.kl, distillation.approximate_kl):
        with pytest.raises(ValueError, match=named):
            loss(logits(0), peer, temperature)


LOSSES = (
    distillation.kl,
    distillation.approximate_kl,
    lambda *given: distillation.weighted_kl(given[0], given[1], 1.0),
)


def test_the_temperature_is_five_unless_it_is_said():
    student, peer, answers = logits(0), logits(1), torch.stack([logits(1), logits(2)])
    for loss in (distillation.kl, distillation.approximate_kl):
        assert loss(student, peer) == loss(student, peer, 5.0) != loss(student, peer, 6.0)
    assert distillation.weighted_kl(student, peer, 2.0) == distillation.weighted_kl(student, peer, 2.0, 5.0)
    found, wanted = (distillation.target(answers, torch.ones(2), None, *given)[0] for given in ((), (5.0,)))
    assert torch.equal(found, wanted)


@pytest.mark.parametrize("temperature", [1e-6, 1e6])
def test_the_last_temperatures_that_are_taken(temperature):
    for loss in (distillation.kl, distillation.approximate_kl):
        assert loss(logits(0), logits(1), temperature).isfinite()
    assert distillation.weighted_kl(logits(0), logits(1), 1.0, temperature).isfinite()


def test_the_last_weights_that_are_taken():
    student, peer = logits(0), torch.log_softmax(logits(1) / 5, dim=1)
    assert distillation.weighted_kl(student, 0 * peer, 0) == 0
    assert distillation.weighted_kl(student, 1e9 * peer, 1e9).item() == pytest.approx(
        1e9 * distillation.weighted_kl(student, peer, 1).item()
    )


@pytest.mark.parametrize(
    "wrong, shown",
    [
        ([[1.0, 2.0]], "list"),
        (np.ones((6, 4)), "ndarray"),
        (torch.ones(6, 4, dtype=torch.int64), r"torch.int64 \(6, 4\)"),
        (torch.ones(4), r"torch.float32 \(4,\)"),
        (torch.ones(1, 6, 4), r"torch.float32 \(1, 6, 4\)"),
        (torch.ones(0, 4), r"torch.float32 \(0, 4\)"),
    ],
)
def test_what_are_no_logits_is_named_and_shown(wrong, shown):
    for loss in LOSSES:
        with pytest.raises(ValueError, match=f"^student_logits must be a floating-point tensor.*got {shown}$"):
            loss(wrong, logits(1))
        with pytest.raises(ValueError, match=f"^peer_(logits|target) must be a floating-point tensor.*got {shown}$"):
            loss(logits(0), wrong)


def test_shapes_that_differ_are_both_named():
    shapes = r"must have equal shapes, got torch.float64 \(6, 4\) and torch.float64 \(5, 4\)"
    for loss in LOSSES:
        with pytest.raises(ValueError, match=f"^student_logits and peer_(logits|target) {shapes}$"):
            loss(logits(0), logits(1, rows=5))


def test_one_class_and_one_sample_are_logits_too():
    assert distillation.kl(torch.ones(1, 1), torch.zeros(1, 1)) == 0


def test_single_precision_stays_single():
    answers, weights = torch.stack([logits(1), logits(2)]).float(), torch.ones(2, dtype=torch.float64)
    for counts in (None, torch.ones(2, 6, dtype=torch.float64)):
        found, weight, usable = distillation.target(answers, weights, counts)
        assert found.dtype == torch.float32 and usable.all()
        assert distillation.weighted_kl(logits(0).float(), found, weight.float()).dtype == torch.float32
