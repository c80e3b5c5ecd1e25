"""What arrives from another rank is JSON or numbers of the announced size; whatever else it is, it is named."""

import json

import numpy as np
import pytest
import torch

from cycle import answers
from cycle.options import Options
from cycle.party import Party, answer, shuffled
from cycle.play import begin
from cycle.ranks import Ranks
from cycle.streams import SCORE, TRAIN, stream

PROGRAM = """
import json, pickle, sys
import torch
from cycle import ranks, watch

def never(*_):
    raise AssertionError("pickled")

watch.PATIENCE, watch.BEAT = 3.0, 0.5
watch.join()
pickle.dumps = pickle.loads = never
us, told = ranks.Ranks.of(4), {}

def said(name, call):
    try:
        told[name] = call()
    except Exception as error:
        told[name] = f"{type(error).__name__}: {error}"

told["broadcast"] = us.broadcast({"text": ["a", 1.5, None, True]} if us.first else "never heard")
told["gather"] = us.gather({n: {"accuracy": 10.5 * n} for n in us.here})
told["shared"] = us.shared(torch.tensor([[0, 1, 1, 1]] * 4).bool().numpy() if us.first else
                           torch.tensor([[1, 0, 0, 0]] * 4).bool().numpy(), "cpu").astype(int).tolist()
sent = {(2, 0): torch.ones(5), (3, 0): torch.ones(3), (2, 1): torch.zeros(0)} if us.rank else {(0, 2): torch.ones(3)}
got = us.exchange(sent, lambda i, j: ((3,), torch.float32), "cpu")
told["exchange"] = [[i, j, numbers.tolist()] for (i, j), numbers in got.items()]
said("foreign", lambda: us.gather({0: "P1 is mine"} if us.rank else {0: 1, 1: 1}))
said("not json", lambda: us.gather({n: {1, 2} for n in us.here}))
ranks.MOST_NUMBERS = 4 if us.first else ranks.MOST_NUMBERS
if us.first:
    said("too much", lambda: us.exchange({}, lambda i, j: ((5,), torch.float32), "cpu"))
else:
    us._announce({(2, 0): 5}, "cpu")
print(json.dumps(told), flush=True)
watch.leave()
"""


@pytest.fixture(scope="module")
def told(rank_processes):
    """What each of two ranks says that it got; P1 and P2 live on the first."""
    processes = rank_processes(2, "-c", PROGRAM)
    outcomes = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outcomes
    return [json.loads(out) for out, _ in outcomes], [errors for _, errors in outcomes]


def test_what_the_first_says_all_hear_and_nothing_is_pickled(told):
    (first, second), _ = told
    assert first["broadcast"] == second["broadcast"] == {"text": ["a", 1.5, None, True]}


def test_the_first_hears_of_everybody_in_order(told):
    (first, second), _ = told
    assert first["gather"] == {str(n): {"accuracy": 10.5 * n} for n in range(4)} and second["gather"] is None


def test_shares_are_known_to_those_who_send_and_receive(told):
    (first, second), _ = told
    assert first["shared"] == [[0, 1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0]]
    assert second["shared"] == [[0, 0, 1, 1], [0, 0, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0]]


def test_a_message_of_another_size_is_dropped_and_its_sender_named(told):
    """P3 sends five numbers and none where three are due; P4's three arrive."""
    (first, second), (errors, _) = told
    assert first["exchange"] == [[3, 0, [1, 1, 1]]] and second["exchange"] == [[0, 2, [1, 1, 1]]]
    assert "P3 sent P1 5 numbers, not (3,): dropped" in errors and "P3 sent P2 0 numbers" in errors


def test_nobody_speaks_for_others_and_nothing_but_json_is_told(told):
    (first, second), _ = told
    assert first["foreign"] == "ValueError: rank 1 speaks of participant 0, who is not its own"
    assert first["not json"] == second["not json"] == "TypeError: Object of type set is not JSON serializable"


def test_more_numbers_than_any_honest_message_has_are_refused_before_memory_is_taken(told):
    (first, _), _ = told
    assert first["too much"] == "ValueError: rank 1 announces 5 numbers from P3: refused"


@pytest.fixture
def between(small_run, begun):
    """The channel of ranks with everybody in this process, opened for a round in which everybody answers."""
    run = small_run("cycle", score_samples=8, batch_size=16)
    state = begun(run)
    channel = answers.BetweenRanks(state, run.options)
    return state, channel


@pytest.mark.parametrize("augment", [False, True])
def test_answers_between_ranks_are_those_of_the_models(small_run, begun, augment):
    """Of the rows that were asked: all for training; for scoring, those drawn. Inputs are as `learn` makes them."""
    run = small_run("cycle", score_samples=8, batch_size=16, augment=augment)
    state = begun(run)
    channel = answers.BetweenRanks(state, run.options)
    assert channel.open(0, 0, ~np.eye(5, dtype=bool), True) == {}
    for n, k, purpose in ((0, 1, TRAIN), (3, 2, TRAIN), (0, 4, SCORE)):
        one, peer = state.everyone[n], state.everyone[k].model.eval()
        rows = shuffled(one, purpose, 0)[: 8 if purpose == SCORE else None]
        augmented = augment and purpose == TRAIN
        with stream(one.device, one.seed, purpose, one.index, 0):
            torch.randperm(one.size)  # as `learn` does before
            inputs = torch.cat([one.prepare(one.inputs[part], augmented) for part in rows.split(16)])
        found = channel.hear(k, n, purpose)(None, rows)
        assert torch.allclose(found, answer(peer, inputs), atol=1e-5)
        assert len(rows) == (8 if purpose == SCORE else one.size)


@pytest.mark.parametrize("augment", [False, True])
def test_samples_are_prepared_as_those_who_ask_do_it_in_one_process_as_between_ranks(augment):
    """Token ids, counted backwards by P1 only: P2's model sees what P1's model sees."""
    parties = []
    for n in range(2):
        torch.manual_seed(n)
        model = torch.nn.Sequential(torch.nn.Embedding(9, 2), torch.nn.Flatten(), torch.nn.Linear(6, 3))
        ids, labels = torch.randint(0, 9, (12, 3)), torch.arange(12) % 3
        parties.append(Party(model, (ids, labels), prepare=[lambda x, _: 8 - x, lambda x, _: x][n]))
    options = Options(local_epochs=0, rounds=1, augment=augment, batch_size=5)
    state = begin(parties, "cycle", options, 0, "cpu")
    everybody = ~np.eye(2, dtype=bool)
    here, between = answers.Here(state), answers.BetweenRanks(state, options)
    for channel in (here, between):
        assert channel.open(0, 0, everybody, True) == {}
    for n in (0, 1):
        one = parties[n]
        for purpose in (SCORE, TRAIN):
            rows = torch.tensor([3, 0, 7])
            inputs = one.prepare(one.inputs[rows], False)
            found = [channel.hear(1 - n, n, purpose)(inputs, rows) for channel in (here, between)]
            assert torch.allclose(*found) and found[0].any()


def test_samples_that_did_not_arrive_are_not_answered(between):
    """P2 never got those of P1: it says nothing to P1, and all others are answered."""
    state, channel = between
    del channel.samples[0, 1]
    refused = channel.open(0, 0, ~np.eye(5, dtype=bool), True)
    assert refused == {(1, 0): "no logits for the samples that were asked"}
    assert channel.hear(1, 2, SCORE)(None, torch.arange(3)).shape == (3, 10)


def test_who_stays_silent_after_a_promise_is_named(between, monkeypatch):
    """P2 announced answers; what comes of them does not arrive."""
    state, channel = between
    exchange = Ranks.exchange

    def lossy(self, messages, expected, device):
        arrived = exchange(self, messages, expected, device)
        return {pair: m for pair, m in arrived.items() if not (pair[0] == 1 and m.is_floating_point())}

    monkeypatch.setattr(Ranks, "exchange", lossy)
    refused = channel.open(0, 0, ~np.eye(5, dtype=bool), False)
    assert refused == {(1, n): "no logits for the samples that were asked" for n in (0, 2, 3, 4)}
