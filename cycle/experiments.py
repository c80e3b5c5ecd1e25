"""The paper's tables and figures as data: which runs each needs, at which scale. A run is named by its settings."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace

import numpy as np

from cycle import partition
from cycle.datasets import Dataset
from cycle.methods import METHODS
from cycle.options import Options
from cycle.participants import Task

PAPER_HOURS_PER_RUN = 1.35  # on one A100, the paper's own figure (appendix E)


@dataclass(frozen=True)
class Run:
    """Everything that decides a run's numbers."""

    profile: str
    dataset: str
    model: str
    method: str
    split: str
    n: int
    seed: int
    images: int | None  # training images used; None: all
    options: Options
    width: int | None = None
    flips: dict[int, float] = field(default_factory=dict)  # participant: rate of flipped labels
    variant: str = ""  # what sets this run apart within its experiment, for its file name

    @property
    def path(self) -> str:
        """Where the record lies below results/: one directory for each setting, one file for each method and seed."""
        model = self.model if self.width is None else f"{self.model}-w{self.width}"
        method = f"{self.method}+{self.variant}" if self.variant else self.method
        return f"{self.profile}/{self.dataset}-{model}-n{self.n}/{self.split}/{method}.seed{self.seed}.json"

    def settings(self) -> dict:
        """All of it as plain values, for the record."""
        return {**asdict(self), "flips": {str(n): rate for n, rate in self.flips.items()}}

    def alone(self) -> "Run":
        """The standalone run that gives the same participants their B_n (on clean labels)."""
        plain = replace(self.options, **{name: getattr(Options(), name) for name in COLLABORATION})
        scale = PROFILES[self.profile].options
        plain = replace(plain, local_epochs=scale.local_epochs, rounds=scale.rounds)
        return replace(self, method="standalone", variant="", flips={}, options=plain)


COLLABORATION = (
    "temperature", "lambda_0", "normalisation", "alpha", "tau_opt", "tau_max", "period", "score_samples",
    "epochs_per_round", "privacy", "topology", "beta", "local_steps", "evaluation", "link_rule", "alignment",
    "mix_buffers", "participation",
)  # fmt: skip


@dataclass(frozen=True)
class Profile:
    """One scale: data, model and schedule that replace the paper's."""

    about: str
    options: Options
    data: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # data set: (data set, training images)
    models: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # model: (model, width)
    changes: dict[str, dict] = field(default_factory=dict)  # model: options that it needs otherwise


SQUARES = {"lr": 0.003, "lr_every": 40, "batch_size": 32}  # networks of squares diverge at larger rates

PROFILES = {
    "smoke": Profile(
        "digits, seconds on a CPU; what the chapters run live",
        Options(local_epochs=10, rounds=20, batch_size=32, lr_every=10, score_samples=256),
        data={"cifar10": ("digits", 400), "cifar100": ("digits", 400), "fedisic": ("fedisic-synthetic", 2000)},
        models={"cnn": ("mlp", None), "resnet18": ("mlp", None), "efficientnet_b0": ("cnn", None)},
        changes={"cnn": {"lr": 0.03}, "poly_mlp": SQUARES},
    ),
    "laptop": Profile(
        "real CIFAR-10, 10,000 images, 10 local epochs and 30 rounds; minutes a run on one core",
        Options(local_epochs=10, rounds=30, batch_size=64, lr=0.03, lr_every=10),
        data={
            "cifar10": ("cifar10", 10_000),
            "cifar100": ("cifar100", 10_000),
            "fedisic": ("fedisic-synthetic", None),
        },
        models={"resnet18": ("cnn", None), "efficientnet_b0": ("cnn", None)},
        changes={"poly_mlp": SQUARES},
    ),
    "paper": Profile(
        "the paper's exact setting; ResNet-18 wants a GPU",
        Options(),
        changes={
            "cnn": {"lr": 0.05},  # at the printed 0.1 participants with 5,000 images die (stay at 10 %)
            "efficientnet_b0": {"batch_size": 32},
        },
    ),
}


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: the product of its lists."""

    title: str
    paper: tuple[str, ...]  # tables of the paper, by the names of cycle/data/paper_tables.csv
    splits: tuple[str, ...]
    methods: tuple[str, ...] = ("standalone", "vpdl", "cycle")
    model: str = "resnet18"
    dataset: str = "cifar10"
    n: tuple[int, ...] = (5,)
    models: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # profile: (model, width) of its own
    # file name part: options to change; also `flips`, `local_start` (as of a method), `methods` (only for these)
    variants: dict[str, dict] = field(default_factory=lambda: {"": {}})


FIVE_SPLITS = ("imbalanced-0.6-1", "homogeneous", "imbalanced-0.8-1", "dirichlet-0.5", "imbalanced-0.35-2")
DIRICHLET_SPLITS = ("homogeneous", "dirichlet-0.5", "dirichlet-2.0", "dirichlet-5.0")
FLIP_RATES = (0.0, 0.2, 0.5, 1.0)


def _flips(participants):
    return {
        f"flip{rate}x{len(participants)}" if rate else "": {"flips": {n: rate for n in participants} if rate else {}}
        for rate in FLIP_RATES
    }


SERVER = ("fedavg", "cffl", "rffl", "cgsv")
PRIVATE = ("vpdl", "cycle")
PRESET = {"lr": 0.015, "lr_decay": 0.977, "momentum": 0.0, "epochs_per_round": 3, "lr_every": 3}  # of CGSV's code
TAUS = {f"tau{opt}-{top}": {"tau_opt": opt, "tau_max": top} for opt in (0.0, 0.25, 0.5) for top in (0.6, 0.75, 0.9)}

READINGS = {  # of the gossip algorithm, where the paper is silent; every run is tested before and after mixing
    "": {},
    "steps5": {"local_steps": 5},
    "steps1": {"local_steps": 1},
    "warm": {"local_start": True},
    "relative": {"link_rule": "relative", "methods": ("cycle-gossip",)},
    "relative-steps5": {"link_rule": "relative", "local_steps": 5, "methods": ("cycle-gossip",)},
    "relative-steps1": {"link_rule": "relative", "local_steps": 1, "methods": ("cycle-gossip",)},
    "updates": {"alignment": "updates", "methods": ("cycle-gossip",)},
}


EXPERIMENTS = {
    "cifar10-cnn": Experiment(
        "Main table, CNN half: CIFAR-10, five splits",
        ("performance-study", "performance-study-table-c10-right"),
        FIVE_SPLITS,
        methods=("standalone", *SERVER, *PRIVATE),
        model="cnn",
    ),
    "cifar10-cnn-per-peer": Experiment(
        "CYCle with lambda_0 for each peer (Algorithm 2 to the letter): CIFAR-10, CNN",
        ("performance-study",),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={"": {}, "per-peer": {"normalisation": "per_peer", "methods": PRIVATE}},
    ),
    "baseline-presets": Experiment(
        "The fairness baselines with the schedule of their own code: CIFAR-10, CNN",
        ("performance-study",),
        FIVE_SPLITS,
        methods=("standalone", "cffl", "rffl", "cgsv"),
        model="cnn",
        variants={
            "": {},
            "preset": PRESET | {"methods": ("rffl", "cgsv")},
            "preset-cffl": PRESET | {"lr": 0.01, "methods": ("cffl",)},
        },
    ),
    "tau": Experiment(
        "Sensitivity to tau_opt and tau_max: CIFAR-10, homogeneous and imbalanced (0.6, 1)",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        methods=("standalone", "cycle"),
        variants={"": {}} | {name: tau for name, tau in TAUS.items() if name != "tau0.25-0.75"},
    ),
    "cifar10-resnet": Experiment(
        "Main table, ResNet-18 half: CIFAR-10, five splits",
        ("performance-study", "performance-study-table-c10-left"),
        FIVE_SPLITS,
        methods=("standalone", "fedavg", *PRIVATE),
        models={"laptop": ("resnet18", 8)},
    ),
    "participants": Experiment(
        "Two, five and ten participants: CIFAR-10",
        ("noofparticipantsv3-part1", "noofparticipantsv3-part2"),
        DIRICHLET_SPLITS,
        n=(2, 5, 10),
    ),
    "participants-cifar100": Experiment(
        "Two, five and ten participants: CIFAR-100",
        ("noofparticipantsv3-part1", "noofparticipantsv3-part2"),
        DIRICHLET_SPLITS,
        dataset="cifar100",
        n=(2, 5, 10),
    ),
    "cifar100": Experiment(
        "CIFAR-100, five splits",
        ("performance-study-c100", "performance-study-table-c100"),
        FIVE_SPLITS,
        methods=("standalone", "fedavg", *PRIVATE),
        dataset="cifar100",
    ),
    "imbalance": Experiment(
        "More imbalanced splits: CIFAR-10",
        ("imbstudy",),
        ("imbalanced-0.4-1", "imbalanced-0.12-1", "imbalanced-0.41-2", "imbalanced-0.23-2", "imbalanced-0.14-2"),
        methods=("standalone", *SERVER, *PRIVATE),
    ),
    "fed-isic": Experiment(
        "Fed-ISIC2019, six centers, three topologies; below `paper` on the synthetic stand-in",
        ("cycle-gossip-sgd-mcg-cgs",),
        ("natural",),
        methods=("standalone", "gossip", "cycle-gossip"),
        model="efficientnet_b0",
        dataset="fedisic",
        n=(6,),
        variants={"": {}} | {graph: {"topology": graph, "methods": ("gossip",)} for graph in ("ring", "exponential")},
    ),
    "fed-isic-pooled": Experiment(
        "Fed-ISIC2019: each center alone, and all data in one place; below `paper` on the synthetic stand-in",
        (),
        ("natural-pooled",),
        methods=("standalone",),
        model="efficientnet_b0",
        dataset="fedisic",
        n=(7,),
    ),
    "free-riders": Experiment(
        "One participant with flipped labels: CIFAR-10, homogeneous",
        ("free-rider-study",),
        ("homogeneous",),
        methods=("standalone", "cycle"),
        variants=_flips((4,)),
    ),
    "encrypted": Experiment(
        "Every answer computed under encryption: digits, a network of squares",
        (),
        ("imbalanced-0.6-1",),
        model="poly_mlp",
        dataset="digits",
        variants={"": {}, "fhe": {"privacy": "fhe", "methods": ("vpdl", "cycle")}},
    ),
    "free-riders-two": Experiment(
        "Two participants with flipped labels: CIFAR-10, homogeneous",
        ("free-rider-study-malicious2",),
        ("homogeneous",),
        methods=("standalone", "cycle"),
        variants=_flips((3, 4)),
    ),
    "gossip-readings": Experiment(
        "Which reading of Gossip-SGD fits the printed rows: CIFAR-10",
        ("noofparticipantsv3-part1",),
        ("dirichlet-0.5", "homogeneous"),
        methods=("standalone", "gossip", "cycle-gossip"),
        model="cnn",
        variants=READINGS,
    ),
    "gossip-buffers": Experiment(
        "The same with BatchNorm, its buffers mixed or local: CIFAR-10",
        ("noofparticipantsv3-part1",),
        ("dirichlet-0.5",),
        methods=("standalone", "gossip", "cycle-gossip"),
        variants={"": {}, "local-buffers": {"mix_buffers": False}},
    ),
}


def split_slug(printed: str) -> str:
    """The paper's 'Imbalanced (0.6, 1)' as this project writes it: imbalanced-0.6-1."""
    return "-".join(re.findall(r"[a-z]+|[0-9.]+", printed.lower()))


def partition_of(split: str, labels: np.ndarray, n: int, seed: int, centers=None) -> list[np.ndarray]:
    """The index arrays of a split by its name; `centers` says who made each sample, for the natural split."""
    kind, *numbers = split.split("-")
    try:
        if kind == "homogeneous" and not numbers:
            return partition.homogeneous(labels, n, seed)
        if kind == "dirichlet" and len(numbers) == 1:
            return partition.dirichlet(labels, n, float(numbers[0]), seed)
        if kind == "quantity" and len(numbers) == 1:
            return partition.quantity_skew(labels, n, float(numbers[0]), seed)
        if kind == "imbalanced" and len(numbers) == 2:
            return partition.imbalanced(labels, n, float(numbers[0]), int(numbers[1]), seed)
        if split == "natural" and centers is not None:
            return partition.natural(centers, n)
        if split == "natural-pooled" and centers is not None:  # the last participant holds everything, for comparison
            return [*partition.natural(centers, n - 1), np.arange(labels.size)]
    except ValueError as error:
        raise ValueError(f"split {split}: {error}") from error
    known = "homogeneous, dirichlet-D, quantity-D, imbalanced-K-M or, where the data have centers, natural"
    raise ValueError(f"split must be {known}, got {split!r}")


def task_of(run: Run, dataset: Dataset) -> Task:
    """The participants of a run: its images, its split, its flipped labels."""
    labels = dataset.train_labels.cpu().numpy()
    centers = dataset.centers
    strata = labels if centers is None else labels + dataset.num_classes * centers
    chosen = partition.stratified_subset(strata, run.images or labels.size, run.seed)
    centers = None if centers is None else centers[chosen]
    parts = [chosen[part] for part in partition_of(run.split, labels[chosen], run.n, run.seed, centers)]
    flipped = {
        n: partition.flip_labels(labels[parts[n]], rate, dataset.num_classes, run.seed) for n, rate in run.flips.items()
    }
    return Task(dataset, parts, run.model, run.seed, run.width, flipped)


def _chosen(asked, known, what):
    if asked is None:
        return known
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ValueError(f"{what} must be among {', '.join(known)}, got {', '.join(unknown)}")
    return tuple(name for name in known if name in asked)


def runs_of(name: str, profile: str = "smoke", seeds=(0,), methods=None, splits=None) -> Iterator[Run]:
    """All runs of an experiment at a profile; standalone first, since every gain needs it."""
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    experiment, scale = EXPERIMENTS[name], PROFILES[profile]
    model, width = experiment.models.get(profile) or scale.models.get(experiment.model, (experiment.model, None))
    dataset, images = scale.data.get(experiment.dataset, (experiment.dataset, None))
    augmented = dataset != "digits" and (model in ("resnet18", "efficientnet_b0") or dataset == "cifar100")
    settings = {field.name for field in fields(Options)}
    for n in experiment.n:
        for split in _chosen(splits, experiment.splits, "splits"):
            for seed in seeds:
                for method in _chosen(methods, experiment.methods, "methods"):
                    for variant, changes in experiment.variants.items():
                        if method not in changes.get("methods", experiment.methods):
                            continue
                        changed = {key: value for key, value in changes.items() if key in settings}
                        changed = scale.changes.get(model, {}) | changed
                        options = replace(scale.options, augment=augmented, **changed)
                        if not changes.get("local_start", METHODS[method].local_start):
                            options = replace(options, local_epochs=0, rounds=options.epochs)
                        run = Run(
                            profile, dataset, model, method, split, n, seed, images, options, width,
                            changes.get("flips", {}), variant,
                        )  # fmt: skip
                        if method == "standalone" and not run.flips:
                            if variant:
                                continue
                            run = run.alone()
                        yield run


def with_privacy(run: Run, privacy: str) -> Run:
    """The same run with its answers in clear or encrypted; standalone has none."""
    if run.method == "standalone":
        return run
    variant = "+".join(
        [*(part for part in run.variant.split("+") if part not in ("", "fhe")), *["fhe"][: privacy == "fhe"]]
    )
    return replace(run, options=replace(run.options, privacy=privacy), variant=variant)


def estimated_gpu_hours(name: str) -> float:
    """What the `paper` profile would take on one A100, from the paper's own hours a run. Not measured here."""
    return PAPER_HOURS_PER_RUN * len(list(runs_of(name, "paper")))
