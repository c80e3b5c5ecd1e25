"""Gossip-SGD and its CYCle form (Algorithm 3): step alone, then average with whom one hears."""

import copy
import math
from collections.abc import Iterator

import numpy as np
import torch

from cycle import gossip as graph
from cycle import reputation
from cycle.checks import check
from cycle.defence import usable
from cycle.options import Options
from cycle.party import Party, gradients, learn, shuffled
from cycle.rules import Rules
from cycle.sharing import BYTES_PER_NUMBER, draw_shares
from cycle.state import Round, State, alone
from cycle.streams import PART, PRESENT, SHARE, TRAIN, stream_seed
from cycle.weights import assign, average, mixed_tensors, split, vector


def gossip(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """Gossip-SGD, x <- W (x - lr g), on a fixed graph."""
    return _rounds(state, options, rules, graph.adjacency(options.topology, state.n), dynamic=False)


def cycle_gossip(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CYCle with Gossip-SGD: W follows the gradients; i sends to j as often as w_ij says."""
    links = graph.adjacency(options.topology, state.n)
    undirected = (links == links.T).all()
    check(undirected, "topology", "be undirected for cycle-gossip", options.topology)
    return _rounds(state, options, rules, links, dynamic=True)


def _rounds(state: State, options: Options, rules: Rules, links, dynamic: bool) -> Iterator[Round]:
    """Local epochs, if any, then rounds; `unmixed`: models before the last mixing of a round."""
    yield from alone(state, options, options.local_epochs)
    unmixed = {party.index: copy.deepcopy(party.model) for party in state.participants}
    if state.mixing is None:
        state.mixing = graph.mixing_matrix(links)
    while state.epoch < options.epochs:
        done = _round(state, options, rules, links, dynamic, unmixed)
        state.epoch += 1
        yield done


def _round(state: State, options: Options, rules: Rules, links, dynamic: bool, unmixed) -> Round:
    """One epoch for those present, in parts of `local_steps` batches, a mixing after each."""
    t, present = state.epoch - options.local_epochs, draw_present(state, options)
    group = [party for party in state.participants if party.index in present]
    neighbours = links[np.ix_(present, present)]
    W, weight = graph.submixing(state.mixing, present)
    rng, combine = state.rng(SHARE, state.epoch), rules.combine or average
    losses = {p.index: torch.zeros(2, device=state.device) for p in state.participants}
    shares, refused = np.zeros((state.n, state.n), dtype=int), {}
    scored = dynamic and t % options.period == 0
    size = options.local_steps * options.batch_size or max(state.sizes)
    parts = max(math.ceil(state.sizes[i] / size) for i in present)
    for part in range(parts):
        last, scoring = {p.index: _row(p, options) for p in group}, scored and part == 0
        if scoring and options.alignment == "gradients":
            directions = {p.index: gradients(p, state.epoch, options, {})[0] for p in group}
        for p in group:
            losses[p.index] = losses[p.index] + local_steps(p, state.epoch, options, part)
        models = {p.index: _row(p, options) for p in group}
        if scoring:
            if options.alignment == "updates":  # buffers, which come last, have no direction
                long = {p.index: sum(x.numel() for x in p.model.parameters()) for p in group}
                directions = {i: (models[i] - last[i])[: long[i]] for i in models}
            heard, _ = _send(state, t, present, neighbours.T, directions, refused)
            s = alignments(directions, heard, present)
            W = graph.reweigh(W, s, neighbours, options.beta, options.alpha, options.self_loops)
        links_now = graph.link_probabilities(W, options.link_rule)
        sent = draw_shares(links_now, t, None, rng) if dynamic else neighbours.T
        if part == parts - 1:
            for p in group:
                unmixed[p.index].load_state_dict(p.model.state_dict())
        heard, sent = _send(state, t, present, sent, models, refused)
        for p, row in zip(
            group, graph.masked_mixing(W, sent)[np.isin(present, list(models))], strict=True
        ):
            near = present[row > 0].tolist()
            received = [models[k] if k == p.index else heard[k, p.index] for k in near]
            mixed = combine(last[p.index], received, row[row > 0], near.index(p.index))
            tensors = mixed_tensors(p.model, options.mix_buffers)
            assign(tensors, split(mixed, tensors))
        shares[np.ix_(present, present)] += sent
    state.mixing[np.ix_(present, present)] = W * weight  # the absent keep their rows
    everybody, losses = state.participants, torch.stack(list(losses.values()))
    before = [unmixed[p.index] if p.index in present else p.model for p in everybody]
    done = Round(t, everybody, losses, state.ledger, state.mixing.copy(), shares, scored)
    done.models, done.refused = {"after": [p.model for p in everybody], "before": before}, refused
    return done


def _row(party: Party, options: Options) -> torch.Tensor:
    return vector(mixed_tensors(party.model, options.mix_buffers))


def _send(state: State, t: int, present, sent: np.ndarray, rows: dict, refused: dict):
    """Send rows[sender] wherever `sent` says, among those present, and enter it in the ledger.

    Returns what can be used of what arrived, by (sender, receiver), and `sent` as it is known here;
    what was wrong with the rest is entered in `refused`.
    """
    shares = np.zeros((state.n, state.n), dtype=bool)
    shares[np.ix_(present, present)] = sent
    own = state.ranks.sent(shares)
    length = max(map(len, rows.values()), default=0)  # zero where nobody here is present
    state.ledger.record(t, own, BYTES_PER_NUMBER * length)
    messages = {(i, j): rows[i] for i, j in np.argwhere(own).tolist()}
    arrived = state.ranks.exchange(messages, lambda i, j: ((length,), torch.float32), state.device)
    heard, wrong = usable(arrived, length)
    refused.update(wrong)
    for pair in arrived:
        own[pair] = pair in heard
    return heard, own[np.ix_(present, present)]


def draw_present(state: State, options: Options) -> np.ndarray:
    """Who takes part in this round, in order: a fraction `participation` of all, at least two."""
    size = max(2, round(options.participation * state.n))
    return np.sort(state.rng(PRESENT, state.epoch).choice(state.n, size, replace=False))


def local_steps(party: Party, epoch: int, options: Options, part: int) -> torch.Tensor:
    """Train on one part of this epoch's order, as if it were all data, with a stream of its own.

    Returns its share of the losses; whoever has come to the end of its order only mixes.
    """
    if not options.local_steps:
        return learn(party, epoch, options)
    parts = shuffled(party, TRAIN, epoch).split(options.local_steps * options.batch_size)
    if part >= len(parts):
        return torch.zeros(2, device=party.device)
    own = (parts[part], stream_seed(party.seed, PART, part))
    return learn(party, epoch, options, part=own) * (len(parts[part]) / party.size)


def alignments(directions: dict[int, torch.Tensor], heard: dict, present) -> np.ndarray:
    """s_ij = (1 + cos(g_i, g_j)) / 2 of those who heard from each other, 1 with oneself, else 0."""
    place = {int(n): at for at, n in enumerate(present)}
    found = np.eye(len(present))
    for (j, i), direction in heard.items():
        cosine = float(reputation.cosine(directions[i], direction))
        found[place[i], place[j]] = (1 + cosine) / 2
    return found
