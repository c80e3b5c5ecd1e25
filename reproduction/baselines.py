"""The fairness-aware federated baselines CFFL, RFFL and CGSV. One generator each.

Written from the papers' and original codes' rules. A round: everybody trains locally, uploads its update, the server
aggregates, scores, and gives back what each deserves. An update is all numbers of a model in a row.
"""

import copy
from collections.abc import Callable, Iterator
from functools import partial
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


def largest(update: torch.Tensor, sizes: list[int], fraction: float) -> torch.Tensor:
    """Of each tensor, which has so many numbers, the ceil(fraction n) of largest magnitude, zero elsewhere."""
    kept = torch.zeros_like(update)
    for part, place, count in zip(update.split(sizes), kept.split(sizes), _counts(sizes, fraction), strict=True):
        chosen = part.abs().topk(count).indices
        place[chosen] = part[chosen]
    return kept


def _counts(sizes: list[int], fraction: float) -> list[int]:
    return [int(np.ceil(min(max(fraction, 0.0), 1.0) * size)) for size in sizes]


def cosine(a: torch.Tensor, b: torch.Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(a, b, dim=0))


def normalised(update: torch.Tensor) -> torch.Tensor:
    """CGSV: the update scaled to norm GAMMA."""
    return update * (GAMMA / (update.norm() + 1e-7))


def clipped(update: torch.Tensor) -> torch.Tensor:
    """RFFL: the update scaled down to norm GAMMA if it is longer."""
    return update * (GAMMA / (update.norm() + 1e-7)).clamp(max=1)


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


def _set(model: torch.nn.Module, row: torch.Tensor) -> None:
    parameters = list(model.parameters())
    assign(parameters, split(row, parameters))


def _local(party: Party, epoch: int, options: Options) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The local epochs of a round: last losses, parameters before, update."""
    before = vector(party.model.parameters())
    losses = local_epochs(party, epoch, options)
    return losses, before, vector(party.model.parameters()) - before


def _fair_rounds(state: State, options: Options, step: Callable, serve: Callable) -> Iterator[Round]:
    """The round that CFFL, RFFL and CGSV share.

    step(update) -> (what a participant keeps of its own update, what it uploads);
    serve(uploads) -> (downloads, who was in and uploaded, fraction of the numbers uploaded, fractions downloaded).
    """
    sizes = _sizes(state)
    nothing = torch.zeros(sum(sizes), device=state.device)
    while state.epoch < options.epochs:
        local = {p.index: _local(p, state.epoch, options) for p in state.participants}
        steps = {n: step(update) for n, (_, _, update) in local.items()}
        uploads, refused = upload(state, {n: sent for n, (_, sent) in steps.items()})
        rows, uploading, up, down = {}, False, 0.0, np.zeros(state.n)
        if state.ranks.first:  # what was refused counts as nothing
            refused |= {(n, state.n): "too large numbers" for n, row in uploads.items() if row.abs().max() > LARGEST}
            arrived = [nothing if (n, state.n) in refused else uploads[n] for n in range(state.n)]
            given, uploading, up, down = serve(arrived)
            rows = dict(enumerate(given))
        rows = download(state, rows, len(nothing))
        for party in state.participants:
            (_, before, _), (kept, _) = local[party.index], steps[party.index]
            _set(party.model, before + kept + rows.get(party.index, nothing))
        sent, *received = (BYTES_PER_NUMBER * sum(_counts(sizes, fraction)) for fraction in (up, *down, 0.0))
        losses = [losses for losses, _, _ in local.values()]
        yield server_round(state, losses, uploading, sent, down > 0, received, refused)


def _sizes(state: State) -> list[int]:
    return [parameter.numel() for parameter in state.participants[0].model.parameters()]


def _by_reputation(state: State, updates: list[torch.Tensor], judge: Callable, reward: Callable) -> tuple:
    """Downloads and rewards: of the sum of all updates, each weighed by the reputation so far (at first by size).

    The reputation is judged by an update's cosine with that sum.
    """
    known = state.memory.get("reputation")
    weights = np.array(state.sizes) / sum(state.sizes) if known is None else known
    total = sum(map(mul, map(float, weights), updates))
    if not total.any():  # no upload could be used: nobody is judged by it
        return [total] * state.n, np.ones(state.n)
    similarity = np.array([cosine(update, total) for update in updates])
    reputation = judge(np.array(known or [0.0] * state.n), similarity)
    state.memory["reputation"], share = reputation.tolist(), reward(reputation)
    return [largest(total, _sizes(state), q) for q in share], share


@method("cgsv", common_start=True)
def cgsv(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CGSV (Xu et al., 2021): normalised updates, cosine as Shapley value, sparsified rewards."""

    def serve(updates):
        downloads, share = _by_reputation(state, updates, cgsv_reputation, cgsv_share)
        return downloads, True, 1.0, share

    return _fair_rounds(state, options, lambda update: (0, normalised(update)), serve)


@method("rffl", common_start=True)
def rffl(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """RFFL (Xu and Lyu, 2020): clipped updates, the own one is kept, the unworthy are removed."""

    def serve(updates):
        present = np.array(state.memory.get("present", [True] * state.n))
        judge = partial(rffl_reputation, present=present, t=state.epoch)
        downloads, share = _by_reputation(state, updates, judge, lambda reputation: reputation / reputation.max())
        state.memory["present"] = (present & (share > 0) if state.epoch >= PATIENCE else present).tolist()
        return downloads, present, 1.0, share

    return _fair_rounds(state, options, lambda update: (clipped(update), clipped(update)), serve)


@method("cffl", common_start=True)
def cffl(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CFFL (Lyu et al., 2020): the server judges each upload by validation accuracy and answers accordingly."""
    first = state.participants[0]
    with stream(state.device, state.seed, SCORE, state.n):
        chosen = torch.randperm(sum(state.sizes), device=state.device)[:VALIDATION].cpu()
    images = torch.cat([party.inputs.cpu() for party in state.everyone])[chosen].to(state.device)
    labels = torch.cat([party.labels.cpu() for party in state.everyone])[chosen].to(state.device)
    server, sizes = copy.deepcopy(first.model), _sizes(state)
    if "server" in state.memory:
        server.load_state_dict(state.memory["server"])

    def step(update):
        kept = update.clamp(-CLIP, CLIP)
        return kept, largest(kept, sizes, UPLOAD)

    def serve(uploads):
        previous = np.array(state.memory.get("credibility", [1 / state.n] * state.n))
        present, base = previous > 0, vector(server.parameters())
        scores = np.zeros(state.n)
        for n in np.flatnonzero(present):
            _set(server, base + uploads[n])
            update_bn([first.prepare(images, False)], server)  # updates carry no statistics of BatchNorm, if it has any
            scores[n] = accuracy(server, images, labels, first.prepare)
        credibility = cffl_credibility(previous, scores, present)
        total = sum(map(mul, map(float, credibility > 0), uploads))
        _set(server, base + total)
        state.memory = {"credibility": credibility.tolist(), "server": server.state_dict()}
        downloads = [largest(total, sizes, c) for c in credibility]
        for n in np.flatnonzero(credibility):  # what somebody sent itself is in its own update already
            downloads[n] -= torch.where(downloads[n] != 0, uploads[n], 0)
        return downloads, present, UPLOAD, credibility

    return _fair_rounds(state, options, step, serve)
