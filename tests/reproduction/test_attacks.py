"""What each attack sends, by hand; those that know the margin rule pass it and still mislead."""

import torch

from cycle import defence
from cycle.streams import SCORE, TRAIN
from reproduction import attacks

LOGITS = torch.tensor([[1.0, 3.0, -2.0], [0.5, 0.0, 2.0]])
LABELS = torch.tensor([1, 2])


def test_what_is_sent():
    def sent(attack):
        return attack(LOGITS, LABELS, TRAIN).tolist()

    assert sent(attacks.inverted) == [[-10, -30, 20], [-5, 0, -20]]
    assert sent(attacks.loud) == [[100, 300, -200], [50, 0, 200]]
    assert sent(attacks.shifted) == [[-20, 10, 30], [20, 5, 0]]
    assert sent(attacks.constant) == [[100, 0, 0], [100, 0, 0]]
    assert sent(attacks.careful) == [[0, 4, 2], [2, 0, 4]]
    assert sent(attacks.runner_up) == [[2, 4, 0], [2, 0, 4]]
    assert attacks.divided(15.0)(LOGITS, LABELS, TRAIN).tolist() == [[13, 15, -28], [13, -28, 15]]
    assert torch.isfinite(attacks.huge(LOGITS, LABELS, TRAIN)).all()


def test_who_knows_the_rule_counts_and_who_does_not_is_silenced():
    count = defence.by_margin(2.0)
    for attack, counts in (
        (attacks.careful, 1.0),
        (attacks.runner_up, 1.0),
        (attacks.divided(15.0), 1.0),
        (attacks.inverted, 0.0),
    ):
        answers = attack(LOGITS, LABELS, TRAIN)[None]
        assert (count(answers, LABELS) == counts).all(), attack.__name__


def test_the_two_faced_are_honest_when_they_are_scored():
    lie = attacks.two_faced(attacks.constant)
    assert torch.equal(lie(LOGITS, LABELS, SCORE), LOGITS) and lie.__name__ == "constant-hidden"
    assert torch.equal(lie(LOGITS, LABELS, TRAIN), attacks.constant(LOGITS, LABELS, TRAIN))
