"""The scoreboard against records whose agreement with the printed table is known by construction."""

import numpy as np
import pytest

from reproduction import paper
from reproduction.judge import counterparts, trials

SPLIT = "imbalanced-0.6-1"
NAMES = {"standalone": "SA", "cffl": "CFFL", "cycle": "CYCle"}


def as_printed(method):
    frame = paper.tables().query("table == 'performance-study-table-c10-right' and split == @SPLIT")
    values = frame[frame["method"] == NAMES[method]].set_index("participant_or_metric")["value"]
    return values[[f"P{n}" for n in range(1, 6)]].to_numpy(float).copy()


@pytest.fixture
def write(recorded):
    """A run of the CNN half that ends with these accuracies; alone its participants have the printed ones."""

    def make(method, accuracy, seed=0, profile="paper"):
        alone = as_printed("standalone")
        return recorded("cifar10-cnn", accuracy - alone, method, split=SPLIT, seed=seed, profile=profile, alone=alone)

    return make


@pytest.fixture
def faithful(write, tmp_path):
    """Two seeds of three methods, a tenth of a point above and below what is printed."""
    for method in NAMES:
        for seed, off in enumerate((0.1, -0.1)):
            write(method, as_printed(method) + off, seed)
    return tmp_path


def of(frame, table="performance-study-table-c10-right", **where):
    chosen = frame[(frame["table"] == table) & frame["seeds"].gt(0)]
    for key, wanted in where.items():
        chosen = chosen[chosen[key] == wanted]
    return chosen


def test_what_is_printed_agrees_with_itself(faithful):
    frame = of(counterparts.cells("paper", faithful))
    assert len(frame) == 3 * 5 + 3 + 2 * 2  # participants, MVA, and MCG and CGS of two methods
    for agreement in ("sign", "order"):
        assert frame[agreement].dropna().all()
    assert frame.loc[frame["measure"].str.startswith("P"), "size"].all()
    assert frame["order"].notna().sum() == 8  # the other method only: five participants and three summaries
    assert np.allclose(frame["printed"], frame["measured"], atol=0.02)
    judged = frame[frame["order"].notna()]  # CYCle stands beside the other method, in print and measured
    assert judged["CYCle printed"].tolist()[:5] == as_printed("cycle").tolist()
    assert np.allclose(judged["CYCle printed"], judged["CYCle measured"], atol=0.02)


def test_a_loser_changes_a_sign_and_a_faraway_value_its_size(write, faithful):
    before = counterparts.cells("paper", faithful)
    accuracy = as_printed("cycle")
    accuracy[0] = as_printed("standalone")[0] - 1
    for seed, off in enumerate((0.1, -0.1)):
        write("cycle", accuracy + off, seed)
    after = counterparts.cells("paper", faithful)
    first = of(after, method="CYCle", measure="P1")
    assert not first["sign"].item() and not first["size"].item()
    changed = of(before)["sign"].ne(of(after)["sign"]) & of(before)["sign"].notna()
    assert changed.sum() == 1


def test_one_seed_has_no_spread(write, tmp_path):
    write("cycle", as_printed("cycle"))
    frame = of(counterparts.cells("paper", tmp_path))
    assert frame["size"].isna().all() and frame["order"].isna().all()


def test_of_two_experiments_for_one_printed_value_the_first_counts(recorded, tmp_path):
    """The row DSGD at N = 5: the CNN of `participants-gossip` comes before the slim ResNet of `gossip-buffers`."""
    measured = []
    for name, gain in (("gossip-buffers", 20), ("participants-gossip", 10)):
        recorded(name, [gain] * 5, "gossip", split="dirichlet-0.5", alone=[40] * 5)
        frame = of(counterparts.cells("laptop", tmp_path), "noofparticipantsv3-part1", method="DSGD", measure="MVA")
        measured.append((frame["measured"].item(), frame["network"].item()))
    assert measured == [(60, "slim resnet18"), (50, "cnn")]


def test_seeds_of_two_networks_are_not_mixed(recorded, tmp_path):
    """As above; the slim ResNet has a seed more, which does not enter the mean of the CNN's two."""
    for name, gain, seeds in (("participants-gossip", 10, (0, 1)), ("gossip-buffers", 20, (0, 1, 2))):
        for seed in seeds:
            recorded(name, [gain] * 5, "gossip", split="dirichlet-0.5", seed=seed, alone=[40] * 5)
    frame = of(counterparts.cells("laptop", tmp_path), "noofparticipantsv3-part1", method="DSGD", measure="MVA")
    assert frame["measured"].item() == 50 and frame["seeds"].item() == 2


def test_a_tie_in_print_decides_nothing():
    assert counterparts.agree(0.0, 0.3) is None and counterparts.agree(0.0, 0.0) is None
    assert counterparts.agree(-0.1, -2.0) is True and counterparts.agree(-0.1, 2.0) is False


def test_the_counts_add_up(faithful):
    frame = counterparts.breakdown("paper", faithful).set_index("table")
    assert frame["values"][:-2].sum() == frame["values"]["all"] == len(counterparts.printed())
    assert frame["measured"][:-2].sum() == frame["measured"]["all"]
    repeated = frame["measured"]["performance-study"]  # MVA, MCG, CGS of CFFL and CYCle, again
    assert repeated == 6 and frame["measured"]["all, repeats once"] == frame["measured"]["all"] - repeated
    assert frame["measured"]["performance-study-table-c100"] == 0
    unmeasured = counterparts.breakdown("laptop", faithful).set_index("table")
    assert unmeasured["measured"].sum() == 0
    assert unmeasured["values"].to_dict() == frame["values"].to_dict()  # what is printed twice does not hang on records


def test_measures_against_the_metrics(recorded, tmp_path):
    recorded("cifar10-cnn", [5, 10, -1, 0, 0], alone=[55, 40, 42, 40, 40])
    (trial,) = trials.trials(("cifar10-cnn",), "laptop", tmp_path)
    gains = np.array([5, 10, -1, 0, 0])
    assert counterparts.value(trial, "MCG") == pytest.approx(gains.mean())
    assert counterparts.value(trial, "CGS") == pytest.approx(np.sqrt(np.mean((gains - gains.mean()) ** 2)))
    assert counterparts.value(trial, "avg_honest", 2) == 55 and counterparts.value(trial, "P3") == 41
    together = np.corrcoef([55, 40, 42, 40, 40], [60, 50, 41, 40, 40])[0, 1]
    assert counterparts.value(trial, "rho") == pytest.approx(together)


def test_an_undefined_correlation_is_undecided(recorded, tmp_path):
    """N = 20: everybody ends with one accuracy under gossip, as on a complete graph after the mixing."""
    alone = np.linspace(20, 40, 20)
    for method, gains in (("gossip", 50 - alone), ("cycle-gossip", np.full(20, 10))):
        recorded("participants-20", gains, method, split="dirichlet-0.5", alone=alone)
    frame = of(counterparts.cells("laptop", tmp_path), "appendix-n20-results", method="Gossip-SGD").set_index("measure")
    assert frame.loc["rho", ["sign", "order"]].isna().all() and frame.loc["MCG", ["sign", "order"]].notna().all()
