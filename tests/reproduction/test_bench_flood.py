"""Noise on answers: none is none, little changes nothing, much drowns what peers teach."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cycle import answers
from cycle.play import begin
from reproduction import settings
from reproduction.bench import flood


def test_noise_has_its_size_and_is_the_same_when_an_answer_is_heard_again(small_run, digits):
    run = small_run("cycle")
    state = begin(settings.parties_of(run, digits), "cycle", run.options, 0, "cpu")
    clear, noisy = answers.Here(state), flood.Noisy(state, run.options, 0.5)
    for channel in (clear, noisy):
        channel.open(3, 5, np.ones((5, 5), dtype=bool), False)
    party, rows = state.everyone[1], torch.arange(state.sizes[1])
    inputs = party.prepare(party.inputs, False)
    added = noisy.hear(0, 1, None)(inputs, rows) - clear.hear(0, 1, None)(inputs, rows).clone()
    again = noisy.hear(0, 1, None)(inputs[:4], rows[:4]) - clear.hear(0, 1, None)(inputs[:4], rows[:4]).clone()
    assert added.std().item() == pytest.approx(0.5 * run.options.temperature, rel=0.15)
    assert torch.allclose(again, added[:4], atol=1e-5)
    noisy.open(4, 6, np.ones((5, 5), dtype=bool), False)
    later = noisy.hear(0, 1, None)(inputs, rows) - clear.hear(0, 1, None)(inputs, rows)
    assert not torch.allclose(later, added, atol=0.1)


def test_as_much_as_an_encrypted_answer_carries_costs_nothing(small_run, digits):
    run = small_run("vpdl")
    run = replace(run, options=replace(run.options, rounds=4))
    none, little, much = (flood.trained(run, digits, deviation) for deviation in (0.0, 2.0**-14, 50.0))
    assert little == pytest.approx(none, abs=0.3) and much < none - 5
