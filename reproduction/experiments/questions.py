"""Variants that a rule makes: every attack against every defence, every setting of a search."""

import itertools
import tomllib
from collections.abc import Iterator
from pathlib import Path

from reproduction import attacks, controls, forged

BOUNDED = {"": {}, "bounded": {"bound": 15.0}}
DEFENDED = {"bound": 7.5, "lambda_0": 200.0, "control": controls.margin_of(5)}  # as the tuning below chose
SLACK = {"bound": 7.5, "lambda_0": 100.0, "control": controls.margin_of(2, 2)}  # gains most there, lets a liar in
ON_CIFAR = BOUNDED | {"defended": DEFENDED}
RULES = BOUNDED | {"margin": {"bound": 15.0, "control": controls.margin}, "defended": DEFENDED, "slack": SLACK}
LIES = [*attacks.ATTACKS, attacks.divided(7.5)]  # the last as loud as DEFENDED lets it
BOTH = ("standalone", "cycle")
AVERAGING = ("gossip", "cycle-gossip", "fedavg")
BOUNDS = {"": {}, "clipped": {"control": forged.clipped}, "trimmed": {"control": forged.trimmed}}
HELD_OUT = "held-out"
SETTINGS = tomllib.loads(Path(__file__).with_name("search.toml").read_text(encoding="utf-8"))


def _hostile(liars: tuple[int, ...], rules, lies=attacks.ATTACKS, methods=("cycle",)) -> Iterator[tuple[str, dict]]:
    """Every attack by these participants, under each of these rules."""
    for attack in [None, *lies]:
        lied = {"lies": dict.fromkeys(liars, attack)} if attack else {}
        name = f"{attack.__name__}x{len(liars)}" if attack else ""
        for rule, changes in rules.items():
            yield "-".join(filter(None, (name, rule))), {"methods": methods} | lied | changes


def _mislabelled(rules: dict[str, dict]) -> Iterator[tuple[str, dict]]:
    """Everybody holds some wrong labels."""
    for rate, (rule, changes) in itertools.product((0.1, 0.2), rules.items()):
        flips = {"flips": dict.fromkeys(range(5), rate)}
        yield "-".join(filter(None, (f"flip{rate}x5", rule))), {"methods": ("cycle",)} | flips | changes


# What the margin rule is tuned over, each named before it was run: scale, lambda_0, bound, slack
PLAIN = ((1, 100, 15, 0), (2, 100, 15, 0), (2, 100, 7.5, 0), (2, 200, 7.5, 0), (5, 200, 15, 0), (5, 200, 7.5, 0))
FOLLOWED = ((2, 100, 15, 2), (2, 100, 7.5, 2))  # named when those without slack were seen to lose half of the gain
OF_SETTING25 = ((2, 33, 15, 0), (2, 66, 15, 0), (2, 132, 15, 0), (5, 132, 15, 0), (2, 33, 15, 2), (2, 66, 15, 2))
TRIED = {"": None, "inverted": lambda bound: attacks.inverted, "divided": attacks.divided}


def _tuning() -> Iterator[tuple[str, dict]]:
    """On images that no run learns from: plain, and in the setting that the search chose."""
    yield HELD_OUT, {"methods": BOTH, "judged_on": HELD_OUT, "alone": HELD_OUT}
    for alone, points, options in (
        (HELD_OUT, PLAIN + FOLLOWED, {}),
        ("setting25", OF_SETTING25, SETTINGS["setting25"]),
    ):
        for (scale, weight, bound, slack), (lie, attack) in itertools.product(points, TRIED.items()):
            name = [alone, f"margin{scale}", f"lambda{weight}", f"bound{bound}"]
            name += [f"slack{slack}"] * bool(slack) + [f"{lie}x1"] * bool(lie)
            defended = {"lambda_0": float(weight), "bound": float(bound), "control": controls.margin_of(scale, slack)}
            changes = {"methods": ("cycle",), "judged_on": HELD_OUT, "alone": alone} | options | defended
            yield "-".join(name), changes | ({"lies": {4: attack(bound)}} if attack else {})


VARIANTS = {  # of experiments of questions.toml, by their names there
    "hostile": dict(_hostile((4,), RULES, LIES)),
    "hostile-two": dict(_hostile((3, 4), RULES, LIES)),
    "hostile-models": dict(_hostile((4,), BOUNDS, forged.FORGERIES, AVERAGING)),
    "hostile-cifar": dict(_hostile((4,), ON_CIFAR, LIES)) | dict(_mislabelled(ON_CIFAR)),
    "hostile-cifar-two": dict(_hostile((3, 4), ON_CIFAR, LIES)),
    "defence-cost": {rule: changes | {"methods": ("cycle",)} if rule else {} for rule, changes in ON_CIFAR.items()},
    "margin-search": dict(_tuning()),
    "search": {
        name: options | {"methods": BOTH, "alone": name, "judged_on": HELD_OUT} for name, options in SETTINGS.items()
    },
}
