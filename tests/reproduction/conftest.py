"""One maker of records for all tests of the evidence."""

import json

import numpy as np
import pytest

from reproduction import catalogue

ALONE = [50.0, 40.0, 41.0, 42.0, 43.0]


@pytest.fixture
def recorded(tmp_path):
    """Writes one record of an experiment below `tmp_path`, whose participants gain as told; returns its path.

    Any field of a record can be given; those that are not have some value that fits the run.
    """

    def write(experiment, gains, method="cycle", variant="", split="imbalanced-0.6-1", seed=0, n=None,
              profile="laptop", alone=None, **fields):  # fmt: skip
        runs = catalogue.runs_of(experiment, profile, (seed,), (method,), (split,))
        n = n or len(gains)
        run = next(run for run in runs if run.variant == variant and run.n == n)
        alone = list(np.resize(ALONE, n) if alone is None else alone)
        accuracy = np.add(alone, gains).tolist()
        epochs, first = run.options.epochs, run.options.local_epochs
        curve = [{"round": epoch - 1 - first, "accuracy": accuracy} for epoch in sorted({*range(5, epochs, 5), epochs})]
        half = np.full((n, n), 0.5)
        record = run.settings() | {
            "experiment": experiment,
            "standalone": alone,
            "accuracy": accuracy,
            "messages": {"sent": 40, "possible": 100},
            "reputation": [{"round": 5 * t, "matrix": m.tolist()} for t, m in enumerate((half, np.eye(n)))],
            "rounds": run.options.rounds,
            "epochs": epochs,
            "sizes": [100] * n,
            "images": run.images or 50_000,
            "curve": curve,
            "seconds": 60.0,
            "options": run.settings()["options"] | {key: run.settings()[key] for key in ("flips", "control", "lies")},
        }
        path = tmp_path / run.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record | fields))
        return path

    return write
