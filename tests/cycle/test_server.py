"""FedAvg against NumPy's mean: sizes, BatchNorm, the clock of several local epochs, the ledger."""

import numpy as np
import pytest
import torch
from torch import nn

from cycle.party import learn
from cycle.play import play
from cycle.ranks import Ranks
from cycle.rules import Rules
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


def spoiled(monkeypatch, spoil):
    """What participants send is spoiled on the way: spoil({(sender, receiver): row}, server) -> the same, changed."""
    exchange = Ranks.exchange

    def lossy(self, messages, expected, device):
        return spoil(exchange(self, messages, expected, device), self.n)

    monkeypatch.setattr(Ranks, "exchange", lossy)


BAD = {
    "numbers that are not finite": lambda row: torch.full_like(row, torch.nan),
    "too many numbers, or too few": lambda row: row[1:],
    "nothing that fits arrived": None,
}


@pytest.mark.parametrize("said", BAD)
def test_a_bad_upload_is_dropped_and_its_sender_named(small_run, begun, monkeypatch, said):
    run = small_run("fedavg", local_epochs=0, rounds=2)

    def spoil(arrived, server):
        rows = {pair: row for pair, row in arrived.items() if pair != (1, server)}
        spoils = (1, server) in arrived and BAD[said]
        return rows | {(1, server): BAD[said](arrived[1, server])} if spoils else rows

    trained = begun(run).participants
    for party in trained:
        learn(party, 0, run.options)
    spoiled(monkeypatch, spoil)
    rounds = play(begun(run), "fedavg", run.options)
    done = next(rounds)
    sizes = np.array([party.size * (party.index != 1) for party in trained], dtype=float)
    expected = sum(w * numbers(party) for w, party in zip(sizes / sizes.sum(), trained, strict=True))
    assert done.refused == {(1, 5): said}
    assert all(np.allclose(numbers(party), expected, atol=1e-6) for party in done.participants)
    assert next(rounds).refused == done.refused


def test_who_gets_nothing_back_goes_on_with_its_own(small_run, begun, monkeypatch):
    run = small_run("fedavg", local_epochs=0, rounds=1)
    alone = begun(run).participants[2]
    learn(alone, 0, run.options)
    spoiled(monkeypatch, lambda arrived, server: {pair: row for pair, row in arrived.items() if pair != (server, 2)})
    (done,) = play(begun(run), "fedavg", run.options)
    assert np.array_equal(numbers(done.participants[2]), numbers(alone))


def test_clipped_a_huge_model_moves_nobody_further_than_the_median(small_run, begun, monkeypatch):
    run = small_run("fedavg", local_epochs=0, rounds=1)
    start, trained = numbers(begun(run).participants[0]).copy(), begun(run).participants
    for party in trained:
        learn(party, 0, run.options)
    steps = [np.linalg.norm(numbers(party) - start) for party in trained if party.index != 1]

    def spoil(arrived, server):
        return {pair: row * 1e30 if pair == (1, server) else row for pair, row in arrived.items()}

    spoiled(monkeypatch, spoil)
    (done,) = play(begun(run), "fedavg", run.options, Rules.recommended())
    assert 0 < np.linalg.norm(numbers(done.participants[0]) - start) <= max(steps)


def test_where_nobodys_update_is_finite_all_are_named(small_run, begun):
    run = small_run("fedavg", lr=1e30)
    *_, done = play(begun(run), "fedavg", run.options)
    assert done.refused == {(n, 5): "numbers that are not finite" for n in range(5)}
