"""The tables and figures of the paper, and other readings of the same."""

from reproduction.experiments.shared import (
    AUGMENTED,
    DIRICHLET_SPLITS,
    FIVE_SPLITS,
    GOSSIP,
    PER_PEER,
    PRINTED_RATE,
    PRIVATE,
    SERVER,
    SLIM,
    Experiment,
    everybody,
    flips,
)

PRESET = {  # of CGSV's code
    "lr": 0.015, "lr_decay": 0.977, "lr_every": 3, "momentum": 0.0, "epochs_per_round": 3, "batch_size": 128,
}  # fmt: skip
BETAS = (0, 5, 35, 50, 100)  # and 15, the default
TAUS = {f"tau{opt}-{top}": {"tau_opt": opt, "tau_max": top} for opt in (0.0, 0.25, 0.5) for top in (0.6, 0.75, 0.9)}
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

TABLES = {
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
            PRINTED_RATE: everybody(PRINTED_RATE, ("standalone", *SERVER, *PRIVATE), augment=True, lr=0.1),
            f"{PRINTED_RATE}-per-peer": everybody(PRINTED_RATE, PRIVATE, augment=True, lr=0.1, **PER_PEER),
        },
    ),
    "cifar10-cnn-per-peer": Experiment(
        "CYCle with lambda_0 for each peer (Algorithm 2 to the letter): CIFAR-10, CNN",
        ("performance-study",),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={"": {}, "per-peer": PER_PEER | {"methods": PRIVATE}},
    ),
    "cifar10-resnet": Experiment(
        "Main table, ResNet-18 half: CIFAR-10, five splits",
        ("performance-study", "performance-study-table-c10-left"),
        FIVE_SPLITS,
        methods=("standalone", "fedavg", *PRIVATE),
        models=SLIM,
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
    "participants-cifar100": Experiment("Two, five and ten participants: CIFAR-100", **BY_NUMBER, dataset="cifar100"),
    "participants-gossip-cifar100": Experiment(
        "Two, five and ten participants, rows DSGD: CIFAR-100", **BY_NUMBER, methods=GOSSIP, dataset="cifar100"
    ),
    "participants-20-cifar100": Experiment(
        "Twenty participants: CIFAR-100",
        ("appendix-n20-results",),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        dataset="cifar100",
        n=(20,),
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
        variants=flips((4,)),
    ),
    "free-riders-two": Experiment(
        "Two participants with flipped labels: CIFAR-10, homogeneous",
        ("free-rider-study-malicious2",),
        ("homogeneous",),
        methods=("standalone", "cycle"),
        variants=flips((3, 4)),
    ),
    "free-riders-augmented": Experiment(
        "One participant with flipped labels, and augmented images: CIFAR-10, CNN, homogeneous",
        (),
        ("homogeneous",),
        methods=("standalone", "cycle"),
        model="cnn",
        variants={AUGMENTED: everybody(AUGMENTED, ("standalone", "cycle"), augment=True)}
        | {
            f"{AUGMENTED}-{name}": flip | everybody(AUGMENTED, ("cycle",), augment=True)
            for name, flip in flips((4,)).items()
            if name
        },
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
    "tau": Experiment(
        "Sensitivity to tau_opt and tau_max: CIFAR-10, homogeneous and imbalanced (0.6, 1)",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        methods=("standalone", "cycle"),
        variants={"": {}} | {name: tau for name, tau in TAUS.items() if name != "tau0.25-0.75"},
    ),
    "beta": Experiment(
        "Sensitivity to beta of the gossip form: CIFAR-10",
        (),
        ("dirichlet-0.5",),
        methods=GOSSIP,
        variants={"": {}} | {f"beta{beta}": {"beta": float(beta), "methods": ("cycle-gossip",)} for beta in BETAS},
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
}
