"""The front door on several ranks: each trains its own parties, all know the numbers of one process."""

import json
from pathlib import Path

import pytest
import torch
from test_front import FEW, Words, group, run, tokens, weights

import cycle

PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import torch
torch.set_num_threads(1)
from cycle import watch
watch.join()
import test_front_ranks
for number, method in enumerate(("cycle", "cycle-gossip", "fedavg")):
    result = test_front_ranks.played(method)
    result.save(sys.argv[2] + "/" + method)
    print(json.dumps(test_front_ranks.told(result)), flush=True)
watch.leave()
"""


def played(method):
    """Four parties that read token ids, of unequal sizes, tested on their own."""
    parties = []
    for n in range(4):
        torch.manual_seed(n if method == "cycle" else 0)
        parties.append(cycle.Party(Words(), tokens(20 + 10 * n, n), test=tokens(40, 9), name=None if n else "Basel"))
    return run(parties, method, FEW)


def told(result):
    """All that a result says, and its report against the same parties alone."""
    matrices = [None if matrix is None else matrix.tolist() for matrix in (result.reputation, result.shares)]
    counts, names = [result.messages, result.bytes], [str(party) for party in result.parties]
    return [result.history, result.accuracy, *matrices, *counts, names, result.report().gains.tolist()]


@pytest.fixture(scope="module")
def ranks(rank_processes, tmp_path_factory):
    place = tmp_path_factory.mktemp("ranks")
    processes = rank_processes(2, "-c", PROGRAM, str(Path(__file__).parent), str(place))
    outcomes = [process.communicate(timeout=200) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], outcomes
    return place, [list(map(json.loads, out.splitlines())) for out, _ in outcomes]


@pytest.mark.parametrize("number, method", [*enumerate(("cycle", "cycle-gossip", "fedavg"))])
def test_each_rank_trains_half_of_the_parties_and_knows_all_numbers(ranks, number, method):
    place, outputs = ranks
    torch.set_num_threads(1)
    whole = played(method)
    expected = json.loads(json.dumps(told(whole)))
    assert outputs[0][number] == outputs[1][number] == expected
    assert len(whole.accuracy) == 4 and [len(row["losses"]) for row in whole.history] == [4] * len(whole.history)
    models = [Words() for _ in range(4)]
    cycle.load(place / method, models)
    again = [cycle.Party(model, tokens(20, 0)) for model in models]
    assert all(map(torch.equal, weights(again), weights(whole.parties)))


def test_a_group_in_one_process_is_all_here():
    assert [party.index for party in run(group()).parties] == [0, 1, 2]
