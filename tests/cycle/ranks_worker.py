"""One rank of test_ranks.py: ranks_worker.py RESULTS RUNS [PATIENCE]; RUNS: arguments of run_of, as JSON."""

import json
import sys
from pathlib import Path

import torch

from cycle import party, watch
from cycle.options import Options
from reproduction import baselines, execute  # noqa: F401 (baselines registers its methods)
from reproduction.settings import Run

SMALL = {"local_epochs": 1, "rounds": 4, "batch_size": 32, "lr": 0.05, "period": 2, "score_samples": 64}
GRAPH_NUMBERS = 64 * 20  # scores and gradients take 20 images of the digits at a time: four parts, the last one short


def run_of(method: str, n: int = 4, width: int | None = None, variant: str = "", silent=(), **options) -> Run:
    """A short run on digits; with a width on a slim ResNet."""
    model, options = "resnet18" if width else "mlp", Options(**SMALL | options)
    settings = {"variant": variant, "silent": tuple(silent)}
    return Run("smoke", "digits", model, method, "imbalanced-0.5-1", n, 0, 300, options, width, **settings)


def play(results: Path, runs: list[dict]) -> None:
    torch.set_num_threads(1)
    party.GRAPH_NUMBERS = GRAPH_NUMBERS
    for keywords in runs:
        execute.execute(run_of(**keywords), "test", results, "cpu", progress=False)


if __name__ == "__main__":
    place, told, *patience = sys.argv[1:]
    watch.PATIENCE = float(patience[0]) if patience else watch.PATIENCE
    watch.join()
    play(Path(place), json.loads(told))
    watch.leave()
