import json
import os
import subprocess
import sys

import pytest

import cycle
from reproduction import cli as command_line
from reproduction import catalogue, records
from reproduction.draw import tables


def run(*arguments, check=True, **environment):
    return subprocess.run(
        [sys.executable, "-m", "cycle", *arguments], capture_output=True, text=True, check=check,
        env=os.environ | environment,
    )  # fmt: skip


def test_help_explains():
    text = run("--help").stdout
    assert all(verb in text for verb in ("list", "run", "table", "data", "bench"))
    assert "resume" in run("run", "--help").stdout


def test_list_names_what_exists_and_what_was_run():
    text = run("list").stdout
    for said in ("cifar10-cnn", "2 seed(s)", "--splits", "unchanged,per-peer", "estimated, not run"):
        assert said in text


def test_a_reader_that_leaves_early_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "cycle", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == 0


def test_data_verifies_digits():
    assert "1297 training and 500 test images, verified" in run("data", "digits").stdout


def test_unknown_names_are_refused_with_the_choices():
    finished = run("run", "nothing", check=False)
    assert finished.returncode == 2 and "cifar10-cnn" in finished.stderr
    finished = run("run", "cifar10-cnn", "--splits", "halves", check=False)
    assert finished.returncode == 1 and finished.stderr.startswith("error: splits must be among")
    nothing = ("--methods", "standalone", "--variants", "per-peer")
    finished = run("run", "cifar10-cnn-per-peer", *nothing, check=False)
    assert finished.returncode == 1 and "leave no run of cifar10-cnn-per-peer" in finished.stderr


@pytest.mark.parametrize(
    "option, value, said",
    [
        ("--seed", "x", "wants 0, 1, 2"),
        ("--seed", "-1", "wants 0, 1, 2"),
        ("--seed", ",", "wants 0, 1, 2"),
        ("--methods", ",", "wants one name"),
        ("--device", "foo", "'foo' is not a device of this machine"),
        ("--device", "meta", "wants cpu or cuda"),
        ("--threads", "0", "wants 1, 2, 3"),
    ],
)
def test_an_argument_that_cannot_be_is_named(option, value, said, capsys):
    with pytest.raises(SystemExit) as stopped:
        command_line.parser().parse_args(["run", "cifar10-cnn", f"{option}={value}"])
    message = capsys.readouterr().err
    assert stopped.value.code == 2 and f"argument {option}: " in message and said in message


def test_run_then_table(tmp_path):
    chosen = "--splits homogeneous --methods standalone,cycle --threads 1".split()
    text = run("run", "cifar10-cnn", *chosen, CYCLE_RESULTS=str(tmp_path)).stdout
    assert "homogeneous" in text and "paper" not in text.split("CGS in the paper")[0]  # digits are not CIFAR-10
    assert len(list(tmp_path.rglob("*.json"))) == 2


def test_interruption_says_how_to_go_on(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(records, "execute", interrupt)
    monkeypatch.setattr(sys, "argv", ["cycle", "run", "cifar10-cnn"])
    with pytest.raises(SystemExit, match="resumes"):
        command_line.main()


FAULTS = """
import resource, sys, torch
from cycle.__main__ import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
torch.ones(2**24)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    torch.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a setting of glibc")
def test_freed_memory_is_kept():
    """Five blocks of 64 MB one after the other: faulted in anew each time, or not."""

    def faults(how):
        command = [sys.executable, "-c", FAULTS, how]
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert faults("kept") < faults("given back") / 5


def test_importing_the_package_is_enough_and_results_may_lie_elsewhere(tmp_path):
    code = "import cycle; print(cycle.reputation.misalignment([1.0, 0.0], [1.0, 0.0]), reproduction.records.RESULTS)"
    environment = os.environ | {"CYCLE_RESULTS": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment).stdout
    assert said.split() == ["0.0", str(tmp_path)]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        cycle.nothing  # noqa: B018


def test_a_changed_clone_shows_in_the_table(tmp_path):
    run = next(catalogue.runs_of("cifar10-cnn", "laptop", methods=("standalone",)))
    path = tmp_path / run.path
    path.parent.mkdir(parents=True)
    origin = {"commit": 40 * "a" + "-dirty", "command": "", "hardware": "", "date": "2026-01-01"}
    record = {"seed": 0, "accuracy": [1.0] * 5, "standalone": [1.0] * 5, "options": {}, "provenance": origin}
    path.write_text(json.dumps(record))
    assert "commit aaaaaaaa-dirty;" in tables.provenance_line("cifar10-cnn", "laptop", tmp_path)
