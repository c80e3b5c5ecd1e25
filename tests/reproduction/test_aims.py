"""Every number that a benchmark gives is explained; an aim is met or missed as its words say."""

import json
import re
from pathlib import Path

import pytest

from reproduction.bench import aims, theory

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("benchmark", ["round", "scale"])
def test_all_recorded_numbers_are_explained(benchmark):
    measured = json.loads((ROOT / "results" / "bench" / f"{benchmark}.json").read_text())["measured"]
    assert all(aims.aim(benchmark, number).meaning for number in measured)
    lines = aims.explained(benchmark, measured).splitlines()
    assert len(lines) == len(measured) and max(map(len, lines)) <= 140


def test_all_numbers_of_encryption_are_explained():
    """They take two minutes to measure: their names are read in the source."""
    source = (ROOT / "reproduction" / "bench" / "fhe.py").read_text()
    named = set(re.findall(r'^ +(?:return \{)?"(\w+)":', source, re.MULTILINE))
    assert {"kl_us_per_sample", "argmax_agreement"} <= named
    assert named <= set(aims.AIMS["fhe"])


def test_an_aim_is_met_or_missed():
    assert aims.aim("round", "vpdl_vs_published").verdict(0.6) == "met"
    assert aims.aim("round", "vpdl_vs_published").verdict(0.61) == "MISSED"
    assert aims.aim("theory", "exact_vs_simulation").verdict(99) == "MISSED"
    assert aims.aim("scale", "bytes|ring|4").verdict(1e9) == ""
    with pytest.raises(ValueError, match="aims.toml explains, got 'nothing'"):
        aims.aim("round", "nothing")


def test_theory_keeps_its_aims():
    measured = theory.measure()
    missed = [number for number, value in measured.items() if aims.aim("theory", number).verdict(value) != "met"]
    assert not missed, measured
