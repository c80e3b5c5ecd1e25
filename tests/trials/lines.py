"""How many lines of `cycle` its tests run, on several ranks too."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.trials import recorded

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = "[run]\nsource = cycle\nparallel = true\npatch = subprocess\ndata_file = {folder}/run\n"


def measure() -> dict:
    """Lines; those that were run, and the part in percent; the files with less than 95 %; whether the tests passed."""
    with tempfile.TemporaryDirectory() as folder:
        settings, found = Path(folder) / "settings", Path(folder) / "found.json"
        settings.write_text(SETTINGS.format(folder=folder))

        def coverage(verb: str, *arguments) -> int:
            command = [sys.executable, "-m", "coverage", verb, f"--rcfile={settings}", *map(str, arguments)]
            return subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}).returncode

        failed = coverage("run", "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/cycle")
        coverage("combine", "--quiet")
        coverage("json", "--quiet", "-o", found)
        told = json.loads(found.read_text())
    totals, files = told["totals"], {name: file["summary"] for name, file in told["files"].items()}
    return {
        "lines": totals["num_statements"],
        "run": totals["covered_lines"],
        "percent": round(totals["percent_covered"], 1),
        "below": {
            name: round(file["percent_covered"], 1) for name, file in files.items() if file["percent_covered"] < 95
        },
        "passed": not failed,
    }


if __name__ == "__main__":
    recorded("lines", measure)
