"""Questions whose variants a rule makes: every attack against every defence, every setting of a search."""

from collections.abc import Iterator

from reproduction import attacks, controls, search
from reproduction.experiments import Experiment

DEFENDED = {"": {}, "bounded": {"bound": 15.0}, "margin": {"bound": 15.0, "control": controls.margin}}
# all digits, where the smoke profile takes 400: another width, so that its runs have paths of their own
ON_DIGITS = {"model": "mlp", "dataset": "digits", "models": {"smoke": ("mlp", 33)}}
BOTH = ("standalone", "cycle")
HELD_OUT = "held-out"


def _hostile(liars: tuple[int, ...]) -> Iterator[tuple[str, dict]]:
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
    yield HELD_OUT, {"methods": BOTH} | plain
    chosen = search.followed()["setting25"] | {"judged_on": "held-out", "alone": "setting25"}
    for attack in TRIED:
        for scale, weight in SCALES:
            yield _by_margin(scale, weight, HELD_OUT, (4,), attack, **plain)
        for scale, weight in OF_SETTING25:
            yield _by_margin(scale, weight, "setting25", (4,), attack, **chosen)


QUESTIONS = {
    "hostile": Experiment(
        "One of five lies, in nine ways, against the paper's rule and two defences: digits",
        ("homogeneous", "imbalanced-0.6-1"),
        variants=dict(_hostile((4,))),
        **ON_DIGITS,
    ),
    "hostile-two": Experiment(
        "Two of five lie together: digits", ("homogeneous",), variants=dict(_hostile((3, 4))), **ON_DIGITS
    ),
    "margin-search": Experiment(
        "The margin rule: its scale and lambda_0, judged on training images that nobody learns from: CIFAR-10, CNN",
        ("imbalanced-0.6-1",),
        methods=BOTH,
        model="cnn",
        variants=dict(_tuning()),
    ),
    "search": Experiment(
        "Settings drawn at random, judged on training images that nobody learns from: CIFAR-10, CNN",
        ("imbalanced-0.6-1",),
        methods=BOTH,
        model="cnn",
        variants={
            name: options | {"methods": BOTH, "alone": name, "judged_on": "held-out"}
            for name, options in (search.drawn() | search.followed()).items()
        },
    ),
}
