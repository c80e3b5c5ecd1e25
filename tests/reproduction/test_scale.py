"""The cost model: bytes and memory as the formulas say, coefficients recovered from costs made with them."""

import json

import numpy as np
import pytest

from cycle import gossip
from reproduction.bench import scale


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scale, "BUDGET", 0.02)
        return scale.measure(sizes=(2, 3, 5), populations=(40,))


def test_bytes_are_messages_times_the_size_of_one(measured):
    for kind in scale.KINDS:
        sizes, messages = scale.series(measured, "messages", kind)
        assert sizes.tolist() == [2, 3, 5]
        assert scale.series(measured, "bytes", kind)[1].tolist() == (messages * scale.message_bytes(kind)).tolist()


@pytest.mark.parametrize("kind, expected", [("standalone", [0, 0, 0]), ("vpdl", [2, 6, 20]), ("complete", [2, 6, 20]),
                                            ("ring", [2, 6, 10]), ("cycle calibrating", [2, 6, 20])])  # fmt: skip
def test_messages_of_a_round(measured, kind, expected):
    assert scale.series(measured, "messages", kind)[1].tolist() == expected
    if kind in gossip.TOPOLOGIES:
        assert expected == [int(gossip.adjacency(kind, n).sum()) for n in (2, 3, 5)]


def test_calibrations_add_everybodys_gradient(measured):
    models = scale.series(measured, "messages", "cycle-gossip calibrating")[1] - np.array([2, 6, 20])
    assert ((0 <= models) & (models <= [2, 6, 20])).all()


def test_with_twenty_present_twenty_exchange(measured):
    assert measured["messages|complete, 20 present|40"] == 20 * 19
    assert measured["messages|cycle-gossip, 20 present|40"] < 2 * 20
    assert measured["memory|complete, 20 present|40"] == pytest.approx(40 * scale.state_bytes("complete"), rel=0.3)


def test_memory_is_models_gradient_momentum_and_data(measured):
    for kind in scale.STATE:
        slope, r2 = scale.memory_slope(measured, kind)
        assert slope == pytest.approx(scale.state_bytes(kind), rel=0.01) and r2 > 0.999


def made(participant, message, noise=0.0):
    rng = np.random.default_rng(0)
    found = {}
    for n in scale.SIZES:
        messages = n * (n - 1)
        seconds = (participant * n + message * messages) * (1 + noise * rng.standard_normal())
        found |= {f"seconds|vpdl|{n}": seconds, f"messages|vpdl|{n}": messages}
    return found


def test_fit_recovers_the_costs_it_was_made_from():
    exact = scale.fit(made(1e-3, 5e-5), "vpdl")
    assert exact["participant"] == pytest.approx(1e-3) and exact["message"] == pytest.approx(5e-5)
    assert exact["r2"] == pytest.approx(1) and exact["worst"] < 1e-9
    noisy = scale.fit(made(1e-3, 5e-5, noise=0.1), "vpdl")
    assert noisy["r2"] < 1 and noisy["message"] == pytest.approx(5e-5, rel=0.2) and noisy["worst"] > 0.01
    assert scale.fit(made(1e-3, 0.0), "vpdl")["message"] == pytest.approx(0, abs=1e-12)


def test_bookkeeping_is_the_part_that_grows_with_the_population():
    label = "complete, 20 present"
    found = {f"seconds|{label}|{n}": 0.02 + 3e-5 * n for n in scale.POPULATIONS}
    assert scale.bookkeeping(found) == pytest.approx(3e-5)


def test_a_line_fits_the_recorded_bookkeeping_better_than_a_square():
    sizes, seconds = scale.series(json.loads(scale.RECORD.read_text())["measured"], "seconds", "complete, 20 present")
    line, square = (np.polyfit(sizes**power, seconds, 1, full=True)[1][0] for power in (1.0, 2.0))
    assert line < square / 10


def test_the_recorded_measurement_is_whole_and_says_where_it_came_from():
    record = json.loads(scale.RECORD.read_text())
    assert {key.split("|")[1] for key in record["measured"]} == set(scale.KINDS) | set(scale.PARTIAL)
    assert scale.series(record["measured"], "seconds", "vpdl")[0].tolist() == list(scale.SIZES)
    assert {"commit", "command", "hardware", "date", "torch"} <= set(record["provenance"])
