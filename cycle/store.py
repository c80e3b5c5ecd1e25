"""Tensors, numbers and text on disk: whole or not at all, checked by SHA-256, never code."""

import contextlib
import glob
import hashlib
import io
import os
import sys
import time
from pathlib import Path

import torch

from cycle.files import cut_writes, remove, write_atomically
from cycle.ranks import Ranks
from cycle.state import State

DIGEST = 64  # hexadecimal digits before the content
SAVING_SHARE = 0.1  # of the time, at most, goes into saving: a mounted drive is slow, a model large


class Damaged(ValueError):
    """A file that is not what was written."""


def save(path: Path, content) -> None:
    """Tensors, numbers, text, and lists and dictionaries of them."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    payload = buffer.getvalue()
    digest = hashlib.sha256(payload).hexdigest().encode()
    write_atomically(path, lambda file: file.write(digest + payload))


def load(path: Path):
    """What was saved, on the CPU; Damaged where a byte has changed or where it holds code."""
    whole = Path(path).read_bytes()
    digest, payload = whole[:DIGEST], whole[DIGEST:]
    if hashlib.sha256(payload).hexdigest().encode() != digest:
        raise Damaged(f"{path} is damaged: its content is not what its SHA-256 says")
    try:
        return torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    except Exception as error:  # whatever torch raises of what it will not unpickle
        raise Damaged(f"{path} holds more than tensors, numbers and text") from error


class Checkpoints:
    """How a run that was cut goes on, in a directory that all of its ranks see.

    Each rank saves an epoch as NAME.EPOCH.RANK.pt; what is older goes when all of them have. `key`
    names everything that the numbers depend on.
    """

    def __init__(self, place: Path, key: str, ranks: Ranks):
        self.place, self.key, self.ranks, self.next_save = place, key, ranks, 0.0

    def load(self) -> list[dict]:
        """What all ranks saved after the same epoch, the latest one, or nothing.

        A file that is damaged or of another run is named and set aside, not lost.
        """
        sets = {}
        for path in self._files():
            try:
                part = load(path)
                if not isinstance(part, dict) or part.get("key") != self.key:
                    raise Damaged(f"{path} was saved with other settings, data, device or torch")
                sets.setdefault((part["state"]["epoch"], part["ranks"]), []).append(part)
            except (OSError, Damaged) as error:
                print(f"{error}: not used", file=sys.stderr)
                if self.ranks.first:
                    with contextlib.suppress(FileNotFoundError):  # another run did it already
                        os.replace(path, f"{path}.unused")
        whole = [of for of, parts in sets.items() if len(parts) == of[1]]  # (epoch, ranks)
        self.remove(but=max(whole)[0] if whole else None)
        return sets[max(whole)] if whole else []

    def save(self, state: State, log: dict) -> None:
        """After an epoch, when it is time again."""
        start = time.perf_counter()
        if self.ranks.broadcast(start >= self.next_save):
            content = {"key": self.key, "ranks": self.ranks.size, "state": state.save(), "log": log}
            save(Path(f"{self.place}.{state.epoch}.{self.ranks.rank}.pt"), content)
            self.remove(but=state.epoch)
            now = time.perf_counter()
            self.next_save = now + (now - start) * (1 / SAVING_SHARE - 1)

    def _files(self) -> list[Path]:
        return sorted(self.place.parent.glob(f"{glob.escape(self.place.name)}.*.pt"))

    def remove(self, but: int | None = None) -> None:
        """All that is saved, but for an epoch that goes on; once all ranks are this far."""
        self.ranks.barrier()
        if self.ranks.first:
            kept = f"{self.place.name}.{but}."
            others = [path for path in self._files() if not path.name.startswith(kept)]
            remove([*others, *cut_writes(self.place)])
