"""What a participant learns from its peers' answers: the KL divergence and its encrypted form."""

import torch
import torch.nn.functional as F

from cycle.checks import check_number


def check_logits(temperature, **logits):
    """Shapes and types only: reading values would make a GPU wait each step. NaN in, NaN out."""
    check_number(temperature, "temperature", 1e-6, 1e6)
    what = "a floating-point tensor, batch x classes"
    for name, x in logits.items():
        if not (torch.is_tensor(x) and x.is_floating_point() and x.ndim == 2 and x.numel()):
            raise ValueError(f"{name} must be {what}, got {_shape(x)}")
    (first, one), (second, other) = logits.items()
    if one.shape != other.shape:
        got = f"{_shape(one)} and {_shape(other)}"
        raise ValueError(f"{first} and {second} must have equal shapes, got {got}")


def _shape(x):
    return f"{x.dtype} {tuple(x.shape)}" if torch.is_tensor(x) else type(x).__name__


def _tempered(student_logits, peer_logits, temperature):
    check_logits(temperature, student_logits=student_logits, peer_logits=peer_logits)
    return F.log_softmax(student_logits / temperature, dim=1), peer_logits / temperature


def kl(
    student_logits: torch.Tensor, peer_logits: torch.Tensor, temperature: float = 5.0
) -> torch.Tensor:
    """DL_(n,k) = KL(sigma_T(z_n) || sigma_T(z_k)), student first, mean over the batch."""
    log_p, scaled = _tempered(student_logits, peer_logits, temperature)
    return (log_p.exp() * (log_p - F.log_softmax(scaled, dim=1))).sum(dim=1).mean()


def approximate_kl(
    student_logits: torch.Tensor, peer_logits: torch.Tensor, temperature: float = 5.0
) -> torch.Tensor:
    """CaPriDe's p log p - p z_k / T: KL without logsumexp(z_k / T), constant in the student."""
    log_p, scaled = _tempered(student_logits, peer_logits, temperature)
    return (log_p.exp() * (log_p - scaled)).sum(dim=1).mean()


def weighted_kl(student_logits, peer_target, weight, temperature: float = 5.0) -> torch.Tensor:
    """sum_k lambda_k KL(student || peer_k) in one pass.

    The sum over peers only needs peer_target = sum_k lambda_k log sigma_T(z_k) and weight = sum_k
    lambda_k, because sum_k lambda_k p (log p - log q_k) = weight p log p - p peer_target.
    """
    check_logits(temperature, student_logits=student_logits, peer_target=peer_target)
    if not torch.is_tensor(weight):
        check_number(weight, "weight", 0, 1e9)
    elif weight.shape not in ((), (1, 1), (len(student_logits), 1)):
        what = f"a number, or {len(student_logits)} x 1 for the batch"
        raise ValueError(f"weight must be {what}, got {_shape(weight)}")
    log_p = F.log_softmax(student_logits / temperature, dim=1)
    return (log_p.exp() * (weight * log_p - peer_target)).sum(dim=1).mean()


def target(answers: torch.Tensor, weights: torch.Tensor, counts=None, temperature: float = 5.0):
    """sum_k lambda_k log sigma_T(z_k), sum_k lambda_k (for `weighted_kl`), and who is usable.

    `answers` [peer, sample, class], `weights` [peer] in float64, `counts` [peer, sample] how far
    each answer counts (None: all alike). A peer any of whose answers is not finite does not count.
    """
    log_q = F.log_softmax(answers / temperature, dim=2)
    usable = log_q.sum(dim=(1, 2)) > -torch.inf
    log_q = log_q.nan_to_num()  # of peers whose weight is zero now
    weights = weights * usable
    if counts is None:
        return (weights.to(log_q.dtype).view(-1, 1, 1) * log_q).sum(dim=0), weights.sum(), usable
    counts = counts.where(usable[:, None], 0)
    each = (weights[:, None] * counts)[:, :, None].to(log_q.dtype)
    return (each * log_q).sum(dim=0), each.sum(dim=0), usable
