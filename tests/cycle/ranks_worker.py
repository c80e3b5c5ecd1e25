"""One rank of test_ranks.py: ranks_worker.py RESULTS RUNS [PATIENCE]; RUNS: arguments of run_of, as JSON."""

import json
import sys
from pathlib import Path

import torch

from cycle import gossip_training, participants, ranks
from cycle.options import Options
from reproduction import records
from reproduction.settings import Run

SMALL = {"local_epochs": 1, "rounds": 4, "batch_size": 32, "lr": 0.05, "period": 2, "score_samples": 64}
GRAPH_PIXELS = 64 * 20  # scores and gradients take 20 images of the digits at a time: four parts, the last one short


def run_of(method: str, n: int = 4, width: int | None = None, variant: str = "", **options) -> Run:
    """A short run on digits; with a width on a slim ResNet."""
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    model, options = "resnet18" if width else "mlp", Options(**SMALL | options)
    return Run("smoke", "digits", model, method, "imbalanced-0.5-1", n, 0, 300, options, width, variant=variant)


def main(results, runs, patience=30.0):
    torch.set_num_threads(1)
    ranks.PATIENCE = float(patience)
    participants.GRAPH_PIXELS = gossip_training.GRAPH_PIXELS = GRAPH_PIXELS  # `correspondence` reads the first
    ranks.join()
    for keywords in json.loads(runs):
        records.execute(run_of(**keywords), "test", Path(results), "cpu", progress=False)
    ranks.leave()


if __name__ == "__main__":
    main(*sys.argv[1:])
