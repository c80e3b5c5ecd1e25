"""Parties that send anything at all: the others go on with numbers, and who sent what is no message is named.

Answers are forged on their way to whoever asked, models and uploads on their way through `Ranks.exchange`.
"""

import logging
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch

from cycle import answers, defence
from cycle.methods import METHODS
from cycle.play import begin, play
from cycle.ranks import Ranks
from cycle.rules import Rules
from cycle.streams import SCORE, TRAIN
from reproduction import attacks, settings
from reproduction.controls import Lying
from reproduction.data import datasets
from tests.trials import NAMES, recorded, small

COUNTED = ("fine", "no_messages", "named", "not_named", "honest_named", "not_finite", "ended")
NO_NUMBERS = {  # in the place of an answer; between ranks nothing but numbers travels
    "nothing": lambda sent: None,
    "text": lambda sent: "logits",
    "list": lambda sent: sent.tolist(),
    "numpy": lambda sent: sent.numpy(),
    "integers": lambda sent: sent.long(),
    "yes and no": lambda sent: sent > 0,
    "complex": lambda sent: sent.to(torch.complex64),
    "sparse": lambda sent: sent.to_sparse(),
    "another dimension": lambda sent: sent[None],
}
NO_MESSAGES = {  # numbers that must be refused, whoever sends them
    "nan": lambda sent: torch.full_like(sent, torch.nan),
    "one nan": lambda sent: one_is(sent, torch.nan),
    "infinite": lambda sent: torch.full_like(sent, torch.inf),
    "minus infinite": lambda sent: one_is(sent, -torch.inf),
    "beyond float32": lambda sent: torch.full(sent.shape, 1e300, dtype=torch.float64),
    "one number": lambda sent: sent.flatten()[:1],
    "empty": lambda sent: sent[:0],
    "short": lambda sent: sent[1:],
    "long": lambda sent: torch.cat([sent, sent]),
}
PLAUSIBLE = {  # that are messages
    "huge": lambda sent: 1e30 * sent,
    "zeros": torch.zeros_like,
    "minus": torch.neg,
    "noise": lambda sent: 1e3 * torch.randn_like(sent),
    "with a gradient": lambda sent: sent.clone().requires_grad_(),
}


def one_is(sent, value):
    changed = sent.clone()
    changed.view(-1)[0] = value
    return changed


@dataclass(frozen=True)
class LyingRanks(Ranks):
    """Whatever the liars send to others is forged; what arrives is a row of numbers."""

    forge: Callable | None = None
    liars: tuple = ()

    def exchange(self, messages, expected, device):
        forged = {
            pair: self.forge(message).detach().to(expected(*pair)[1]) if pair[0] in self.liars else message
            for pair, message in messages.items()
        }
        return super().exchange(forged, expected, device)


class Named(logging.Handler):
    """Whom the log warned of."""

    def __init__(self):
        super().__init__()
        self.senders = set()

    def emit(self, record):
        self.senders |= {int(number) - 1 for number in re.findall(r"\bP(\d+)\b", record.getMessage())[:1]}


def lie(forge, purposes, logits, labels, purpose):
    """A forged answer, where the liar lies at this purpose; attacks also know the labels."""
    if purpose not in purposes:
        return logits
    return forge(logits, labels, purpose) if forge in attacks.ATTACKS else forge(logits)


def attacked(name: str, liars: tuple[int, ...], forge, purposes, rules: Rules, seed: int):
    """Who was named in a run of this method, and whether the honest ones end with numbers."""
    run, named = small(name, seed), Named()
    options = replace(run.options, local_epochs=1, rounds=6, bound=15.0)
    state = begin(settings.parties_of(run, datasets.load("digits", "cpu")), name, options, seed, "cpu")
    if METHODS[name].answers:
        lies = dict.fromkeys(liars, partial(lie, forge, purposes))
        rules = replace(rules, channel=lambda state, options: Lying(answers.channel(state, options), state, lies))
    else:
        rules, state.ranks = Rules.recommended(), LyingRanks(state.n, forge=forge, liars=liars)
    log = logging.getLogger("cycle")
    log.addHandler(named)
    try:
        for done in play(state, name, options, rules):
            named.senders |= {sender for sender, _ in done.refused}
    finally:
        log.removeHandler(named)
    honest = [party.model for party in state.everyone if party.index not in liars]
    return named.senders, all(p.isfinite().all() for model in honest for p in model.parameters())


def measure(runs: int = 200, seed: int = 0) -> dict:
    """Runs with one or two liars of five: fine ones; those in which what they sent was no message and they were named
    or not; in which somebody honest was named, or ended without finite numbers; which the liars ended."""
    torch.set_num_threads(1)
    rng, found, methods = np.random.default_rng(seed), Counter(), [name for name in NAMES if name != "standalone"]
    told = Counter()
    for number in range(runs):
        name = methods[number % len(methods)]
        liars = tuple(rng.choice(5, rng.integers(1, 3), replace=False).tolist())
        forgeries = {**NO_MESSAGES, **PLAUSIBLE}
        if METHODS[name].answers:
            forgeries |= NO_NUMBERS | {attack.__name__: attack for attack in attacks.ATTACKS}
        kind = rng.choice(sorted(forgeries))
        purposes = ((SCORE,), (TRAIN,), (SCORE, TRAIN))[rng.integers(3)]
        purposes = (TRAIN,) if name == "vpdl" else purposes  # nobody scores
        rules = Rules.recommended(count=defence.by_margin()) if rng.random() < 0.5 else Rules.recommended()
        refusable = kind in NO_MESSAGES or kind in NO_NUMBERS
        found["no_messages"] += refusable
        try:
            named, finite = attacked(name, liars, forgeries[kind], purposes, rules, int(rng.integers(3)))
        except Exception as error:
            found["ended"] += 1
            told[f"{name}: {kind}: ended by {type(error).__name__}: {error!s:.90}"] += 1
            continue
        found["named"] += refusable and set(liars) <= named
        wrongs = {
            "not_named": refusable and not set(liars) <= named,
            "honest_named": not named <= set(liars),
            "not_finite": not finite,
        }
        found["fine"] += not any(wrongs.values())
        for what, wrong in wrongs.items():
            found[what] += wrong
            told[f"{name}: {kind}: {what}"] += wrong
    for what, often in sorted((+told).items()):
        print(f"{often} x {what}", file=sys.stderr)
    return {"seed": seed, "runs": runs} | {name: found[name] for name in COUNTED}


if __name__ == "__main__":
    recorded("hostile", measure)
