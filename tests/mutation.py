"""Mutation testing of the rules: how many small faults do the tests notice? Outside CI, since it takes an hour.

    pip install mutmut==3.8.1
    python tests/mutation.py [--sample N] [--keep FOLDER] [metrics sharing ...]

Records in results/bench/mutation.json for each file the mutants tried and killed, and those that survived (`mutmut show
NAME` in FOLDER says what they are). `--sample N` tries N mutants of each file, always the same. Texts of errors stay.
Files that are not named keep what was recorded.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
from reproduction.bench import recording  # noqa: E402 (this project's, whatever is installed)
from reproduction.provenance import commit  # noqa: E402

RECORD = ROOT / "results" / "bench" / "mutation.json"
RULES = ("metrics", "reputation", "sharing", "distillation", "partition", "gossip", "defence")
SEED = 0  # of the sample
KILLED = ("killed", "timeout", "segfault", "suspicious")


def prepare(folder: Path, rules) -> None:
    """A copy of the project that mutmut may change, with the tests of these rules."""
    for name in ("cycle", "reproduction", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    tests = [f"tests/cycle/test_{name}.py" for name in rules if (ROOT / f"tests/cycle/test_{name}.py").exists()]
    tests += ["tests/cycle/test_checks.py", "tests/trials/test_calls.py"]
    slow = ("whatever_comes_is_refused_by_name_or_used_rightly", "the_benchmark_counts_five_hundred")
    lists = {
        "source_paths": ["cycle"],
        "only_mutate": [f"cycle/{name}.py" for name in rules],
        "also_copy": ["reproduction", "tests", "pytest.ini"],
        "do_not_mutate_patterns": ["raise ValueError"],
        "pytest_add_cli_args_test_selection": tests,
        "pytest_add_cli_args": [f"--deselect=tests/trials/test_calls.py::test_{name}" for name in slow],
    }
    text = "".join(f"{key}=\n" + "".join(f"    {value}\n" for value in values) for key, values in lists.items())
    (folder / "setup.cfg").write_text(f"[mutmut]\n{text}")
    (folder / "pytest.ini").write_text("[pytest]\npythonpath = .\naddopts = -p no:cacheprovider -p no:nbval\n")


def mutmut(folder: Path, *arguments) -> str:
    environment = os.environ | {"CI": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True).stdout


def outcomes(folder: Path) -> dict[str, str]:
    """Of each mutant by its name."""
    lines = mutmut(folder, "results", "--all", "true").splitlines()
    return dict(line.strip().split(": ", 1) for line in lines if ": " in line)


def measure(folder: Path, rules, sample: int | None) -> dict:
    prepare(folder, rules)
    mutmut(folder, "run", "none")  # makes them, and finds which tests call what
    names, found = sorted(outcomes(folder)), {}
    for rule in rules:
        own = [name for name in names if name.startswith(f"cycle.{rule}.")]
        chosen = random.Random(SEED).sample(own, min(sample or len(own), len(own)))
        mutmut(folder, "run", "--max-children", "1", *chosen)
        said = outcomes(folder)
        count = Counter(said[name] for name in chosen)
        killed = sum(count[outcome] for outcome in KILLED)
        survived = sorted(name for name in chosen if said[name] not in KILLED)
        counts = {"of": len(own), "tried": len(chosen), "killed": killed, "survived": survived}
        found[rule] = {"commit": commit(), "seed": SEED} | counts
        print(f"{rule}: {killed} of {len(chosen)} killed", file=sys.stderr, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(RULES))
    parser.add_argument("--sample", type=int, metavar="N", help="mutants of each file (default: all)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="an empty folder to work in and to keep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        command = " ".join(["python tests/mutation.py", *sys.argv[1:]])
        before = json.loads(RECORD.read_text())["measured"] if RECORD.exists() else {}
        asked = arguments.rules or RULES
        recording.write(RECORD, command, lambda: before | measure(folder, asked, arguments.sample))


if __name__ == "__main__":
    main()
