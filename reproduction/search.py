"""Settings to choose the best from: drawn at random, once, and named before any of them was run."""

import random

DRAWN, SEED = 24, 0
CHOICES = {
    "lr": (0.01, 0.03, 0.05, 0.1),
    "augment": (False, True),
    "rounds": (30, 60),
    "common_start": (False, True),
    "decay_from": ("start", "rounds"),
}
GUARDS = ({}, {"clip_norm": 1.0}, {"clip_norm": 5.0}, {"warmup": 5})


def drawn(count: int = DRAWN, seed: int = SEED) -> dict[str, dict]:
    """Name: options. A Latin hypercube: every value of an option comes equally often, in random company.

    The rate has three plateaus in the rounds, however many these are, as in the paper's schedule.
    """
    rng = random.Random(seed)

    def dealt(values):
        return rng.sample([values[number * len(values) // count] for number in range(count)], count)

    def between(low, high):
        """Evenly in the logarithm, to two digits."""
        return [float(f"{low * (high / low) ** (number / (count - 1)):.2g}") for number in range(count)]

    columns = {"lambda_0": dealt(between(2, 200)), "temperature": dealt(between(2, 20))}
    columns |= {name: dealt(values) for name, values in CHOICES.items()}
    guards = dealt(GUARDS)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return {
        f"setting{number:02d}": options | {"lr_every": options["rounds"] // 3} | guard
        for number, (options, guard) in enumerate(zip(rows, guards, strict=True), 1)
    }


def followed() -> dict[str, dict]:
    """One more, named after the 24: the best of them, whose curve is flat from round 30 on, with everybody's own start.

    With it models may differ, and nobody has to be sent weights.
    """
    return {"setting25": drawn()["setting24"] | {"rounds": 30, "common_start": False}}
