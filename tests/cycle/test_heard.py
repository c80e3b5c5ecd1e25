"""What is heard becomes one loss: clipped answers by hand; what is no answer counts nothing."""

import pytest
import torch
import torch.nn.functional as F
from test_front import blobs, linear, run

import cycle
from cycle import distillation
from cycle.heard import Heard


@pytest.mark.parametrize("bound", [0.5, 1e9])
def test_a_bound_clips_centred_logits(bound):
    """One step of one party with one peer, by hand."""
    options = cycle.Options(local_epochs=0, rounds=1, lr=0.1, momentum=0.0, weight_decay=0.0, lambda_0=3.0, bound=bound)
    parties = [cycle.Party(linear(n), blobs(20, n)) for n in range(2)]
    inputs, labels = map(torch.from_numpy, blobs(20, 0))
    student, peer = linear(0), linear(1)
    received = peer(inputs).detach()
    received = (received - received.mean(dim=1, keepdim=True)).clamp(-bound, bound)
    log_p, log_q = (torch.log_softmax(z / 5, dim=1) for z in (student(inputs), received))
    loss = F.cross_entropy(student(inputs), labels) + 3 * (log_p.exp() * (log_p - log_q)).sum(dim=1).mean()
    loss.backward()
    run(parties, "vpdl", options)
    for mine, theirs in zip(student.parameters(), parties[0].model.parameters(), strict=True):
        assert torch.allclose(mine - 0.1 * mine.grad, theirs, atol=1e-6)


def told(value):
    return lambda inputs, rows: value


@pytest.mark.parametrize(
    "forged",
    [
        None,
        "logits",
        torch.zeros(4, 2),
        torch.zeros(5, 3),
        torch.zeros(4, 3).long(),
        torch.zeros(4, 3).to_sparse(),
        torch.full((4, 3), torch.nan),
        torch.full((4, 3), torch.inf),
        torch.tensor([[0.0, 1.0, -torch.inf]] * 4),
    ],
    ids=["nothing", "text", "classes", "samples", "integers", "sparse", "nan", "inf", "minus inf"],
)
@pytest.mark.parametrize("bound", [None, 10.0])
def test_what_is_no_answer_counts_nothing_and_is_known(forged, bound):
    """The loss and its gradient are those of the honest peer alone, with the weight it had."""
    logits, honest = torch.randn(4, 3, requires_grad=True), torch.randn(4, 3)
    weights = torch.tensor([2.0, 3.0], dtype=torch.float64)
    heard = Heard([told(forged), told(honest)], weights, bound)
    loss = heard.loss(logits, None, torch.arange(4), None, 5.0)
    expected = 3 * distillation.kl(logits, honest, 5.0)
    assert torch.allclose(loss, expected, atol=1e-6)
    (found,), (wanted,) = (torch.autograd.grad(one, logits, retain_graph=True) for one in (loss, expected))
    assert torch.allclose(found, wanted, atol=1e-6)
    assert [usable.tolist() for usable in heard.usable] == [[False, True]]


def test_huge_answers_are_bounded():
    """A liar with finite numbers of 1e30 pulls no harder than one at the bound."""
    logits = torch.randn(4, 3, requires_grad=True)
    liar, weights = torch.tensor([[1e30, -1e30, 0.0]] * 4), torch.ones(1, dtype=torch.float64)
    loss = Heard([told(liar)], weights, 10.0).loss(logits, None, torch.arange(4), None, 5.0)
    assert torch.allclose(loss, distillation.kl(logits, torch.tensor([[10.0, -10.0, 0.0]] * 4), 5.0))
