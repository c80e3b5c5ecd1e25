"""The hyperparameters of a run, with the values of the paper as defaults."""

from dataclasses import dataclass

CHOICES = {
    "normalisation": ("mean", "per_peer"),
    "privacy": ("plain", "fhe"),
    "evaluation": ("after", "before"),
    "link_rule": ("weight", "relative"),
    "alignment": ("gradients", "updates"),
    "decay_from": ("start", "rounds"),
}


@dataclass(frozen=True)
class Options:
    """Defaults are the paper's (appendix F); where it is silent, CaPriDe's published code (T, momentum, decay)."""

    local_epochs: int = 25  # epochs alone before the first round
    rounds: int = 75  # rounds of collaboration; one round is one epoch over the own data
    batch_size: int = 128
    lr: float = 0.1  # on one clock over local epochs and rounds ...
    lr_decay: float = 0.1  # ... multiplied by this ...
    lr_every: int = 25  # ... every so many epochs
    decay_from: str = "start"  # when that clock begins, or "rounds": with the first round, which has the full rate
    warmup: int = 0  # epochs of that clock over which the rate rises to lr
    clip_norm: float | None = None  # longer gradients are shortened to this length
    common_start: bool = False  # everybody begins from the same weights, also where nothing is averaged
    momentum: float = 0.9  # Nesterov
    weight_decay: float = 5e-4
    augment: bool = False  # crop with padding 4, flip, rotation up to 15 degrees
    temperature: float = 5.0  # T of the distillation loss
    own_temperature: float = 1.0  # of the cross-entropy; L156 has the same T there
    lambda_0: float = 50.0  # weight of distillation against cross-entropy
    normalisation: str = "mean"  # "mean": lambda_0 is divided by N - 1; "per_peer": Algorithm 2 to the letter
    alpha: float = 0.5  # momentum of the reputation
    tau_opt: float = 0.25
    tau_max: float = 0.75
    period: int = 5  # R: everybody answers everybody, and is scored, every R rounds
    score_samples: int = 512  # own training samples on which both gradients are taken
    silent: tuple[int, ...] = ()  # participants who never answer anybody, not even when forced
    forced_only: tuple[int, ...] = ()  # participants who answer at calibrations only
    epochs_per_round: int = 1  # methods with a server: local epochs between two uploads
    privacy: str = "plain"  # how answers travel: in clear, or "fhe": computed and sent encrypted (small networks)
    topology: str = "complete"  # gossip: complete, ring, exponential, exponential-undirected or graph6:...
    beta: float = 15.0  # sharpness of the softmax over alignments
    local_steps: int = 0  # minibatches between two mixings; 0: the whole epoch
    evaluation: str = "after"  # the round's mixing, or "before" it: which models are tested
    link_rule: str = "weight"  # i sends to j with probability w_ij; "relative": w_ij / max_j w_ij
    alignment: str = "gradients"  # what is compared; "updates": the local steps just made
    self_loops: bool = False  # the softmax over alignments runs over oneself too, who is perfectly aligned
    mix_buffers: bool = True  # BatchNorm's running means and variances are averaged too
    participation: float = 1.0  # fraction of the participants drawn for each round

    def __post_init__(self):
        positive = ("batch_size", "lr", "lr_decay", "lr_every", "temperature", "own_temperature", "period",
                    "score_samples", "epochs_per_round")  # fmt: skip
        for name in positive:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        for name in ("local_epochs", "rounds", "momentum", "weight_decay", "lambda_0", "beta", "local_steps",
                     "warmup"):  # fmt: skip
            if not 0 <= getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be zero or positive, and finite, got {getattr(self, name)}")
        whole = ("local_epochs", "rounds", "batch_size", "lr_every", "period", "score_samples", "epochs_per_round",
                 "local_steps", "warmup")  # fmt: skip
        for name in whole:
            if getattr(self, name) != int(getattr(self, name)):
                raise ValueError(f"{name} must be a whole number, got {getattr(self, name)}")
        for name in ("silent", "forced_only"):
            numbers = getattr(self, name)
            if not isinstance(numbers, tuple | list) or any(n != int(n) or n < 0 for n in numbers):
                raise ValueError(f"{name} must be numbers of participants from 0 on, got {getattr(self, name)}")
        if self.epochs < 1:
            raise ValueError("local_epochs + rounds must be at least 1")
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {getattr(self, name)!r}")
        if self.privacy == "fhe" and self.augment:
            raise ValueError("augment must be False with privacy 'fhe': samples are encrypted and sent once")
        if not 0 <= self.alpha < 1:
            raise ValueError(f"alpha must be in [0, 1), got {self.alpha}: with 1 no score would ever count")
        if not 0 < self.participation <= 1:
            raise ValueError(f"participation must be in (0, 1], got {self.participation}")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise ValueError(f"clip_norm must be positive, or None, got {self.clip_norm}")
        if not self.tau_opt < self.tau_max:
            raise ValueError(f"tau_opt must be less than tau_max, got {self.tau_opt} and {self.tau_max}")

    @property
    def epochs(self) -> int:
        return self.local_epochs + self.rounds

    def lr_at(self, epoch: int) -> float:
        clock = epoch if self.decay_from == "start" else epoch - self.local_epochs
        if clock < 0:
            return self.lr
        rising = min(1, (clock + 1) / (self.warmup + 1))
        return rising * self.lr * self.lr_decay ** (clock // self.lr_every)
