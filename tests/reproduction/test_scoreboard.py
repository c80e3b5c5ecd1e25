"""The scoreboard against records whose agreement with the printed table is known by construction."""

import json

import numpy as np
import pytest

from cycle import metrics
from reproduction import catalogue, paper
from reproduction.judge import scoreboard

SPLIT = "imbalanced-0.6-1"
NAMES = {"standalone": "SA", "cffl": "CFFL", "cycle": "CYCle"}


def as_printed(method):
    frame = paper.participants()
    frame = frame[(frame["table"] == "performance-study-table-c10-right") & (frame["split"] == SPLIT)]
    return frame.set_index("method").loc[NAMES[method], [f"P{n}" for n in range(1, 6)]].to_numpy(float).copy()


def write(results, method, accuracy, seed=0, profile="paper"):
    run = next(catalogue.runs_of("cifar10-cnn", profile, (seed,), (method,), (SPLIT,)))
    path = results / run.path
    path.parent.mkdir(parents=True, exist_ok=True)
    alone = as_printed("standalone").tolist()
    curve = [{"round": epoch - 1 - run.options.local_epochs, "accuracy": list(accuracy)} for epoch in range(5, 101, 5)]
    whole = {"images": 50_000, "epochs": 100, "curve": curve}
    path.write_text(json.dumps({"accuracy": list(accuracy), "standalone": alone, "options": {}} | whole))


@pytest.fixture
def faithful(tmp_path):
    """Two seeds of three methods, a tenth of a point above and below what is printed."""
    for method in NAMES:
        for seed, off in enumerate((0.1, -0.1)):
            write(tmp_path, method, as_printed(method) + off, seed)
    return tmp_path


def of(frame, table="performance-study-table-c10-right", **where):
    chosen = frame[(frame["table"] == table) & frame["seeds"].gt(0)]
    for key, wanted in where.items():
        chosen = chosen[chosen[key] == wanted]
    return chosen


def test_what_is_printed_agrees_with_itself(faithful):
    frame = of(scoreboard.cells("paper", faithful))
    assert len(frame) == 3 * 5 + 3 + 2 * 2  # participants, MVA, and MCG and CGS of two methods
    for agreement in ("sign", "order"):
        assert frame[agreement].dropna().all()
    assert frame.loc[frame["measure"].str.startswith("P"), "size"].all()
    assert frame["order"].notna().sum() == 8  # the other method only: five participants and three summaries
    assert np.allclose(frame["printed"], frame["measured"], atol=0.02)
    judged = frame[frame["order"].notna()]  # CYCle stands beside the other method, in print and measured
    assert judged["CYCle printed"].tolist()[:5] == as_printed("cycle").tolist()
    assert np.allclose(judged["CYCle printed"], judged["CYCle measured"], atol=0.02)


def test_a_loser_changes_a_sign_and_a_faraway_value_its_size(faithful):
    before = scoreboard.cells("paper", faithful)
    accuracy = as_printed("cycle")
    accuracy[0] = as_printed("standalone")[0] - 1
    for seed, off in enumerate((0.1, -0.1)):
        write(faithful, "cycle", accuracy + off, seed)
    after = scoreboard.cells("paper", faithful)
    first = of(after, method="CYCle", measure="P1")
    assert not first["sign"].item() and not first["size"].item()
    changed = of(before)["sign"].ne(of(after)["sign"]) & of(before)["sign"].notna()
    assert changed.sum() == 1


def test_one_seed_has_no_spread(tmp_path):
    write(tmp_path, "cycle", as_printed("cycle"))
    frame = of(scoreboard.cells("paper", tmp_path))
    assert frame["size"].isna().all() and frame["order"].isna().all()


def test_of_two_experiments_for_one_printed_value_the_first_counts(tmp_path):
    """The row DSGD at N = 5: the CNN of `participants-gossip` comes before the slim ResNet of `gossip-buffers`."""
    measured = []
    for name, accuracy in (("gossip-buffers", 60.0), ("participants-gossip", 50.0)):
        runs = catalogue.runs_of(name, "laptop", (0,), ("gossip",), ("dirichlet-0.5",))
        path = tmp_path / next(run for run in runs if run.n == 5).path
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"accuracy": 5 * [accuracy], "standalone": 5 * [40.0], "options": {}}))
        frame = of(scoreboard.cells("laptop", tmp_path), "noofparticipantsv3-part1", method="DSGD", measure="MVA")
        measured.append((frame["measured"].item(), frame["network"].item()))
    assert measured == [(60, "slim resnet18"), (50, "cnn")]


def test_seeds_of_two_networks_are_not_mixed(tmp_path):
    """As above; the slim ResNet has a seed more, which does not enter the mean of the CNN's two."""
    for name, accuracy, seeds in (("participants-gossip", 50.0, (0, 1)), ("gossip-buffers", 60.0, (0, 1, 2))):
        for run in catalogue.runs_of(name, "laptop", seeds, ("gossip",), ("dirichlet-0.5",)):
            if run.n == 5 and not run.variant:
                path = tmp_path / run.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps({"accuracy": 5 * [accuracy], "standalone": 5 * [40.0], "options": {}}))
    frame = of(scoreboard.cells("laptop", tmp_path), "noofparticipantsv3-part1", method="DSGD", measure="MVA")
    assert frame["measured"].item() == 50 and frame["seeds"].item() == 2


def test_a_tie_in_print_decides_nothing():
    assert scoreboard._agree(0.0, 0.3) is None and scoreboard._agree(0.0, 0.0) is None
    assert scoreboard._agree(-0.1, -2.0) is True and scoreboard._agree(-0.1, 2.0) is False


def test_the_counts_add_up(faithful):
    frame = scoreboard.breakdown("paper", faithful).set_index("table")
    assert frame["values"][:-2].sum() == frame["values"]["all"] == len(scoreboard.printed())
    assert frame["measured"][:-2].sum() == frame["measured"]["all"]
    repeated = frame["measured"]["performance-study"]  # MVA, MCG, CGS of CFFL and CYCle, again
    assert repeated == 6 and frame["measured"]["all, repeats once"] == frame["measured"]["all"] - repeated
    assert frame["measured"]["performance-study-table-c100"] == 0
    unmeasured = scoreboard.breakdown("laptop", faithful).set_index("table")
    assert unmeasured["measured"].sum() == 0
    assert unmeasured["values"].to_dict() == frame["values"].to_dict()  # what is printed twice does not hang on records


def test_measures_against_the_metrics():
    record = {"accuracy": [60.0, 50.0, 41.0], "standalone": [55.0, 40.0, 42.0]}
    gains = np.subtract(record["accuracy"], record["standalone"])
    assert scoreboard.value(record, "MCG") == pytest.approx(gains.mean())
    assert scoreboard.value(record, "CGS") == pytest.approx(np.sqrt(np.mean((gains - gains.mean()) ** 2)))
    assert scoreboard.value(record, "first 2") == 55 and scoreboard.value(record, "P3") == 41
    assert scoreboard.value(record, "rho") == pytest.approx(metrics.pearson([55, 40, 42], [60, 50, 41])[0])


def test_an_undefined_correlation_is_undecided(tmp_path):
    """N = 20: everybody ends with one accuracy under gossip, as on a complete graph after the mixing."""
    alone = np.linspace(20, 40, 20)
    for method, accuracy in (("gossip", np.full(20, 50.0)), ("cycle-gossip", alone + 10)):
        run = next(catalogue.runs_of("participants-20", "laptop", (0,), (method,)))
        path = tmp_path / run.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"accuracy": accuracy.tolist(), "standalone": alone.tolist(), "options": {}}))
    frame = of(scoreboard.cells("laptop", tmp_path), "appendix-n20-results", method="Gossip-SGD").set_index("measure")
    assert frame.loc["rho", ["sign", "order"]].isna().all() and frame.loc["MCG", ["sign", "order"]].notna().all()
