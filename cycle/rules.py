"""What a method takes as functions, each with the paper's as its default."""

from collections.abc import Callable
from dataclasses import dataclass, fields

from cycle import answers, defence, sharing
from cycle.checks import check_kind


def as_found(scores, scorer, round_index, rng):
    """The paper's rule: what is used of a row of the reputation is the row itself."""
    return scores


@dataclass(frozen=True)
class Rules:
    """Rules, each row-wise, and how answers travel. `Rules()` is the paper's."""

    score: Callable | None = None  # (own_gradient, peer_gradient) -> [0, 1]; None: the paper's
    weigh: Callable = as_found  # (scores, scorer, round_index, rng) -> what is used of this row
    share: Callable = sharing.draw_shares  # (reputation, round_index, period, rng) -> who to whom
    count: Callable | None = None  # (centred logits, labels) -> [peer, sample]; None: all ones
    combine: Callable | None = None  # (last, models, weights, own) -> model; None: their mean
    channel: Callable = answers.channel  # (state, options) -> Answers

    def __post_init__(self):
        for field in fields(self):
            kind = Callable if field.default else Callable | None
            check_kind(getattr(self, field.name), field.name, kind, "a function")

    @classmethod
    def recommended(cls, **given: Callable) -> "Rules":
        """Those that protect, where none is given: models that arrive are clipped before mixing."""
        return cls(**{"combine": defence.clipped} | given)
