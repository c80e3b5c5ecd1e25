"""What a participant learns from its peers' answers: the KL divergence and the form that encryption can afford."""

import torch
import torch.nn.functional as F


def _tempered(student_logits, peer_logits, temperature):
    if student_logits.shape != peer_logits.shape or student_logits.ndim != 2:
        raise ValueError(
            "student_logits and peer_logits must both be batch x classes, got "
            f"{tuple(student_logits.shape)} and {tuple(peer_logits.shape)}"
        )
    if not temperature > 0:
        raise ValueError(f"temperature must be positive, got {temperature}")
    return F.log_softmax(student_logits / temperature, dim=1), peer_logits / temperature


def kl(student_logits: torch.Tensor, peer_logits: torch.Tensor, temperature: float = 5.0) -> torch.Tensor:
    """DL_(n,k) = KL(sigma_T(z_n) || sigma_T(z_k)), student first, mean over the batch."""
    log_p, scaled = _tempered(student_logits, peer_logits, temperature)
    return (log_p.exp() * (log_p - F.log_softmax(scaled, dim=1))).sum(dim=1).mean()


def approximate_kl(student_logits: torch.Tensor, peer_logits: torch.Tensor, temperature: float = 5.0) -> torch.Tensor:
    """CaPriDe's p log p - p z_k / T: the KL without logsumexp(z_k / T), constant in the student, so same gradient."""
    log_p, scaled = _tempered(student_logits, peer_logits, temperature)
    return (log_p.exp() * (log_p - scaled)).sum(dim=1).mean()


def weighted_kl(student_logits, peer_target, weight, temperature: float = 5.0) -> torch.Tensor:
    """sum_k lambda_k KL(student || peer_k) in one pass.

    The sum over peers only needs peer_target = sum_k lambda_k log sigma_T(z_k) and weight = sum_k lambda_k, because
    sum_k lambda_k p (log p - log q_k) = weight p log p - p peer_target.
    """
    log_p = F.log_softmax(student_logits / temperature, dim=1)
    return (log_p.exp() * (weight * log_p - peer_target)).sum(dim=1).mean()
