"""What a receiver can do against peers who lie: it knows the true label of every sample it asks.

So a peer need not be trusted as a person; it counts sample by sample, as far as it is right. The
rules are `count` functions: (centred logits [peer, sample, class], labels) -> [peer, sample].
"""

import torch

SCALE = 5.0  # a margin from which on an answer counts in full


def margins(answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """By how much each answer prefers the true label to the next best class: [peer, sample]."""
    true = labels.expand(len(answers), -1)[:, :, None]
    others = answers.scatter(2, true, -torch.inf)
    return answers.gather(2, true)[:, :, 0] - others.amax(dim=2)


def by_margin(scale: float = SCALE, slack: float = 0.0):
    """The margin rule: an answer counts as far as it is right, clip(margin / scale, 0, 1).

    An answer that counts has its largest value at the true label, so the own loss and the
    distillation loss agree on what is right, however many peers lie. No majority is needed. With
    `slack` it counts a little where it is wrong by less: clip((margin + slack) / (scale + slack)).
    """
    if not (isinstance(scale, int | float) and 0 < scale < float("inf")):
        raise ValueError(f"scale must be a positive number, got {scale!r}")
    if not (isinstance(slack, int | float) and 0 <= slack < float("inf")):
        raise ValueError(f"slack must be 0 or a positive number, got {slack!r}")

    def count(answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return ((margins(answers, labels) + slack) / (scale + slack)).clamp(0, 1)

    return count
