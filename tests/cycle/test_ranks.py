"""Several ranks give the numbers of one process; a dead rank is named; a run goes on with another number of ranks."""

import json
import time
from pathlib import Path

import pytest
import ranks_worker
import torch
from hypothesis import given
from hypothesis import strategies as st
from ranks_worker import run_of

from cycle import party
from cycle.ranks import Ranks

WORKER = Path(__file__).with_name("ranks_worker.py")
RUNS = [
    {"method": "standalone"},
    {"method": "vpdl"},
    {"method": "echo"},
    {"method": "cycle", "silent": [2]},
    {"method": "cycle", "augment": True, "width": 8, "n": 3, "lambda_0": 1.0},
    {"method": "gossip", "topology": "exponential", "local_steps": 2},
    {"method": "cycle-gossip", "local_epochs": 0, "width": 8, "n": 3},
    {"method": "cycle-gossip", "n": 5, "participation": 0.5, "alignment": "updates", "topology": "ring"},
    {"method": "fedavg", "local_epochs": 0, "width": 8, "n": 3},
    {"method": "cffl", "local_epochs": 0},
    {"method": "rffl", "local_epochs": 0},
    {"method": "cgsv", "local_epochs": 0},
]
RUNS = [keywords | {"variant": str(number)} for number, keywords in enumerate(RUNS)]
NUMBERS = ("accuracy", "curve", "losses", "reputation", "messages", "bytes", "shares")


@given(st.integers(1, 50), st.data())
def test_everybody_lives_on_one_rank_and_blocks_are_even(n, data):
    size = data.draw(st.integers(1, n))
    blocks = [Ranks(n, rank, size).here for rank in range(size)]
    assert [participant for block in blocks for participant in block] == list(range(n))
    assert {Ranks(n, 0, size).owner(i) for i in blocks[-1]} == {size - 1}
    assert max(map(len, blocks)) - min(map(len, blocks)) <= 1


def test_more_ranks_than_participants_is_an_error():
    with pytest.raises(ValueError, match="at most the 2 participants"):
        Ranks(2, 0, 3)


def test_one_process_keeps_its_messages():
    message = torch.ones(3)
    assert Ranks(3).exchange({(2, 0): message, (0, 1): message}, None, None) == {(0, 1): message, (2, 0): message}


@pytest.fixture
def start(rank_processes):
    """`ranks` processes that execute runs."""
    return lambda ranks, results, runs, *patience: rank_processes(
        ranks, str(WORKER), str(results), json.dumps(runs), *map(str, patience)
    )


def finish(processes):
    for process in processes:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors


def numbers(results, keywords):
    record = json.loads((results / run_of(**keywords).path).read_text())
    return {name: record[name] for name in NUMBERS}


def one_process(results, runs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(party, "GRAPH_NUMBERS", party.GRAPH_NUMBERS)  # which the worker sets
        ranks_worker.play(results, runs)
    return [numbers(results, keywords) for keywords in runs]


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    return one_process(tmp_path_factory.mktemp("single"), RUNS)


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_give_the_numbers_of_one_process(ranks, single, start, tmp_path):
    finish(start(ranks, tmp_path, RUNS))
    for keywords, expected in zip(RUNS, single, strict=True):
        assert numbers(tmp_path, keywords) == expected, keywords
    assert not list((tmp_path / ".checkpoints").rglob("*.json.*.pt"))


def test_a_dead_rank_is_named_and_two_ranks_finish_what_three_began(start, tmp_path):
    runs = [{"method": "cycle", "rounds": 40}]
    processes = start(3, tmp_path / "ranks", runs, 4.0)
    place = tmp_path / "ranks" / ".checkpoints" / run_of(**runs[0]).path
    while len(list(place.parent.glob(f"{place.name}.*.pt"))) < 3:
        assert processes[0].poll() is None, processes[0].stderr.read()
        time.sleep(0.05)
    processes[1].kill()
    killed = time.monotonic()
    for rank in (0, 2):
        _, errors = processes[rank].communicate(timeout=60)
        assert processes[rank].returncode == 1 and "rank 1 gave no sign of life" in errors, errors
    assert time.monotonic() - killed < 60
    processes[1].communicate()
    assert not (tmp_path / "ranks" / run_of(**runs[0]).path).exists()
    finish(start(2, tmp_path / "ranks", runs))
    assert numbers(tmp_path / "ranks", runs[0]) == one_process(tmp_path / "single", runs)[0]
