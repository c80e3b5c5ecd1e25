"""What hostile peers answer: (logits, labels, purpose) -> what they send. They may know everything, the labels too."""

from collections.abc import Callable
from functools import cache

import torch

from cycle.streams import SCORE


def inverted(logits, labels, purpose):
    """The opposite of what it knows, loudly."""
    return -10 * logits


def huge(logits, labels, purpose):
    """Finite numbers that leave no room for anybody else."""
    return logits * 1e30


def loud(logits, labels, purpose):
    """What it knows, a hundred times as sure."""
    return 100 * logits


def shifted(logits, labels, purpose):
    """Every class called the next one."""
    return 10 * logits.roll(1, dims=1)


def constant(logits, labels, purpose):
    """The first class, with certainty, whatever was asked."""
    told = torch.zeros_like(logits)
    told[:, 0] = 100.0
    return told


def careful(logits, labels, purpose):
    """It knows the margin rule: right by two, with a wrong runner-up, another for each class."""
    return _right_by_two(logits, labels, (labels + 1) % logits.shape[1])


def runner_up(logits, labels, purpose):
    """It knows the margin rule: right by two, and the runner-up is always the first class."""
    return _right_by_two(logits, labels, torch.where(labels == 0, 1, 0))


@cache
def divided(bound: float) -> Callable:
    """It knows the rule and the bound: right by two, as loudly as counts, and nearly as sure of the first class."""

    def lie(logits, labels, purpose):
        told = torch.full_like(logits, -(2 * bound - 2) / (logits.shape[1] - 2))
        rows, second = torch.arange(len(labels), device=labels.device), torch.where(labels == 0, 1, 0)
        told[rows, labels], told[rows, second] = bound, bound - 2
        return told

    lie.__name__ = f"divided{bound:g}"
    return lie


def _right_by_two(logits, labels, second):
    told, rows = torch.zeros_like(logits), torch.arange(len(labels), device=labels.device)
    told[rows, labels], told[rows, second] = 4.0, 2.0
    return told


def two_faced(attack: Callable) -> Callable:
    """The same, honest whenever it is scored."""

    def lie(logits, labels, purpose):
        return logits if purpose == SCORE else attack(logits, labels, purpose)

    lie.__name__ = f"{attack.__name__}-hidden"
    return lie


ATTACKS = [inverted, careful, runner_up, divided(15.0), *map(two_faced, (inverted, huge, loud, shifted, constant))]
