"""The fairness-aware federated baselines CFFL, RFFL and CGSV. One generator each.

Written from the papers' and original codes' rules. A round: everybody trains locally, uploads its update, the server
aggregates, scores, and gives back what each deserves. Updates are lists of tensors, one for each parameter.
"""

import copy
from collections.abc import Callable, Iterator
from operator import mul

import numpy as np
import torch
from torch.optim.swa_utils import update_bn

from cycle.methods import method
from cycle.options import Options
from cycle.party import Party, accuracy
from cycle.rules import Rules
from cycle.server import download, local_epochs, server_round, upload
from cycle.sharing import BYTES_PER_NUMBER
from cycle.state import Round, State
from cycle.streams import SCORE, stream
from cycle.weights import assign, split, vector

Update = list[torch.Tensor]

GAMMA = 0.15  # CGSV, RFFL: norm of an uploaded update
REWARD_BETA = 1.0  # CGSV: sharpness of the reward (not given in the paper)
MEMORY = 0.95  # CGSV, RFFL: momentum of the server's reputation
FLOOR = 1e-3  # CGSV: no reputation falls below
THRESHOLD = 1 / 3  # CFFL, RFFL: whoever has less than a third of an equal share is removed
PATIENCE = 10  # RFFL: rounds before anybody is removed
CLIP = 1e-3  # CFFL: largest element of an update
UPLOAD = 0.1  # CFFL: fraction of each tensor that is uploaded
LARGEST = 1.0  # number in an upload: what the methods do to an update before leaves it far below
VALIDATION = 1000  # CFFL: training images of all participants on which the server judges an upload


def largest(tensor: torch.Tensor, fraction: float) -> torch.Tensor:
    """The ceil(fraction n) entries of largest magnitude, zero elsewhere."""
    keep = int(np.ceil(min(max(fraction, 0.0), 1.0) * tensor.numel()))
    flat = tensor.flatten()
    chosen = flat.abs().topk(keep).indices
    return torch.zeros_like(flat).scatter(0, chosen, flat[chosen]).view_as(tensor)


def cosine(a: Update, b: Update) -> float:
    return float(torch.nn.functional.cosine_similarity(vector(a), vector(b), dim=0))


def weighted_sum(updates: list[Update], weights) -> Update:
    """sum_i weight_i update_i, tensor by tensor."""
    weights = [float(weight) for weight in weights]
    return [sum(map(mul, weights, parts)) for parts in zip(*updates, strict=True)]


def normalised(update: Update) -> Update:
    """CGSV: the update scaled to norm GAMMA."""
    scale = GAMMA / (vector(update).norm() + 1e-7)
    return [part * scale for part in update]


def clipped(update: Update) -> Update:
    """RFFL: the update scaled down to norm GAMMA if it is longer."""
    scale = (GAMMA / (vector(update).norm() + 1e-7)).clamp(max=1)
    return [part * scale for part in update]


def cgsv_reputation(previous: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """CGSV: r <- 0.95 r + 0.05 cos(u_i, u_N), at least FLOOR, summing to one."""
    mixed = np.maximum(MEMORY * previous + (1 - MEMORY) * similarity, FLOOR)
    return mixed / mixed.sum()


def cgsv_share(reputation: np.ndarray) -> np.ndarray:
    """CGSV: q_i = tanh(beta r_i) / max_j tanh(beta r_j)."""
    sharpened = np.tanh(REWARD_BETA * reputation)
    return sharpened / sharpened.max()


def rffl_reputation(previous: np.ndarray, similarity: np.ndarray, present: np.ndarray, t: int) -> np.ndarray:
    """RFFL: the same momentum without a floor; from round PATIENCE on the unworthy get 0, and leave for good."""
    mixed = np.where(present, np.maximum(MEMORY * previous + (1 - MEMORY) * similarity, 0), 0)
    mixed = mixed / mixed.sum()
    if t >= PATIENCE:
        mixed = np.where(mixed < THRESHOLD / present.sum(), 0, mixed)
    return mixed / mixed.sum()


def cffl_credibility(previous: np.ndarray, scores: np.ndarray, present: np.ndarray) -> np.ndarray:
    """CFFL: c <- 0.8 c + 0.2 share of validation accuracy, sharpened by sinh(5 c); the unworthy leave for good."""
    mixed = np.where(present, 0.8 * previous + 0.2 * scores / scores[present].sum(), 0)
    sharpened = np.where(present, np.sinh(5 * mixed), 0)
    credibility = sharpened / sharpened.sum()
    credibility = np.where(credibility < THRESHOLD / present.sum(), 0, credibility)
    return credibility / credibility.sum()


def _parameters(model: torch.nn.Module) -> Update:
    return [parameter.detach().clone() for parameter in model.parameters()]


def _set(model: torch.nn.Module, *terms: Update) -> None:
    assign(model.parameters(), [sum(parts) for parts in zip(*terms, strict=True)])


def _local(party: Party, epoch: int, options: Options) -> tuple[torch.Tensor, Update, Update]:
    """The local epochs of a round: last losses, parameters before, update."""
    before = _parameters(party.model)
    losses = local_epochs(party, epoch, options)
    return losses, before, [a - b for a, b in zip(_parameters(party.model), before, strict=True)]


def _size(like: Update, fraction: float) -> int:
    """Bytes of an update of which each tensor is sent to a fraction."""
    return BYTES_PER_NUMBER * int(sum(np.ceil(fraction * part.numel()) for part in like))


def _judged(state: State, updates: list[Update]) -> tuple[np.ndarray, Update, np.ndarray]:
    """The reputation so far, the sum of all updates by it (at first by size), and each one's cosine with that sum."""
    weights = state.memory.get("reputation", np.array(state.sizes, dtype=float) / sum(state.sizes))
    total, previous = weighted_sum(updates, weights), np.array(state.memory.get("reputation", [0.0] * state.n))
    return previous, total, np.array([cosine(update, total) for update in updates])


def _fair_rounds(state: State, options: Options, step: Callable, serve: Callable) -> Iterator[Round]:
    """The round that CFFL, RFFL and CGSV share.

    step(update) -> (what a participant keeps of its own update, what it uploads);
    serve(uploads) -> (downloads, who was in and uploaded, fraction of the numbers uploaded, fractions downloaded).
    """
    like = _parameters(state.participants[0].model)
    nothing = torch.zeros_like(vector(like))
    while state.epoch < options.epochs:
        local = {p.index: _local(p, state.epoch, options) for p in state.participants}
        steps = {n: step(update) for n, (_, _, update) in local.items()}
        uploads, refused = upload(state, {n: vector(sent) for n, (_, sent) in steps.items()})
        rows, uploading, up, down = {}, False, 0.0, np.zeros(state.n)
        if state.ranks.first:  # what was refused counts as nothing
            refused |= {(n, state.n): "too large numbers" for n, row in uploads.items() if row.abs().max() > LARGEST}
            arrived = [nothing if (n, state.n) in refused else uploads[n] for n in range(state.n)]
            given, uploading, up, down = serve([split(row, like) for row in arrived])
            rows = {n: vector(update) for n, update in enumerate(given)}
        rows = download(state, rows, len(nothing))
        for party in state.participants:
            (_, before, _), (kept, _) = local[party.index], steps[party.index]
            _set(party.model, before, *([kept] if kept else []), split(rows.get(party.index, nothing), like))
        upload_bytes, download_bytes = _size(like, up), [*(_size(like, fraction) for fraction in down), 0]
        losses = [losses for losses, _, _ in local.values()]
        yield server_round(state, losses, uploading, upload_bytes, down > 0, download_bytes, refused)


@method("cgsv", common_start=True)
def cgsv(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CGSV (Xu et al., 2021): normalised updates, cosine as Shapley value, sparsified rewards."""

    def serve(updates):
        previous, total, similarity = _judged(state, updates)
        reputation = cgsv_reputation(previous, similarity)
        state.memory["reputation"], share = reputation.tolist(), cgsv_share(reputation)
        return [[largest(part, q) for part in total] for q in share], True, 1.0, share

    return _fair_rounds(state, options, lambda update: ([], normalised(update)), serve)


@method("rffl", common_start=True)
def rffl(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """RFFL (Xu and Lyu, 2020): clipped updates, the own one is kept, the unworthy are removed."""

    def serve(updates):
        previous, total, similarity = _judged(state, updates)
        present = np.array(state.memory.get("present", [True] * state.n))
        reputation = rffl_reputation(previous, similarity, present, state.epoch)
        state.memory["reputation"], share = reputation.tolist(), reputation / reputation.max()
        state.memory["present"] = (present & (reputation > 0) if state.epoch >= PATIENCE else present).tolist()
        return [[largest(part, q) for part in total] for q in share], present, 1.0, share

    return _fair_rounds(state, options, lambda update: (clipped(update), clipped(update)), serve)


@method("cffl", common_start=True)
def cffl(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CFFL (Lyu et al., 2020): the server judges each upload by validation accuracy and answers accordingly."""
    first = state.participants[0]
    with stream(state.device, state.seed, SCORE, state.n):
        chosen = torch.randperm(sum(state.sizes), device=state.device)[:VALIDATION].cpu()
    images = torch.cat([party.inputs.cpu() for party in state.everyone])[chosen].to(state.device)
    labels = torch.cat([party.labels.cpu() for party in state.everyone])[chosen].to(state.device)
    server = copy.deepcopy(first.model)
    if "server" in state.memory:
        server.load_state_dict(state.memory["server"])

    def step(update):
        kept = [part.clamp(-CLIP, CLIP) for part in update]
        return kept, [largest(part, UPLOAD) for part in kept]

    def serve(uploads):
        previous = np.array(state.memory.get("credibility", [1 / state.n] * state.n))
        present, base = previous > 0, _parameters(server)
        scores = np.zeros(state.n)
        for n in np.flatnonzero(present):
            _set(server, base, uploads[n])
            update_bn([first.prepare(images, False)], server)  # updates carry no statistics of BatchNorm, if it has any
            scores[n] = accuracy(server, images, labels, first.prepare)
        credibility = cffl_credibility(previous, scores, present)
        total = weighted_sum(uploads, credibility > 0)
        _set(server, base, total)
        state.memory = {"credibility": credibility.tolist(), "server": server.state_dict()}
        downloads = [[largest(part, c) for part in total] for c in credibility]
        for n in np.flatnonzero(credibility):  # what somebody sent itself is in its own update already
            downloads[n] = [d - torch.where(d != 0, u, 0) for d, u in zip(downloads[n], uploads[n], strict=True)]
        return downloads, present, UPLOAD, credibility

    return _fair_rounds(state, options, step, serve)
