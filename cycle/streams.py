"""Random streams: a draw depends on (seed, purpose, party, epoch), never on earlier draws."""

from contextlib import contextmanager

import numpy as np
import torch

START, TRAIN, SCORE, SHARE, PRESENT, PART, WEIGH = range(7)  # purposes of a stream


def stream_seed(*key: int) -> int:
    """One seed for each key."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1)


def generator(*key: int) -> np.random.Generator:
    """NumPy's generator of this key."""
    return np.random.default_rng(stream_seed(*key))


@contextmanager
def stream(device: torch.device, *key: int):
    """Inside, torch draws from the stream of this key; outside, its global state is as before."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed = stream_seed(*key)
        torch.default_generator.manual_seed(seed)  # torch.manual_seed visits every kind of device
        if device.type == "cuda":
            with torch.cuda.device(device):  # which need not be the current one
                torch.cuda.manual_seed(seed)
        yield
