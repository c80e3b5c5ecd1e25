"""The tables of the evidence chapters, from records that are made up here."""

import pandas as pd
import pytest

from reproduction.draw import tables


@pytest.fixture
def write(recorded):
    def make(name, method, gains, variant="", seed=0):
        recorded(name, gains, method, variant, "homogeneous", seed)

    return make


def test_variants_with_the_options_that_set_them_apart(write, tmp_path):
    write("tau", "cycle", [1] * 5)
    write("tau", "cycle", [2] * 5, variant="tau0.5-0.9")
    frame = tables.reports("tau", "laptop", tmp_path, options=("tau_opt", "tau_max"))
    assert frame[["tau_opt", "tau_max", "MCG"]].to_numpy().tolist() == [[0.25, 0.75, 1], [0.5, 0.9, 2]]
    assert tables.reports("tau", "laptop", tmp_path / "none", options=("tau_opt",)).empty


def test_accuracies_stand_above_the_printed_ones(write, tmp_path):
    for seed, gain in enumerate((1.0, 3.0)):
        write("cifar10-cnn", "cycle", [gain] * 5, seed=seed)
    write("cifar10-cnn", "vpdl", [1] * 5)
    frame = tables.participants("cifar10-cnn", "laptop", tmp_path)
    assert frame[["method", "of"]].to_numpy().tolist() == [
        ["vpdl", "ours, 1 seed"],
        ["cycle", "ours, 2 seeds"],
        ["cycle", "paper"],
    ]
    assert frame["P1"].tolist()[:2] == ["51.00", "52.00 ± 1.41"]


def test_without_records_the_command_is_given(tmp_path):
    assert (
        tables.summary("cifar100", "paper", tmp_path).empty and tables.participants("cifar100", "paper", tmp_path).empty
    )
    assert "python -m cycle run cifar100 --profile paper" in tables.provenance_line("cifar100", "paper", tmp_path)


def test_methods_are_compared_over_the_seeds_that_all_have():
    rows = [("a", 0), ("a", 1), ("b", 0)], [("a", 1), ("b", 1)]
    frame = pd.DataFrame([(5, split, *row) for split, part in zip("xy", rows, strict=True) for row in part])
    frame.columns = ["N", "split", "method", "seed"]
    assert [tuple(row) for row in tables.common_seeds(frame).to_numpy()] == [
        (5, "x", "a", 0), (5, "x", "b", 0), (5, "y", "a", 1), (5, "y", "b", 1),
    ]  # fmt: skip
