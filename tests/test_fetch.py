import numpy as np
import pytest

from cycle import fetch


def tiny():
    rng = np.random.default_rng(0)
    return {
        "train_images": rng.integers(0, 256, (20, 32, 32, 3), dtype=np.uint8),
        "train_labels": np.arange(20, dtype=np.uint8) % 10,
        "test_images": rng.integers(0, 256, (10, 32, 32, 3), dtype=np.uint8),
        "test_labels": np.arange(10, dtype=np.uint8),
    }


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


def test_a_wrong_copy_is_refused(tmp_path, monkeypatch):
    assert fetch.content_hash(tiny()) != fetch.COPY_HASH
    altered = tiny()
    altered["train_labels"][0] += 1
    assert fetch.content_hash(altered) != fetch.content_hash(tiny())


def test_refuses_unknown_names():
    with pytest.raises(ValueError, match="cifar10, cifar100"):
        fetch.cifar("mnist")
