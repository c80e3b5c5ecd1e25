"""Attacks with a seed, from the project's root: `python -m tests.trials.NAME` prints its counts and records them."""

import json
from collections.abc import Callable
from dataclasses import replace

from reproduction import baselines, settings  # noqa: F401 (the first registers its methods)
from reproduction.bench import recording
from reproduction.provenance import results_folder

OF_A_RECORD = ("accuracy", "curve", "losses", "reputation", "shares", "messages", "bytes", "refused")
SMALL = {"local_epochs": 3, "rounds": 40, "period": 3}
NAMES = ("standalone", "vpdl", "cycle", "fedavg", "gossip", "cycle-gossip", "cgsv", "rffl", "cffl")


def small(method: str, seed: int = 0, **changes) -> settings.Run:
    """A run on digits that takes a second or two."""
    options = replace(settings.PROFILES["smoke"].options, **SMALL)
    return settings.Run("smoke", "digits", "mlp", method, "imbalanced-0.6-1", 5, seed, 200, options, **changes)


def numbers(record: dict) -> dict:
    """What two records of the same run must agree on, to the last bit."""
    return {name: record[name] for name in OF_A_RECORD}


def recorded(name: str, measure: Callable[[], dict]) -> None:
    """What a trial counts, into results/bench/NAME.json."""
    path = results_folder() / "bench" / f"{name.replace('_', '-')}.json"
    recording.write(path, f"python -m tests.trials.{name}", measure)
    print(json.dumps(json.loads(path.read_text())["measured"]))
