import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import torch

from cycle import checkpoints, files, records

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
from cycle import records, runs
options = replace(runs.PROFILES["smoke"].options, local_epochs=3, rounds=40, period=3)
run = runs.Run("smoke", "digits", "mlp", "cycle", "imbalanced-0.6-1", 5, 0, 400, options)
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
