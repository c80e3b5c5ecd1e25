"""Private decentralized learning: standalone, VPDL and CYCle. One generator a method."""

from collections.abc import Iterator

import numpy as np
import torch

from cycle import reputation
from cycle.options import Options
from cycle.party import Heard, learn, papers_score, score
from cycle.rules import Rules
from cycle.state import Round, State, alone
from cycle.streams import SCORE, SHARE, TRAIN, WEIGH


def standalone(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """SA: nobody collaborates; the same number of epochs on the same clock."""
    return alone(state, options, options.epochs)


def vpdl(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """Vanilla PDL: every peer always answers and counts alike: CYCle with every reputation one."""
    yield from alone(state, options, options.local_epochs)  # which are shared with other methods
    state.reputation = np.ones((state.n, state.n)) - np.eye(state.n)
    yield from _rounds(state, options, rules, period=None)


def cycle(state: State, options: Options, rules: Rules) -> Iterator[Round]:
    """CYCle, Algorithms 1 and 2: reputation says how far peers count, how often they answer."""
    return _rounds(state, options, rules, options.period)


def _rounds(state: State, options: Options, rules: Rules, period: int | None) -> Iterator[Round]:
    """Local epochs, then rounds: draw the shares, score, step against peers frozen at the start."""
    channel = rules.channel(state, options)
    yield from alone(state, options, options.local_epochs)
    scale = options.lambda_0 / (state.n - 1 if options.normalisation == "mean" else 1)
    while state.epoch < options.epochs:
        t = state.epoch - options.local_epochs
        scoring = period is not None and t % period == 0
        rng, rows = state.rng(SHARE, state.epoch), used(state, options, rules, t)
        shares = rules.share(rows, t, period, rng)
        shares = state.ranks.shared(shares, state.device)
        refused = channel.open(t, state.epoch, shares, scoring)
        for pair in refused:
            shares[pair] = False
        if scoring:
            fresh = scores(state, options, rules, channel, shares)
            state.reputation = reputation.update(state.reputation, fresh, options.alpha)
        weight, losses = scale * used(state, options, rules, t) * shares.T, []
        counted = None if rules.count is None else np.full(shares.shape, np.nan)
        for party in state.participants:
            n = party.index
            peers = np.flatnonzero(weight[n])
            told = [channel.hear(k, n, TRAIN) for k in peers]
            heard = hears(party, weight[n, peers], told, options, rules)
            losses.append(learn(party, state.epoch, options, heard))
            refused |= unusable(party, peers, heard)
            if heard is not None and heard.counted:
                counted[n, peers] = torch.cat(heard.counted, dim=1).mean(dim=1).tolist()
        state.ledger.record(t, state.ranks.sent(shares), channel.bytes(t))
        state.epoch += 1
        yield Round(
            t,
            state.participants,
            torch.stack(losses),
            state.ledger,
            state.reputation.copy(),
            shares,
            scoring,
            counted=counted,
            refused=refused,
        )


def used(state: State, options: Options, rules: Rules, t: int) -> np.ndarray:
    """What everybody makes of its row; a rule that draws does so once a calibration."""
    rows = np.zeros((state.n, state.n)) if state.reputation is None else state.reputation
    last = t - t % options.period
    return np.stack(
        [rules.weigh(row, n, t, state.rng(WEIGH, n, last)) for n, row in enumerate(rows)]
    )


def scores(state: State, options: Options, rules: Rules, channel, shares) -> np.ndarray:
    """Fresh scores [scorer, scored]; a peer that kept silent scores 0."""
    fresh, rule = np.zeros(shares.shape), rules.score or papers_score(options)
    for party in state.participants:
        n = party.index
        answering = {int(k): channel.hear(k, n, SCORE) for k in np.flatnonzero(shares[:, n])}
        for k, value in score(party, state.epoch, options, answering, rule).items():
            fresh[n, k] = value
    return fresh


def hears(party, weights, answers, options: Options, rules: Rules) -> Heard | None:
    """What a party hears in a round; None where nobody counts."""
    if not answers:
        return None
    weights = torch.as_tensor(weights, dtype=torch.float64, device=party.device)
    return Heard(answers, weights, options.bound, rules.count)


def unusable(party, peers, heard: Heard | None) -> dict[tuple[int, int], str]:
    """Whose answers to this party did not count, and how often."""
    if heard is None:
        return {}
    often = (~torch.stack(heard.usable)).sum(dim=0).tolist()
    return {
        (int(k), party.index): f"no usable logits in {n} batches"
        for k, n in zip(peers, often, strict=True)
        if n
    }
