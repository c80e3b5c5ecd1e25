"""Runs of every method that are killed at random moments: the same call goes on to the same record, bit for bit."""

import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import torch

from cycle import store
from reproduction import execute
from tests.trials import NAMES, numbers, recorded, small

COUNTED = ("kills", "with_checkpoint", "half_written", "recorded", "other_records")
FORK = multiprocessing.get_context("fork")  # a run begins at once, so that the moments are the run's


def started(run, results: Path) -> multiprocessing.Process:
    """The run, in a process of its own."""

    def target():
        torch.set_num_threads(1)
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
            execute.execute(run, "kills", results, "cpu", progress=False)

    process = FORK.Process(target=target)
    process.start()
    return process


def finished(run, results: Path) -> dict:
    """The run's numbers, after it was left alone."""
    process = started(run, results)
    process.join()
    if process.exitcode:
        raise RuntimeError(f"{run.path} ended with {process.exitcode}")
    return numbers(json.loads((results / run.path).read_text()))


def killed(run, results: Path, after: float) -> bool:
    """Whether it was still running after so many seconds; it is not any more."""
    process = started(run, results)
    process.join(after)
    alive = process.exitcode is None
    process.kill()
    process.join()
    return alive


def measure(kills: int = 100, seed: int = 0) -> dict:
    """Kills; those after which a checkpoint, a half-written file or the record lay there; other records that came."""
    rng, found, whole = np.random.default_rng(seed), Counter(), {}
    store.SAVING_SHARE = 1.0  # after every round, so that more is cut while it is written
    with tempfile.TemporaryDirectory() as temporary:
        execute.execute(small("standalone"), "kills", Path(temporary), "cpu", progress=False)  # imports what runs need
        for name in NAMES:
            began = time.perf_counter()
            whole[name] = finished(small(name), Path(temporary) / name), time.perf_counter() - began
        while found["kills"] < kills:
            name = NAMES[found["kills"] % len(NAMES)]
            run, (expected, seconds) = small(name), whole[name]
            results = Path(temporary) / f"{name}-{found['kills']}"
            if not killed(run, results, rng.uniform(0, seconds)):
                continue
            left = [path.name for path in results.rglob("*") if path.is_file()]
            found["kills"] += 1
            found["with_checkpoint"] += any(part.endswith(".pt") for part in left)
            found["half_written"] += any(part.endswith(".partial") for part in left)
            found["recorded"] += any(part.endswith(".json") for part in left)
            if finished(run, results) != expected:
                found["other_records"] += 1
                print(f"{run.path}: another record after a kill", file=sys.stderr)
    return {"seed": seed, "methods": len(NAMES)} | {name: found[name] for name in COUNTED}


if __name__ == "__main__":
    recorded("kills", measure)
