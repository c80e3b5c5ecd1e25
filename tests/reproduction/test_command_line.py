"""The command line as a person uses it: in processes of its own."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cycle
from reproduction import catalogue, execute
from reproduction import cli as command_line
from reproduction.bench import aims
from reproduction.draw import tables

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book"))

import prepare  # noqa: E402 (the script beside the chapters)


def run(*arguments, **environment):
    command = [sys.executable, "-m", "cycle", *arguments]
    environment = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)


def test_help_explains():
    text = run("--help").stdout
    assert all(verb in text for verb in ("list", "run", "table", "data", "bench", "clean"))
    assert "resume" in run("run", "--help").stdout


def test_failing_ends_the_process_with_one_line():
    finished = run("run", "cifar10-cn")
    assert finished.returncode == 1 and finished.stdout == ""
    assert finished.stderr.startswith("error: experiment must be") and finished.stderr.count("\n") == 1


def seconds_and_modules(*arguments):
    """Processor seconds of a command, and the large packages that it loaded."""
    code = (
        "import sys, time\n"
        f"sys.argv = ['cycle', *{arguments!r}]\n"
        "from reproduction import cli\n"
        "try:\n    cli.main()\nexcept SystemExit:\n    pass\n"
        "large = {'torch', 'pandas', 'scipy', 'sklearn', 'matplotlib', 'IPython', 'torchvision', 'PIL', 'networkx'}\n"
        "print(time.process_time(), *sorted(large & set(sys.modules)), file=sys.stderr)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stderr
    seconds, *modules = said.splitlines()[-1].split()
    return float(seconds), modules


def test_help_is_there_at_once():
    seconds, modules = seconds_and_modules("--help")
    assert modules == [] and seconds < 1


def test_data_verifies_digits(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cycle", "data", "digits"])
    command_line.main()
    assert "1297 training and 500 test images, verified" in capsys.readouterr().out


def test_listing_loads_no_more_than_it_needs():
    seconds, modules = seconds_and_modules("list")
    assert set(modules) <= {"torch", "networkx"} and seconds < 10  # about 2 here; machines differ


def test_one_experiment_in_full(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cycle", "list", "cifar10-cnn-per-peer"])
    command_line.main()
    assert "--variants        unchanged, per-peer" in capsys.readouterr().out


def test_a_reader_that_leaves_early_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "cycle", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.stderr.read() == "" and process.wait() == 0


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (
            ["run", "cifar10-cn"],
            1,
            "experiment must be one of this book, got 'cifar10-cn': did you mean cifar10-cnn or ",
        ),
        (["table", "nothing at all"], 1, "`list` names them"),
        (["list", "taus"], 1, "did you mean tau"),
        (["run", "cifar10-cnn", "--splits", "halves"], 1, "splits must be among imbalanced-0.6-1, "),
        (
            ["run", "beta", "--privacy", "fhe"],
            1,
            "--privacy must be plain for cycle-gossip, gossip: leave them out",
        ),
        (["run", "cifar10-cnn", "--profile", "desktop"], 1, "profile must be one of smoke, laptop, paper"),
        (
            ["run", "cifar10-cnn-per-peer", "--methods", "standalone", "--variants", "per-peer"],
            1,
            "leave no run of cifar10-cnn-per-peer",
        ),
        (["data", "mnist"], 1, "dataset must be one of digits, "),
        (["bench", "nothing"], 2, "invalid choice: 'nothing'"),
        (["run", "cifar10-cnn", "--seed=x"], 2, "argument --seed: wants 0, 1, 2"),
    ],
)
def test_what_fails_says_why_in_one_line(arguments, code, said, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["cycle", *arguments])
    with pytest.raises(SystemExit) as stopped:
        command_line.main()
    out, err = capsys.readouterr()
    if code == 1:  # a text is printed as the process ends
        err, stopped.value.code = stopped.value.code, 1
    (line,) = err.splitlines()
    assert stopped.value.code == code and out == "" and line.startswith("error: ") and said in line


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


def test_run_ends_with_what_was_asked_for_and_says_that_digits_stand_in(tmp_path):
    def shown(*chosen):
        return run("run", "cifar10-cnn", "--threads", "1", *chosen, CYCLE_RESULTS=str(tmp_path)).stdout

    first = shown("--splits", "homogeneous", "--methods", "cycle")
    assert "homogeneous, cycle, seed 0: accuracy " in first and "no gains, since standalone is not recorded" in first
    both = shown("--splits", "homogeneous", "--methods", "standalone,cycle")
    assert both.startswith("cifar10-cnn, profile smoke: digits in the place of cifar10, mlp in the place of cnn")
    assert [row.split()[:2] for row in both.splitlines() if row.strip().startswith("homogeneous")] == [
        ["homogeneous", "standalone"],
        ["homogeneous", "cycle"],
    ]
    assert "paper" not in both.split("CGS in the paper")[0]  # digits are not CIFAR-10
    again = shown("--splits", "homogeneous", "--methods", "cycle")
    assert " cycle " in again and "standalone" not in again
    assert len(list(tmp_path.rglob("*.json"))) == 2
    whole = run("table", "cifar10-cnn", CYCLE_RESULTS=str(tmp_path)).stdout
    assert "standalone" in whole and "digits in the place of" in whole and "2 of 35 runs" in whole


def test_interruption_says_how_to_go_on(monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(execute, "execute", interrupt)
    monkeypatch.setattr(sys, "argv", ["cycle", "run", "cifar10-cnn"])
    with pytest.raises(SystemExit, match="resumes"):
        command_line.main()


def test_bench_gives_plain_numbers_or_their_meaning(monkeypatch, capsys):
    measured = {"grid_seconds": 0.5, "exact_vs_simulation": 50.0}
    monkeypatch.setattr("reproduction.bench.theory.measure", lambda: measured)
    monkeypatch.setattr(sys, "argv", ["cycle", "bench", "theory", "--json"])
    command_line.main()
    assert json.loads(capsys.readouterr().out) == measured
    monkeypatch.setattr(sys, "argv", ["cycle", "bench", "theory"])
    command_line.main()
    said = capsys.readouterr()
    assert "about 0.2 minutes" in said.err and "200 x 200 exact values" in said.out
    assert [row.split()[5] for row in said.out.splitlines()] == ["met", "MISSED"]
    assert all(told["minutes"] > 0 and told["numbers"] for told in aims.BENCHMARKS.values())


@pytest.mark.parametrize("answer, removed", [("y", True), ("", False), (None, False), ("--yes", True)])
def test_clean_removes_when_told_to(answer, removed, tmp_path, monkeypatch, capsys):
    """`None`: nobody there to answer."""
    left = tmp_path / ".checkpoints" / "warmup-0.pt"
    left.parent.mkdir()
    left.write_text("")
    os.utime(left, (0, 0))
    monkeypatch.setenv("CYCLE_RESULTS", str(tmp_path))
    monkeypatch.setenv("CYCLE_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(sys, "argv", ["cycle", "clean"] + ["--yes"] * (answer == "--yes"))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: answer is not None, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: answer)
    command_line.main()
    said = capsys.readouterr().out
    assert str(left) in said and left.exists() != removed
    assert ("removed 1 files" in said) == removed


WITHOUT = """
import importlib.abc, sys
from reproduction import cli
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in cli.EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
sys.argv = ["cycle", *sys.argv[1:]]
cli.main()
"""


def without_extras(*arguments):
    return subprocess.run([sys.executable, "-c", WITHOUT, *arguments], capture_output=True, text=True, cwd=ROOT)


def test_a_command_that_needs_an_extra_says_which():
    finished = without_extras("table", "tau")
    assert finished.returncode == 1
    assert finished.stderr.strip().endswith("pip install 'cycle-book[reproduction]' (in a clone: '.[reproduction]')")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = {re.match(r"[\w-]+", line)[0]: extra for extra in ("fhe", "reproduction") for line in extras[extra]}
    assert {prepare.PACKAGES[module]: extra for module, extra in command_line.EXTRAS.items()} == named


def test_encryption_without_its_extra_says_which():
    code = "import sys\nsys.modules['tenseal'] = None\nimport importlib.util\n"
    code += "importlib.util.find_spec = lambda name: None\nimport cycle.fhe"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT).stderr
    assert said.splitlines()[-1].endswith(
        "encryption needs tenseal: pip install 'cycle-book[fhe]' (in a clone: '.[fhe]')"
    )


FAULTS = """
import resource, sys, torch
from reproduction.cli import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(12):  # until the small pieces between the blocks are found again
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
    code = "import cycle; print(cycle.reputation.misalignment([1.0, 0.0], [1.0, 0.0]));"
    code += "from reproduction import records; print(records.RESULTS)"
    environment = os.environ | {"CYCLE_RESULTS": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment).stdout
    assert said.split() == ["0.0", str(tmp_path)]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        cycle.nothing  # noqa: B018


def test_a_changed_clone_shows_in_the_table(tmp_path, record_of):
    run = next(catalogue.runs_of("cifar10-cnn", "laptop", methods=("standalone",)))
    path = tmp_path / run.path
    path.parent.mkdir(parents=True)
    origin = {"commit": 40 * "a" + "-dirty", "command": "", "hardware": "", "date": "2026-01-01"}
    path.write_text(json.dumps(record_of(run, [1.0] * run.n, provenance=origin)))
    assert "commit aaaaaaaa-dirty;" in tables.provenance_line("cifar10-cnn", "laptop", tmp_path)
