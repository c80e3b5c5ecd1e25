"""What a method takes as functions, each with the paper's as its default."""

from collections.abc import Callable
from dataclasses import dataclass, fields

from cycle import answers, defence, sharing


def as_found(scores, scorer, round_index, rng):
    """The paper's rule: what is used of a row of the reputation is the row itself."""
    return scores


@dataclass(frozen=True)
class Rules:
    """Rules, each row-wise, and how answers travel. `Rules()` is the paper's."""

    # (own_gradient, peer_gradient) -> fresh score in [0, 1]; None: the paper's
    score: Callable | None = None
    # (scores, scorer, round_index, rng) -> what is used of this row of the reputation
    weigh: Callable = as_found
    # (reputation, round_index, period, rng) -> bool [sender, receiver]
    share: Callable = sharing.draw_shares
    # (centred logits, labels) -> [peer, sample], how far each counts; None: all ones
    count: Callable | None = None
    # (last, models, weights, own) -> what they are mixed into (see `defence`); None: their mean
    combine: Callable | None = None
    channel: Callable = answers.channel  # (state, options) -> Answers

    def __post_init__(self):
        for field in fields(self):
            function = getattr(self, field.name)
            if not (callable(function) or function is None and field.default is None):
                raise ValueError(f"{field.name} must be a function, got {type(function).__name__}")

    @classmethod
    def recommended(cls, **given: Callable) -> "Rules":
        """Those that protect, where none is given: models that arrive are clipped before mixing."""
        return cls(**{"combine": defence.clipped} | given)
