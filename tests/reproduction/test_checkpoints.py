import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from cycle import files, methods, ranks, training
from reproduction import checkpoints, records, settings
from reproduction.models import vector

NUMBERS = ("accuracy", "curve", "losses", "reputation", "shares", "messages", "bytes", "sizes", "images", "standalone")


def numbers(record):
    return {key: record[key] for key in NUMBERS}


def test_shared_local_epochs_give_the_same_numbers(small_run, tmp_path):
    """CYCle after standalone resumes its local epochs; CYCle by itself computes them."""
    records.execute(small_run("standalone"), "test", tmp_path / "a", progress=False)
    assert list((tmp_path / "a" / ".checkpoints").glob("warmup-*.pt"))
    shared = records.execute(small_run("cycle"), "test", tmp_path / "a", progress=False)
    fresh = records.execute(small_run("cycle"), "test", tmp_path / "b", progress=False)
    assert numbers(shared) | {"standalone": None} == numbers(fresh)


def halfway(task, options, state):
    """A method as a newcomer writes it: everybody trains and moves half way to the mean, from the first epoch on."""
    while state.epoch < options.epochs:
        done = training.local_epoch(state, options)
        mean = torch.stack([vector(p.model.parameters()) for p in state.participants]).mean(dim=0)
        for p in state.participants:
            with torch.no_grad():
                half = (vector(p.model.parameters()) + mean) / 2
                torch.nn.utils.vector_to_parameters(half, p.model.parameters())
        yield done


def test_a_new_method_does_not_touch_the_others(small_run, tmp_path, monkeypatch):
    """Its line in the table has no flags: what it does in its first epochs is not taken for local epochs."""
    monkeypatch.setitem(methods.METHODS, "halfway", methods.Method(halfway))
    records.execute(small_run("halfway"), "test", tmp_path / "after", progress=False)
    after, before = (
        records.execute(small_run("standalone"), "test", tmp_path / name, progress=False)
        for name in ("after", "before")
    )
    assert numbers(after) == numbers(before)


def test_a_method_that_does_not_know_ranks_is_refused_there(small_run, digits, monkeypatch):
    monkeypatch.setitem(methods.METHODS, "halfway", methods.Method(halfway))
    run = small_run("halfway")
    task = settings.task_of(run, digits)
    state = training.start(task, run.options)
    state.ranks = ranks.Ranks(5, 0, 2)
    with pytest.raises(ValueError, match="one that knows ranks .* got 'halfway'"):
        methods.play("halfway", task, run.options, state)


def test_a_method_that_does_not_count_its_rounds_is_told(small_run, tmp_path, monkeypatch):
    monkeypatch.setitem(methods.METHODS, "nothing", methods.Method(lambda task, options, state: iter(())))
    with pytest.raises(ValueError, match="method nothing must yield 8 rounds"):
        records.execute(small_run("nothing"), "test", tmp_path, progress=False)


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "another torch"])
def test_a_checkpoint_that_cannot_be_used_is_named_and_kept(small_run, tmp_path, monkeypatch, capsys, damage):
    run, play = small_run("cycle"), records.play

    def interrupted(*arguments):
        for number, done in enumerate(play(*arguments)):
            yield done
            if number == 4:
                raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(records, "play", interrupted)
        patch.setattr(checkpoints, "SAVING_SHARE", 1.0)
        with pytest.raises(KeyboardInterrupt):
            records.execute(run, "test", tmp_path, progress=False)
    (saved,) = (tmp_path / ".checkpoints" / "smoke").rglob("cycle*.pt")
    if damage == "another torch":
        content = torch.load(saved, weights_only=False)
        torch.save(content | {"key": content["key"].replace(torch.__version__, "1.0")}, saved)
    else:
        saved.write_bytes({"cut": saved.read_bytes()[:500], "text": b"Hello", "empty": b""}[damage])
    (warmup,) = (tmp_path / ".checkpoints").glob("warmup-*.pt")
    if damage == "cut":  # of both
        warmup.write_bytes(warmup.read_bytes()[:500])
    again = records.execute(run, "test", tmp_path, progress=False)
    assert warmup.exists() and warmup.with_name(warmup.name + ".unused").exists() == (damage == "cut")
    assert str(saved) in capsys.readouterr().err
    assert saved.with_name(saved.name + ".unused").exists()
    assert numbers(again) == numbers(records.execute(run, "test", tmp_path / "whole", progress=False))


@pytest.mark.parametrize("module", ["training", "options", "participants"])
def test_other_code_does_not_share_local_epochs(small_run, tmp_path, monkeypatch, module):
    before = checkpoints.warmup_key(small_run("cycle"), "data", torch.device("cpu"))
    (tmp_path / "changed.py").write_text("another schedule")
    monkeypatch.setattr(getattr(checkpoints, module), "__file__", str(tmp_path / "changed.py"))
    assert checkpoints.warmup_key(small_run("cycle"), "data", torch.device("cpu")) != before


def test_other_settings_do_not_share_local_epochs(small_run):
    one, other = small_run("cycle"), small_run("cycle", lr=0.2)

    def key(run, device="cpu"):
        return checkpoints.warmup_key(run, "data", torch.device(device))

    assert key(one) == key(small_run("vpdl", tau_max=0.9))
    longer = small_run("cycle", local_epochs=4)
    assert len({key(one), key(other), key(longer), key(replace(one, flips={4: 0.5})), key(one, "cuda")}) == 5


PROGRAM = """
import sys, torch
torch.set_num_threads(1)
from dataclasses import replace
from pathlib import Path
from reproduction import records, settings
options = replace(settings.PROFILES["smoke"].options, local_epochs=3, rounds=40, period=3)
run = settings.Run("smoke", "digits", "mlp", "cycle", "imbalanced-0.6-1", 5, 0, 400, options)
records.execute(run, "test", Path(sys.argv[1]), progress=False)
"""


def test_killed_at_any_moment_and_started_again_gives_identical_numbers(tmp_path):
    def begin(directory):
        return subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(directory)], env=os.environ | {"OMP_NUM_THREADS": "1"}
        )

    assert begin(tmp_path / "whole").wait(120) == 0
    kills = 0
    for wait in (0.05, 0.13, 0.21):
        process = begin(tmp_path / "killed")
        deadline = time.time() + 60
        saved = tmp_path / "killed" / ".checkpoints"
        started = time.time()
        while not list(saved.rglob("cycle*.pt")) and time.time() < deadline:
            started = time.time()
            time.sleep(0.01)
        time.sleep(max(0.0, wait - (time.time() - started)))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            kills += 1
        process.wait()
    assert kills >= 1
    assert begin(tmp_path / "killed").wait(120) == 0
    (whole,), (killed,) = ((tmp_path / name).rglob("*.json") for name in ("whole", "killed"))
    assert numbers(json.loads(whole.read_text())) == numbers(json.loads(killed.read_text()))


def test_saving_takes_a_share_of_the_time_only(small_run, tmp_path, monkeypatch):
    written, write = [], files.write_atomically

    def slowly(path, content):
        written.append(path.suffix)
        time.sleep(0.3)
        write(path, content)

    for module in (checkpoints, records):
        monkeypatch.setattr(module, "write_atomically", slowly)
    records.execute(small_run("cycle"), "test", tmp_path / "slow", progress=False)
    assert written == [".pt"] * 3 + [".json"]  # the first epoch and the last local one, twice; the rest takes no time
    monkeypatch.setattr(checkpoints, "SAVING_SHARE", 1.0)
    records.execute(small_run("vpdl"), "test", tmp_path / "slow", progress=False)
    assert written[4:] == [".pt"] * 6 + [".json"]  # every round


def test_two_crashes_while_ranks_save_lose_no_whole_set(small_run, digits, tmp_path):
    """Both ranks at 10; the first alone saves 12, then, resumed from 10, 11: both times 10 is what goes on."""

    class Rank:
        size = 2

        def __init__(self, rank):
            self.rank, self.first = rank, rank == 0

        def wait(self):
            pass

        def agreed(self, value):
            return value

    def of(rank):
        return checkpoints.Checkpoints(small_run("cycle"), digits, Rank(rank), tmp_path)

    class At:
        def __init__(self, epoch):
            self.epoch = epoch

        def save(self):
            return {"epoch": self.epoch}

    for rank in (0, 1):
        of(rank).save(At(10), {})
    for cut in (12, 11):
        of(0).save(At(cut), {})
        assert [part["state"]["epoch"] for part in of(0).load()] == [10, 10]


def test_two_runs_that_set_one_damaged_file_aside_both_go_on(small_run, digits, tmp_path, monkeypatch, capsys):
    """Both find the shared local epochs damaged; the other run is the faster one to rename them."""
    run = small_run("cycle")
    shared = checkpoints.Checkpoints(run, digits, ranks.Ranks.of(run.n), tmp_path)
    shared.warmup.parent.mkdir(parents=True)
    shared.warmup.write_text("damaged")
    latest = checkpoints._latest

    def meanwhile(paths, key):
        found = latest(paths, key)
        if shared.warmup in paths:
            os.replace(shared.warmup, f"{shared.warmup}.unused")
        return found

    monkeypatch.setattr(checkpoints, "_latest", meanwhile)
    monkeypatch.setattr(shared, "_everybody", list)
    assert shared.load() == []
    assert "cannot be read" in capsys.readouterr().err
    assert [path.name for path in shared.warmup.parent.iterdir()] == [f"{shared.warmup.name}.unused"]
