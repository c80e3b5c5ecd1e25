"""A table that fills while it runs; and the recipes of CONTRIBUTING.md for what recorded runs are made of, tried."""

import numpy as np
import pytest

from cycle import methods, partition, store
from cycle.rules import Rules
from cycle.state import alone
from reproduction import catalogue, controls, execute, recipes
from reproduction.data import datasets
from reproduction.experiments import read

CHOSEN = {"methods": ("standalone", "cycle"), "splits": ("imbalanced-0.6-1",)}


def fill(results, **more):
    return recipes.fill("cifar10-cnn", "smoke", results=results, **CHOSEN, **more)


@pytest.fixture
def interrupted(monkeypatch):
    """A session that ends after round 6 of CYCle, which is saved by then."""
    play = execute.play

    def until_the_line_drops(state, method, *arguments):
        for done in play(state, method, *arguments):
            yield done
            if method == "cycle" and done.index == 6:
                raise KeyboardInterrupt

    monkeypatch.setattr(execute, "play", until_the_line_drops)
    monkeypatch.setattr(store, "SAVING_SHARE", 1.0)
    return monkeypatch


def test_it_goes_on_after_a_disconnect(tmp_path, interrupted):
    """The table after an interruption and a second start is the table of one session, and nothing ran twice."""
    shown = []

    def show(table, done, needed):
        shown.append((len(table), done, needed))

    interrupted.setattr(recipes, "show", show)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "drive")
    assert shown == [(0, 0, 2), (1, 1, 2)]  # nothing, then standalone
    interrupted.undo()
    interrupted.setattr(recipes, "show", show)
    epochs, play = [], execute.play

    def counted(state, method, *arguments):
        for done in play(state, method, *arguments):
            epochs.append((method, done.index))
            yield done

    interrupted.setattr(execute, "play", counted)
    resumed = fill(tmp_path / "drive")
    assert shown[-1] == (2, 2, 2)
    assert {method for method, _ in epochs} == {"cycle"} and epochs[0][1] == 7
    assert resumed.equals(fill(tmp_path / "whole"))


def test_in_a_notebook_the_table_stands_in_one_place(tmp_path, capsys):
    table = fill(tmp_path, device="cpu")
    printed = capsys.readouterr().out
    assert list(table["method"]) == ["standalone", "cycle"]
    assert "HTML" in printed  # what IPython prints for a display without a front end


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(ValueError, match="splits must be among"):
        recipes.fill("cifar10-cnn", "smoke", results=tmp_path, splits=("sideways",))
    with pytest.raises(ValueError, match="got sideways$"):  # one name without brackets is one name
        recipes.fill("cifar10-cnn", "smoke", results=tmp_path, methods="sideways")


MINE = """
[mine]
title = "A question of mine"
splits = ["mine-0.5"]
methods = ["mine", "cycle"]
model = "mlp"
dataset = "mine"
[mine.variants]
unchanged = {}
mine = { control = "mine", methods = ["cycle"], rounds = 2 }
"""


def trusting(run, parties, results):
    return Rules(score=lambda own_gradient, peer_gradient: 1.0)


def halves(labels, n, share, seed):
    """Half of the samples (`share`) for the first, the others in equal parts."""
    first = round(share * len(labels))
    return [np.arange(first), *np.array_split(np.arange(first, len(labels)), n - 1)]


def nobody(state, options, rules):
    yield from alone(state, options, options.epochs)


def test_a_control_a_method_a_split_and_a_data_set_are_a_function_and_a_name_each(tmp_path, monkeypatch):
    monkeypatch.setattr(controls, "mine", trusting, raising=False)
    monkeypatch.setitem(methods.METHODS, "mine", methods.Method(nobody))
    monkeypatch.setitem(partition.SPLITS, "mine", halves)
    for table in (datasets.DATASETS, datasets.SCALES):
        monkeypatch.setitem(table, "mine", table["digits"])
    (tmp_path / "mine.toml").write_text(MINE)
    monkeypatch.setitem(catalogue.EXPERIMENTS, "mine", read(tmp_path / "mine.toml")["mine"])
    runs = {run.label: run for run in catalogue.runs_of("mine")}
    assert list(runs) == ["mine", "cycle", "cycle mine"]
    record = execute.execute(runs["cycle mine"], "mine", tmp_path, "cpu", progress=False)
    assert record["options"]["control"] == "trusting" and record["rounds"] == 2
    assert record["dataset"] == "mine" and record["sizes"][0] == pytest.approx(sum(record["sizes"]) / 2, abs=1)
    assert np.array_equal(record["reputation"][0]["matrix"], 1 - np.eye(5))
    assert execute.execute(runs["mine"], "mine", tmp_path, "cpu", progress=False)["messages"]["sent"] == 0


def test_a_name_in_an_experiment_that_nothing_has_is_an_error(tmp_path):
    (tmp_path / "mine.toml").write_text(MINE)
    with pytest.raises(AttributeError, match="controls' has no attribute 'mine'"):
        read(tmp_path / "mine.toml")
