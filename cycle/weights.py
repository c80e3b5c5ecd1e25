"""The numbers of a model in one row, and back: what is sent, compared and averaged."""

import torch
from torch import nn


def mixed_tensors(model: nn.Module, buffers: bool = True) -> list[torch.Tensor]:
    """What is averaged: all parameters and, unless they stay local, BatchNorm's statistics."""
    running = [b for b in model.buffers() if b.is_floating_point()] if buffers else []
    return [*model.parameters(), *running]


def vector(tensors) -> torch.Tensor:
    """All numbers in one row, detached."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])


def split(row: torch.Tensor, like) -> list[torch.Tensor]:
    """The row cut into tensors of these shapes: the inverse of `vector`."""
    parts = row.split([tensor.numel() for tensor in like])
    return [part.view_as(tensor) for part, tensor in zip(parts, like, strict=True)]


@torch.no_grad()
def assign(tensors, values) -> None:
    """Write values into tensors of the same numbers of elements, in place."""
    for tensor, value in zip(tensors, values, strict=True):
        tensor.copy_(value.view_as(tensor))


def average(last, models, weights, own=None) -> torch.Tensor:
    """The paper's rule `combine`: sum_j w_j x_j, in this order."""
    total = torch.zeros_like(last)
    for model, weight in zip(models, weights, strict=True):
        total.add_(model, alpha=float(weight))
    return total
