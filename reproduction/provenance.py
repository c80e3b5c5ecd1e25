"""Where a number comes from: commit, command, versions, hardware, date."""

import functools
import platform
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import torch

from reproduction.settings import UNCHANGED, Run


def _git(*arguments) -> str:
    """What git answers about this copy of the project; nothing where it is not a clone."""
    command, here = ["git", *arguments], Path(__file__).resolve().parent
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=here, check=True).stdout.strip()
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
    return found + "-dirty" if _git("status", "--porcelain", "--", ".") else found


def command_of(run: Run, experiment: str) -> str:
    """As it was typed; for a run that a notebook asked for, the one that makes the same."""
    if Path(sys.argv[0]).parts[-2:] == ("cycle", "__main__.py"):
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
        "torch": torch.__version__,
        "hardware": hardware(device) + (f", {ranks} ranks" if ranks > 1 else ""),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }
