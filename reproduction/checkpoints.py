"""How a run that was cut goes on: what it saves now and then, and local epochs that several runs share."""

import contextlib
import hashlib
import json
import os
import sys
import time
from pathlib import Path

import torch

from cycle import options, participants, partition, training
from cycle.files import cut_writes, write_atomically
from cycle.methods import METHODS
from cycle.ranks import Ranks
from cycle.training import State
from reproduction import models, settings
from reproduction.data import datasets
from reproduction.settings import Run

COLLABORATION = (  # options that the local epochs do not depend on
    "rounds", "temperature", "lambda_0", "normalisation", "alpha", "tau_opt", "tau_max", "period", "score_samples",
    "silent", "forced_only", "epochs_per_round", "privacy", "topology", "beta", "local_steps", "evaluation",
    "link_rule", "alignment", "self_loops", "mix_buffers", "participation",
)  # fmt: skip
LAYOUT = 1  # of what is saved: one more whenever `State.save` or the log changes
SAVING_SHARE = 0.1  # of the time, at most, goes into saving how to go on: a mounted drive is slow, a model large


def warmup_key(run: Run, data_hash: str, device: torch.device) -> str:
    """Names what the local epochs depend on, code included: runs that share it on a machine share them bit for bit."""
    own_settings = run.settings()
    own = {name: value for name, value in own_settings["options"].items() if name not in COLLABORATION}
    alone = own_settings | {"options": own, "method": "", "variant": "", "alone_as": ""}
    alone |= {"data": data_hash, "torch": torch.__version__, "device": device.type, "layout": LAYOUT}
    alone |= {"threads": torch.get_num_threads(), "instructions": torch.backends.cpu.get_cpu_capability()}
    modules = (datasets, models, options, participants, partition, settings, training)
    code = [Path(module.__file__).read_text() for module in modules]
    return hashlib.sha256("".join([json.dumps(alone, sort_keys=True), *code]).encode()).hexdigest()[:16]


def _latest(paths, key: str) -> tuple[list[dict], list[Path]]:
    """The parts of the latest epoch that was saved whole, the first rank's first; and the files of all other epochs."""
    sets, places = {}, {}
    for path in paths:
        try:
            part = torch.load(path, map_location="cpu", weights_only=False)
            other, place = part["key"] != key, (part["state"]["epoch"], part["ranks"])
        except Exception as error:  # whatever a cut file, or one of another version, raises
            print(f"{path} cannot be read ({type(error).__name__}: {error}): not used", file=sys.stderr)
            continue
        if other:
            print(f"{path} was saved with other settings, data, device or torch: not used", file=sys.stderr)
        else:
            sets.setdefault(place, {})[part["rank"]] = part
            places.setdefault(place, []).append(path)
    whole = [epoch_and_ranks for epoch_and_ranks, found in sets.items() if len(found) == epoch_and_ranks[1]]
    if not whole:
        return [], []
    others = [path for place, found in places.items() if place != max(whole) for path in found]
    return [part for _, part in sorted(sets[max(whole)].items())], others


class Checkpoints:
    """Of one run, in a directory that all of its ranks see."""

    def __init__(self, run: Run, dataset: datasets.Dataset, ranks: Ranks, results: Path):
        device = dataset.train_images.device
        self.ranks, self.local_epochs, self.next_save = ranks, run.options.local_epochs, 0.0
        kind = {"data": dataset.hash, "torch": torch.__version__, "device": device.type, "layout": LAYOUT}
        self.key = json.dumps(run.settings() | kind, sort_keys=True)
        self.place = results / ".checkpoints" / run.path
        self.warmup = results / ".checkpoints" / f"warmup-{warmup_key(run, dataset.hash, device)}.pt"
        self.shares_warmup = METHODS[run.method].local_start and self.local_epochs > 0

    def _everybody(self):
        return self.place.parent.glob(f"{self.place.name}.*.pt")

    def load(self) -> list[dict]:
        """What the ranks saved last, of this run or, if nothing, of one that shares its local epochs."""
        saved = self._read(self._everybody, self.key)
        if not saved and self.shares_warmup:
            saved = self._read(lambda: filter(Path.exists, [self.warmup]), self.warmup.name)
        return saved

    def _read(self, paths, key: str) -> list[dict]:
        """What is saved whole under this key; what cannot be used is set aside, since it may be hours of work."""
        seen = list(paths())
        saved, others = _latest(seen, key)
        self.ranks.wait()  # until all have read what the first renames, or replaces when it goes on
        if self.ranks.first and not saved:
            for unused in seen:
                with contextlib.suppress(FileNotFoundError):  # another run set it aside already
                    os.replace(unused, f"{unused}.unused")
        for other in others if self.ranks.first else ():  # else the next save could push a part of `saved` out
            other.unlink(missing_ok=True)
        self.ranks.wait()
        return saved

    def save(self, state: State, log: dict) -> None:
        """After an epoch: at the end of the local ones, and else when it is time again."""
        warmed_up = state.epoch == self.local_epochs
        if not self.ranks.agreed(warmed_up or time.perf_counter() >= self.next_save):
            return
        start = time.perf_counter()
        own, previous = (Path(f"{self.place}.{self.ranks.rank}{ending}") for ending in (".pt", ".previous.pt"))
        content = {"rank": self.ranks.rank, "ranks": self.ranks.size, "state": state.save(), "log": log}
        if own.exists() and self.ranks.size > 1:
            os.replace(own, previous)
        write_atomically(own, lambda file: torch.save(content | {"key": self.key}, file))
        if self.shares_warmup and self.ranks.size == 1 and warmed_up and not self.warmup.exists():
            write_atomically(self.warmup, lambda file: torch.save(content | {"key": self.warmup.name}, file))
        self.ranks.wait()  # so that no two ranks are more than one save apart
        self.next_save = time.perf_counter() + (time.perf_counter() - start) * (1 / SAVING_SHARE - 1)

    def remove(self) -> None:
        """The run is recorded; shared local epochs stay."""
        self.ranks.wait()
        if self.ranks.first:
            for left in [*self._everybody(), *cut_writes(self.place)]:
                left.unlink(missing_ok=True)
