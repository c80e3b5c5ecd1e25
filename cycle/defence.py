"""What a receiver can do against peers who lie: rules to pass in, the paper's being without.

Where answers travel it knows the true label of every sample it asks. So a peer need not be trusted
as a person; it counts sample by sample, as far as it is right. Such a rule is a `count`:
(centred logits [peer, sample, class], labels) -> [peer, sample].

Where models travel there is only their size to go by. Such a rule is a `combine`: (last, models,
weights, own) -> what they are mixed into, all of them rows of numbers. `last` is what one had
before this round's training, `own` the place of one's own among the models (None: a server).
"""

import torch

from cycle.checks import check, check_whole
from cycle.weights import average

SCALE = 5.0  # a margin from which on an answer counts in full


def margins(answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """By how much each answer prefers the true label to the next best class: [peer, sample]."""
    true = labels.expand(len(answers), -1)[:, :, None]
    others = answers.scatter(2, true, -torch.inf)
    return answers.gather(2, true)[:, :, 0] - others.amax(dim=2)


def by_margin(scale: float = SCALE):
    """The margin rule: an answer counts as far as it is right, clip(margin / scale, 0, 1).

    An answer that counts has its largest value at the true label, so the own loss and the
    distillation loss agree on what is right, however many peers lie. No majority is needed. Beside
    it, bound what arrives: `Options.bound`, 1.5 times the temperature.
    """
    positive = isinstance(scale, int | float) and 0 < scale < float("inf")
    check(positive, "scale", "be a positive number", scale)

    def count(answers: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return (margins(answers, labels) / scale).clamp(0, 1)

    return count


def clipped(last, models, weights, own=None) -> torch.Tensor:
    """Centred clipping: no model moves one further from `last` than the median of them does.

    A server counts them as it weighs them, by data: it is the length at which half of the weight is
    reached, so who holds, or claims, most of the data is not bounded. A party that hears others
    counts heads: who seems aligned may have most of its weight, and lie. One's own step is never
    shortened, and bounds the others' where fewer are heard than a median needs: a single peer moves
    one no further than oneself.
    """
    steps = [(model - last).nan_to_num_() for model in models]  # huge ones may leave the finite
    lengths = torch.stack([torch.linalg.vector_norm(s, dtype=torch.float64) for s in steps])
    ordered, order = lengths.sort()
    counts = torch.as_tensor(weights, dtype=torch.float64, device=last.device)
    reached = (counts if own is None else torch.ones_like(counts))[order].cumsum(dim=0)
    median = ordered[torch.searchsorted(reached, reached[-1] / 2)]
    longest = median if own is None else median.maximum(lengths[own])
    scales = (longest / lengths).nan_to_num(1).clamp(max=1)
    return last + average(last, [s * step for s, step in zip(scales, steps, strict=True)], weights)


def trimmed_mean(number: int = 1):
    """Of each coordinate the others' `number` largest and smallest values are left out.

    The own value always stays: where not more than twice `number` others are heard, alone.
    """
    check_whole(number, "number", 0)

    def combine(last, models, weights, own=None) -> torch.Tensor:
        others = [place for place in range(len(models)) if place != own]
        shares = torch.as_tensor(weights, dtype=last.dtype, device=last.device)
        values, order = torch.stack([last, *(models[place] for place in others)])[1:].sort(dim=0)
        kept = slice(number, max(number, len(others) - number))
        counted = shares[others][order[kept]]
        total, weight = (counted * values[kept]).sum(dim=0), counted.sum(dim=0)
        if own is not None:
            total, weight = total + shares[own] * models[own], weight + shares[own]
        return torch.where(weight > 0, total / weight, last)

    return combine


def usable(arrived: dict, length: int) -> tuple[dict, dict]:
    """Rows by (sender, receiver): those of so many finite numbers, and what is wrong with others.

    Looking at the values waits for the device, once.
    """
    fits = {pair: row for pair, row in arrived.items() if row.shape == (length,)}
    finite = torch.stack([row.isfinite().all() for row in fits.values()]).tolist() if fits else []
    kept = {pair: fits[pair] for pair, fine in zip(fits, finite, strict=True) if fine}
    wrong = {True: "numbers that are not finite", False: "too many numbers, or too few"}
    return kept, {pair: wrong[pair in fits] for pair in arrived if pair not in kept}
