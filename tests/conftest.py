import os
from dataclasses import replace

import hypothesis
import pytest
import torch
from torch import nn

import reproduction.vision  # noqa: F401 (before any test imports torchvision)
from reproduction import models, settings
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


@pytest.fixture
def mlp_with_batchnorm(monkeypatch):
    """The model of `small_run` normalises its inputs: a network with buffers, for one test."""

    def build(shape, classes, width=32):
        return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, classes))

    monkeypatch.setitem(models.MODELS, "mlp", build)
