"""The trials that take minutes, a few of each: they find nothing, and they would find what is wrong."""

import pytest
import torch

from cycle import store
from cycle.rules import Rules
from tests.trials import flips, hostile, kills


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """One method; and what a trial changes is put back."""
    monkeypatch.setattr(store, "SAVING_SHARE", store.SAVING_SHARE)
    for trial in (kills, flips):
        monkeypatch.setattr(trial, "NAMES", ("cycle",))
    monkeypatch.setattr(flips, "WARMED", ("cycle",))


def test_a_killed_run_gives_the_same_record(monkeypatch):
    found = kills.measure(2)
    assert found["kills"] == 2 and found["other_records"] == 0
    monkeypatch.setattr(kills, "numbers", lambda record: record["provenance"]["date"] + str(record["seconds"]))
    assert kills.measure(1)["other_records"] == 1


def test_a_flipped_bit_is_named(monkeypatch):
    assert flips.measure(3) == {"flips": 3, "seed": 0, "not_named": 0, "other_results": 0} | dict.fromkeys(
        ("checkpoints", "models", "warm_ups"), 1
    )
    monkeypatch.setattr(flips, "flipped", lambda path, rng: None)
    assert flips.measure(3)["not_named"] == 3


def test_liars_are_named_and_the_others_go_on(monkeypatch):
    found = hostile.measure(16)
    assert found["fine"] == found["runs"] == 16 and found["named"] == found["no_messages"] > 4
    monkeypatch.setattr(hostile, "NO_MESSAGES", {"huge": lambda sent: torch.full_like(sent, 1e30)})
    monkeypatch.setattr(hostile, "NAMES", ("standalone", "fedavg"))
    monkeypatch.setattr(hostile, "PLAUSIBLE", {})
    monkeypatch.setattr(Rules, "recommended", Rules)
    assert hostile.measure(2)["fine"] == 0
