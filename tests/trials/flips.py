"""One bit flipped in what runs save: the file is named and set aside or refused; no other record ever comes of it."""

import shutil
import tempfile
from collections import Counter
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import numpy as np
import torch

from cycle import store
from cycle.play import play
from reproduction import execute, kept
from tests.trials import NAMES, numbers, recorded, small

COUNTED = ("checkpoints", "models", "warm_ups", "not_named", "other_results")
WARMED = ("standalone", "vpdl", "cycle")  # which share their local epochs
CUT = 10  # epochs after which a run stops


def cut(run, results: Path) -> None:
    """The run as it lies there when it was cut."""

    def some(*arguments):
        for number, done in enumerate(play(*arguments)):
            yield done
            if number == CUT:
                raise KeyboardInterrupt

    execute.play = some
    try:
        executed(run, results)
    except KeyboardInterrupt:
        pass
    finally:
        execute.play = play


def executed(run, results: Path, **how) -> dict:
    return numbers(execute.execute(run, "flips", results, "cpu", progress=False, **how))


def flipped(path: Path, rng) -> None:
    """One bit of it is another now."""
    content, place = bytearray(path.read_bytes()), rng.integers(8 * path.stat().st_size)
    content[place // 8] ^= 1 << int(place % 8)
    path.write_bytes(content)


def goes_on(run, results: Path, path: Path, expected: dict) -> tuple[bool, bool]:
    """Whether the damaged file is named and set aside; whether the record is what it should be."""
    with redirect_stderr(StringIO()) as said:
        found = executed(run, results)
    return str(path) in said.getvalue() and Path(f"{path}.unused").exists(), found == expected


def refused(run, results: Path, path: Path, expected: dict) -> tuple[bool, bool]:
    """Whether the damaged model is named; whether none is given."""
    try:
        kept.trained(run, results)
    except store.Damaged as error:
        return str(path) in str(error), True
    return False, False


def measure(flips: int = 100, seed: int = 0) -> dict:
    """Bits flipped in checkpoints, kept models and shared local epochs; the damaged files that were not named; the
    records and models that came of them and are others."""
    torch.set_num_threads(1)
    store.SAVING_SHARE = 1.0  # after every round
    rng, found = np.random.default_rng(seed), Counter()
    with tempfile.TemporaryDirectory() as temporary:
        whole = {name: executed(small(name), Path(temporary) / f"{name}-whole", keep=True) for name in NAMES}
        for name in NAMES:
            cut(small(name), Path(temporary) / f"{name}-cut")
        for number in range(flips):
            kind = ("checkpoints", "models", "warm_ups")[number % 3]
            name = rng.choice(WARMED if kind == "warm_ups" else NAMES)
            run, results = small(name), Path(temporary) / "damaged"
            source = {"checkpoints": "cut", "models": "whole", "warm_ups": "cut"}[kind]
            shutil.copytree(Path(temporary) / f"{name}-{source}", results)
            if kind == "warm_ups":  # which other runs look for
                shutil.rmtree(results / ".checkpoints" / run.profile)
            pattern = {"checkpoints": f"{run.path}.*.pt", "models": "*.pt", "warm_ups": "warmup-*.pt"}[kind]
            place = kept.folder(run, results) if kind == "models" else results / ".checkpoints"
            path = rng.choice(sorted(place.glob(pattern)))
            flipped(path, rng)
            named, same = (refused if kind == "models" else goes_on)(run, results, path, whole[name])
            found[kind] += 1
            found["not_named"] += not named
            found["other_results"] += not same
            shutil.rmtree(results)
    return {"seed": seed, "flips": flips} | {name: found[name] for name in COUNTED}


if __name__ == "__main__":
    recorded("flips", measure)
