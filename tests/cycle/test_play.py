"""What is wrong with a call is named by its argument or by the party, before anybody trains."""

import numpy as np
import pytest
import torch
from test_front import FEW, Words, blobs, group, linear, run, tokens, weights
from torch import nn

import cycle


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"parties": group(1)}, "parties must be two or more, got 1"),
        ({"parties": []}, "parties must be two or more, got 0"),
        ({"parties": [*group(2), linear()]}, "parties must be a list of cycle.Party, got Linear"),
        ({"method": "magic"}, "method must be one of standalone, .*, or a generator, got 'magic'"),
        ({"options": {"lr": 1}}, "options must be cycle.Options"),
        ({"seed": -1}, "^seed must be"),
        ({"seed": True}, "^seed must be"),
        ({"seed": 1.5}, "^seed must be"),
        ({"device": "quantum"}, "device must be 'auto' or one of this machine, got 'quantum'"),
        ({"test": (np.ones((3, 6)), [0, 1])}, "test must hold one label for each input"),
        ({"weight": max}, "rules must be one of score, weigh, share, count, .*, got 'weight'"),
        ({"score": 0.5}, "score must be a function, got float"),
        ({"method": "fedavg", "score": max}, "score must not be given for fedavg, which exchanges no answers"),
        ({"combine": max}, "combine must not be given for cycle, which exchanges no models"),
    ],
    ids=range(14),
)
def test_what_is_wrong_is_named_by_its_argument(arguments, said):
    with pytest.raises(ValueError, match=said):
        cycle.run(**{"parties": group(), "options": FEW, "progress": False} | arguments)


def test_what_is_wrong_with_a_party_is_named_by_its_number():
    one = cycle.Party(linear(), blobs(20, 0))
    for model, data, said in (
        (nn.Linear(7, 2), blobs(20, 1), "the model of P2 cannot take its own inputs"),
        (nn.Linear(6, 2), (blobs(20, 1)[0], np.arange(20)), "labels of P2 must be below 2 classes, got 19"),
        (nn.Linear(6, 3), blobs(20, 1), "parties must all tell the same classes apart, got .'P1': 2, 'P2': 3"),
        (nn.Unflatten(1, (2, 3)), blobs(20, 1), "model must be an nn.Module with parameters"),
        (nn.Sequential(nn.Linear(6, 6), nn.Unflatten(1, (2, 3))), blobs(20, 1), r"P2 must give \[sample, class\]"),
    ):
        with pytest.raises(ValueError, match=said):
            run([one, cycle.Party(model, data)])


@pytest.mark.parametrize(
    "model, data, prepare, said",
    [
        (Words(), (tokens(20, 0)[0].astype(np.uint8), tokens(20, 0)[1]), None, "use int64 for token ids"),
        (linear(), blobs(20, 0), lambda inputs: inputs, r"prepare\(inputs, augment\) of P1 cannot take .*1 positional"),
        (nn.Linear(6, 1), blobs(20, 0), None, r"P1 must give \[sample, class\], one output a class, got \(1, 1\)"),
    ],
    ids=range(3),
)
def test_what_is_wrong_is_said_with_what_to_do(model, data, prepare, said):
    with pytest.raises(ValueError, match=said):
        run([cycle.Party(model, data, prepare=prepare), cycle.Party(linear(), blobs(20, 1))])


def test_who_cannot_answer_whom_is_named_before_anybody_trains():
    """Six columns and seven: nobody can answer the other, but all can train alone."""
    wide = cycle.Party(nn.Linear(7, 2), blobs(20, 1, (7,)), name="Basel")
    parties = [cycle.Party(linear(), blobs(20, 0)), wide]
    before = weights(parties)
    with pytest.raises(ValueError, match="parties: the model of P1 cannot take the inputs of Basel"):
        run(parties, "cycle")
    assert all(map(torch.equal, before, weights(parties)))
    assert len(run(parties, "standalone").history) == 5


def test_one_model_for_two_is_refused():
    model = linear()
    with pytest.raises(ValueError, match="parties must each have a model of its own"):
        run([cycle.Party(model, blobs(20, n)) for n in range(2)])


def test_rounds_can_be_watched_and_left():
    rounds = cycle.rounds(group(), "cycle", FEW, device="cpu")
    seen = [next(rounds).index for _ in range(3)]
    rounds.close()
    assert seen == [-2, -1, 0]
