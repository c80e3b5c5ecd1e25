"""How a participant scores a peer: misalignment, soft clip, momentum; the softmax for gossip."""

import numpy as np
import torch

from cycle.checks import check, check_flag, check_links, check_number, check_numbers, check_square


def cosine(grad_local: torch.Tensor, grad_peer: torch.Tensor) -> torch.Tensor:
    """cos of the angle between two tensors of equal shape; 0 where either is zero: it says nothing.

    -1 where either is not finite: what comes from a model that diverged is worth nothing.
    """
    for name, gradient in (("grad_local", grad_local), ("grad_peer", grad_peer)):
        real = torch.is_tensor(gradient) and gradient.numel() and not gradient.is_complex()
        check(real, name, "be a tensor of real numbers", gradient)
    shapes = tuple(grad_local.shape), tuple(grad_peer.shape)
    check(shapes[0] == shapes[1], "grad_local and grad_peer", "have equal shapes", shapes)
    a, b = grad_local.flatten().double(), grad_peer.flatten().double()
    norm = a.norm() * b.norm()
    found = (a @ b) / norm.clamp_min(torch.finfo(norm.dtype).tiny)
    return torch.where(norm.isfinite(), found.clamp(-1.0, 1.0), -1.0)


def misalignment(grad_local: torch.Tensor, grad_peer: torch.Tensor) -> float:
    """s = (1 - cos(grad CE, grad DL)) / 2, Eq. (shap-approx): 0 aligned, 1 opposed."""
    local, peer = _tensor(grad_local, "grad_local"), _tensor(grad_peer, "grad_peer")
    return float((1 - cosine(local, peer)) / 2)


def _tensor(gradient, name):
    if torch.is_tensor(gradient):
        return gradient
    check_numbers(gradient, name, finite=False)
    return torch.from_numpy(np.array(gradient, dtype=float))


def _host(x):
    """For a check: what a device computed, where NumPy sees it."""
    return x.detach().cpu() if torch.is_tensor(x) else x


def soft_clip(s, tau_opt: float = 0.25, tau_max: float = 0.75):
    """h(s) = clip((s - tau_max) / (tau_opt - tau_max), 0, 1), Eq. (hs_mapping), of any shape."""
    check_numbers(_host(s), "s")
    check_number(tau_opt, "tau_opt")
    check_number(tau_max, "tau_max")
    check(tau_opt < tau_max, "tau_opt", "be less than tau_max", (tau_opt, tau_max))
    scaled = ((s if torch.is_tensor(s) else np.asarray(s)) - tau_max) / (tau_opt - tau_max)
    return scaled.clamp(0, 1) if torch.is_tensor(scaled) else np.clip(scaled, 0, 1)


def update(previous, fresh, alpha: float = 0.5):
    """r <- alpha r + (1 - alpha) r~, at calibrations only; the first (previous=None) is r~."""
    check_numbers(_host(fresh), "fresh")
    if previous is not None:
        check_numbers(_host(previous), "previous", like=fresh)
    check_number(alpha, "alpha", 0, 1)
    previous, fresh = (
        x if x is None or torch.is_tensor(x) else np.asarray(x) for x in (previous, fresh)
    )
    return fresh if previous is None else alpha * previous + (1 - alpha) * fresh


def alignment_softmax(
    alignment, neighbours, beta: float = 15.0, self_loops: bool = False
) -> np.ndarray:
    """Gossip form: w_ij proportional to exp(beta s_ij) over i's neighbours, zero for all others.

    With `self_loops` everybody is a neighbour of itself too.
    """
    check_square(alignment, "alignment")
    check_links(neighbours, "neighbours", like=alignment)
    check_number(beta, "beta", least=0)
    check_flag(self_loops, "self_loops")
    alignment, neighbours = np.asarray(alignment, dtype=float), np.asarray(neighbours, dtype=bool)
    own = np.eye(len(neighbours), dtype=bool)
    links = neighbours & ~own
    linked = links.any(axis=1).all()
    check(linked, "neighbours", "give every participant at least one neighbour", neighbours)
    scores = np.where(links | (own & self_loops), beta * alignment, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
