"""What is on disk: every damage is named, nothing that is unpickled is code, no crash loses a whole set."""

import os
import pickle

import numpy as np
import pytest
import torch

from cycle import ranks, store


class Code:
    """What a hostile file would hold: unpickled, it calls a function."""

    def __reduce__(self):
        return os.mkdir, ("called",)


def content():
    tensors = {"weight": torch.randn(3, 4), "count": torch.tensor(5), "mask": torch.tensor([True, False])}
    return {"models": {0: tensors, 1: {}}, "memory": [1, 2.5, "text", None, (3, True)], "key": "k"}


def same(a, b):
    if torch.is_tensor(a):
        return torch.equal(a, b) and a.dtype == b.dtype
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and all(map(same, a, b))
    return a == b


def test_what_is_saved_is_loaded(tmp_path):
    saved = content()
    store.save(tmp_path / "one.pt", saved)
    assert same(saved, store.load(tmp_path / "one.pt"))


def test_a_hundred_flipped_bits_are_all_seen(tmp_path):
    """Anywhere in the file: in the digest, in the numbers, in what surrounds them."""
    path = tmp_path / "one.pt"
    store.save(path, content())
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for position in rng.choice(8 * len(whole), 100, replace=False):
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << position % 8
        path.write_bytes(flipped)
        with pytest.raises(store.Damaged, match=f"{path} is damaged"):
            store.load(path)


@pytest.mark.parametrize("kept", [0, 10, 64, 500])
def test_a_cut_file_is_seen(tmp_path, kept):
    path = tmp_path / "one.pt"
    store.save(path, content())
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(store.Damaged):
        store.load(path)


def test_code_in_a_file_is_refused_and_not_called(tmp_path, monkeypatch):
    """Even under a digest that fits; and a plain pickle, which has none."""
    monkeypatch.chdir(tmp_path)
    store.save(tmp_path / "code.pt", {"key": "k", "state": Code()})
    with pytest.raises(store.Damaged, match="holds more than tensors, numbers and text"):
        store.load(tmp_path / "code.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Code()))
    with pytest.raises(store.Damaged):
        store.load(tmp_path / "plain.pt")
    assert not (tmp_path / "called").exists()


class Crash(Exception):
    """What a rank sees of one that died."""


class Rank:
    """One of two ranks, which may wait for the other in vain."""

    size = 2

    def __init__(self, rank, alone):
        self.rank, self.first, self.alone = rank, rank == 0, alone

    def barrier(self):
        if self.alone:
            raise Crash

    def broadcast(self, value):
        return value


class At:
    """A state that knows its epoch only."""

    def __init__(self, epoch):
        self.epoch = epoch

    def save(self):
        return {"epoch": self.epoch}


def of(rank, place, alone=False):
    return store.Checkpoints(place / "run.json", "key", Rank(rank, alone))


def test_two_crashes_while_ranks_save_lose_no_whole_set(tmp_path):
    """Both ranks at 10; the first alone saves 12, then, resumed from 10, 11: both times 10 is what goes on."""
    for rank in (1, 0):
        of(rank, tmp_path).save(At(10), {"rank": rank})
    for cut in (12, 11):
        with pytest.raises(Crash):
            of(0, tmp_path, alone=True).save(At(cut), {})
        assert (tmp_path / f"run.json.{cut}.0.pt").exists()
        found = of(0, tmp_path).load()
        assert [(part["state"]["epoch"], part["log"]["rank"]) for part in found] == [(10, 0), (10, 1)]
        assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json.10.0.pt", "run.json.10.1.pt"]


def test_the_epoch_before_goes_when_all_have_saved_the_next(tmp_path):
    for epoch in (10, 12):
        for rank in (1, 0):
            of(rank, tmp_path).save(At(epoch), {})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.json.12.0.pt", "run.json.12.1.pt"]
    assert [part["state"]["epoch"] for part in of(1, tmp_path).load()] == [12, 12]
    of(0, tmp_path).remove()
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_another_run_is_named_and_kept(tmp_path, capsys):
    own = store.Checkpoints(tmp_path / "run.json", "key", ranks.Ranks(3))
    own.save(At(5), {"log": 1})
    other = store.Checkpoints(tmp_path / "run.json", "another key", ranks.Ranks(3))
    assert other.load() == [] and "was saved with other settings, data, device or torch" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.json.5.0.pt.unused"]


@pytest.mark.parametrize("content", [{}, [1, 2], "text", {"key": None}], ids=str)
def test_a_file_that_is_no_checkpoint_is_named_and_kept(tmp_path, capsys, content):
    store.save(tmp_path / "run.json.5.0.pt", content)
    assert store.Checkpoints(tmp_path / "run.json", "key", ranks.Ranks(3)).load() == []
    assert "run.json.5.0.pt was saved with other settings" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.json.5.0.pt.unused"]


def test_two_runs_that_set_one_damaged_file_aside_both_go_on(tmp_path, monkeypatch, capsys):
    """Both find the shared local epochs damaged; the other run is the faster one to rename them."""
    warmup = tmp_path / "warmup.2.0.pt"
    warmup.write_text("damaged")
    load = store.load

    def meanwhile(path):
        try:
            return load(path)
        finally:
            os.replace(path, f"{path}.unused")

    monkeypatch.setattr(store, "load", meanwhile)
    assert store.Checkpoints(tmp_path / "warmup", "warmup", ranks.Ranks(3)).load() == []
    assert "warmup.2.0.pt is damaged" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["warmup.2.0.pt.unused"]
