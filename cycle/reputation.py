"""How a participant scores a peer: gradient misalignment, soft clip, momentum; the softmax of the gossip form."""

import numpy as np
import torch


def cosine(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """cos(a, b) of two tensors of equal shape; 0 where either is zero: a zero gradient says nothing.

    -1 where either is not finite: what comes from a model that diverged is worth nothing.
    """
    if a.shape != b.shape:
        raise ValueError(f"grad_local and grad_peer must have equal shapes, got {tuple(a.shape)} and {tuple(b.shape)}")
    a, b = a.flatten().double(), b.flatten().double()
    norm = a.norm() * b.norm()
    found = torch.where(norm > 0, (a @ b) / norm.clamp_min(torch.finfo(norm.dtype).tiny), 0.0).clamp(-1.0, 1.0)
    return torch.where(norm.isfinite(), found, -1.0)


def misalignment(grad_local: torch.Tensor, grad_peer: torch.Tensor) -> float:
    """s = (1 - cos(grad CE, grad DL)) / 2, Eq. (shap-approx): 0 aligned, 1/2 orthogonal, 1 opposed."""
    local, peer = (g if torch.is_tensor(g) else torch.from_numpy(np.asarray(g)) for g in (grad_local, grad_peer))
    return float((1 - cosine(local, peer)) / 2)


def soft_clip(s, tau_opt: float = 0.25, tau_max: float = 0.75):
    """h(s) = clip((s - tau_max) / (tau_opt - tau_max), 0, 1), Eq. (hs_mapping); any array, tensor or number."""
    if not tau_opt < tau_max:
        raise ValueError(f"tau_opt must be less than tau_max, got tau_opt={tau_opt}, tau_max={tau_max}")
    scaled = ((s if torch.is_tensor(s) else np.asarray(s)) - tau_max) / (tau_opt - tau_max)
    return scaled.clamp(0, 1) if torch.is_tensor(scaled) else np.clip(scaled, 0, 1)


def update(previous, fresh, alpha: float = 0.5):
    """r <- alpha r + (1 - alpha) r~, at calibrations only; the first reputation (previous=None) is r~ itself."""
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be in [0, 1], got {alpha}")
    previous, fresh = (x if x is None or torch.is_tensor(x) else np.asarray(x) for x in (previous, fresh))
    return fresh if previous is None else alpha * previous + (1 - alpha) * fresh


def fresh_scores(reputations, alpha: float = 0.5) -> np.ndarray:
    """The scores r~ that `update` made this series of reputations of, one for each calibration: its inverse."""
    if not 0 <= alpha < 1:
        raise ValueError(f"alpha must be in [0, 1) for the scores to be recovered, got {alpha}")
    reputations = np.asarray(reputations, dtype=float)
    later = (reputations[1:] - alpha * reputations[:-1]) / (1 - alpha)
    return np.concatenate([reputations[:1], np.clip(later, 0, 1)])  # rounding may leave the interval


def alignment_softmax(alignment, neighbours, beta: float = 15.0, self_loops: bool = False) -> np.ndarray:
    """Gossip form: w_ij proportional to exp(beta s_ij) over i's neighbours; zero elsewhere and on the diagonal.

    With `self_loops` everybody is a neighbour of itself too.
    """
    alignment, neighbours = np.asarray(alignment, dtype=float), np.asarray(neighbours, dtype=bool)
    if alignment.shape != neighbours.shape or alignment.ndim != 2 or alignment.shape[0] != alignment.shape[1]:
        raise ValueError("alignment and neighbours must be square and of equal shape")
    if not beta >= 0:
        raise ValueError(f"beta must be zero or positive, got {beta}")
    own = np.eye(len(neighbours), dtype=bool)
    links = neighbours & ~own
    if not links.any(axis=1).all():
        raise ValueError("neighbours must give every participant at least one neighbour")
    scores = np.where(links | (own & self_loops), beta * alignment, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
