"""The table of methods is open: by name, by a generator, with the promises a method makes."""

import pytest
import torch
from torch import nn

import cycle
from cycle.methods import METHODS, method_of
from cycle.party import learn

OPTIONS = cycle.Options(local_epochs=0, rounds=2, batch_size=8, lr=0.01)


def alone(state, options, rules):
    while state.epoch < options.epochs:
        losses = [learn(party, state.epoch, options) for party in state.participants]
        state.epoch += 1
        yield cycle.Round(state.epoch - 1, state.participants, torch.stack(losses), state.ledger)


@pytest.fixture
def parties():
    torch.manual_seed(0)
    inputs, labels = torch.randn(20, 3), torch.arange(20) % 2
    return [cycle.Party(nn.Linear(3, 2), (inputs[part], labels[part])) for part in (slice(0, 10), slice(10, 20))]


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setattr("cycle.methods.METHODS", dict(METHODS))
    return cycle.method("mine", common_start=True)(lambda *arguments: alone(*arguments))


def weights(parties):
    return [torch.cat([parameter.flatten() for parameter in party.model.parameters()]) for party in parties]


def test_a_generator_is_a_method(parties):
    result = cycle.run(parties, alone, OPTIONS, progress=False)
    assert result.method == "alone" and len(result.history) == 2
    assert not method_of(alone).local_start and not method_of(alone).common_start


def test_a_registered_name_keeps_its_promises(parties, registered):
    first = weights(parties)[0].clone()
    options = cycle.Options(local_epochs=0, rounds=1, batch_size=8, lr=1e-12)
    cycle.run(parties, "mine", options, progress=False)
    assert all(torch.allclose(one, first, atol=1e-6) for one in weights(parties))  # all begin as the first
    assert method_of(registered).common_start  # also where the generator itself is given


def test_an_unknown_name_is_refused_with_those_that_are_known(parties):
    with pytest.raises(ValueError, match="method must be one of standalone, vpdl, cycle, .* got 'cycl'"):
        cycle.run(parties, "cycl", OPTIONS)
