"""What recorded benchmarks share: a clock that neighbours do not disturb, and a record that says where it is from."""

import gc
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import torch
from tqdm.auto import tqdm

from cycle import files
from cycle.play import device_of
from reproduction.provenance import provenance


def clock() -> float:
    """On a CPU the time this process used, so that neighbours do not count; on a GPU the time that passed."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def seconds(function: Callable) -> float:
    began = clock()
    function()
    return clock() - began


def fastest(function: Callable, times: int) -> float:
    """Seconds of the fastest of so many calls."""
    gc.collect()
    return min(seconds(function) for _ in range(times))


def in_turn(repeats: int = 5, **functions: Callable) -> SimpleNamespace:
    """Seconds of each, in turn so that a slow moment of the machine meets all of them; once more to warm up."""
    times = [
        {name: seconds(function) for name, function in functions.items()}
        for _ in steps(range(1 + repeats), "each in turn")
    ]
    return SimpleNamespace(**{name: min(one[name] for one in times[1:]) for name in functions})


def peak_megabytes() -> float:
    """What this process has taken at most so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


def steps(of, what: str):
    """The same things one by one, with a bar where somebody watches."""
    return tqdm(list(of), desc=what, leave=False, disable=None)


def write(path: Path, command: str, measure) -> None:
    """What a benchmark measures, into its record, with where it came from and how busy the machine was before."""
    torch.set_num_threads(1)  # as it measures: so the record says it
    content = {"load": os.getloadavg(), "provenance": provenance(command, device_of("auto"))}
    content["measured"] = measure()
    files.write_atomically(path, lambda file: file.write(json.dumps(content, indent=1).encode()))
