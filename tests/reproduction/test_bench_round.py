"""What is timed does the work it is named after; the recorded ratios keep the aims that were set for them."""

import json

import numpy as np
import torch

from cycle.options import Options
from reproduction.bench import round as bench
from reproduction.models import vector

AIMS = {  # at most; set before anything was measured
    "vpdl_vs_published": 0.6,
    "cycle_vs_published": 0.5,
    "round_vs_bare_compute": 1.15,
    "cycle_round_vs_bare_compute": 1.15,
}


def test_the_recorded_ratios_keep_their_aims():
    measured = json.loads(bench.RECORD.read_text())["measured"]
    assert {name: measured[name] for name in AIMS if measured[name] > AIMS[name]} == {}
    assert measured["answers_sent"] == 0.5
    saved = [value for name, value in measured.items() if name.startswith("saved_by")]
    assert len(saved) == 4 and min(saved) > -0.05
    assert abs(1 - sum(saved) - measured["vpdl_vs_published"]) < 1e-9  # together they are all that is saved


def test_bare_passes_ask_those_who_answer_and_nobody_else(monkeypatch):
    """Of 5 participants with 5 minibatches each; scoring asks all four peers once."""
    asked = []
    monkeypatch.setattr(bench.participants, "answer", lambda peer, inputs: asked.append(len(inputs)))
    options = Options(batch_size=bench.BATCH)
    people = bench._task(torch.device("cpu")).participants(options)
    answering = np.zeros((5, 5), dtype=bool)
    answering[1, 0] = answering[2, 0] = answering[0, 3] = True
    bench.bare_passes(people, options, answering)()
    assert asked == [bench.BATCH] * 15
    assert all(parameter.grad.any() for person in people for parameter in person.model.parameters())
    asked.clear()
    bench.bare_scoring(people, options)()
    assert asked == [options.score_samples] * 20


def test_the_published_shape_learns_nothing_for_the_participants_themselves():
    """It works on copies, so that what is measured after it starts from the same weights."""
    options = Options(batch_size=bench.BATCH, lr=0.01)
    people = bench._task(torch.device("cpu")).participants(options)[:2]
    before = [vector(person.model.parameters()) for person in people]
    bench.published_shape(people, options, item_wise=False, graph=False)
    assert all(torch.equal(vector(person.model.parameters()), old) for person, old in zip(people, before, strict=True))
