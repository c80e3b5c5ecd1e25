"""Federated baselines with a server: FedAvg and the fairness-aware CFFL, RFFL and CGSV. One generator each.

Written from the papers' and original codes' rules. A round: everybody trains locally, uploads its update, the server
aggregates, scores, and gives back what each deserves. Updates are lists of tensors, one for each parameter.
The server lives with the first rank; uploads and downloads are messages, each one row of numbers.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch.optim.swa_utils import update_bn

from cycle import sharing
from cycle.options import Options
from cycle.participants import SCORE, Participant, Task, accuracy, learn, stream
from cycle.sharing import BYTES_PER_NUMBER
from cycle.training import Round, State
from reproduction.models import assign, mixed_tensors, vector

GAMMA = 0.15  # CGSV, RFFL: norm of an uploaded update
REWARD_BETA = 1.0  # CGSV: sharpness of the reward (not given in the paper)
MEMORY = 0.95  # CGSV, RFFL: momentum of the server's reputation
FLOOR = 1e-3  # CGSV: no reputation falls below
THRESHOLD = 1 / 3  # CFFL, RFFL: whoever has less than a third of an equal share is removed
PATIENCE = 10  # RFFL: rounds before anybody is removed
CLIP = 1e-3  # CFFL: largest element of an update
UPLOAD = 0.1  # CFFL: fraction of each tensor that is uploaded
VALIDATION = 1000  # CFFL: training images of all participants on which the server judges an upload

Update = list[torch.Tensor]


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
    return [
        sum(float(w) * part for w, part in zip(weights, parts, strict=True)) for parts in zip(*updates, strict=True)
    ]


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


@torch.no_grad()
def _parameters(participant: Participant) -> Update:
    return [parameter.detach().clone() for parameter in participant.model.parameters()]


def _set(model: torch.nn.Module, *terms: Update) -> None:
    assign(model.parameters(), [sum(parts) for parts in zip(*terms, strict=True)])


def _local(participant: Participant, epoch: int, options: Options) -> tuple[torch.Tensor, Update, Update]:
    """The local epochs of a round, with a fresh optimiser: last losses, parameters before, update."""
    participant.optimizer.state.clear()
    before = _parameters(participant)
    for number in range(options.epochs_per_round):
        losses = learn(participant, options.epochs_per_round * epoch + number, options)
    update = [a - b for a, b in zip(_parameters(participant), before, strict=True)]
    if not all(part.isfinite().all() for part in update):
        raise FloatingPointError(
            f"round {epoch}: the update of P{participant.index + 1} is not finite; lr {options.lr} may be too large"
        )
    return losses, before, update


def _size(participant: Participant, fraction: float) -> int:
    """Bytes of an update of which each tensor is sent to a fraction."""
    return BYTES_PER_NUMBER * int(sum(np.ceil(fraction * p.numel()) for p in participant.model.parameters()))


def _messages(state: State, outgoing: dict[tuple[int, int], Update], like: Update) -> dict[tuple[int, int], Update]:
    """Deliver updates between participants and the server; all have the shapes of `like`."""
    sizes = [tensor.numel() for tensor in like]
    rows = {pair: vector(update) for pair, update in outgoing.items()}
    arrived = state.ranks.exchange(rows, lambda i, j: (sum(sizes),), torch.float32, like[0].device)
    return {
        pair: [part.view_as(tensor) for part, tensor in zip(row.split(sizes), like, strict=True)]
        for pair, row in arrived.items()
    }


def _server_round(state: State, task: Task, losses, uploads, upload_bytes, downloads, download_bytes) -> Round:
    """The server books who uploads to and downloads from it (the last row and column of the ledger)."""
    if state.ledger.participants == task.n:
        state.ledger = sharing.Ledger(task.n + 1)
    up, down = (slice(0, task.n), task.n), (task.n, slice(0, task.n))
    for index, who, size in ((up, uploads, upload_bytes), (down, downloads, download_bytes)):
        shares = np.zeros((task.n + 1, task.n + 1), dtype=bool)
        shares[index] = who if state.ranks.first else False
        state.ledger.record(state.epoch, shares, size, possible=task.n)
    state.epoch += 1
    return Round(state.epoch - 1, state.participants, torch.stack(losses), state.ledger)


def fedavg(task: Task, options: Options, state: State) -> Iterator[Round]:
    """FedAvg: everybody gets the size-weighted mean of all models, BatchNorm buffers included."""
    weights = _sizes(task) / _sizes(task).sum()
    like = mixed_tensors(state.participants[0].model)
    full = BYTES_PER_NUMBER * sum(tensor.numel() for tensor in like)
    while state.epoch < options.epochs:
        losses = [_local(participant, state.epoch, options)[0] for participant in state.participants]
        uploads = _messages(state, {(p.index, task.n): mixed_tensors(p.model) for p in state.participants}, like)
        downloads = {}
        if state.ranks.first:
            models = zip(*[uploads[n, task.n] for n in range(task.n)], strict=True)
            mean = [sum(float(w) * x.double() for w, x in zip(weights, xs, strict=True)).float() for xs in models]
            downloads = {(task.n, n): mean for n in range(task.n)}
        downloads = _messages(state, downloads, like)
        for participant in state.participants:
            assign(mixed_tensors(participant.model), downloads[task.n, participant.index])
        yield _server_round(state, task, losses, True, full, True, full)


def _sizes(task: Task) -> np.ndarray:
    return np.array([len(part) for part in task.parts], dtype=float)


def _fair_rounds(task: Task, options: Options, state: State, step: Callable, serve: Callable) -> Iterator[Round]:
    """The round that CFFL, RFFL and CGSV share.

    step(update) -> (what a participant keeps of its own update, what it uploads);
    serve(uploads) -> (downloads, who was in and uploaded, fraction of the numbers uploaded, fractions downloaded).
    """
    like = _parameters(state.participants[0])
    while state.epoch < options.epochs:
        local = {p.index: _local(p, state.epoch, options) for p in state.participants}
        steps = {n: step(update) for n, (_, _, update) in local.items()}
        uploads = _messages(state, {(n, task.n): upload for n, (_, upload) in steps.items()}, like)
        downloads, uploading, up, down = {}, False, 0.0, np.zeros(task.n)
        if state.ranks.first:
            given, uploading, up, down = serve([uploads[n, task.n] for n in range(task.n)])
            downloads = {(task.n, n): download for n, download in enumerate(given)}
        downloads = _messages(state, downloads, like)
        for participant in state.participants:
            n = participant.index
            (_, before, _), (kept, _) = local[n], steps[n]
            _set(participant.model, before, *([kept] if kept else []), downloads[task.n, n])
        one = state.participants[0]
        upload_bytes, download_bytes = _size(one, up), [*(_size(one, fraction) for fraction in down), 0]
        losses = [losses for losses, _, _ in local.values()]
        yield _server_round(state, task, losses, uploading, upload_bytes, down > 0, download_bytes)


def cgsv(task: Task, options: Options, state: State) -> Iterator[Round]:
    """CGSV (Xu et al., 2021): normalised updates, cosine as Shapley value, sparsified rewards."""

    def serve(updates):
        reputation = state.memory.get("reputation")
        total = weighted_sum(updates, _sizes(task) / _sizes(task).sum() if reputation is None else reputation)
        similarity = np.array([cosine(update, total) for update in updates])
        reputation = cgsv_reputation(np.zeros(task.n) if reputation is None else reputation, similarity)
        state.memory["reputation"], share = reputation, cgsv_share(reputation)
        return [[largest(part, q) for part in total] for q in share], True, 1.0, share

    return _fair_rounds(task, options, state, lambda update: ([], normalised(update)), serve)


def rffl(task: Task, options: Options, state: State) -> Iterator[Round]:
    """RFFL (Xu and Lyu, 2020): clipped updates, the own one is kept, the unworthy are removed."""

    def serve(updates):
        reputation = state.memory.get("reputation")
        present = state.memory.get("present", np.ones(task.n, dtype=bool))
        total = weighted_sum(updates, _sizes(task) / _sizes(task).sum() if reputation is None else reputation)
        similarity = np.array([cosine(update, total) for update in updates])
        previous = np.zeros(task.n) if reputation is None else reputation
        reputation = rffl_reputation(previous, similarity, present, state.epoch)
        state.memory["reputation"], share = reputation, reputation / reputation.max()
        state.memory["present"] = present & (reputation > 0) if state.epoch >= PATIENCE else present
        return [[largest(part, q) for part in total] for q in share], present, 1.0, share

    return _fair_rounds(task, options, state, lambda update: (clipped(update), clipped(update)), serve)


def cffl(task: Task, options: Options, state: State) -> Iterator[Round]:
    """CFFL (Lyu et al., 2020): the server judges each upload by validation accuracy and answers accordingly."""
    device = task.dataset.train_images.device
    with stream(device, task.seed, SCORE, task.n):
        everything = torch.cat([torch.from_numpy(part) for part in task.parts]).to(device)
        rows = everything[torch.randperm(len(everything), device=device)[:VALIDATION]]
    images, labels = task.dataset.train_images[rows], task.dataset.train_labels[rows]
    server = task.participants(options, common_start=True, only=[0])[0]
    if "server" in state.memory:
        server.model.load_state_dict(state.memory["server"])

    def step(update):
        kept = [part.clamp(-CLIP, CLIP) for part in update]
        return kept, [largest(part, UPLOAD) for part in kept]

    def serve(uploads):
        previous = state.memory.get("credibility", np.full(task.n, 1 / task.n))
        present, base = previous > 0, _parameters(server)
        scores = np.zeros(task.n)
        for n in np.flatnonzero(present):
            _set(server.model, base, uploads[n])
            update_bn([server.pixels(images)], server.model)  # updates carry no statistics of BatchNorm, if it has any
            scores[n] = accuracy(server.model, images, labels, server.pixels)
        credibility = cffl_credibility(previous, scores, present)
        total = weighted_sum(uploads, credibility > 0)
        _set(server.model, base, total)
        state.memory = {"credibility": credibility, "server": server.model.state_dict()}
        downloads = [[largest(part, c) for part in total] for c in credibility]
        for n in np.flatnonzero(credibility):  # what somebody sent itself is in its own update already
            downloads[n] = [d - torch.where(d != 0, u, 0) for d, u in zip(downloads[n], uploads[n], strict=True)]
        return downloads, present, UPLOAD, credibility

    return _fair_rounds(task, options, state, step, serve)
