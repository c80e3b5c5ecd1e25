"""A run that is cut goes on to the same numbers; who would compute the same local epochs shares them; a new method."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from cycle import files, methods, store
from cycle.state import alone
from cycle.weights import vector
from reproduction import execute

NUMBERS = ("accuracy", "curve", "losses", "reputation", "shares", "messages", "bytes", "sizes", "images", "standalone")


def executed(run, results):
    return execute.execute(run, "test", results, "cpu", progress=False)


def numbers(record):
    return {key: record[key] for key in NUMBERS}


def test_shared_local_epochs_give_the_same_numbers(small_run, tmp_path):
    """CYCle after standalone resumes its local epochs; CYCle by itself computes them."""
    executed(small_run("standalone"), tmp_path / "a")
    assert list((tmp_path / "a" / ".checkpoints").glob("warmup-*.pt"))
    shared = executed(small_run("cycle"), tmp_path / "a")
    fresh = executed(small_run("cycle"), tmp_path / "b")
    assert numbers(shared) | {"standalone": None} == numbers(fresh)


@pytest.mark.parametrize("first, second", [("vpdl", "cycle"), ("cycle", "vpdl"), ("echo", "cycle")])
def test_who_saved_the_local_epochs_does_not_matter(small_run, tmp_path, first, second):
    """Nothing of the first method, such as VPDL's reputations of one, is carried into the second."""
    executed(small_run(first), tmp_path / "shared")
    (warmup,) = (tmp_path / "shared" / ".checkpoints").glob("warmup-*.pt")
    assert store.load(warmup)["state"]["parties"][0]["reputation"] is None
    after = executed(small_run(second), tmp_path / "shared")
    assert after["provenance"]["earlier"][0]["epochs"] == 2
    assert numbers(after) == numbers(executed(small_run(second), tmp_path / "fresh"))


def halfway(state, options, rules):
    """A method as a newcomer writes it: everybody trains and moves half way to the mean, from the first epoch on."""
    while state.epoch < options.epochs:
        (done,) = alone(state, options, state.epoch + 1)
        mean = torch.stack([vector(p.model.parameters()) for p in state.participants]).mean(dim=0)
        for p in state.participants:
            half = (vector(p.model.parameters()) + mean) / 2
            torch.nn.utils.vector_to_parameters(half, p.model.parameters())
        yield done


def test_a_new_method_does_not_touch_the_others(small_run, tmp_path, monkeypatch):
    """Its line in the table has no flags: what it does in its first epochs is not taken for local epochs."""
    monkeypatch.setitem(methods.METHODS, "halfway", methods.Method(halfway))
    executed(small_run("halfway"), tmp_path / "after")
    after, before = (executed(small_run("standalone"), tmp_path / name) for name in ("after", "before"))
    assert numbers(after) == numbers(before)


def test_a_method_that_does_not_count_its_rounds_is_told(small_run, tmp_path, monkeypatch):
    monkeypatch.setitem(methods.METHODS, "nothing", methods.Method(lambda state, options, rules: iter(())))
    with pytest.raises(ValueError, match="method nothing must yield 8 rounds"):
        executed(small_run("nothing"), tmp_path)


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "another torch"])
def test_a_checkpoint_that_cannot_be_used_is_named_and_kept(small_run, cut_after, tmp_path, capsys, damage):
    run = small_run("cycle")
    cut_after(4, run, tmp_path)
    (saved,) = (tmp_path / ".checkpoints" / "smoke").rglob("cycle*.pt")
    if damage == "another torch":
        content = store.load(saved)
        store.save(saved, content | {"key": content["key"].replace(torch.__version__, "1.0")})
    else:
        saved.write_bytes({"cut": saved.read_bytes()[:500], "text": b"Hello", "empty": b""}[damage])
    (warmup,) = (tmp_path / ".checkpoints").glob("warmup-*.pt")
    if damage == "cut":  # of both
        warmup.write_bytes(warmup.read_bytes()[:500])
    again = executed(run, tmp_path)
    assert warmup.exists() and warmup.with_name(warmup.name + ".unused").exists() == (damage == "cut")
    assert str(saved) in capsys.readouterr().err
    assert saved.with_name(saved.name + ".unused").exists()
    assert numbers(again) == numbers(executed(run, tmp_path / "whole"))


def key(run, **kind):
    return execute.warmup_key(run, {"data": "data", "device": "cpu"} | kind)


@pytest.mark.parametrize("module", ["party", "play", "options", "samples", "state", "streams", "partition"])
def test_other_code_does_not_share_local_epochs(small_run, tmp_path, monkeypatch, module):
    before = key(small_run("cycle"))
    (tmp_path / "changed.py").write_text("another schedule")
    monkeypatch.setattr(getattr(execute.cycle, module), "__file__", str(tmp_path / "changed.py"))
    assert key(small_run("cycle")) != before


def test_other_settings_do_not_share_local_epochs(small_run):
    one, other, longer = small_run("cycle"), small_run("cycle", lr=0.2), small_run("cycle", local_epochs=4)
    assert key(one) == key(small_run("vpdl", tau_max=0.9)) == key(replace(one, silent=(1,), variant="silent"))
    assert len({key(one), key(other), key(longer), key(replace(one, flips={4: 0.5})), key(one, device="cuda")}) == 5


PROGRAM = """
import sys, torch
torch.set_num_threads(1)
from dataclasses import replace
from pathlib import Path
from reproduction import execute, settings
options = replace(settings.PROFILES["smoke"].options, local_epochs=3, rounds=40, period=3)
run = settings.Run("smoke", "digits", "mlp", "cycle", "imbalanced-0.6-1", 5, 0, 400, options)
execute.execute(run, "test", Path(sys.argv[1]), "cpu", progress=False)
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

    for module in (store, execute):
        monkeypatch.setattr(module, "write_atomically", slowly)
    executed(small_run("cycle"), tmp_path / "slow")
    assert written == [".pt"] * 2 + [".json"]  # the first epoch, and the local ones for others; the rest takes no time
    monkeypatch.setattr(store, "SAVING_SHARE", 1.0)
    executed(small_run("vpdl"), tmp_path / "slow")
    assert written[3:] == [".pt"] * 6 + [".json"]  # every round
