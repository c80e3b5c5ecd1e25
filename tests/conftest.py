import os
from dataclasses import replace

import hypothesis
import pytest
import torch
from torch import nn

import reproduction.vision  # noqa: F401 (before any test imports torchvision)
from cycle import store
from cycle.play import begin, play
from cycle.rules import Rules
from cycle.weights import vector
from reproduction import baselines, controls, execute, models, settings  # noqa: F401 (the first two register methods)
from reproduction.data import datasets

# Machines differ, so no test is timed. At home examples are drawn anew each time; CI judges a change, not its luck.
hypothesis.settings.register_profile("book", deadline=None, max_examples=50, derandomize="CI" in os.environ)
hypothesis.settings.load_profile("book")
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def digits():
    return datasets.load("digits", "cpu")


@pytest.fixture(scope="session")
def small_run():
    """One method of the smoke profile by name, short enough for a test."""

    def make(method, split="imbalanced-0.6-1", n=5, seed=0, **changes):
        options = settings.PROFILES["smoke"].options
        options = replace(options, **({"local_epochs": 2, "rounds": 6, "period": 3} | changes))
        return settings.Run("smoke", "digits", "mlp", method, split, n, seed, 200, options)

    return make


@pytest.fixture(scope="session")
def begun(digits):
    """The state of a run before its first epoch; also as if it were of another method."""

    def make(run, method=None):
        return begin(settings.parties_of(run, digits), method or run.method, run.options, run.seed, "cpu")

    return make


@pytest.fixture(scope="session")
def rounds_of(begun):
    """All rounds of a run, each with the weights that everybody had after it."""

    def make(run, method=None, state=None, **rules):
        state, given = state or begun(run, method), Rules(**rules) if rules else None
        rounds = play(state, method or run.method, run.options, given)
        return [(done, [vector(party.model.parameters()) for party in done.participants]) for done in rounds]

    return make


@pytest.fixture
def cut_after(monkeypatch):
    """Executes a run that is interrupted after so many epochs, each of them saved."""

    def make(epochs, run, results, device="cpu"):
        def interrupted(*arguments):
            for number, done in enumerate(play(*arguments)):
                yield done
                if number == epochs:
                    raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(execute, "play", interrupted)
            patch.setattr(store, "SAVING_SHARE", 1.0)
            execute.execute(run, "test", results, device, progress=False)

    return make


@pytest.fixture
def mlp_with_batchnorm(monkeypatch):
    """The model of `small_run` normalises its inputs: a network with buffers, for one test."""

    def build(shape, classes, width=32):
        return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, classes))

    monkeypatch.setitem(models.MODELS, "mlp", build)
