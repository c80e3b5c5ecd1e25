"""How far one accuracy lies from itself, recorded again on a processor that rounds differently.

Nothing else differs: the same data, start, steps and coins. Training amplifies the last digit, so a difference between
two of our runs that is no larger than this says nothing.
"""

import json
from dataclasses import asdict
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from cycle.options import Options
from reproduction.fields import load
from reproduction.records import RESULTS

# results/again/ holds runs of results/ once more, by the same names; those on AVX2 were made with the variables
# ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2, which round like another processor.
AGAIN = "again"
LEVEL = 0.95


def recorded_twice(profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """One row for each accuracy that two processors recorded: the run, the participant, and both values.

    They are runs that were recorded again, and participants who trained alone twice on the same images: beside somebody
    else who flips labels, or in two imbalanced splits (these are dealt by one shuffle, so equal bounds make equal
    parts). What agrees in every participant was made on processors that round alike, and does not count.
    """
    again = {results / path.relative_to(results / AGAIN): path for path in (results / AGAIN / profile).rglob("*.json")}
    pairs = [(path, load(path), load(other)) for path, other in sorted(again.items()) if path.exists()]
    pairs = [(path, one, other, range(one["n"])) for path, one, other in pairs]
    alone = [(path, load(path)) for path in sorted((results / profile).glob("*/*/standalone*.json"))]
    for (path, one), (other_path, other) in combinations(alone, 2):
        if path.parent.parent == other_path.parent.parent and one["seed"] == other["seed"]:
            pairs.append((other_path, one, other, _same_participants(one, other)))
    rows = [
        (path.relative_to(results).as_posix(), n, *sorted((one["accuracy"][n], other["accuracy"][n])))
        for path, one, other, who in pairs
        for n in who
        if any(one["accuracy"][k] != other["accuracy"][k] for k in who)
    ]
    frame = pd.DataFrame(rows, columns=["run", "participant", "first", "again"])
    return frame.drop_duplicates(["participant", "first", "again"], ignore_index=True)  # one pair, met in several runs


def _same_participants(one: dict, other: dict) -> list[int]:
    """Who trained alone on the same images, with the same labels and options, in two runs of one seed."""
    usual = json.loads(json.dumps(asdict(Options())))  # older records know fewer options
    alike = all(one["options"].get(name, usual[name]) == other["options"].get(name, usual[name]) for name in usual)
    imbalanced = all(record["split"].startswith("imbalanced") for record in (one, other))
    if not alike or (one["split"] != other["split"] and not imbalanced):
        return []
    flips = one["options"]["flips"] | other["options"]["flips"]
    bounds = [np.cumsum([0, *record["sizes"]]).tolist() for record in (one, other)]
    return [n for n in range(one["n"]) if str(n) not in flips and bounds[0][n : n + 2] == bounds[1][n : n + 2]]


@cache
def of_one(profile: str, results: Path = RESULTS) -> float:
    """Points between two recordings of one accuracy (root mean square); 0 where nothing was recorded twice."""
    frame = recorded_twice(profile, results)
    return float(np.sqrt(np.mean((frame["first"] - frame["again"]) ** 2))) if len(frame) else 0.0


def limit(profile: str, results: Path = RESULTS) -> float:
    """What 95 % of the differences between two recordings of one accuracy do not exceed.

    It holds for a gain, which is such a difference, and over N participants, divided by the root of N, for MVA, MCG
    and CGS: the mean of N independent errors, and to first order the change of a spread, are that much smaller.
    """
    return float(stats.norm.ppf((1 + LEVEL) / 2)) * of_one(profile, results)


def beyond(difference: float, noise: float) -> bool | None:
    """Whether a difference is positive; None within the noise."""
    return None if abs(difference) <= noise and noise > 0 else bool(difference > 0)
