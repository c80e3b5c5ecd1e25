"""What leaves a party: no channel of answers reads labels, and one answer a round is all that a peer gets to try."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cycle import answers
from cycle.streams import SCORE, TRAIN
from reproduction import catalogue


class Secret:
    """Whatever one does with it but keep and count it fails the test."""

    def __init__(self, labels):
        self.count = len(labels)

    def __len__(self):
        return object.__getattribute__(self, "count")

    def __getattribute__(self, name):
        raise AssertionError(f"labels were read: {name}")


@pytest.fixture
def state(begun):
    run = next(run for run in catalogue.runs_of("encrypted", "smoke") if run.method == "cycle")
    state = begun(replace(run, n=3, images=60))
    for party in state.participants:
        party.labels = Secret(party.labels)
    return state


@pytest.mark.parametrize("channel", [answers.Here, answers.Encrypted, answers.BetweenRanks])
def test_no_channel_of_answers_reads_labels(state, small_run, channel):
    options = small_run("cycle", score_samples=60).options
    channel = answers.Here(state) if channel is answers.Here else channel(state, options)
    shares = ~np.eye(3, dtype=bool)
    assert channel.open(0, 5, shares, True) == {}
    party = state.participants[1]
    rows = torch.arange(party.inputs.shape[0])
    for purpose in (SCORE, TRAIN):
        heard = channel.hear(0, 1, purpose)(party.prepare(party.inputs, False), rows)
        assert heard.shape == (len(rows), 10) and heard.isfinite().all()
