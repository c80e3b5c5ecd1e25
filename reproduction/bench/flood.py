"""What noise on answers costs: CYCle on digits in clear, each number of z / T with normal noise of 2^bits.

`python -m reproduction.bench.flood` records it. Encrypted answers carry 2^-14 (cycle.fhe.params.FLOOD).
"""

from dataclasses import replace

import numpy as np
import torch

import cycle
from cycle import answers
from reproduction import catalogue, records, settings
from reproduction.bench import recording
from reproduction.data import datasets

RECORD = records.RESULTS / "bench" / "flood.json"
BITS = (-14, -10, -6, -4, -2, 0, 2)
SEEDS = (0, 1, 2)


class Noisy:
    """Answers as they are, with noise on top: new in every round, the same whenever one is heard again."""

    def __init__(self, state, options, deviation: float):
        self.inner = answers.Here(state)
        self.state, self.deviation, self.bytes = state, options.temperature * deviation, self.inner.bytes

    def open(self, t, epoch, shares, scoring):
        self.round = t
        return self.inner.open(t, epoch, shares, scoring)

    def hear(self, k, n, purpose):
        said, party = self.inner.hear(k, n, purpose), self.state.everyone[n]
        rng = np.random.default_rng([self.state.seed, self.round, k, n])
        noise = torch.from_numpy(rng.normal(0, self.deviation, (party.size, self.state.classes))).float()
        return lambda inputs, rows: said(inputs, rows) + noise[rows.cpu()].to(inputs.device)


def trained(run: settings.Run, dataset, deviation: float) -> float:
    """Mean accuracy of the participants, percent."""
    noisy = {"channel": lambda state, options: Noisy(state, options, deviation)}
    how = {"seed": run.seed, "device": "cpu", "progress": False}
    result = cycle.run(settings.parties_of(run, dataset), run.method, run.options, **how, **noisy)
    return float(np.mean(result.accuracy))


def measure() -> dict[str, float]:
    """Accuracies by `bits|seed`; `none` is without noise."""
    dataset = datasets.load("digits", "cpu")
    run = next(run for run in catalogue.runs_of("encrypted", "laptop") if run.method == "cycle" and not run.variant)
    deviations = {"none": 0.0} | {str(bits): 2.0**bits for bits in BITS}
    return {
        f"{name}|{seed}": trained(replace(run, seed=seed), dataset, deviation)
        for name, deviation in deviations.items()
        for seed in SEEDS
    }


if __name__ == "__main__":
    recording.write(RECORD, "python -m reproduction.bench.flood", measure)
