"""A server between the participants, living with the first rank, and FedAvg."""

from collections.abc import Iterator

import numpy as np
import torch

from cycle.defence import usable
from cycle.options import Options
from cycle.party import Party, learn
from cycle.rules import Rules
from cycle.sharing import BYTES_PER_NUMBER, Ledger
from cycle.state import Round, State
from cycle.weights import assign, mixed_tensors, split, vector


def local_epochs(party: Party, epoch: int, options: Options) -> torch.Tensor:
    """The local epochs of a round, with a fresh optimiser; the last losses."""
    party.optimizer.state.clear()
    for number in range(options.epochs_per_round):
        losses = learn(party, options.epochs_per_round * epoch + number, options)
    return losses


def upload(state: State, rows: dict) -> tuple[dict, dict]:
    """Rows that reach the server, number n, by sender; by (sender, n) what is wrong with others."""
    n, length = state.n, len(next(iter(rows.values())))
    arrived = _exchange(state, {(k, n): row for k, row in rows.items()}, length)
    if not state.ranks.first:
        return {}, {}
    arrived, refused = usable(arrived, length)
    absent = {(k, n): "nothing that fits arrived" for k in range(n) if (k, n) not in arrived}
    return {k: row for (k, _), row in arrived.items()}, absent | refused


def download(state: State, rows: dict, length: int) -> dict:
    """Rows of the server that reach participants here, by receiver."""
    arrived = _exchange(state, {(state.n, k): row for k, row in rows.items()}, length)
    return {k: row for (_, k), row in arrived.items()}


def _exchange(state: State, messages: dict, length: int) -> dict:
    return state.ranks.exchange(messages, lambda i, j: ((length,), torch.float32), state.device)


def server_round(state, losses, uploads, upload_bytes, downloads, download_bytes, refused) -> Round:
    """The server books who uploads and downloads: the last row and column of the ledger."""
    n = state.n
    if state.ledger.participants == n:
        state.ledger = Ledger(n + 1)
    up, down = (slice(0, n), n), (n, slice(0, n))
    for index, who, size in ((up, uploads, upload_bytes), (down, downloads, download_bytes)):
        shares = np.zeros((n + 1, n + 1), dtype=bool)
        shares[index] = who if state.ranks.first else False
        state.ledger.record(state.epoch, shares, size, possible=n)
    state.epoch += 1
    losses = torch.stack(losses)
    return Round(state.epoch - 1, state.participants, losses, state.ledger, refused=refused)


def average(last, models, weights, own=None) -> torch.Tensor:
    """FedAvg's rule `combine`: sum_k w_k x_k, added up in double precision."""
    terms = (float(w) * model.double() for w, model in zip(weights, models, strict=True))
    return sum(terms).float()


def fedavg(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """FedAvg: everybody gets the size-weighted mean of all models, BatchNorm buffers included."""
    combine = rules.combine or average
    while state.epoch < options.epochs:
        last = vector(mixed_tensors(state.participants[0].model))
        losses = [local_epochs(party, state.epoch, options) for party in state.participants]
        trained = {party.index: vector(mixed_tensors(party.model)) for party in state.participants}
        uploads, refused = upload(state, trained)
        mixed = {}
        if uploads:
            sizes = np.array([state.sizes[k] for k in uploads], dtype=float)
            mean = combine(last, list(uploads.values()), sizes / sizes.sum(), None)
            mixed = dict.fromkeys(range(state.n), mean)
        mixed = download(state, mixed, len(last))
        for party in state.participants:
            tensors = mixed_tensors(party.model)
            if party.index in mixed:
                assign(tensors, split(mixed[party.index], tensors))
        size = BYTES_PER_NUMBER * len(last)
        yield server_round(state, losses, True, size, True, size, refused)
