from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from cycle import partition
from cycle.options import Options
from reproduction import catalogue, execute, search, settings


def test_settings_are_drawn_once_and_evenly():
    settings_ = search.drawn()
    assert settings_ == search.drawn() and len(settings_) == search.DRAWN <= 30
    assert settings_ != search.drawn(seed=search.SEED + 1)
    for name, values in search.CHOICES.items():
        share = search.DRAWN // len(values)
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
    used = [partition.stratified_subset(digits.train_labels, runs[0].images, seed) for seed in settings.LEARNED_FROM]
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
        alone, wanted = run.alone(), (search.drawn() | search.followed())[run.variant]
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
