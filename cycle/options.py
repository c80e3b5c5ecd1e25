"""The hyperparameters of the method, with the values of the paper as defaults."""

from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Literal, get_type_hints

import numpy as np
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from cycle.checks import short

Count = Annotated[int, Field(ge=0)]
Number = Annotated[int, Field(ge=1)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
BelowOne = Annotated[float, Field(ge=0, lt=1)]


@dataclass(frozen=True)
class Options:
    """Defaults are the paper's; where it is silent, CaPriDe's code (T, momentum, decay)."""

    local_epochs: Count = 25  # epochs alone before the first round
    rounds: Count = 75  # rounds of collaboration; one round is one epoch over the own data
    batch_size: Number = 128
    lr: Positive = 0.1  # on one clock over local epochs and rounds ...
    lr_decay: Positive = 0.1  # ... multiplied by this ...
    lr_every: Number = 25  # ... every so many epochs
    # when that clock begins; until then the rate is full
    decay_from: Literal["start", "rounds"] = "start"
    warmup: Count = 0  # epochs of that clock over which the rate rises to lr
    clip_norm: Positive | None = None  # longer gradients are shortened to this length
    # everybody begins from the same weights, also where nothing is averaged
    common_start: bool = False
    momentum: BelowOne = 0.9  # Nesterov
    weight_decay: NotNegative = 5e-4
    augment: bool = False  # asks `prepare` of a party for augmented inputs while it trains
    temperature: Positive = 5.0  # T of the distillation loss
    # of the cross-entropy; section 3 of the paper has the same T there
    own_temperature: Positive = 1.0
    lambda_0: NotNegative = 50.0  # weight of distillation against cross-entropy
    # lambda_0 / (N - 1), or Algorithm 2 to the letter
    normalisation: Literal["mean", "per_peer"] = "mean"
    alpha: BelowOne = 0.5  # momentum of the reputation
    tau_opt: Finite = 0.25
    tau_max: Finite = 0.75
    period: Number = 5  # R: everybody answers everybody, and is scored, every R rounds
    score_samples: Number = 512  # own training samples on which both gradients are taken
    epochs_per_round: Number = 1  # methods with a server: local epochs between two uploads
    # centred logits that arrive are clipped to it; None: the paper's, no bound
    bound: Positive | None = None
    # how answers travel: in clear, or encrypted (small networks)
    privacy: Literal["plain", "fhe"] = "plain"
    # gossip: complete, ring, exponential, exponential-undirected or graph6:...
    topology: str = "complete"
    beta: NotNegative = 15.0  # sharpness of the softmax over alignments
    local_steps: Count = 0  # minibatches between two mixings; 0: the whole epoch
    # i sends to j with probability w_ij, or w_ij / max_j w_ij
    link_rule: Literal["weight", "relative"] = "weight"
    # what is compared; updates: the local steps just made
    alignment: Literal["gradients", "updates"] = "gradients"
    # the softmax over alignments runs over oneself too, who is perfectly aligned
    self_loops: bool = False
    mix_buffers: bool = True  # BatchNorm's running means and variances are averaged too
    # fraction of the participants drawn for each round
    participation: Annotated[float, Field(gt=0, le=1)] = 1.0

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            value = value.item() if isinstance(value, np.generic) else value
            try:
                object.__setattr__(self, field.name, _allowed(field.name).validate_python(value))
            except ValidationError as error:
                said = error.errors()[0]["msg"]
                what = f"{said[0].lower()}{said[1:]}, got {short(value)}"
                raise ValueError(f"{field.name}: {what}") from None
        if self.epochs < 1:
            raise ValueError("local_epochs + rounds must be at least 1")
        if self.privacy == "fhe" and self.augment:
            raise ValueError(
                "augment must be False with privacy 'fhe': samples are encrypted and sent once"
            )
        if not self.tau_opt < self.tau_max:
            raise ValueError(
                f"tau_opt must be less than tau_max, got {self.tau_opt} and {self.tau_max}"
            )

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
def _allowed(name: str) -> TypeAdapter:
    hint = get_type_hints(Options, include_extras=True)[name]
    return TypeAdapter(hint, config=ConfigDict(strict=True))
