"""What leaves a party: no channel of answers reads labels, and one answer a round is all that a peer gets to try."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cycle import answers
from cycle.streams import SCORE, TRAIN
from reproduction import catalogue


class Secret:
    """Whatever one does with it but keep it fails the test."""

    def __getattribute__(self, name):
        raise AssertionError(f"labels were read: {name}")


@pytest.fixture
def state(begun):
    run = next(run for run in catalogue.runs_of("encrypted", "smoke") if run.method == "cycle")
    state = begun(replace(run, n=3, images=60))
    for party in state.participants:
        party.labels = Secret()
    return state


@pytest.mark.parametrize("privacy", ["plain", "fhe"])
def test_no_channel_of_answers_reads_labels(state, begun, small_run, privacy):
    options = replace(small_run("cycle").options, privacy=privacy)
    channel = answers.channel(state, options)
    shares = ~np.eye(3, dtype=bool)
    assert channel.open(0, 5, shares, True) == {}
    party = state.participants[1]
    rows = torch.arange(party.inputs.shape[0])
    for purpose in (SCORE, TRAIN):
        heard = channel.hear(0, 1, purpose)(party.prepare(party.inputs, False), rows)
        assert heard.shape == (len(rows), 10) and heard.isfinite().all()


def test_questions_between_ranks_do_not_depend_on_labels(state, small_run):
    """What is asked are rows in an order that seed, party and epoch decide."""
    party, options = state.participants[0], small_run("cycle").options
    for purpose in (SCORE, TRAIN):
        order, content = answers.question(replace_size(party), purpose, 3, options)
        assert not content.dtype.is_floating_point and torch.equal(order, content)
        assert sorted(content.tolist()) == sorted(set(content.tolist()))


def replace_size(party):
    """The party with its number of samples told, as `size` counts labels."""

    class Sized:
        device, seed, index, size = party.device, party.seed, party.index, len(party.inputs)

    return Sized
