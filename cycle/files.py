"""Writing a file whole or not at all; a name for what is half-done, so that a left-over has an owner and an end."""

import contextlib
import errno
import glob
import os
import re
import secrets
import shutil
import socket
import time
from pathlib import Path

# Half-done files are hidden and named .NAME@MACHINE.PROCESS.RANDOM.partial, since machines may share a volume.
OWNED = re.compile(r"\..+@(?P<machine>.*)\.(?P<process>\d+)\.[0-9a-f]{8}\.partial")
ABANDONED = (
    24 * 3600
)  # seconds without a byte after which nobody is still writing, whatever its name says

CURES = {
    "free some space there and repeat": (errno.ENOSPC, errno.EDQUOT, errno.EFBIG),
    "make it writable or name another folder": (errno.EROFS, errno.EACCES, errno.EPERM),
}


class DiskError(OSError):
    """A file that cannot be written: names it and says what to do."""


def owned(path: Path) -> Path:
    """A name beside `path` for what this process is making of it; no other process anywhere has the same."""
    return path.with_name(
        f".{path.name}@{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}.partial"
    )


def cut_writes(path: Path) -> list[Path]:
    """What processes that are gone left of making `path`, or files whose names begin like it."""
    found = path.parent.glob(f".{glob.escape(path.name)}*.partial")
    return [partial for partial in found if is_abandoned(partial)]


def is_abandoned(partial: Path) -> bool:
    owner = OWNED.fullmatch(partial.name)
    if owner is None:
        return False
    with contextlib.suppress(OSError):  # another process renamed or removed it
        if time.time() - partial.stat().st_mtime > ABANDONED:
            return True
        if owner["machine"] == socket.gethostname() and os.name == "posix":
            try:
                os.kill(int(owner["process"]), 0)
            except (ProcessLookupError, OverflowError):
                return True
    return False


def remove(paths) -> None:
    """Files and folders, those that are there."""
    for path in paths:
        with contextlib.suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def write_atomically(path: Path, write) -> None:
    """Whatever happens, `path` holds the old content or the new: never a part. `write` gets a binary file."""
    partial = owned(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        remove(cut_writes(path))
        with open(partial, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except Exception as error:
        refused = (
            error if isinstance(error, OSError) else error.__context__
        )  # torch.save hides the reason
        if not isinstance(refused, OSError):
            raise
        cure = next(
            (cure for cure, numbers in CURES.items() if refused.errno in numbers),
            "check the disk and repeat",
        )
        reason = refused.strerror or refused
        raise DiskError(
            f"{path} cannot be written ({reason}): {cure}; what it held is unharmed"
        ) from error
    finally:
        remove([partial])
