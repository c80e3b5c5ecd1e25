"""Gossip-SGD and its CYCle form (Algorithm 3): everybody steps alone, then averages with whom it hears."""

import copy
import logging
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from cycle import reputation
from cycle.gossip import adjacency, link_probabilities, masked_mixing, mixing_matrix, reweigh, submixing
from cycle.options import Options
from cycle.participants import SCORE, SHARE, TRAIN, Participant, Task, learn, stream, stream_seed
from cycle.sharing import draw_shares
from cycle.training import Round, State, local_epoch

log = logging.getLogger("cycle")

PRESENT, PART = 4, 5  # purposes of a random stream, after those of cycle.participants
BYTES_PER_NUMBER = 4


def gossip(task: Task, options: Options, state: State) -> Iterator[Round]:
    """Gossip-SGD, x <- W (x - lr g), on a fixed graph."""
    return _rounds(task, options, state, adjacency(options.topology, task.n), dynamic=False)


def cycle_gossip(task: Task, options: Options, state: State) -> Iterator[Round]:
    """CYCle with Gossip-SGD: W follows the alignment of gradients, and i sends to j as often as w_ij says."""
    links = adjacency(options.topology, task.n)
    if (links != links.T).any():
        raise ValueError(f"topology must be undirected for cycle-gossip (S_ji needs w_ji), got {options.topology!r}")
    return _rounds(task, options, state, links, dynamic=True)


def _rounds(task: Task, options: Options, state: State, links: np.ndarray, dynamic: bool) -> Iterator[Round]:
    """Local epochs, if any, then rounds; `unmixed` are the models as they were before the last mixing of a round."""
    while state.epoch < options.local_epochs:
        yield local_epoch(state, options)
    unmixed = [copy.deepcopy(participant.model) for participant in state.participants]
    if state.reputation is None:
        state.reputation = mixing_matrix(links)
    while state.epoch < options.epochs:
        t = state.epoch - options.local_epochs
        present = draw_present(task, options, state.epoch)
        losses, shares = _round(task, options, state, links, dynamic, t, present, unmixed)
        state.epoch += 1
        after = [participant.model for participant in state.participants]
        before = [unmixed[i] if i in present else after[i] for i in range(task.n)]
        points = {"after": after, "before": before}
        points = {options.evaluation: points.pop(options.evaluation), **points}
        scored = dynamic and t % options.period == 0
        yield Round(t, state.participants, losses, state.ledger, state.reputation.copy(), shares, scored, points)


def _round(task, options, state, links, dynamic, t, present, unmixed) -> tuple[torch.Tensor, np.ndarray]:
    """One epoch for those present, in parts of `local_steps` minibatches with a mixing after each."""
    group = [state.participants[i] for i in present]
    neighbours = links[np.ix_(present, present)]
    W, weight = submixing(state.reputation, present)
    rng = np.random.default_rng(stream_seed(task.seed, SHARE, state.epoch))
    losses = torch.zeros(task.n, 2, device=group[0].device)  # zero for the absent
    shares = np.zeros((task.n, task.n), dtype=int)
    parts = max(_parts(participant, options) for participant in group)
    for part in range(parts):
        scoring = dynamic and t % options.period == 0 and part == 0
        if scoring and options.alignment == "gradients":
            directions = [gradient(participant, state.epoch, options) for participant in group]
        elif scoring:
            origins = [vector(participant.model.parameters()) for participant in group]
        for i, participant in zip(present, group, strict=True):
            losses[i] += local_steps(participant, state.epoch, options, part)
        if scoring:
            if options.alignment == "updates":
                directions = [vector(p.model.parameters()) - x for p, x in zip(group, origins, strict=True)]
            W = reweigh(W, alignments(directions, neighbours), neighbours, options.beta, options.alpha)
            _enter(state.ledger, t, present, neighbours.T, len(directions[0]))
        sent = draw_shares(link_probabilities(W, options.link_rule), t, None, rng) if dynamic else neighbours.T
        if part == parts - 1:
            for i, participant in zip(present, group, strict=True):
                unmixed[i].load_state_dict(participant.model.state_dict())
        mix([participant.model for participant in group], masked_mixing(W, sent), options.mix_buffers)
        numbers = sum(tensor.numel() for tensor in mixed_tensors(group[0].model, options.mix_buffers))
        shares += _enter(state.ledger, t, present, sent, numbers)
    state.reputation[np.ix_(present, present)] = W * weight  # the absent keep their rows, and their place in all rows
    return losses, shares


def _enter(ledger, t, present, sent, numbers) -> np.ndarray:
    """Enter what was sent among those present; returns it as [sender, receiver] of all."""
    shares = np.zeros((ledger.participants, ledger.participants), dtype=bool)
    shares[np.ix_(present, present)] = sent
    ledger.record(t, shares, BYTES_PER_NUMBER * numbers)
    return shares


def draw_present(task: Task, options: Options, epoch: int) -> np.ndarray:
    """Who takes part in this round, in order: a fraction `participation` of all, at least two."""
    size = max(2, round(options.participation * task.n))
    rng = np.random.default_rng(stream_seed(task.seed, PRESENT, epoch))
    return np.sort(rng.choice(task.n, size, replace=False))


def _parts(participant, options) -> int:
    """Parts in an epoch of this participant; one for `local_steps=0`."""
    return -(-participant.size // (options.local_steps * options.batch_size)) if options.local_steps else 1


def local_steps(participant: Participant, epoch: int, options: Options, part: int) -> torch.Tensor:
    """Train on one part of this epoch's order; whoever has come to its end only mixes. Returns its share of the losses.

    A part is trained as if it were all that the participant has, with a random stream of its own.
    """
    if not options.local_steps:
        return learn(participant, epoch, options)
    device = participant.device
    if part >= _parts(participant, options):
        return torch.zeros(2, device=device)
    with stream(device, participant.seed, TRAIN, participant.index, epoch):
        order = torch.randperm(participant.size, device=device)
    rows = order.split(options.local_steps * options.batch_size)[part]
    images, labels = participant.images[rows], participant.labels[rows]
    piece = replace(participant, images=images, labels=labels, seed=stream_seed(participant.seed, PART, part))
    return learn(piece, epoch, options) * (len(rows) / participant.size)


def gradient(participant: Participant, epoch: int, options: Options) -> torch.Tensor:
    """g_i: of the own cross-entropy at the own parameters, in eval mode, on a draw of `score_samples` own samples."""
    model, device = participant.model.eval(), participant.device
    with stream(device, participant.seed, SCORE, participant.index, epoch):
        rows = torch.randperm(participant.size, device=device)[: options.score_samples]
    loss = F.cross_entropy(model(participant.pixels(participant.images[rows])), participant.labels[rows])
    found = vector(torch.autograd.grad(loss, list(model.parameters())))
    if not found.any():
        log.warning("epoch %d: P%d sends a zero gradient", epoch, participant.index + 1)
    return found


def alignments(directions: list[torch.Tensor], neighbours: np.ndarray) -> np.ndarray:
    """s_ij = (1 + cos(g_i, g_j)) / 2 of neighbours, zero elsewhere."""
    found = np.zeros(neighbours.shape)
    for i, j in np.argwhere(np.triu(neighbours)):
        found[i, j] = found[j, i] = (1 + float(reputation.cosine(directions[i], directions[j]))) / 2
    return found


@torch.no_grad()
def mix(models: list[nn.Module], W: np.ndarray, buffers: bool = True) -> None:
    """x_i <- sum_j w_ij x_j for all models at once; every sum runs in the order of the participants."""
    tensors = [mixed_tensors(model, buffers) for model in models]
    vectors = [vector(own) for own in tensors]
    for own, row in zip(tensors, W, strict=True):
        total = torch.zeros_like(vectors[0])
        for j in np.flatnonzero(row):
            total.add_(vectors[j], alpha=float(row[j]))
        for tensor, values in zip(own, total.split([tensor.numel() for tensor in own]), strict=True):
            tensor.copy_(values.view_as(tensor))


def mixed_tensors(model: nn.Module, buffers: bool = True) -> list[torch.Tensor]:
    """What gossip averages: all parameters and, unless they stay local, BatchNorm's means and variances."""
    running = [buffer for buffer in model.buffers() if buffer.is_floating_point()] if buffers else []
    return [*model.parameters(), *running]


def vector(tensors) -> torch.Tensor:
    """All numbers in one row, detached."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors])
