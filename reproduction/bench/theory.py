"""What exact usefulness costs, next to the simulation it replaces."""

import numpy as np

from cycle import theory
from reproduction.bench.recording import fastest

GRID = np.linspace(0.05, 20, 200)[:, None], np.linspace(0, 10, 200)[None, :]
RUNS = 10_000  # of the paper's simulation, which leaves a standard error of up to 0.005


def measure():
    """grid_seconds: 200 x 200 exact values; exact_vs_simulation: how many times faster a point is than RUNS runs."""
    theory.usefulness_cycle(*GRID)
    exact = fastest(lambda: theory.usefulness_cycle(*GRID), 5)
    points = [(gamma, gamma_g) for gamma in GRID[0][::14, 0] for gamma_g in GRID[1][0, ::14]]
    simulated = fastest(lambda: _simulate_all(points), 5)
    return {
        "exact_vs_simulation": (simulated / len(points)) / (exact / (GRID[0].size * GRID[1].size)),
        "grid_seconds": exact,
    }


def _simulate_all(points):
    """The leanest simulation: CYCle alone, one test per run, no checks (theory.simulate does more)."""
    rng = np.random.default_rng(0)
    for gamma, gamma_g in points:
        own = gamma * rng.standard_normal(RUNS)
        x = (gamma_g - own / 2) + gamma / 2 * rng.standard_normal(RUNS)
        np.count_nonzero(abs(own + np.clip(2 - x * x, 0, 1) * x) <= abs(own))
