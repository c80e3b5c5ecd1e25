"""`list`: counts by the files that are there, in 100 columns; `list NAME`: everything about one."""

import json

import pytest

from reproduction import catalogue, overview


def recorded(folder, runs):
    for run in runs:
        path = folder / run.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"seconds": 1800.0}))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two seeds of a small experiment, and one run of a large one."""
    folder = tmp_path_factory.mktemp("results")
    recorded(folder, catalogue.runs_of("learning-rate", "laptop", (0, 1)))
    recorded(folder, catalogue.runs_of("cifar10-cnn", "paper", (2,), ("fedavg",), ("homogeneous",)))
    return folder


def line(text, name):
    return next(one for one in text.splitlines() if one.startswith(name + " "))


def test_every_experiment_has_a_line_of_at_most_100_columns(results):
    text = overview.everything(results)
    assert max(map(len, text.splitlines())) <= 100
    assert all(line(text, name) for name in catalogue.EXPERIMENTS)


def test_seeds_are_counted_when_whole_and_runs_when_not(results):
    text = overview.everything(results)
    assert line(text, "learning-rate").split()[-3:] == ["2", "seeds", "-"]
    assert line(text, "cifar10-cnn").split()[-6:] == ["2", "of", "70", "1", "of", "35"]  # two are learning-rate's too
    assert line(text, "fed-isic").split()[-2:] == ["-", "-"]


def test_one_experiment_names_all_that_can_be_asked(results):
    text = overview.one("learning-rate", results)
    assert max(map(len, text.splitlines())) <= 100
    said = " ".join(text.split())
    assert "digits in the place of cifar10, mlp in the place of cnn, 400 images" in said
    assert "seed 0: 2 recorded, 1.0 h; seed 1: 2 recorded, 1.0 h" in said
    assert "2 runs a seed; about 3 h a seed on one A100 (estimated from the paper, not run)" in said  # 2 x 1.35
    for word in ("unchanged, lr0.1", "standalone", "imbalanced-0.6-1"):
        assert word in said
    assert "performance-study" in overview.one("cifar10-cnn", results)


@pytest.mark.parametrize("name", catalogue.EXPERIMENTS)
def test_what_stands_in_is_said(name):
    on_cifar = catalogue.EXPERIMENTS[name].dataset.startswith("cifar")
    assert ("digits in the place of cifar" in overview.stand_in(name, "smoke")) == on_cifar
    assert "in the place of" not in overview.stand_in(name, "paper")
