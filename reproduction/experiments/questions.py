"""Questions that the paper leaves open: controls, attacks, settings."""

from reproduction import attacks, controls, search
from reproduction.experiments.shared import (
    AUGMENTED,
    FIVE_SPLITS,
    PER_PEER,
    PRINTED_RATE,
    PRIVATE,
    Experiment,
    everybody,
)

LATE, LATE_T = f"{PRINTED_RATE}-late", f"{PRINTED_RATE}-late-T10"  # decays 25 and 50 rounds after the first
RECOMMENDED = "recommended"
HELD_OUT = "held-out"
OWN_T, OWN_T_RATE = "own-T5", "own-T5-lr0.1"
CONSTANT = {"lies": {4: attacks.constant}}
FLIPPER = {"flips": {4: 1.0}}
SHUFFLES = (controls.permuted, controls.mean, controls.reversed)
CONTROLS = (controls.permuted, controls.mean, controls.matched, controls.oracle, controls.reversed)


def _controls(chosen, before="", **common):
    """CYCle with other scores, or with the same scores for others: one variant a control."""
    return {before + control.__name__: {"control": control, "methods": ("cycle",)} | common for control in chosen}


# all digits, where the smoke profile takes 400: another width, so that its runs have paths of their own
ALL_DIGITS = {"smoke": ("mlp", 33)}
DEFENDED = {"": {}, "bounded": {"bound": 15.0}, "margin": {"bound": 15.0, "control": controls.margin}}


def _hostile(liars):
    """Every attack by these participants, under the paper's rule and under the two defences."""
    for attack in [None, *attacks.ATTACKS]:
        lies = {"lies": dict.fromkeys(liars, attack)} if attack else {}
        name = f"{attack.__name__}x{len(liars)}" if attack else ""
        for rule, changes in DEFENDED.items():
            yield "-".join(filter(None, (name, rule))), {"methods": ("cycle",)} | lies | changes


# What the margin rule is tuned over; each is named before it is run, and which lies decide between them
SCALES = ((1.0, 50.0), (1.0, 100.0), (1.0, 200.0), (2.0, 100.0), (2.0, 200.0), (5.0, 200.0))
OF_SETTING25 = ((1.0, 33.0), (1.0, 66.0), (2.0, 100.0), (5.0, 200.0))
TRIED = (None, attacks.inverted, attacks.divided)


def _by_margin(scale, weight, before="", liars=(), attack=None, **options):
    """CYCle under the margin rule with this scale and lambda_0: the name of the variant, and the variant."""
    lies = dict.fromkeys(liars, attack) if attack else {}
    name = f"margin{scale:g}-lambda{weight:g}" + (f"-{attack.__name__}x{len(liars)}" if attack else "")
    defence = {"control": controls.margin_of(scale), "bound": 15.0, "lambda_0": weight, "lies": lies}
    return "-".join(filter(None, (before, name))), {"methods": ("cycle",)} | options | defence


def _tuning():
    """On images that no run learns from: plain, and in the setting that the search chose."""
    plain = {"judged_on": "held-out", "alone": HELD_OUT}
    yield HELD_OUT, {"methods": ("standalone", "cycle")} | plain
    chosen = search.followed()["setting25"] | {"judged_on": "held-out", "alone": "setting25"}
    for attack in TRIED:
        for scale, weight in SCALES:
            yield _by_margin(scale, weight, HELD_OUT, (4,), attack, **plain)
        for scale, weight in OF_SETTING25:
            yield _by_margin(scale, weight, "setting25", (4,), attack, **chosen)


QUESTIONS = {
    "own-temperature": Experiment(
        "Cross-entropy at the temperature of the answers, as L156 defines it: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={
            "": {},
            OWN_T: everybody(OWN_T, ("standalone", *PRIVATE), own_temperature=5.0),
            OWN_T_RATE: everybody(OWN_T_RATE, ("standalone", *PRIVATE), own_temperature=5.0, lr=0.1),
        },
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
        models=ALL_DIGITS,
        variants={"": {}} | _controls(CONTROLS[:2]),
    ),
    "hostile": Experiment(
        "One of five lies, in nine ways, against the paper's rule and two defences: digits",
        (),
        ("homogeneous", "imbalanced-0.6-1"),
        model="mlp",
        dataset="digits",
        models=ALL_DIGITS,
        variants=dict(_hostile((4,))),
    ),
    "hostile-two": Experiment(
        "Two of five lie together: digits",
        (),
        ("homogeneous",),
        model="mlp",
        dataset="digits",
        models=ALL_DIGITS,
        variants=dict(_hostile((3, 4))),
    ),
    "margin-search": Experiment(
        "The margin rule: its scale and lambda_0, judged on training images that nobody learns from: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1",),
        methods=("standalone", "cycle"),
        model="cnn",
        variants=dict(_tuning()),
    ),
    "reputation-augmented": Experiment(
        "The same with augmented images: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1", "homogeneous"),
        model="cnn",
        variants={AUGMENTED: everybody(AUGMENTED, ("standalone", *PRIVATE), augment=True)}
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
            LATE: everybody(LATE, ("standalone", "cycle"), augment=True, lr=0.1, decay_from="rounds"),
            LATE_T: everybody(LATE, ("cycle",), augment=True, lr=0.1, decay_from="rounds", temperature=10.0),
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
            AUGMENTED: everybody(AUGMENTED, ("standalone", *PRIVATE), augment=True),
            f"{AUGMENTED}-per-peer": everybody(AUGMENTED, PRIVATE, augment=True, **PER_PEER),
        },
    ),
    "search": Experiment(
        "Settings drawn at random, judged on training images that nobody learns from: CIFAR-10, CNN",
        (),
        ("imbalanced-0.6-1",),
        methods=("standalone", "cycle"),
        model="cnn",
        variants={
            name: everybody(name, ("standalone", "cycle"), judged_on="held-out", **options)
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
            RECOMMENDED: everybody(RECOMMENDED, ("standalone", *PRIVATE), **search.followed()["setting25"]),
        },
    ),
    "encrypted": Experiment(
        "Every answer computed under encryption: digits, a network of squares",
        (),
        ("imbalanced-0.6-1",),
        model="poly_mlp",
        dataset="digits",
        variants={"": {}, "fhe": {"privacy": "fhe", "methods": ("vpdl", "cycle")}},
    ),
}
