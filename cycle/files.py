"""Writing a file whole or not at all; what is half-done has an owner and an end."""

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

# Half-done files are hidden and named .NAME@MACHINE.PROCESS.RANDOM.partial: machines may share.
OWNED = re.compile(r"\..+@(?P<machine>.*)\.(?P<process>\d+)\.[0-9a-f]{8}\.partial")
ABANDONED = 24 * 3600  # seconds after the last byte: nobody is still writing

FULL = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space there and repeat")
CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
CURES = FULL | dict.fromkeys(CLOSED, "make it writable or name another folder")


class DiskError(OSError):
    """A file that cannot be written: names it and says what to do."""


def owned(path: Path) -> Path:
    """A name beside `path` for what this process is making of it, like no other anywhere."""
    owner = f"{socket.gethostname()}.{os.getpid()}.{secrets.token_hex(4)}"
    return path.with_name(f".{path.name}@{owner}.partial")


def cut_writes(path: Path) -> list[Path]:
    """What processes that are gone left of making `path`, or files whose names begin like it."""
    found = path.parent.glob(f".{glob.escape(path.name)}*.partial")
    return [partial for partial in found if is_abandoned(partial)]


def is_abandoned(partial: Path) -> bool:
    """Whether a file is half-done, and whoever was making it is gone."""
    owner = OWNED.fullmatch(partial.name)
    with contextlib.suppress(OSError):  # another process renamed or removed it
        if owner and time.time() - partial.stat().st_mtime > ABANDONED:
            return True
        if owner and owner["machine"] == socket.gethostname() and os.name == "posix":
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
    """`path` holds the old content or the new, never a part. `write` gets a binary file."""
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
        # torch.save hides the reason behind another error.
        refused = error if isinstance(error, OSError) else error.__context__
        if not isinstance(refused, OSError):
            raise
        cure = CURES.get(refused.errno, "check the disk and repeat")
        what = f"{path} cannot be written ({refused.strerror or refused})"
        raise DiskError(f"{what}: {cure}; what it held is unharmed") from error
    finally:
        remove([partial])
