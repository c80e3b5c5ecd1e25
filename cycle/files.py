"""Writing a file whole or not at all."""

import os
from pathlib import Path


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
