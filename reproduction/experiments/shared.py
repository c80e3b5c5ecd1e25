"""What an experiment is, and what several have in common."""

from dataclasses import dataclass, field


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
SERVER = ("fedavg", "cffl", "rffl", "cgsv")
PRIVATE = ("vpdl", "cycle")
GOSSIP = ("standalone", "gossip", "cycle-gossip")
SLIM = {"laptop": ("resnet18", 8)}
AUGMENTED, PRINTED_RATE = "augmented", "augmented-lr0.1"  # variants in which everybody, also alone, trains otherwise
PER_PEER = {"normalisation": "per_peer"}  # lambda_0 for each peer


def flips(participants):
    return {
        f"flip{rate}x{len(participants)}" if rate else "": {"flips": {n: rate for n in participants} if rate else {}}
        for rate in FLIP_RATES
    }


def everybody(alone, methods, **options):
    """A variant in which everybody trains otherwise, also alone: gains are taken from that variant of standalone."""
    return options | {"methods": methods, "alone": alone}
