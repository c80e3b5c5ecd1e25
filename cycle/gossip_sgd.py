"""Gossip-SGD and its CYCle form (Algorithm 3): step alone, then average with whom one hears."""

import copy
from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from cycle import reputation
from cycle.gossip import (
    adjacency,
    link_probabilities,
    masked_mixing,
    mixing_matrix,
    reweigh,
    submixing,
)
from cycle.options import Options
from cycle.party import Party, gradients, learn, shuffled
from cycle.rules import Rules
from cycle.sharing import BYTES_PER_NUMBER, draw_shares
from cycle.state import Round, State, alone
from cycle.streams import PART, PRESENT, SHARE, TRAIN, stream_seed
from cycle.weights import assign, mixed_tensors, split, vector


def gossip(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """Gossip-SGD, x <- W (x - lr g), on a fixed graph."""
    return _rounds(state, options, adjacency(options.topology, state.n), dynamic=False)


def cycle_gossip(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CYCle with Gossip-SGD: W follows the gradients; i sends to j as often as w_ij says."""
    links = adjacency(options.topology, state.n)
    if (links != links.T).any():
        raise ValueError(f"topology must be undirected for cycle-gossip, got {options.topology!r}")
    return _rounds(state, options, links, dynamic=True)


def _rounds(state: State, options: Options, links: np.ndarray, dynamic: bool) -> Iterator[Round]:
    """Local epochs, if any, then rounds; `unmixed`: models before the last mixing of a round."""
    yield from alone(state, options, options.local_epochs)
    unmixed = {party.index: copy.deepcopy(party.model) for party in state.participants}
    if state.mixing is None:
        state.mixing = mixing_matrix(links)
    while state.epoch < options.epochs:
        t = state.epoch - options.local_epochs
        present = draw_present(state, options)
        losses, shares = _round(state, options, links, dynamic, t, present, unmixed)
        state.epoch += 1
        before = [unmixed[p.index] if p.index in present else p.model for p in state.participants]
        models = {"after": [party.model for party in state.participants], "before": before}
        scored = dynamic and t % options.period == 0
        yield Round(
            t, state.participants, losses, state.ledger, state.mixing.copy(), shares, scored, models
        )


def _round(state, options, links, dynamic, t, present, unmixed) -> tuple[torch.Tensor, np.ndarray]:
    """One epoch for those present, in parts of `local_steps` batches, a mixing after each."""
    group = [party for party in state.participants if party.index in present]
    neighbours = links[np.ix_(present, present)]
    W, weight = submixing(state.mixing, present)
    rng = state.rng(SHARE, state.epoch)
    losses = {party.index: 0 for party in group}
    shares = np.zeros((state.n, state.n), dtype=int)
    parts = max(_parts(state.sizes[i], options) for i in present)
    for part in range(parts):
        scoring = dynamic and t % options.period == 0 and part == 0
        if scoring and options.alignment == "gradients":
            directions = {p.index: gradients(p, state.epoch, options, {})[0] for p in group}
        elif scoring:
            origins = {p.index: vector(p.model.parameters()) for p in group}
        for p in group:
            losses[p.index] = losses[p.index] + local_steps(p, state.epoch, options, part)
        if scoring:
            if options.alignment == "updates":
                directions = {
                    p.index: vector(p.model.parameters()) - origins[p.index] for p in group
                }
            directions, _ = _send(state, t, present, neighbours.T, directions)
            s = alignments(directions, neighbours)
            W = reweigh(W, s, neighbours, options.beta, options.alpha, options.self_loops)
        sent = (
            draw_shares(link_probabilities(W, options.link_rule), t, None, rng)
            if dynamic
            else neighbours.T
        )
        if part == parts - 1:
            for p in group:
                unmixed[p.index].load_state_dict(p.model.state_dict())
        models = {p.index: vector(mixed_tensors(p.model, options.mix_buffers)) for p in group}
        models, sent = _send(state, t, present, sent, models)
        mixing = dict(zip(present, masked_mixing(W, sent), strict=True))
        for p in group:
            mix(p.model, mixing[p.index], models, options.mix_buffers)
        shares[np.ix_(present, present)] += sent
    state.mixing[np.ix_(present, present)] = W * weight  # the absent keep their rows
    nothing = torch.zeros(2, device=state.device)
    return torch.stack([losses.get(p.index, nothing) for p in state.participants]), shares


def _send(
    state: State, t: int, present, sent: np.ndarray, vectors: dict[int, torch.Tensor]
) -> tuple[list, np.ndarray]:
    """Send vectors[sender] wherever `sent` says, among those present, and enter it in the ledger.

    Returns everybody's vector in the order of `present` (None: not known here) and `sent` as it is
    known here.
    """
    shares = np.zeros((state.n, state.n), dtype=bool)
    shares[np.ix_(present, present)] = sent
    own = state.ranks.sent(shares)
    length = max(map(len, vectors.values()), default=0)  # zero where nobody here is present
    state.ledger.record(t, own, BYTES_PER_NUMBER * length)
    messages = {(i, j): vectors[i] for i, j in np.argwhere(own).tolist()}
    arrived = state.ranks.exchange(messages, lambda i, j: ((length,), torch.float32), state.device)
    known = dict(vectors)
    for (i, j), numbers in arrived.items():
        known[i], own[i, j] = numbers, True
    return [known.get(i) for i in present], own[np.ix_(present, present)]


def draw_present(state: State, options: Options) -> np.ndarray:
    """Who takes part in this round, in order: a fraction `participation` of all, at least two."""
    size = max(2, round(options.participation * state.n))
    return np.sort(state.rng(PRESENT, state.epoch).choice(state.n, size, replace=False))


def _parts(size: int, options: Options) -> int:
    """Parts in an epoch of somebody with so many samples; one for `local_steps=0`."""
    return -(-size // (options.local_steps * options.batch_size)) if options.local_steps else 1


def local_steps(party: Party, epoch: int, options: Options, part: int) -> torch.Tensor:
    """Train on one part of this epoch's order; whoever has come to its end only mixes. Its share of
    the losses.

    A part is trained as if it were all that the party has, with a random stream of its own.
    """
    if not options.local_steps:
        return learn(party, epoch, options)
    if part >= _parts(party.size, options):
        return torch.zeros(2, device=party.device)
    rows = shuffled(party, TRAIN, epoch).split(options.local_steps * options.batch_size)[part]
    own = (rows, stream_seed(party.seed, PART, part))
    return learn(party, epoch, options, part=own) * (len(rows) / party.size)


def alignments(directions: list[torch.Tensor | None], neighbours: np.ndarray) -> np.ndarray:
    """s_ij = (1 + cos(g_i, g_j)) / 2 of neighbours known here, 1 with oneself, else zero."""
    found = np.eye(len(neighbours))
    for i, j in np.argwhere(np.triu(neighbours)):
        if directions[i] is not None and directions[j] is not None:
            cosine = float(reputation.cosine(directions[i], directions[j]))
            found[i, j] = found[j, i] = (1 + cosine) / 2
    return found


@torch.no_grad()
def mix(
    model: nn.Module, row: np.ndarray, vectors: list[torch.Tensor], buffers: bool = True
) -> None:
    """x_i <- sum_j w_ij x_j, in the order of the participants; `row` is zero for vectors that did
    not arrive.

    Instead of an x_j that is not finite the own one is taken.
    """
    tensors = mixed_tensors(model, buffers)
    own = vector(tensors)
    total = torch.zeros_like(own)
    for j in np.flatnonzero(row):
        total.add_(torch.where(vectors[j].isfinite().all(), vectors[j], own), alpha=float(row[j]))
    assign(tensors, split(total, tensors))
