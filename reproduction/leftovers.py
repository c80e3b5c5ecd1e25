"""What runs leave behind and nothing needs: found by kind, for `clean` to show and remove."""

import time
from collections.abc import Iterable
from pathlib import Path

from cycle import files

LATELY = 3600  # seconds after a write within which a run may still be using the file
SHOWN = 5  # files of a kind that are named
KINDS = {
    "recorded": "saved for resuming runs that are recorded by now",
    "unfinished": "saved for resuming runs that are not recorded: what they did so far goes with them",
    "shared": "local epochs that several runs share, made again when one needs them",
    "set aside": "saved with other settings, data or versions, or damaged",
    "partial": "writes that were cut off",
    "in use": "written within the hour, so that a run may be using it: kept",
}


def find(folders: Iterable[Path]) -> list[tuple[str, Path]]:
    """Kind and path of each file (or half-fetched folder) that is no record, no kept model and no data set."""
    found = []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if kind := _kind(path, folder):
                lately = kind != "partial" and time.time() - path.stat().st_mtime < LATELY
                found.append(("in use" if lately else kind, path))
    return found


def _kind(path: Path, folder: Path) -> str:
    """Nothing where it is not left over."""
    saved = folder / ".checkpoints"
    if path.name.endswith(".partial"):
        return "partial" if files.is_abandoned(path) else ""
    if saved not in path.parents or not path.is_file():
        return ""
    if path.name.endswith(".unused"):
        return "set aside"
    if path.name.startswith("warmup-"):
        return "shared"
    run = path.relative_to(saved).as_posix().partition(".json")[0]  # of RUN.json.EPOCH.RANK.pt
    return "recorded" if (folder / f"{run}.json").exists() else "unfinished"


def removable(found: list[tuple[str, Path]]) -> list[Path]:
    return [path for kind, path in found if kind != "in use"]


def report(found: list[tuple[str, Path]]) -> str:
    """Size, number and meaning of each kind, with the first files of it."""
    lines = []
    for kind, meaning in KINDS.items():
        paths = [path for other, path in found if other == kind]
        if paths:
            lines.append(f"{megabytes(paths)}, {len(paths)} of kind {kind}: {meaning}")
            lines += [f"  {path}" for path in paths[:SHOWN]]
            lines += [f"  and {len(paths) - SHOWN} more"] * (len(paths) > SHOWN)
    return "\n".join(lines) or "nothing is left over"


def megabytes(paths: list[Path]) -> str:
    """Of files, and of all that is in folders."""
    parts = [part for path in paths for part in (path, *path.rglob("*"))]
    return f"{sum(part.stat().st_size for part in parts if part.is_file()) / 1e6:,.1f} MB"
