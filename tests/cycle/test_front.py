"""The front door, as somebody outside uses it: all kinds of data and models, reports, saved models, resumed runs."""

import copy
import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import cycle
from cycle import store
from cycle.weights import vector

FEW = cycle.Options(local_epochs=2, rounds=3, batch_size=16, lr=0.05, period=2, lambda_0=5.0)
PRIVATE, AVERAGING = ("standalone", "vpdl", "cycle"), ("fedavg", "gossip", "cycle-gossip")


def blobs(size, seed, shape=(6,)):
    """Two classes of points around +1 and -1: what anybody learns at once."""
    rng = np.random.default_rng(seed)
    labels = np.arange(size) % 2
    inputs = rng.normal(size=(size, *shape)) + (2 * labels - 1).reshape(-1, *(1 for _ in shape))
    return inputs.astype(np.float32), labels


def linear(seed=0):
    torch.manual_seed(seed)
    return nn.Linear(6, 2)


def group(n=3, **keywords):
    return [cycle.Party(linear(n), blobs(20 + 8 * n, n), **keywords) for n in range(n)]


def run(parties, method="cycle", options=FEW, **keywords):
    return cycle.run(parties, method, options, progress=False, device="cpu", **keywords)


def weights(parties):
    return [vector(party.model.parameters()) for party in parties]


class Words(nn.Module):
    """Token ids in, classes out."""

    def __init__(self):
        super().__init__()
        self.embedding, self.last = nn.Embedding(50, 8), nn.Linear(8, 2)

    def forward(self, ids):
        return self.last(self.embedding(ids).mean(dim=1))


def tokens(size, seed):
    """Sentences of the first class use the first half of the words."""
    rng = np.random.default_rng(seed)
    labels = np.arange(size) % 2
    return rng.integers(0, 25, (size, 7)) + 25 * labels[:, None], labels.astype(np.uint8)


def pictures(size, seed):
    """Bytes, 5 x 9 pixels in three colours; one class is bright."""
    rng = np.random.default_rng(seed)
    labels = np.arange(size) % 2
    return (rng.integers(0, 100, (size, 3, 5, 9)) + 120 * labels[:, None, None, None]).astype(np.uint8), labels


def small_cnn():
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.Tanh(), nn.Flatten(), nn.Linear(4 * 3 * 7, 2))


KINDS = {
    "table": (linear, blobs),
    "float64 table": (linear, lambda size, seed: (blobs(size, seed)[0].astype(np.float64), blobs(size, seed)[1])),
    "bytes, not square": (small_cnn, pictures),
    "token ids": (Words, tokens),
    "double model": (lambda: linear().double(), blobs),
    "Dataset": (linear, lambda size, seed: TensorDataset(*map(torch.from_numpy, blobs(size, seed)))),
    "DataLoader": (
        linear,
        lambda size, seed: DataLoader(TensorDataset(*map(torch.from_numpy, blobs(size, seed))), batch_size=5),
    ),
}


@pytest.mark.parametrize("method", [*PRIVATE, *AVERAGING])
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_learns_from_every_kind_of_data(method, kind):
    """Unequal parties; at the end everybody tells the two classes apart, which guessing does for half."""
    model, data = KINDS[kind]
    torch.manual_seed(0)
    parties = [cycle.Party(model(), data(20 + 10 * n, n), test=data(60, 9)) for n in range(3)]
    result = run(parties, method, cycle.Options(local_epochs=4, rounds=6, batch_size=8, lr=0.1, lambda_0=2.0))
    assert len(result.history) == 10 and min(result.accuracy) > 80
    assert [party.size for party in result.parties] == [20, 30, 40]
    assert (result.messages > 0) == (method != "standalone") and result.shares.sum() == result.messages


def three_architectures():
    torch.manual_seed(0)
    models = [nn.Linear(6, 2), nn.Sequential(nn.Linear(6, 9), nn.ReLU(), nn.Linear(9, 2)),
              nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 2))]  # fmt: skip
    return [cycle.Party(model, blobs(24, n)) for n, model in enumerate(models)]


@pytest.mark.parametrize("method", PRIVATE)
def test_architectures_may_differ_where_answers_travel(method):
    before = weights(three_architectures())
    after = weights(run(three_architectures(), method, test=blobs(40, 9)).parties)
    assert all(len(a) == len(b) and not torch.equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("method", AVERAGING)
def test_architectures_must_not_differ_where_models_are_averaged(method):
    with pytest.raises(ValueError, match="parties: P2 has another architecture than P1; a method that averages"):
        run(three_architectures(), method)


def test_stored_data_are_never_changed_also_by_a_prepare_that_works_in_place():
    data = [blobs(20 + 8 * n, n) for n in range(3)]
    before, test = copy.deepcopy(data), blobs(30, 9)

    def prepare(inputs, augment):
        return inputs.mul_(2).add_(1)

    common = copy.deepcopy(test)
    for method in ("cycle", "cycle-gossip"):
        parties = [cycle.Party(linear(), own, prepare=prepare) for own in data]
        run(parties, method, test=common)
    for own, old in zip([*data, common], [*before, test], strict=True):
        assert np.array_equal(own[0], old[0]) and np.array_equal(own[1], old[1])


def test_everybody_is_tested_on_the_common_set_or_its_own_or_not_at_all():
    """Recounted from the models at the end."""

    def percent(party, data):
        logits = party.model.eval()(torch.from_numpy(data[0]))
        return 100 * float((logits.argmax(dim=1).numpy() == data[1]).mean())

    own = [blobs(30, 10 + n) for n in range(3)]
    parties = [cycle.Party(linear(n), blobs(20, n), test=own[n]) for n in range(3)]
    result = run(parties)
    assert result.accuracy == pytest.approx([percent(p, data) for p, data in zip(parties, own, strict=True)])
    common = blobs(50, 20)
    parties = [cycle.Party(linear(n), blobs(20, n), test=own[n]) for n in range(3)]
    result = run(parties, test=common)
    assert result.accuracy == pytest.approx([percent(party, common) for party in parties])
    untested = run(group())
    assert untested.accuracy is None and untested.history[-1]["losses"]
    with pytest.raises(ValueError, match="test must be given to run, or to every party"):
        untested.report()


def test_a_result_is_shown_in_a_line_a_party():
    parties = group()
    parties[1].name = "Basel"
    result = run(parties, "vpdl", test=blobs(40, 9))
    first, *lines = repr(result).splitlines()
    assert first == "vpdl: 5 epochs"
    percents = [f"{percent:.1f}" for percent in result.accuracy]
    told = [[name, percent, "%", "6", "sent"] for name, percent in zip(["P1", "Basel", "P3"], percents, strict=True)]
    assert [line.split() for line in lines] == told


@pytest.mark.parametrize("optimizer", [None, lambda p: torch.optim.Adam(p, 0.01)])
def test_the_report_is_against_the_same_parties_alone(optimizer, caplog):
    """Trained once, from the same weights with the same seed, and said so; the parties stay as they are."""
    test = blobs(80, 9)
    result = run(group(optimizer=optimizer), seed=3, test=test)
    before, report = weights(result.parties), result.report()
    alone = run(group(optimizer=optimizer), "standalone", seed=3, test=test)
    assert result.alone == alone.accuracy
    assert report.gains.tolist() == pytest.approx(np.subtract(result.accuracy, alone.accuracy).tolist())
    assert report.mcg == pytest.approx(np.mean(np.subtract(result.accuracy, alone.accuracy)))
    assert caplog.text.count("training the same 3 parties alone, once") == 1
    result.report()
    assert caplog.text.count("alone, once") == 1
    assert all(map(torch.equal, before, weights(result.parties)))


def test_a_report_with_optimisers_that_exist_already_is_the_same():
    """An optimiser is bound to its model: the twins that train alone get their own."""

    def with_optimiser(ready):
        parties = []
        for n in range(3):
            model = linear(n)
            made = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
            optimizer = made if ready else lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9)
            parties.append(cycle.Party(model, blobs(20, n), optimizer=optimizer))
        return run(parties, test=blobs(80, 9))

    ready, function = with_optimiser(True), with_optimiser(False)
    assert all(map(torch.equal, weights(ready.parties), weights(function.parties)))
    assert ready.report().gains.tolist() == function.report().gains.tolist() and ready.alone == function.alone


PREDICT = """
import sys, torch, cycle
from torch import nn
models = [nn.Linear(6, 2) for _ in range(3)]
record = cycle.load(sys.argv[1], models)
torch.manual_seed(0)
print(record["method"], record["names"], *[model(torch.ones(1, 6)).argmax().item() for model in models])
torch.save([model(torch.ones(4, 6).cumsum(1)) for model in models], sys.argv[2])
"""


def test_saved_models_predict_in_a_new_process(tmp_path):
    parties = group(name=None)
    parties[1].name = "Basel"
    result = run(parties, test=blobs(40, 9))
    result.report()
    place = result.save(tmp_path / "kept")
    told = subprocess.run(
        [sys.executable, "-c", PREDICT, str(place), str(tmp_path / "logits")], capture_output=True, text=True
    )
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("cycle ['P1', 'Basel', 'P3']")
    for logits, party in zip(torch.load(tmp_path / "logits"), parties, strict=True):
        assert torch.equal(logits, party.model.eval()(torch.ones(4, 6).cumsum(1)))
    record = json.loads((place / "record.json").read_text())
    assert record["history"][-1]["accuracy"] == result.accuracy and record["alone"] == result.alone
    assert record["reputation"] == result.reputation.tolist() and record["bytes"] == result.bytes > 0
    assert cycle.Options(**record["options"]) == FEW


def test_what_cannot_be_loaded_is_said(tmp_path):
    run(group()).save(tmp_path)
    with pytest.raises(ValueError, match="directory must hold a saved result"):
        cycle.load(tmp_path / "elsewhere", [linear()] * 3)
    with pytest.raises(ValueError, match="models must be one for each of 3 parties, got 2"):
        cycle.load(tmp_path, [linear()] * 2)
    with pytest.raises(ValueError, match="models: that of P2 has another architecture"):
        cycle.load(tmp_path, [linear(), nn.Linear(6, 3), linear()])
    weights_of = tmp_path / "party-1.pt"
    weights_of.write_bytes(weights_of.read_bytes()[:-1] + b"?")
    with pytest.raises(store.Damaged, match="party-1.pt is damaged"):
        cycle.load(tmp_path, [linear()] * 3)


@pytest.mark.parametrize("method", ["cycle", "cycle-gossip", "fedavg"])
def test_a_run_that_was_cut_goes_on_to_the_same_numbers(method, tmp_path, monkeypatch):
    """Cut in the middle by whoever watches; the same call again. Nothing is left behind."""
    monkeypatch.setattr(store, "SAVING_SHARE", 1.0)
    test = blobs(40, 9)
    whole = run(group(), method, test=test)

    def cut(done):
        if done.index == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(group(), method, test=test, resume=tmp_path, callback=cut)
    assert list(tmp_path.iterdir())
    seen = []
    again = run(group(), method, test=test, resume=tmp_path, callback=lambda done: seen.append(done.index))
    assert seen[0] == 1 and again.history == whole.history
    assert all(map(torch.equal, weights(again.parties), weights(whole.parties)))
    assert again.messages == whole.messages and np.array_equal(again.shares, whole.shares)
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_other_data_is_not_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(store, "SAVING_SHARE", 1.0)

    def cut(done):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(group(), resume=tmp_path, callback=lambda done: cut(done) if done.index == 1 else None)
    other = [cycle.Party(linear(n), blobs(20 + 8 * n, n + 5)) for n in range(3)]
    assert len(run(other, resume=tmp_path).history) == 5
    assert "was saved with other settings, data, device or torch: not used" in capsys.readouterr().err


def test_a_checkpoint_under_another_rule_is_not_used(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(store, "SAVING_SHARE", 1.0)

    def cut(done):
        if done.index == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(group(), resume=tmp_path, callback=cut)

    def half(own, peer):
        return 0.5

    again = run(group(), resume=tmp_path, score=half)
    assert "was saved with other settings" in capsys.readouterr().err
    assert all(map(torch.equal, weights(again.parties), weights(run(group(), score=half).parties)))


def test_groups_of_both_precisions_learn_from_each_other():
    """Each prepares its samples in its own way, and a peer's model takes them in its own type."""

    class Any(nn.Linear):
        def forward(self, inputs):
            return super().forward(inputs.to(self.weight.dtype))

    torch.manual_seed(0)
    parties = [cycle.Party(model, blobs(40, n)) for n, model in enumerate((Any(6, 2), Any(6, 2).double()))]
    result = run(parties, "vpdl", test=blobs(40, 9))
    assert not any(row["refused"] for row in result.history) and result.history[-1]["losses"][0][1] > 0


def test_a_second_run_goes_on_from_where_the_models_are():
    parties = group()
    run(parties, "standalone", cycle.Options(local_epochs=4, rounds=0, batch_size=16, lr=0.05))
    middle = weights(parties)
    again = run(parties, "standalone", cycle.Options(local_epochs=1, rounds=0, batch_size=16, lr=1e-12, momentum=0.0))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(middle, weights(again.parties), strict=True))
