"""Own rules as arguments: a similarity, what is used of a reputation, who answers whom, how far an answer counts."""

import numpy as np
import torch
from own_data import hospitals

import cycle
from cycle import defence


def same_direction(own_gradient: torch.Tensor, peer_gradient: torch.Tensor) -> float:
    """A similarity: the fraction of parameters that both gradients would move the same way."""
    return float((own_gradient.sign() == peer_gradient.sign()).float().mean())


def only_the_best(scores, scorer, round_index, rng):
    """A trust rule: only the peer with the highest score is used."""
    return np.where(scores == scores.max(), scores, 0.0)


def in_turns(reputation, round_index, period, rng):
    """A sharing rule: everybody answers one peer a round, another each time."""
    n = len(reputation)
    shares = np.zeros((n, n), dtype=bool)
    shares[np.arange(n), (np.arange(n) + 1 + round_index % (n - 1)) % n] = True
    return shares


if __name__ == "__main__":
    for rules in (
        {"score": same_direction},
        {"weigh": only_the_best},
        {"share": in_turns},
        {"count": defence.by_margin()},
    ):
        parties, test = hospitals()
        options = cycle.Options.recommended(batch_size=8)
        result = cycle.run(parties, "cycle", options, test=test, progress=False, **rules)
        print(next(iter(rules)), [round(value, 1) for value in result.accuracy], result.messages, "messages")
