"""The figures of the evidence chapters, from records that are made up here."""

import json

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from reproduction import catalogue
from reproduction.draw import diagrams, figures, tables
from reproduction.judge.compare import spread_text

ALONE = [50.0, 40.0, 41.0, 42.0, 43.0]
SIZES = [6000, 1000, 1000, 1000, 1000]


@pytest.fixture
def write(recorded):
    """A record with scores that were drawn at random, as the momentum hands them on; returned as read."""

    def make(name, method, gains, split="homogeneous", variant="", seed=0):
        scores = np.random.default_rng(seed).uniform(size=(3, 5, 5))
        matrices = [scores[0], (scores[0] + scores[1]) / 2, (scores[0] + scores[1]) / 4 + scores[2] / 2]  # r, alpha 0.5
        scored = [{"round": 5 * t, "matrix": matrix.tolist()} for t, matrix in enumerate(matrices)]
        path = recorded(name, gains, method, variant, split, seed, sizes=SIZES, reputation=scored)
        return json.loads(path.read_text())

    return make


@pytest.fixture(autouse=True)
def no_windows():
    yield
    plt.close("all")


def test_gains_are_means_over_seeds(write, tmp_path):
    for seed, gain in enumerate((1.0, 3.0)):
        write("cifar10-cnn", "cycle", [gain, 0, 0, 0, 0], seed=seed)
    write("cifar10-cnn", "vpdl", [1, 1, 1, 1, 1])
    frame = figures.gains("cifar10-cnn", "laptop", results=tmp_path).set_index("method")
    assert frame.loc["cycle", ["seeds", "P1", "P2"]].tolist() == [2, 2.0, 0.0] and frame.loc["vpdl", "P5"] == 1
    assert len(figures.gains("cifar10-cnn", "laptop", ("vpdl",), tmp_path)) == 1
    spread = figures.gains("cifar10-cnn", "laptop", ("cycle",), tmp_path, combine=spread_text)
    assert spread["P1"].item() == "2.00 ± 1.41" and spread["P2"].item() == "0.00 ± 0.00"
    panel = figures.gain_panels(frame.reset_index()).axes[0]
    assert sorted(bar.get_height() for bar in panel.patches) == [0] * 4 + [1] * 5 + [2]


def test_accuracy_alone_stands_beside_the_printed_one(write, tmp_path):
    """A run of two experiments counts once, other methods, seeds and Dirichlet splits not at all."""
    for split in ("imbalanced-0.6-1", "dirichlet-0.5"):
        write("cifar10-cnn", "standalone", [0] * 5, split)
    write("cifar10-cnn", "vpdl", [9] * 5, "imbalanced-0.6-1")
    write("cifar10-cnn", "standalone", [9] * 5, "imbalanced-0.6-1", seed=1)
    write("augmentation", "standalone", [1] * 5, "imbalanced-0.6-1", "augmented")
    frame = figures.alone_by_size(("cifar10-cnn", "augmentation"), "laptop", results=tmp_path)
    assert frame["images"].tolist() == 2 * SIZES and set(frame["split"]) == {"imbalanced-0.6-1"}
    assert frame["accuracy"].tolist() == ALONE + [value + 1 for value in ALONE]
    assert frame["variant"].tolist() == 5 * [""] + 5 * ["augmented"]
    assert frame["printed"].tolist()[0] == frame["printed"].tolist()[5] == 74.23  # of P1, CNN half


def test_the_average_row_is_the_mean_over_scorers_and_calibrations(write, tmp_path):
    record = write("cifar10-cnn", "cycle", [1] * 5)
    scores = np.random.default_rng(0).uniform(size=(3, 5, 5))  # as in `write`
    shown = figures.reputation_matrix(record, 1)
    assert shown.shape == (6, 5)
    for scored in range(5):
        others = [n for n in range(5) if n != scored]
        assert shown[-1, scored] == pytest.approx(scores[:, others, scored].mean())
        assert shown[others, scored] == pytest.approx(scores[1, others, scored])
    assert figures.first_middle_last(record) == [0, 1, 2]
    titles = [ax.get_title() for ax in figures.reputation_heatmaps(record, [0, 2]).axes]
    assert titles == ["round 0", "round 10"]


def test_the_trade_off_counts_a_run_of_two_experiments_once(write, recorded, tmp_path):
    write("cifar10-cnn", "cycle", [1, 2, 3, 4, 5])
    write("imbalance", "cycle", [2, 2, 2, 2, 2], split="imbalanced-0.4-1")
    points = figures.tradeoff_points(("cifar10-cnn", "imbalance", "participants"), "laptop", tmp_path)
    assert points["MCG"].tolist() == [3, 2] and points["CGS"].tolist() == pytest.approx([np.std([1, 2, 3, 4, 5]), 0])
    figures.tradeoff(plt.subplots()[1], points)
    recorded("participants", [10, 10], split="homogeneous")  # two participants
    with pytest.raises(ValueError, match="one number of participants"):
        figures.tradeoff_points(("cifar10-cnn", "participants"), "laptop", tmp_path)


def test_variants_with_the_options_that_set_them_apart(write, tmp_path):
    write("tau", "cycle", [1] * 5)
    write("tau", "cycle", [2] * 5, variant="tau0.5-0.9")
    frame = figures.by_option("tau", "laptop", "cycle", "tau_opt", "tau_max", results=tmp_path)
    assert frame[["tau_opt", "tau_max", "MCG"]].to_numpy().tolist() == [[0.25, 0.75, 1], [0.5, 0.9, 2]]
    assert figures.by_option("tau", "laptop", "cycle", "tau_opt", results=tmp_path / "none").empty


def test_a_radar_is_closed():
    ax = plt.subplot(projection="polar")
    figures.radar(ax, {"cycle": np.arange(20.0), "gossip": np.ones(20)})
    angles, values = ax.lines[0].get_data()
    assert len(values) == 21 and values[0] == values[-1] and angles[0] == angles[-1]


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


def test_coverage_counts_runs_and_seeds(write, tmp_path):
    for seed in (0, 1):
        write("refusal", "cycle", [1] * 5, seed=seed)
    frame = tables.coverage(tmp_path).set_index("experiment")
    assert frame.loc["refusal", "laptop"] == "2 of 24, 2 seed(s)" and frame.loc["beta", "laptop"] == "not run"
    assert set(frame.index) == set(catalogue.EXPERIMENTS)


def test_without_records_the_command_is_given():
    shown = figures.recorded(tables.pd.DataFrame(), "cifar100", "paper").data
    assert "python -m cycle run cifar100 --profile paper" in shown and "<table" not in shown


@pytest.mark.parametrize("draw, words", [
    (diagrams.protocol, "answers with"), (diagrams.encrypted_answer, "decrypt"), (diagrams.gossip_round, "gossip step"),
])  # fmt: skip
def test_arrows_of_a_diagram_join_its_boxes(draw, words):
    figure = draw()
    figure.canvas.draw()
    ax = figure.axes[0]
    boxes = [text for text in ax.texts if text.get_bbox_patch() and text.get_bbox_patch().get_linewidth() == 0.8]
    arrows = [text for text in ax.texts if getattr(text, "arrow_patch", None)]
    centres = {box.get_position() for box in boxes}
    assert any(words in text.get_text() for text in ax.texts)
    assert arrows and all(arrow.xy in centres and arrow.xyann in centres for arrow in arrows)
    places = [box.get_window_extent() for box in boxes]
    assert not any(a.overlaps(b) for i, a in enumerate(places) for b in places[:i]), "two boxes overlap"


def test_methods_are_compared_over_the_seeds_that_all_have():
    rows = [("a", 0), ("a", 1), ("b", 0)], [("a", 1), ("b", 1)]
    frame = pd.DataFrame([(5, split, *row) for split, part in zip("xy", rows, strict=True) for row in part])
    frame.columns = ["N", "split", "method", "seed"]
    assert [tuple(row) for row in tables.common_seeds(frame).to_numpy()] == [
        (5, "x", "a", 0), (5, "x", "b", 0), (5, "y", "a", 1), (5, "y", "b", 1),
    ]  # fmt: skip
