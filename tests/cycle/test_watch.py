"""Who does not come, comes twice, dies or takes the master with it is named in time (here times are short)."""

import socket
import time
from datetime import timedelta

import pytest
import torch.distributed as dist

from cycle import watch


@pytest.fixture
def alone(monkeypatch):
    """The address of nobody yet, and little time."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(free.getsockname()[1]))
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setattr(watch, "GATHERING", timedelta(seconds=2))


def test_the_times_keep_the_promise_of_two_minutes():
    assert watch.GATHERING <= timedelta(minutes=2)
    assert watch.PATIENCE + 5 * watch.BEAT < 120


def test_who_does_not_come_is_named(alone):
    began = time.monotonic()
    with pytest.raises(ValueError, match="rank 1, 2 did not come within 2 seconds"):
        watch._meet(0, 3)
    assert time.monotonic() - began < 30


def test_a_master_who_is_not_there_is_named(alone):
    with pytest.raises(ValueError, match=r"rank 1 found nobody at MASTER_ADDR 127.0.0.1, MASTER_PORT \d+"):
        watch._meet(1, 2)


def test_two_of_the_same_rank_are_told(alone, monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setenv("TORCHELASTIC_RESTART_COUNT", "3")
    agent = dist.TCPStore("127.0.0.1", int(watch.os.environ["MASTER_PORT"]), is_master=True, wait_for_workers=False)
    agent.add("cycle/3/came/0", 1)
    with pytest.raises(ValueError, match="RANK 0 is taken by another process: every process needs its own"):
        watch._meet(0, 2)


def test_a_rank_that_cannot_be_is_told(alone):
    with pytest.raises(ValueError, match="RANK must be from 0 to 1, got 2"):
        watch._meet(2, 2)


def test_a_process_of_its_own_joins_nobody(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    assert watch.join() is None and watch.leave() is True and not dist.is_initialized()


PROGRAM = """
import sys, time
from cycle import watch
from cycle.ranks import Ranks
watch.PATIENCE, watch.BEAT = 3.0, 0.5
watch.join()
ranks = Ranks.of(4)
print("here", flush=True)
for _ in range(10000):
    ranks.barrier()
    time.sleep(0.01)
"""


@pytest.mark.parametrize("dies, said", [(1, "rank 1 gave no sign of life for 3 seconds"), (0, "rank 0 ")])
def test_who_dies_is_named_by_those_who_live(rank_processes, dies, said):
    """Also where the master dies, with whom the place of meeting goes."""
    processes = rank_processes(2, "-c", PROGRAM)
    assert all(process.stdout.readline() == "here\n" for process in processes)
    processes[dies].kill()
    began = time.monotonic()
    _, errors = processes[1 - dies].communicate(timeout=110)
    assert processes[1 - dies].returncode == 1 and said in errors, errors
    assert "The same command resumes it, also with another number of ranks." in errors
    assert time.monotonic() - began < 110
    processes[dies].communicate()
