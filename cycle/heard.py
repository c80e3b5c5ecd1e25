"""What a party hears in a round, as one loss: all peers stacked and weighed at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from cycle import distillation

Answers = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]  # (inputs, rows) -> logits


@dataclass
class Heard:
    """Its peers' answers and how far each counts."""

    answers: Sequence[Answers]
    weights: torch.Tensor  # lambda_0 * lambda_(n,k) of each peer, float64
    bound: float | None = None  # centred logits are clipped to it
    count: Callable | None = None  # the rule `count` of cycle.rules; None: all answers count alike
    usable: list[torch.Tensor] = field(default_factory=list)  # by minibatch: whose could be used
    counted: list[torch.Tensor] = field(default_factory=list)  # and what `count` said, if given

    def loss(self, logits, inputs, rows, labels, temperature) -> torch.Tensor:
        """sum_k weight_k KL(student || peer_k)."""
        received = torch.stack([logits_of(heard(inputs, rows), logits) for heard in self.answers])
        if self.count or self.bound:
            received = received - received.mean(dim=2, keepdim=True)
            received = received.clamp(-self.bound, self.bound) if self.bound else received
        counts = self.count(received, labels) if self.count else None
        target, weight, usable = distillation.target(received, self.weights, counts, temperature)
        self.usable.append(usable)
        if counts is not None:
            self.counted.append(counts.where(usable[:, None], 0))
        return distillation.weighted_kl(logits, target, weight, temperature)

    def unusable(self) -> list[int]:
        """In how many minibatches the answers of each peer could not be used."""
        return (~torch.stack(self.usable)).sum(dim=0).tolist() if self.usable else []


def logits_of(received, like: torch.Tensor) -> torch.Tensor:
    """What arrived, if it is logits for this batch; else nothing that counts."""
    fits = torch.is_tensor(received) and received.shape == like.shape
    if fits and received.is_floating_point() and received.layout == like.layout:
        return received.to(like.dtype)
    return torch.full_like(like, torch.nan, requires_grad=False)
