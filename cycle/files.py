"""Writing a file whole or not at all."""

import os
from pathlib import Path


def cut_writes(path: Path) -> list[Path]:
    """What processes that are gone left of writing `path`, or files whose names begin like it."""

    def gone(partial):
        try:
            os.kill(int(partial.suffix[1:]), 0)
        except ProcessLookupError:
            return True
        except (ValueError, OSError):  # no number: not ours; another user's process
            return False
        return False

    return [partial for partial in path.parent.glob(f".{path.name}.*") if gone(partial)]


def write_atomically(path: Path, write) -> None:
    """Whatever happens, `path` holds the old content or the new: never a part. `write` gets a binary file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(partial, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
