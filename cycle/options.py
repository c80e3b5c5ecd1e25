"""The hyperparameters of the method, with the values of the paper as defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Literal, get_type_hints

import numpy as np
import pydantic
from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

from cycle.checks import check, short

BelowOne = Annotated[float, Field(ge=0, lt=1)]
Fraction = Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True)
class Options:
    """Defaults are the paper's; where it is silent, CaPriDe's code (T, momentum, decay)."""

    local_epochs: NonNegativeInt = 25  # epochs alone before the first round
    rounds: NonNegativeInt = 75  # rounds of collaboration; one round is one epoch over the own data
    batch_size: PositiveInt = 128
    lr: PositiveFloat = 0.1  # on one clock over local epochs and rounds ...
    lr_decay: PositiveFloat = 0.1  # ... multiplied by this ...
    lr_every: PositiveInt = 25  # ... every so many epochs
    decay_from: Literal["start", "rounds"] = "start"  # of that clock; the rate is full before
    warmup: NonNegativeInt = 0  # epochs of that clock over which the rate rises to lr
    clip_norm: PositiveFloat | None = None  # longer gradients are shortened to this length
    common_start: bool = False  # everybody begins from the same weights, also without averaging
    momentum: BelowOne = 0.9  # Nesterov
    weight_decay: NonNegativeFloat = 5e-4
    augment: bool = False  # asks `prepare` of a party for augmented inputs while it trains
    temperature: PositiveFloat = 5.0  # T of the distillation loss
    own_temperature: PositiveFloat = 1.0  # of the cross-entropy; the paper's section 3 has T
    lambda_0: NonNegativeFloat = 50.0  # weight of distillation against cross-entropy ...
    normalisation: Literal["mean", "per_peer"] = "mean"  # ... / (N - 1), or Algorithm 2 verbatim
    alpha: BelowOne = 0.5  # momentum of the reputation
    tau_opt: float = 0.25
    tau_max: float = 0.75
    period: PositiveInt = 5  # R: everybody answers everybody, and is scored, every R rounds
    score_samples: PositiveInt = 512  # own training samples on which both gradients are taken
    epochs_per_round: PositiveInt = 1  # methods with a server: local epochs between two uploads
    bound: PositiveFloat | None = None  # centred logits that arrive are clipped to it
    privacy: Literal["plain", "fhe"] = "plain"  # answers in clear, or encrypted (small networks)
    topology: str = "complete"  # of gossip, see `gossip.adjacency`
    beta: NonNegativeFloat = 15.0  # sharpness of the softmax over alignments
    local_steps: NonNegativeInt = 0  # minibatches between two mixings; 0: the whole epoch
    link_rule: Literal["weight", "relative"] = "weight"  # i sends to j: w_ij, or w_ij / max_j w_ij
    alignment: Literal["gradients", "updates"] = "gradients"  # updates: the local steps just made
    self_loops: bool = False  # the softmax runs over oneself too, who is perfectly aligned
    mix_buffers: bool = True  # BatchNorm's running means and variances are averaged too
    participation: Fraction = 1.0  # of the participants, drawn for each round

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            value = value.item() if isinstance(value, np.generic) else value
            try:
                object.__setattr__(self, field.name, _allowed(field.name).validate_python(value))
            except pydantic.ValidationError as error:
                said = error.errors()[0]["msg"].replace("Input should be", "must be")
                raise ValueError(f"{field.name} {said}, got {short(value)}") from None
        check(self.epochs > 0, "local_epochs + rounds", "be at least 1", self.epochs)
        check(self.tau_opt < self.tau_max, "tau_opt", "be less than tau_max", self.tau_opt)
        if self.privacy == "fhe":  # samples are encrypted and sent once
            check(not self.augment, "augment", "be False with privacy 'fhe'", self.augment)

    @classmethod
    def recommended(cls, **changes) -> "Options":
        """The setting that our search chose, on images that no run learns from or is tested on.

        It holds for two parties as for five. What counts is lambda_0 / T^2, here 1/3: it is 2 in
        the paper's setting, at which small groups collapse. Where `prepare` can, augment as well.
        """
        schedule = {"local_epochs": 10, "rounds": 30, "batch_size": 64, "warmup": 5}
        rate = {"lr": 0.03, "lr_every": 20, "decay_from": "rounds"}
        return cls(**schedule | rate | {"lambda_0": 33.0, "temperature": 9.9} | changes)

    @property
    def epochs(self) -> int:
        return self.local_epochs + self.rounds

    def decay(self, epoch: int) -> float:
        """By what the starting rate is multiplied in this epoch."""
        clock = epoch if self.decay_from == "start" else epoch - self.local_epochs
        if clock < 0:
            return 1.0
        return min(1, (clock + 1) / (self.warmup + 1)) * self.lr_decay ** (clock // self.lr_every)


@cache
def _allowed(name: str) -> pydantic.TypeAdapter:
    hint = get_type_hints(Options, include_extras=True)[name]
    return pydantic.TypeAdapter(hint, config=pydantic.ConfigDict(strict=True, allow_inf_nan=False))
