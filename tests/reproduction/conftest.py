"""One maker of records, and one that alters a printed value, for all tests of the evidence."""

import json

import numpy as np
import pytest

from cycle.options import Options
from reproduction import catalogue, paper
from reproduction.judge.trials import Trial
from reproduction.settings import Run

ALONE = [50.0, 40.0, 41.0, 42.0, 43.0]
FIVE = [40.0, 50.0, 60.0, 45.0, 55.0]  # mean 50, spread 7.07


@pytest.fixture(scope="session")
def record_of():
    """The record of a run that ends with these accuracies; any field can be given, the others fit the run."""

    def make(run, accuracy, /, alone=None, experiment="", **fields):
        alone = [float(b) for b in (np.resize(ALONE, run.n) if alone is None else alone)]
        accuracy, half = [float(a) for a in accuracy], np.full((run.n, run.n), 0.5)
        epochs, first = run.options.epochs, run.options.local_epochs
        tested = sorted({*range(5, epochs, 5), epochs})
        settings = run.settings()
        return settings | {
            "experiment": experiment,
            "standalone": alone,
            "accuracy": accuracy,
            "messages": {"sent": 40, "possible": 100},
            "reputation": [{"round": 5 * t, "matrix": m.tolist()} for t, m in enumerate((half, np.eye(run.n)))],
            "rounds": run.options.rounds,
            "epochs": epochs,
            "sizes": [100] * run.n,
            "images": run.images or 50_000,
            "curve": [{"round": epoch - 1 - first, "accuracy": accuracy} for epoch in tested],
            "seconds": 60.0,
            "options": settings["options"] | {name: settings[name] for name in ("flips", "control", "lies")},
        } | fields  # fmt: skip

    return make


@pytest.fixture
def recorded(tmp_path, record_of):
    """Writes one record of an experiment below `tmp_path`, whose participants gain as told; returns its path."""

    def write(experiment, gains, method="cycle", variant="", split="imbalanced-0.6-1", seed=0, profile="laptop",
              alone=None, **fields):  # fmt: skip
        runs = catalogue.runs_of(experiment, profile, (seed,), (method,), (split,))
        run = next(run for run in runs if run.variant == variant and run.n == len(gains))
        alone = np.resize(ALONE, run.n) if alone is None else alone
        record = record_of(run, np.add(alone, gains), alone, experiment, **fields)
        path = tmp_path / run.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record))
        return path

    return write


@pytest.fixture(scope="session")
def trial(record_of):
    """A trial of gossip that ends with these accuracies, tested after and before mixing."""

    def make(
        method,
        accuracy,
        before=None,
        seed=0,
        split="dirichlet-0.5",
        n=5,
        width=None,
        curve=(),
        alone=None,
        reputation=(),
        **options,
    ):
        options = Options(rounds=30, **{"local_epochs": 0, "topology": "complete", "beta": 15.0} | options)
        run = Run("laptop", "cifar10", "cnn", method, split, n, seed, 10_000, options, width)
        points = {"after": accuracy, "before": before or accuracy}
        curve = [*curve, {"round": 29, "accuracy": accuracy, "points": points}]
        sent = {"sent": 600 if method == "gossip" else 300, "possible": 600}
        return Trial(
            run, record_of(run, accuracy, alone or FIVE, curve=curve, messages=sent, reputation=list(reputation))
        )

    return make


@pytest.fixture(scope="session")
def altered():
    def change(value, frame=None, **where):
        """The printed values with one cell, named by its columns, replaced; `value` may also be a dict of columns."""
        frame = (paper.tables() if frame is None else frame).copy()
        chosen = np.logical_and.reduce([frame[column] == wanted for column, wanted in where.items()])
        assert chosen.sum() == 1, f"{chosen.sum()} cells fit {where}"
        for column, new in (value if isinstance(value, dict) else {"value": value}).items():
            frame.loc[chosen, column] = new
        return frame

    return change
