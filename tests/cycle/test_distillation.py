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


@pytest.mark.parametrize("peer, temperature, named", [(logits(0, rows=5), 5, "logits"), (logits(1), 0, "temperature")])
def test_refuses(peer, temperature, named):
    for loss in (distillation.kl, distillation.approximate_kl):
        with pytest.raises(ValueError, match=named):
            loss(logits(0), peer, temperature)
