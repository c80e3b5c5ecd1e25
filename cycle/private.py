"""Private decentralized learning: standalone, VPDL and CYCle. One generator a method."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import torch

from cycle import reputation
from cycle.checks import check
from cycle.heard import Heard
from cycle.options import Options
from cycle.party import gradients, learn
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
        asked = to_others(rules.share(rows, t, period, rng), state.n)
        shares = state.ranks.shared(asked, state.device)
        refused = channel.open(t, state.epoch, shares, scoring)
        for pair in refused:
            shares[pair] = False
        if scoring:
            fresh = scores(state, options, rules, channel, shares)
            state.reputation = reputation.update(state.reputation, fresh, options.alpha)
        weight, losses = scale * used(state, options, rules, t) * shares.T, []
        counted = None if rules.count is None else np.full(shares.shape, np.nan)
        for party in state.participants:
            n, peers = party.index, np.flatnonzero(weight[party.index])
            told = [channel.hear(k, n, TRAIN) for k in peers]
            weights = torch.tensor(weight[n, peers], dtype=torch.float64, device=party.device)
            heard = Heard(told, weights, options.bound, rules.count)
            losses.append(learn(party, state.epoch, options, heard if told else None))
            for k, batches in zip(peers.tolist(), heard.unusable(), strict=True):
                if batches:
                    refused[k, n] = f"no usable logits in {batches} batches"
            if heard.counted:
                counted[n, peers] = torch.cat(heard.counted, dim=1).mean(dim=1).tolist()
        state.ledger.record(t, state.ranks.sent(shares), channel.bytes(t))
        state.epoch += 1
        known = state.participants, torch.stack(losses), state.ledger, state.reputation.copy()
        yield Round(t, *known, shares, scoring, counted=counted, refused=refused)


def to_others(shares, n: int) -> np.ndarray:
    """What a rule `share` returns, without answers to oneself."""
    fits = isinstance(shares, np.ndarray) and shares.dtype == bool and shares.shape == (n, n)
    check(fits, "your rule `share`", f"return a NumPy array of bool [{n}, {n}]", shares)
    return shares & ~np.eye(n, dtype=bool)


def used(state: State, options: Options, rules: Rules, t: int) -> np.ndarray:
    """What everybody makes of its row; a rule that draws does so once a calibration."""
    rows = np.zeros((state.n, state.n)) if state.reputation is None else state.reputation
    last = t - t % options.period
    found = [rules.weigh(row, n, t, state.rng(WEIGH, n, last)) for n, row in enumerate(rows)]
    for row in map(np.asarray, found):
        fits = np.shape(row) == (state.n,) and np.all((0 <= row) & (row <= 1))
        check(fits, "your rule `weigh`", f"return {state.n} numbers in [0, 1]", row)
    return np.stack(found)


def scores(state: State, options: Options, rules: Rules, channel, shares) -> np.ndarray:
    """Fresh scores r~ [scorer, scored] of both gradients; a peer that kept silent scores 0."""
    fresh, rule = np.zeros(shares.shape), rules.score or partial(papers_score, options)
    for party in state.participants:
        n = party.index
        answering = {int(k): channel.hear(k, n, SCORE) for k in np.flatnonzero(shares[:, n])}
        own, others = gradients(party, state.epoch, options, answering)
        for k, other in others.items():
            score = rule(own, other)
            number = isinstance(score, int | float) or getattr(score, "shape", None) == ()
            fits = number and 0 <= score <= 1
            check(fits, "your rule `score`", "return a number in [0, 1]", score)
            fresh[n, k] = score
    return fresh


def papers_score(options: Options, own_gradient, peer_gradient) -> float:
    """r~ = h(s), Eqs. (shap-approx), (hs_mapping): the soft clip of the misalignment."""
    s = reputation.misalignment(own_gradient, peer_gradient)
    return float(reputation.soft_clip(s, options.tau_opt, options.tau_max))
