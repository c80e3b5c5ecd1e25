"""What is timed does the work it is named after, and a training step dispatches no more than it must."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cycle.options import Options
from cycle.play import begin
from cycle.weights import vector
from reproduction.bench import aims, defence
from reproduction.bench import round as bench


@pytest.fixture
def people():
    """The five participants that are measured, in place."""
    options = Options(batch_size=bench.BATCH, lr=0.01)
    return begin(bench.parties(torch.device("cpu")), "cycle", options, device="cpu").participants, options


def numbers(person):
    return vector(person.model.parameters())


def test_a_step_dispatches_at_most_what_the_aim_allows(people):
    """Counted, not timed: the same on every machine. Four peers cost at most what four forward passes add."""
    everybody, options = people
    with_peers, alone = (bench.operations(everybody, peers, options) for peers in (4, 0))
    assert aims.aim("round", "ops_per_step").verdict(with_peers) == "met", with_peers
    with bench.Operations() as forward, torch.inference_mode():
        everybody[1].model.eval()(everybody[1].prepare(everybody[1].inputs[: bench.BATCH], False))
    assert alone + 4 * 10 <= with_peers < alone + 4 * forward.count + 30


def test_operations_are_what_computes():
    """A product, a sum and a rectifier count; views of the result do not."""
    a, b = torch.ones(3, 4), torch.ones(4, 3)
    with bench.Operations() as seen:
        F.relu((a @ b + 1).view(9)).t().detach()
    assert seen.count == 3


def test_bare_passes_ask_those_who_answer_and_nobody_else(people, monkeypatch):
    """Of 5 participants with 5 minibatches each; scoring asks all four peers once."""
    everybody, options = people
    asked = []
    monkeypatch.setattr(bench, "answer", lambda peer, inputs: asked.append(len(inputs)))
    answering = np.zeros((5, 5), dtype=bool)
    answering[1, 0] = answering[2, 0] = answering[0, 3] = True
    bench.bare_passes(everybody, options, answering)()
    assert asked == [bench.BATCH] * 15
    assert all(parameter.grad.any() for person in everybody for parameter in person.model.parameters())
    asked.clear()
    bench.bare_scoring(everybody, options)()
    assert asked == [options.score_samples] * 20


@pytest.mark.parametrize("loop", ["published_shape", "plain_loader"])
def test_what_others_would_do_learns_nothing_for_the_participants_themselves(people, loop):
    """It works on copies, so that what is measured after it starts from the same weights."""
    everybody, options = people
    before = [numbers(person) for person in everybody[:2]]
    getattr(bench, loop)(everybody[:2], options)
    assert all(torch.equal(numbers(person), old) for person, old in zip(everybody, before, strict=False))


def seconds(repeats=1, **functions):
    for function in functions.values():
        function()
    return SimpleNamespace(**{name: float(number) for number, name in enumerate(functions, 1)})


def test_the_margin_rule_is_timed_beside_the_same_round_without_it(monkeypatch):
    monkeypatch.setattr(bench, "SAMPLES", bench.BATCH)
    monkeypatch.setattr(defence, "in_turn", seconds)
    measured = defence.measure()
    assert measured == {"defended_vs_undefended": 2.0} and aims.explained("defence", measured)


def test_a_measurement_gives_every_number_that_is_explained(monkeypatch):
    """Each function is called once and said to take 1, 2, 3, ... seconds, in their order."""
    monkeypatch.setattr(bench, "SAMPLES", 2 * bench.BATCH)
    monkeypatch.setattr(bench, "in_turn", seconds)
    measured = bench.measure()
    assert all(aims.aim("round", name).meaning for name in measured)
    named = {name for name in aims.AIMS["round"] if "*" not in name}
    assert named <= set(measured)
    assert measured["round_vs_bare_compute"] == pytest.approx(1 / 3) and measured["answers_sent"] == 0.5
    assert measured["fedavg_vs_loader"] == pytest.approx(11 / 12)
    saved = sum(value for name, value in measured.items() if name.startswith("saved_by"))
    assert 1 - saved == pytest.approx(measured["vpdl_vs_published"])  # together they are all that is saved
