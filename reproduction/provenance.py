"""Where a number comes from: commit, command, versions, hardware, date."""

import functools
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

from reproduction.settings import UNCHANGED, Run


def project() -> Path | None:
    """The clone of this project that runs; None where the code was installed, whatever folder that is in."""
    root = Path(__file__).resolve().parent.parent
    about = root / "pyproject.toml"
    return root if about.is_file() and 'name = "cycle-book"' in about.read_text(encoding="utf-8") else None


def results_folder() -> Path:
    """Where records lie: the variable CYCLE_RESULTS, else `results` in the clone, else in the current folder."""
    return Path(os.environ.get("CYCLE_RESULTS") or (project() or Path.cwd()) / "results").expanduser()


def _git(*arguments) -> str:
    """What git answers about this clone of the project; nothing where it is none, or lies in another repository."""
    root = project()
    if root is None:
        return ""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment["GIT_CEILING_DIRECTORIES"] = str(root.parent)  # git looks no further up than the project
    how = {"capture_output": True, "text": True, "cwd": root, "env": environment, "check": True}
    try:
        return subprocess.run(["git", *arguments], **how).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def hardware(device: torch.device) -> str:
    """The processor that does the work: its name, the instructions it is used with, how many threads.

    Processors of one name can differ in their instructions, and then round otherwise.
    """
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    name = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), name)
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}, {torch.get_num_threads()} thread(s)"


@functools.cache
def commit() -> str:
    """That of the code when it was first asked for, as a command starts: a process does not see later ones."""
    found = _git("rev-parse", "HEAD") or "unknown"
    return found + "-dirty" if _git("status", "--porcelain", "--", "cycle", "reproduction") else found


def command_of(run: Run, experiment: str) -> str:
    """As it was typed; for a run that a notebook asked for, the one that makes the same."""
    started = Path(sys.argv[0])
    if started.parts[-2:] == ("cycle", "__main__.py") or started.name == "cycle":
        return " ".join(["python -m cycle", *sys.argv[1:]])
    chosen = f"--profile {run.profile} --seed {run.seed} --methods {run.method} --splits {run.split}"
    chosen += f" --variants {run.variant or UNCHANGED}"
    return f"python -m cycle run {experiment} {chosen}"


def provenance(command: str, device: torch.device, ranks: int = 1) -> dict:
    """Of what this command makes here and now."""
    return {
        "commit": commit(),
        "command": command,
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "hardware": hardware(device) + (f", {ranks} ranks" if ranks > 1 else ""),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
