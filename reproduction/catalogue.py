"""The paper's tables and figures as data: which runs each needs, at which scale. A run is named by its settings."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace

from cycle.methods import method_of
from cycle.options import Options
from reproduction import attacks, baselines, controls, search  # noqa: F401 (baselines registers its methods)
from reproduction.settings import PROFILES, UNCHANGED, Run

OPTIONS = {field.name for field in fields(Options)}
OF_A_VARIANT = (
    "flips",
    "silent",
    "forced_only",
    "control",
    "lies",
    "judged_on",
)  # settings of a run beside its options
PAPER_HOURS_PER_RUN = 1.35  # on one A100, the paper's own figure (appendix F)


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper: the product of its lists."""

    title: str
    paper: tuple[str, ...]  # tables of the paper, by the names of reproduction/paper/paper_tables.csv
    splits: tuple[str, ...]
    methods: tuple[str, ...] = ("standalone", "vpdl", "cycle")
    model: str = "resnet18"
    dataset: str = "cifar10"
    n: tuple[int, ...] = (5,)
    models: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # profile: (model, width) of its own
    # file name part: options to change; also those of OF_A_VARIANT, `local_start` (as of a method), `methods` (only for
    # these; standalone changes only where it is named), `alone` (the variant of standalone that gains are taken from)
    variants: dict[str, dict] = field(default_factory=lambda: {"": {}})


FIVE_SPLITS = ("imbalanced-0.6-1", "homogeneous", "imbalanced-0.8-1", "dirichlet-0.5", "imbalanced-0.35-2")
DIRICHLET_SPLITS = ("homogeneous", "dirichlet-0.5", "dirichlet-2.0", "dirichlet-5.0")
FLIP_RATES = (0.0, 0.2, 0.5, 1.0)


def _flips(participants):
    return {
        f"flip{rate}x{len(participants)}" if rate else "": {"flips": {n: rate for n in participants} if rate else {}}
        for rate in FLIP_RATES
    }


def _everybody(alone, methods, **options):
    """A variant in which everybody trains otherwise, also alone: gains are taken from that variant of standalone."""
    return options | {"methods": methods, "alone": alone}


SERVER = ("fedavg", "cffl", "rffl", "cgsv")
PRIVATE = ("vpdl", "cycle")
GOSSIP = ("standalone", "gossip", "cycle-gossip")
PRESET = {  # of CGSV's code
    "lr": 0.015, "lr_decay": 0.977, "lr_every": 3, "momentum": 0.0, "epochs_per_round": 3, "batch_size": 128,
}  # fmt: skip
SLIM = {"laptop": ("resnet18", 8)}
AUGMENTED, PRINTED_RATE = "augmented", "augmented-lr0.1"  # variants in which everybody, also alone, trains otherwise
LATE, LATE_T = f"{PRINTED_RATE}-late", f"{PRINTED_RATE}-late-T10"  # decays 25 and 50 rounds after the first
RECOMMENDED = "recommended"
OWN_T, OWN_T_RATE = "own-T5", "own-T5-lr0.1"
PER_PEER = {"normalisation": "per_peer"}  # lambda_0 for each peer
BETAS = (0, 5, 35, 50, 100)  # and 15, the default
TAUS = {f"tau{opt}-{top}": {"tau_opt": opt, "tau_max": top} for opt in (0.0, 0.25, 0.5) for top in (0.6, 0.75, 0.9)}

CONSTANT = {"lies": {4: attacks.constant}}
FLIPPER = {"flips": {4: 1.0}}
SHUFFLES = (controls.permuted, controls.mean, controls.reversed)
CONTROLS = (controls.permuted, controls.mean, controls.matched, controls.oracle, controls.reversed)


def _controls(chosen, before="", **common):
    """CYCle with other scores, or with the same scores for others: one variant a control."""
    return {before + control.__name__: {"control": control, "methods": ("cycle",)} | common for control in chosen}


DEFENDED = {"": {}, "bounded": {"bound": 15.0}, "margin": {"bound": 15.0, "control": controls.margin}}


def _hostile(liars):
    """Every attack by these participants, under the paper's rule and under the two defences."""
    for attack in [None, *attacks.ATTACKS]:
        lies = {"lies": dict.fromkeys(liars, attack)} if attack else {}
        name = f"{attack.__name__}x{len(liars)}" if attack else ""
        for rule, changes in DEFENDED.items():
            yield "-".join(filter(None, (name, rule))), {"methods": ("cycle",)} | lies | changes


READINGS = {  # of the gossip algorithm, where the paper is silent; every run is tested before and after mixing
    "": {},
    "steps5": {"local_steps": 5},
    "steps1": {"local_steps": 1},
    "warm": {"local_start": True},
    "constant": {"lr_decay": 1.0},
    "relative": {"link_rule": "relative", "methods": ("cycle-gossip",)},
    "relative-steps5": {"link_rule": "relative", "local_steps": 5, "methods": ("cycle-gossip",)},
    "relative-steps1": {"link_rule": "relative", "local_steps": 1, "methods": ("cycle-gossip",)},
    "updates": {"alignment": "updates", "methods": ("cycle-gossip",)},
    "self-loops": {"self_loops": True, "methods": ("cycle-gossip",)},
    "self-loops-warm": {"self_loops": True, "local_start": True, "methods": ("cycle-gossip",)},
}

BY_NUMBER = {  # what the tables of two, five and ten participants have in common
    "paper": ("noofparticipantsv3-part1", "noofparticipantsv3-part2"),
    "splits": DIRICHLET_SPLITS,
    "n": (2, 5, 10),
}

EXPERIMENTS = {
    "cifar10-cnn": Experiment(
        "Main table, CNN half: CIFAR-10, five splits",
        ("performance-study", "performance-study-table-c10-right"),
        FIVE_SPLITS,
        methods=("standalone", *SERVER, *PRIVATE),
        model="cnn",
    ),
    "cifar10-cnn-augmented": Experiment(
        "The same with augmented images, at the printed learning rate: CIFAR-10, five splits",
        ("performance-study", "performance-study-table-c10-right"),
        FIVE_SPLITS,
        methods=("standalone", *SERVER, *PRIVATE),
        model="cnn",
        variants={
            PRINTED_RATE: _everybody(PRINTED_RATE, ("standalone", *SERVER, *PRIVATE), augment=True, lr=0.1),
            f"{PRINTED_RATE}-per-peer": _everybody(PRINTED_RATE, PRIVATE, augment=True, lr=0.1, **PER_PEER),
        },
    ),
    "own-temperature": Experiment(
        "Cross-entropy at the temperature of the answers, as L156 defines it: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={
            "": {},
            OWN_T: _everybody(OWN_T, ("standalone", *PRIVATE), own_temperature=5.0),
            OWN_T_RATE: _everybody(OWN_T_RATE, ("standalone", *PRIVATE), own_temperature=5.0, lr=0.1),
        },
    ),
    "cifar10-cnn-per-peer": Experiment(
        "CYCle with lambda_0 for each peer (Algorithm 2 to the letter): CIFAR-10, CNN",
        ("performance-study",),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={"": {}, "per-peer": PER_PEER | {"methods": PRIVATE}},
    ),
    "controls": Experiment(
        "Taught without peers, by one's former self or by a teacher that knows nothing: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1", "homogeneous"),
        methods=("standalone", "echo", "blank", *PRIVATE),
        model="cnn",
        variants={"": {}} | {f"lambda{weight}": {"lambda_0": weight, "methods": ("blank",)} for weight in (5.0, 0.5)},
    ),
    "reputation": Experiment(
        "Is it the reputation? CYCle with the same scores for the wrong peers: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1", "homogeneous", "imbalanced-0.35-2", "dirichlet-0.5"),
        model="cnn",
        variants={"": {}} | _controls(CONTROLS),
    ),
    "reputation-digits": Experiment(
        "The same on digits, with many seeds: a network of one hidden layer",
        (),
        ("imbalanced-0.6-1", "homogeneous"),
        model="mlp",
        dataset="digits",
        variants={"": {}} | _controls(CONTROLS[:2]),
    ),
    "hostile": Experiment(
        "One of five lies, in eight ways, against the paper's rule and two defences: digits",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        model="mlp",
        dataset="digits",
        variants=dict(_hostile((4,))),
    ),
    "hostile-two": Experiment(
        "Two of five lie together: digits",
        (),
        ("homogeneous",),
        model="mlp",
        dataset="digits",
        variants=dict(_hostile((3, 4))),
    ),
    "reputation-augmented": Experiment(
        "The same with augmented images: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={AUGMENTED: _everybody(AUGMENTED, ("standalone", *PRIVATE), augment=True)}
        | _controls(CONTROLS[:3], f"{AUGMENTED}-", augment=True, alone=AUGMENTED),
    ),
    "reputation-constant": Experiment(
        "The same where one of five answers one class with certainty: CIFAR-10, CNN",
        (),
        ("homogeneous",),
        model="cnn",
        variants={"constantx1": CONSTANT | {"methods": PRIVATE}} | _controls(SHUFFLES, "constantx1-", **CONSTANT),
    ),
    "reputation-flipper": Experiment(
        "The same where one of five has learned from wrong labels only: CIFAR-10, CNN",
        (),
        ("homogeneous",),
        model="cnn",
        variants={"flip1.0x1": FLIPPER | {"methods": ("standalone", *PRIVATE)}}
        | _controls(SHUFFLES, "flip1.0x1-", **FLIPPER),
    ),
    "printed-numbers": Experiment(
        "The rate decays as in CaPriDe's code, 25 and 50 epochs after peers begin: CIFAR-10, CNN",
        ("performance-study", "performance-study-table-c10-right"),
        ("imbalanced-0.6-1",),
        methods=("standalone", "cycle"),
        model="cnn",
        variants={
            LATE: _everybody(LATE, ("standalone", "cycle"), augment=True, lr=0.1, decay_from="rounds"),
            LATE_T: _everybody(LATE, ("cycle",), augment=True, lr=0.1, decay_from="rounds", temperature=10.0),
        },
    ),
    "learning-rate": Experiment(
        "The printed learning rate 0.1 beside the one we use: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1",),
        methods=("standalone",),
        model="cnn",
        variants={"": {}, "lr0.1": {"lr": 0.1, "methods": ("standalone",)}},
    ),
    "temperature": Experiment(
        "The temperature of the answers, which the paper does not print: CIFAR-10, CNN",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        model="cnn",
        variants={"": {}} | {f"T{value}": {"temperature": float(value), "methods": PRIVATE} for value in (1, 2, 10)},
    ),
    "augmentation": Experiment(
        "The CNN with augmented images, which the paper names for CIFAR-100 only: CIFAR-10",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        model="cnn",
        variants={
            "": {},
            AUGMENTED: _everybody(AUGMENTED, ("standalone", *PRIVATE), augment=True),
            f"{AUGMENTED}-per-peer": _everybody(AUGMENTED, PRIVATE, augment=True, **PER_PEER),
        },
    ),
    "search": Experiment(
        "Settings drawn at random, judged on training images that nobody learns from: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1",),
        methods=("standalone", "cycle"),
        model="cnn",
        variants={
            name: _everybody(name, ("standalone", "cycle"), judged_on="held-out", **options)
            for name, options in (search.drawn() | search.followed()).items()
        },
    ),
    "recommended": Experiment(
        "The setting that the search chose beside the paper's: CIFAR-10, CNN",
        (),
        FIVE_SPLITS,
        model="cnn",
        variants={
            "": {},
            RECOMMENDED: _everybody(RECOMMENDED, ("standalone", *PRIVATE), **search.followed()["setting25"]),
        },
    ),
    "baseline-presets": Experiment(
        "The fairness baselines with the schedule of their own code: CIFAR-10, CNN",
        ("performance-study",),
        ("imbalanced-0.6-1", "homogeneous"),
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
        models=SLIM,
    ),
    "participants": Experiment("Two, five and ten participants: CIFAR-10", **BY_NUMBER),
    "participants-gossip": Experiment(
        "Two, five and ten participants, rows DSGD: CIFAR-10", **BY_NUMBER, methods=GOSSIP
    ),
    "participants-20": Experiment(
        "Twenty participants: CIFAR-10",
        ("appendix-n20-results",),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        n=(20,),
    ),
    "participants-20-cifar100": Experiment(
        "Twenty participants: CIFAR-100",
        ("appendix-n20-results",),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        dataset="cifar100",
        n=(20,),
    ),
    "beta": Experiment(
        "Sensitivity to beta of the gossip form: CIFAR-10",
        (),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        variants={"": {}} | {f"beta{beta}": {"beta": float(beta), "methods": ("cycle-gossip",)} for beta in BETAS},
    ),
    "participants-cifar100": Experiment("Two, five and ten participants: CIFAR-100", **BY_NUMBER, dataset="cifar100"),
    "participants-gossip-cifar100": Experiment(
        "Two, five and ten participants, rows DSGD: CIFAR-100", **BY_NUMBER, methods=GOSSIP, dataset="cifar100"
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
        ("cycle-gossip-sgd-mcg-cgs", "cycle-gossip-sgd-mcg-cgs-a"),
        ("natural",),
        methods=GOSSIP,
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
    "refusal": Experiment(
        "A participant that never answers, or only when forced: CIFAR-10",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        methods=("standalone", "cycle"),
        variants={"": {}}
        | {f"silent-p{n + 1}": {"silent": (n,)} for n in (0, 4)}
        | {f"forced-only-p{n + 1}": {"forced_only": (n,)} for n in (0, 4)},
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
    "free-riders-augmented": Experiment(
        "One participant with flipped labels, and augmented images: CIFAR-10, CNN, homogeneous",
        (),
        ("homogeneous",),
        methods=("standalone", "cycle"),
        model="cnn",
        variants={AUGMENTED: _everybody(AUGMENTED, ("standalone", "cycle"), augment=True)}
        | {
            f"{AUGMENTED}-{name}": flip | _everybody(AUGMENTED, ("cycle",), augment=True)
            for name, flip in _flips((4,)).items()
            if name
        },
    ),
    "gossip-readings": Experiment(
        "Which reading of Gossip-SGD fits the printed rows: CIFAR-10",
        ("noofparticipantsv3-part1",),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        model="cnn",
        variants=READINGS,
    ),
    "gossip-buffers": Experiment(
        "The same with BatchNorm, its buffers mixed or local: CIFAR-10",
        ("noofparticipantsv3-part1",),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        models=SLIM,
        variants={"": {}, "local-buffers": {"mix_buffers": False}},
    ),
}


def _chosen(asked, known, what):
    if asked is None:
        return known
    asked = [asked] if isinstance(asked, str) else asked
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ValueError(f"{what} must be among {', '.join(known)}, got {', '.join(unknown)}")
    return tuple(name for name in known if name in asked)


def runs_of(name: str, profile: str = "smoke", seeds=(0,), methods=None, splits=None, variants=None) -> Iterator[Run]:
    """All runs of an experiment at a profile; standalone first, since every gain needs it.

    The variant without a name is asked for as `unchanged`.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment must be one of {', '.join(EXPERIMENTS)}, got {name!r}")
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    experiment, scale = EXPERIMENTS[name], PROFILES[profile]
    model, width = experiment.models.get(profile) or scale.models.get(experiment.model, (experiment.model, None))
    dataset, images = scale.data.get(experiment.dataset, (experiment.dataset, None))
    augmented = dataset != "digits" and (model in ("resnet18", "efficientnet_b0") or dataset == "cifar100")
    named = {variant or UNCHANGED: variant for variant in experiment.variants}
    splits = _chosen(splits, experiment.splits, "splits")
    methods = _chosen(methods, experiment.methods, "methods")
    variants = _chosen(variants, tuple(named), "variants")
    for n, split, seed, method, chosen in itertools.product(experiment.n, splits, seeds, methods, variants):
        changes = experiment.variants[named[chosen]]
        if method not in changes.get("methods", experiment.methods):
            continue
        changed = {key: value for key, value in changes.items() if key in OPTIONS}
        options = replace(scale.options, **{"augment": augmented} | scale.changes.get(model, {}) | changed)
        if not changes.get("local_start", method_of(method).local_start):
            options = replace(options, local_epochs=0, rounds=options.epochs)
        own = {name: changes[name] for name in OF_A_VARIANT if name in changes}
        run = Run(
            profile=profile, dataset=dataset, model=model, width=width, method=method, split=split, n=n, seed=seed,
            images=images, options=options, variant=named[chosen], alone_as=changes.get("alone", ""), **own,
        )  # fmt: skip
        if method == "standalone" and not run.flips and method not in changes.get("methods", ()):
            if run.variant:
                continue
            run = run.alone()
        elif method == "standalone" and run.alone_as:
            run = run.alone()  # without what its variant changes of the collaboration
        yield run
