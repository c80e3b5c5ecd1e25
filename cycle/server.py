"""A server between the participants, living with the first rank, and FedAvg."""

from collections.abc import Iterator

import numpy as np
import torch

from cycle.options import Options
from cycle.party import Party, learn
from cycle.rules import Rules
from cycle.sharing import BYTES_PER_NUMBER, Ledger
from cycle.state import Round, State
from cycle.weights import assign, mixed_tensors, split, vector

Update = list[torch.Tensor]


def local_epochs(party: Party, epoch: int, options: Options) -> torch.Tensor:
    """The local epochs of a round, with a fresh optimiser; the last losses."""
    party.optimizer.state.clear()
    for number in range(options.epochs_per_round):
        losses = learn(party, options.epochs_per_round * epoch + number, options)
    if not all(parameter.isfinite().all() for parameter in party.model.parameters()):
        raise FloatingPointError(
            f"round {epoch}: the update of {party} is not finite; lr may be too large"
        )
    return losses


def deliver(
    state: State, outgoing: dict[tuple[int, int], Update], like: Update
) -> dict[tuple[int, int], Update]:
    """Updates between participants and the server, number n; all have the shapes of `like`."""
    length = sum(tensor.numel() for tensor in like)
    rows = {pair: vector(update) for pair, update in outgoing.items()}
    arrived = state.ranks.exchange(rows, lambda i, j: ((length,), torch.float32), state.device)
    return {pair: split(row, like) for pair, row in arrived.items()}


def server_round(state: State, losses, uploads, upload_bytes, downloads, download_bytes) -> Round:
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
    return Round(state.epoch - 1, state.participants, torch.stack(losses), state.ledger)


def fedavg(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """FedAvg: everybody gets the size-weighted mean of all models, BatchNorm buffers included."""
    n, weights = state.n, np.array(state.sizes, dtype=float) / sum(state.sizes)
    like = mixed_tensors(state.participants[0].model)
    full = BYTES_PER_NUMBER * sum(tensor.numel() for tensor in like)
    while state.epoch < options.epochs:
        losses = [local_epochs(party, state.epoch, options) for party in state.participants]
        uploads = deliver(
            state, {(p.index, n): mixed_tensors(p.model) for p in state.participants}, like
        )
        downloads = {}
        if state.ranks.first:
            models = zip(*[uploads[k, n] for k in range(n)], strict=True)
            mean = [
                sum(float(w) * x.double() for w, x in zip(weights, xs, strict=True)).float()
                for xs in models
            ]
            downloads = {(n, k): mean for k in range(n)}
        downloads = deliver(state, downloads, like)
        for party in state.participants:
            assign(mixed_tensors(party.model), downloads[n, party.index])
        yield server_round(state, losses, True, full, True, full)
