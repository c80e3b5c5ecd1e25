"""The margin rule by hand: what counts is how far an answer is right, sample by sample."""

import pytest
import torch

from cycle import defence
from cycle.heard import Heard

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
