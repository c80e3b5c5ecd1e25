import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cycle.options import Options
from reproduction import catalogue, execute, settings, subsets
from reproduction.experiments.questions import SETTINGS

DRAWN = 24
CHOICES = {
    "lr": (0.01, 0.03, 0.05, 0.1),
    "augment": (False, True),
    "rounds": (30, 60),
    "common_start": (False, True),
    "decay_from": ("start", "rounds"),
}
GUARDS = ({}, {"clip_norm": 1.0}, {"clip_norm": 5.0}, {"warmup": 5})


def drawn(count: int = DRAWN, seed: int = 0) -> dict[str, dict]:
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


def test_the_settings_are_those_that_were_drawn_and_the_one_that_followed():
    followed = drawn()["setting24"] | {"rounds": 30, "common_start": False}
    assert SETTINGS == drawn() | {"setting25": followed}


def test_settings_are_drawn_once_and_evenly():
    settings_ = drawn()
    assert settings_ == drawn() and len(settings_) == DRAWN <= 30
    assert settings_ != drawn(seed=1)
    for name, values in CHOICES.items():
        share = DRAWN // len(values)
        assert Counter(one[name] for one in settings_.values()) == dict.fromkeys(values, share)
    for name, low, high in (("lambda_0", 2, 200), ("temperature", 2, 20)):
        values = [one[name] for one in settings_.values()]
        assert (min(values), max(values)) == (low, high)
        assert np.median(values) == pytest.approx((low * high) ** 0.5, rel=0.05)


def test_what_decides_is_never_the_test_set(digits):
    runs = list(catalogue.runs_of("search", "smoke"))
    assert {run.judged_on for run in runs} == {run.alone().judged_on for run in runs} == {"held-out"}
    judged = settings.judged(runs[0], digits)
    left = {image.tobytes() for image in judged.test_images.numpy()}
    used = [subsets.stratified(digits.train_labels, runs[0].images, seed) for seed in settings.LEARNED_FROM]
    learned = {digits.train_images[int(row)].numpy().tobytes() for rows in used for row in rows}
    tested = {image.tobytes() for image in digits.test_images.numpy()}
    assert left and not left & learned and not left & tested
    assert settings.judged(replace(runs[0], judged_on="test"), digits) is digits


def test_nothing_is_held_out_where_everything_is_learned_from(digits):
    run = next(catalogue.runs_of("search", "smoke"))
    with pytest.raises(ValueError, match="judged_on must be 'test'"):
        settings.judged(replace(run, images=None), digits)


def test_alone_differs_in_training_as_its_setting_does_and_in_nothing_else():
    for run in catalogue.runs_of("search", "laptop", methods=["cycle"]):
        alone, wanted = run.alone(), SETTINGS[run.variant]
        assert alone.path.endswith(f"standalone+{run.variant}.seed0.json")
        assert alone.options.epochs == run.options.epochs == 10 + wanted["rounds"]
        assert [alone.options.decay(epoch) for epoch in range(40)] == [run.options.decay(epoch) for epoch in range(40)]
        assert (alone.options.lambda_0, alone.options.temperature) == (50, 5)
        assert next(catalogue.runs_of("search", "laptop", methods=["standalone"], variants=[run.variant])) == alone


def test_local_epochs_tested_on_other_images_are_not_shared():
    """Their curve belongs to the images that they were tested on."""
    run = next(catalogue.runs_of("search", "laptop"))
    assert execute.warmup_key(run, {}) != execute.warmup_key(replace(run, judged_on="test"), {})


def test_what_is_recommended_is_what_the_search_chose():
    """But for the augmentation, which belongs to pictures."""
    run = next(catalogue.runs_of("recommended", "laptop", methods=["cycle"], variants=["recommended"]))
    assert Options.recommended(augment=True) == run.options
