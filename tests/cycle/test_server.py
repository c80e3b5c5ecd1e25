"""FedAvg against NumPy's mean: sizes, BatchNorm, the clock of several local epochs, the ledger."""

import numpy as np
import pytest
import torch
from torch import nn

from cycle.party import learn
from cycle.play import play
from cycle.weights import vector


@pytest.fixture
def one_round(small_run, begun):
    """The parties after an epoch alone, and the round of FedAvg from the same start."""
    run = small_run("fedavg", local_epochs=0, rounds=1)
    trained = begun(run).participants
    for party in trained:
        learn(party, 0, run.options)
    (done,) = play(begun(run), "fedavg", run.options)
    sizes = np.array([party.size for party in trained], dtype=float)
    return trained, sizes / sizes.sum(), done


def numbers(party):
    return vector(party.model.parameters()).numpy()


def test_everybody_gets_the_size_weighted_mean(one_round):
    trained, shares, done = one_round
    expected = sum(share * numbers(party) for share, party in zip(shares, trained, strict=True))
    assert shares.max() > 2 * shares.min()
    assert all(np.allclose(numbers(party), expected, atol=1e-6) for party in done.participants)


def test_batchnorms_statistics_are_averaged_and_their_bytes_count(mlp_with_batchnorm, one_round):
    trained, shares, done = one_round
    expected = sum(share * p.model[1].running_mean.double() for share, p in zip(shares, trained, strict=True))
    for party in done.participants:
        assert torch.allclose(party.model[1].running_mean, expected.float(), atol=1e-6)
    assert done.ledger.matrix(bytes=True)[0, 5] == 4 * (64 * 10 + 10 + 4 * 64)


def test_messages_to_and_from_the_server_are_counted(one_round):
    *_, done = one_round
    expected = np.zeros((6, 6), dtype=int)
    expected[:5, 5] = expected[5, :5] = 1
    assert np.array_equal(done.ledger.matrix(), expected) and done.ledger.possible == 10
    assert set(done.ledger.matrix(bytes=True)[expected > 0]) == {4 * numbers(done.participants[0]).size}


def test_local_epochs_of_a_round_follow_one_clock_with_a_fresh_optimiser(small_run, begun):
    run = small_run("fedavg", local_epochs=0, rounds=2, epochs_per_round=2, lr_every=3)
    people = begun(run).participants
    shares = np.array([p.size for p in people]) / sum(p.size for p in people)
    for first in (0, 2):
        for person in people:
            person.optimizer.state.clear()
            for epoch in (first, first + 1):
                learn(person, epoch, run.options)
        mean = torch.from_numpy(sum(w * numbers(p) for w, p in zip(shares, people, strict=True)))
        for person in people:
            nn.utils.vector_to_parameters(mean.float(), person.model.parameters())
    *_, done = play(begun(run), "fedavg", run.options)
    assert np.allclose(numbers(done.participants[0]), mean, atol=1e-5)


def test_an_update_that_is_not_finite_is_named(small_run, begun):
    run = small_run("fedavg", lr=1e20)
    with pytest.raises(FloatingPointError, match="round 0: the update of P1 is not finite; lr may be too large"):
        next(play(begun(run), "fedavg", run.options))
