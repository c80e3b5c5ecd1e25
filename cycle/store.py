"""Tensors, numbers and text on disk: whole or not at all, checked by SHA-256, never code."""

import contextlib
import hashlib
import io
import os
import sys
import time
from pathlib import Path

import torch

from cycle.files import cut_writes, write_atomically
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
        raise Damaged(f"{path} holds more than tensors, numbers and text: not used") from error


class Checkpoints:
    """How a run that was cut goes on, in a directory that all of its ranks see.

    `key` names everything that its numbers depend on. `warmup` is a file for local epochs that
    several runs share.
    """

    def __init__(
        self, place: Path, key: str, ranks: Ranks, local_epochs: int, warmup: Path | None = None
    ):
        self.place, self.key, self.ranks, self.local_epochs = place, key, ranks, local_epochs
        self.warmup = warmup if local_epochs > 0 else None
        self.next_save = 0.0

    def _everybody(self):
        return self.place.parent.glob(f"{self.place.name}.*.pt")

    def load(self) -> list[dict]:
        """What the ranks saved last, of this run or else of one that shares its local epochs."""
        saved = self._read(self._everybody, self.key)
        if not saved and self.warmup:
            saved = self._read(lambda: filter(Path.exists, [self.warmup]), self.warmup.name)
        return saved

    def _read(self, paths, key: str) -> list[dict]:
        """What is saved whole under this key; what cannot be used is kept aside, not lost."""
        seen = list(paths())
        saved, others = _latest(seen, key)
        self.ranks.barrier()  # until all have read what the first renames or replaces
        if self.ranks.first and not saved:
            for unused in seen:
                with contextlib.suppress(FileNotFoundError):  # another run set it aside already
                    os.replace(unused, f"{unused}.unused")
        for other in others if self.ranks.first else ():  # the next save could push out a part
            other.unlink(missing_ok=True)
        self.ranks.barrier()
        return saved

    def save(self, state: State, log: dict) -> None:
        """After an epoch: at the end of the local ones, and else when it is time again."""
        warmed_up = state.epoch == self.local_epochs
        if not self.ranks.broadcast(warmed_up or time.perf_counter() >= self.next_save):
            return
        start = time.perf_counter()
        own, previous = (
            Path(f"{self.place}.{self.ranks.rank}{ending}") for ending in (".pt", ".previous.pt")
        )
        content = {
            "rank": self.ranks.rank,
            "ranks": self.ranks.size,
            "state": state.save(),
            "log": log,
        }
        if own.exists() and self.ranks.size > 1:
            os.replace(own, previous)
        save(own, content | {"key": self.key})
        if self.warmup and self.ranks.size == 1 and warmed_up and not self.warmup.exists():
            save(self.warmup, content | {"key": self.warmup.name})
        self.ranks.barrier()  # so that no two ranks are more than one save apart
        self.next_save = time.perf_counter() + (time.perf_counter() - start) * (
            1 / SAVING_SHARE - 1
        )

    def remove(self) -> None:
        """The run is recorded; shared local epochs stay."""
        self.ranks.barrier()
        if self.ranks.first:
            for left in [*self._everybody(), *cut_writes(self.place)]:
                left.unlink(missing_ok=True)


def _latest(paths, key: str) -> tuple[list[dict], list[Path]]:
    """The parts of the latest epoch saved whole, by rank; and the files of all other epochs."""
    sets, places = {}, {}
    for path in paths:
        try:
            part = load(path)
            other, place = part["key"] != key, (part["state"]["epoch"], part["ranks"])
        except (
            OSError,
            ValueError,
            KeyError,
            TypeError,
        ) as error:  # cut, damaged, or of another version
            print(f"{path} cannot be read ({error}): not used", file=sys.stderr)
            continue
        if other:
            print(
                f"{path} was saved with other settings, data, device or torch: not used",
                file=sys.stderr,
            )
        else:
            sets.setdefault(place, {})[part["rank"]] = part
            places.setdefault(place, []).append(path)
    whole = [place for place, found in sets.items() if len(found) == place[1]]
    if not whole:
        return [], []
    others = [path for place, found in places.items() if place != max(whole) for path in found]
    return [part for _, part in sorted(sets[max(whole)].items())], others
