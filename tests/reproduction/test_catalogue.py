"""What the experiments ask for: no run twice, and the readings of the gossip tables as they are described."""

import pytest

from reproduction import catalogue, settings


@pytest.mark.parametrize("profile", settings.PROFILES)
def test_no_two_runs_of_any_experiments_share_a_place(profile):
    """A path means one run: the same images, options and rules wherever it is asked for."""
    meant = {}
    for name in catalogue.EXPERIMENTS:
        for run in catalogue.runs_of(name, profile):
            assert meant.setdefault(run.path, run) == run, f"{name}: {run.path}"


def test_a_variant_changes_nothing_that_is_not_there():
    known = catalogue.OPTIONS | {*settings.OF_A_RUN, "methods", "alone", "local_start"}
    for name, experiment in catalogue.EXPERIMENTS.items():
        for variant, changes in experiment.variants.items():
            assert changes.keys() <= known, f"{name}, {variant}"
            assert set(changes.get("methods", ())) <= set(experiment.methods), f"{name}, {variant}"


def test_gossip_trains_as_often_with_and_without_a_warm_up():
    for method in ("gossip", "cycle-gossip"):
        (run, *_) = catalogue.runs_of("gossip-readings", "paper", methods=[method])
        assert (run.options.local_epochs, run.options.rounds) == (0, 100)
    runs = {run.variant: run for run in catalogue.runs_of("gossip-readings", "paper", methods=["gossip"])}
    assert (runs["warm"].options.local_epochs, runs["warm"].options.rounds) == (25, 75)


def test_the_readings_are_a_grid_without_repetitions():
    runs = list(catalogue.runs_of("gossip-readings", "laptop"))
    assert len({run.path for run in runs}) == len(runs)
    chosen = [(run.method, run.split, run.options) for run in runs]
    assert len(set(chosen)) == len(chosen)
    assert all(run.options.link_rule == "weight" for run in runs if run.method == "gossip")
