"""Each baseline's rule against a small NumPy version of it, and a round of the real loop against the rule."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from cycle.play import play
from cycle.ranks import Ranks
from cycle.weights import split, vector
from reproduction import baselines, catalogue

vectors = st.integers(0, 999).map(lambda seed: np.random.default_rng(seed).normal(size=37))


@given(vectors, st.floats(0, 1))
def test_largest_keeps_the_top_entries(row, fraction):
    kept = baselines.largest(torch.from_numpy(row), [row.size], fraction).numpy()
    count = int(np.ceil(fraction * row.size))
    expected = np.zeros_like(row)
    order = np.argsort(-np.abs(row))[:count]
    expected[order] = row[order]
    assert np.array_equal(kept, expected)


@given(vectors, st.floats(1e-3, 10))
def test_normalised_and_clipped_have_the_norm_of_the_paper(row, scale):
    update = torch.from_numpy(scale * row)
    norm = scale * np.linalg.norm(row)
    assert float(baselines.normalised(update).norm()) == pytest.approx(0.15, rel=1e-3)
    assert float(baselines.clipped(update).norm()) == pytest.approx(min(0.15, norm), rel=1e-3)


def shares(n, seed):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(n)), rng.uniform(-1, 1, n)


@given(st.integers(2, 8), st.integers(0, 999))
def test_cgsv_rule(n, seed):
    previous, similarity = shares(n, seed)
    numbers = [max(0.95 * r + 0.05 * c, 1e-3) for r, c in zip(previous, similarity, strict=True)]
    expected = np.array(numbers) / sum(numbers)
    got = baselines.cgsv_reputation(previous, similarity)
    assert np.allclose(got, expected) and got.sum() == pytest.approx(1)
    assert np.allclose(baselines.cgsv_share(got), np.tanh(expected) / np.tanh(expected.max()))


@given(st.integers(2, 8), st.integers(0, 999), st.integers(0, 20))
def test_rffl_rule(n, seed, t):
    previous, similarity = shares(n, seed)
    similarity = np.abs(similarity)
    present = np.ones(n, dtype=bool)
    if n > 2:
        present[1], previous[1] = False, 0.0
    mixed = np.array([(0.95 * r + 0.05 * c) * p for r, c, p in zip(previous, similarity, present, strict=True)])
    mixed /= mixed.sum()
    if t >= 10:
        mixed[mixed < 1 / 3 / present.sum()] = 0
    got = baselines.rffl_reputation(previous, similarity, present, t)
    assert np.allclose(got, mixed / mixed.sum()) and (got[~present] == 0).all()


@given(st.integers(2, 8), st.integers(0, 999))
def test_cffl_rule(n, seed):
    previous, _ = shares(n, seed)
    scores = np.random.default_rng(seed).uniform(10, 90, n)
    present = np.ones(n, dtype=bool)
    if n > 2:
        present[1], previous[1] = False, 0.0  # whatever its score
    c = np.sinh(5 * (0.8 * previous + 0.2 * scores / (scores @ present))) * present
    c /= c.sum()
    c[c < 1 / 3 / present.sum()] = 0
    got = baselines.cffl_credibility(previous, scores, present)
    assert np.allclose(got, c / c.sum()) and (got[~present] == 0).all()


def parameters(model):
    return [parameter.detach().clone() for parameter in model.parameters()]


@pytest.fixture
def one_round(small_run, begun):
    """Sizes, weights before, updates, weights after and the state, of a round of the real loop."""

    def make(method, **changes):
        run = small_run(method, local_epochs=0, rounds=1, **changes)
        trained = begun(run).participants
        start = parameters(trained[0].model)
        updates = [split(baselines._local(party, 0, run.options)[2], start) for party in trained]
        state = begun(run)
        (done,) = play(state, method, run.options)
        after = [parameters(party.model) for party in done.participants]
        return state.sizes, start, updates, after, state

    return make


def test_a_cgsv_round_is_its_rule(one_round):
    sizes, start, updates, after, _ = one_round("cgsv")
    flat = [np.concatenate([part.numpy().ravel() for part in update]) for update in updates]
    unit = [0.15 * u / (np.linalg.norm(u) + 1e-7) for u in flat]
    total = sum(s / sum(sizes) * u for s, u in zip(sizes, unit, strict=True))
    cosines = np.array([u @ total / np.linalg.norm(u) / np.linalg.norm(total) for u in unit])
    reputation = np.maximum(0.05 * cosines, 1e-3)
    reputation /= reputation.sum()
    share = np.tanh(reputation) / np.tanh(reputation).max()
    for n, model in enumerate(after):
        place = 0
        for index, first in enumerate(start):
            piece = total[place : place + first.numel()]
            place += first.numel()
            keep = np.argsort(-np.abs(piece))[: int(np.ceil(share[n] * piece.size - 1e-9))]
            expected = first.numpy().ravel().copy()
            expected[keep] += piece[keep]
            assert np.abs(model[index].numpy().ravel() - expected).max() < 1e-3 * np.abs(piece).max() + 1e-6


def top(piece, fraction):
    """The largest entries of an array, zero elsewhere."""
    kept = np.zeros_like(piece)
    chosen = np.argsort(-np.abs(piece), axis=None)[: int(np.ceil(fraction * piece.size - 1e-9))]
    kept.flat[chosen] = piece.flat[chosen]
    return kept


def test_an_rffl_round_is_its_rule(one_round):
    """Update scaled to norm 0.15 and kept; of the sum each gets the largest entries, by its reputation."""
    sizes, start, updates, after, _ = one_round("rffl")
    norms = [np.sqrt(sum(float((part**2).sum()) for part in update)) for update in updates]
    short = [[part.numpy() * min(1, 0.15 / norm) for part in u] for u, norm in zip(updates, norms, strict=True)]
    total = [
        sum(s / sum(sizes) * part for s, part in zip(sizes, parts, strict=True)) for parts in zip(*short, strict=True)
    ]
    flat, sums = [np.concatenate([p.ravel() for p in u]) for u in short], np.concatenate([p.ravel() for p in total])
    cosines = np.array([u @ sums / np.linalg.norm(u) / np.linalg.norm(sums) for u in flat])
    share = np.maximum(cosines, 0) / cosines.max()
    for n, model in enumerate(after):
        for a, s, own, part in zip(model, start, short[n], total, strict=True):
            wanted = s.numpy() + own + top(part, share[n])
            differ = np.abs(a.numpy() - wanted) > 1e-5
            assert differ.sum() <= 2  # where two entries are nearly equal, or a count is nearly whole


def test_rffl_removes_for_good_and_books_it(small_run, begun, monkeypatch):
    monkeypatch.setattr(baselines, "PATIENCE", 2)
    calls = iter(range(100))
    monkeypatch.setattr(baselines, "cosine", lambda a, b: 0.2 if next(calls) % 5 == 4 else 1.0)
    run = small_run("rffl", local_epochs=0, rounds=4)
    before = {}
    for done in play(begun(run), "rffl", run.options):
        if done.index >= 2:  # the last one is out: its own steps only, of norm 0.15 at most
            moved = vector(done.participants[4].model.parameters()) - before[4]
            assert float(moved.norm()) <= 0.15 + 1e-5
        before = {p.index: vector(p.model.parameters()) for p in done.participants}
    assert done.ledger.matrix()[5].tolist() == [4, 4, 4, 4, 2, 0]  # downloads in four rounds, and in two
    assert done.ledger.matrix()[:, 5].tolist() == [4, 4, 4, 4, 3, 0]  # what it was removed for had been uploaded


def test_rffl_removes_nobody_early(small_run, begun, monkeypatch):
    """P5 points backwards in round 0, and forwards ever after: it gets nothing in round 0, and is still in."""
    calls = iter(range(100))
    monkeypatch.setattr(baselines, "cosine", lambda a, b: -0.5 if next(calls) == 4 else 1.0)
    run = small_run("rffl", local_epochs=0, rounds=3)
    *_, done = play(begun(run), "rffl", run.options)
    assert done.ledger.matrix()[5].tolist() == [3, 3, 3, 3, 2, 0]
    assert done.ledger.matrix()[:, 5].tolist() == [3, 3, 3, 3, 3, 0]


def test_cffl_moves_within_its_clip(one_round):
    _, start, _, after, _ = one_round("cffl")
    moved = torch.stack([vector(model) - vector(start) for model in after]).abs()
    assert 1e-3 - 1e-6 <= moved.max() <= 5 * 1e-3 + 1e-6  # at most five clipped uploads add up


def test_a_cffl_round_is_its_rule(one_round, monkeypatch):
    """Upload a tenth, be judged with it, get back by credibility what the others sent (steps too small to clip)."""
    judged, scores = [], np.array([30.0, 50.0, 70.0, 1.0, 60.0])

    def accuracy(model, *_):
        judged.append(vector(model.parameters()))
        return scores[len(judged) - 1]

    monkeypatch.setattr(baselines, "accuracy", accuracy)
    _, start, updates, after, state = one_round("cffl", lr=1e-4)
    updates = [[part.numpy() for part in update] for update in updates]
    assert max(np.abs(part).max() for update in updates for part in update) < 1e-3
    uploads = [[top(part, 0.1) for part in update] for update in updates]
    credibility = np.sinh(5 * (0.8 / 5 + 0.2 * scores / scores.sum()))
    credibility /= credibility.sum()
    assert (credibility > 1 / 15).all() and len(judged) == 5  # nobody leaves in the first round

    def apart(a, b):  # float32 differences are multiples of some 1e-8, so entries tie: either may be among the largest
        return int((np.abs(a.numpy() - b) > 1e-7).sum())

    for n, model in enumerate(after):
        wanted = np.concatenate([(s.numpy() + u).ravel() for s, u in zip(start, uploads[n], strict=True)])
        assert apart(judged[n], wanted) <= 4
        for index, s in enumerate(start):
            given = top(sum(upload[index] for upload in uploads), credibility[n])
            wanted = s.numpy() + updates[n][index] + np.where(given != 0, given - uploads[n][index], 0)
            assert apart(model[index], wanted) <= 4
    sent = sum(int(np.ceil(0.1 * s.numel())) for s in start)
    assert state.ledger.matrix(bytes=True)[0, 5] == 4 * sent
    for s, parts, server in zip(start, zip(*uploads, strict=True), state.memory["server"].values(), strict=True):
        assert apart(server, s.numpy() + sum(parts)) <= 4


def top_of_each(vector, fraction, sizes):
    """The largest entries of each tensor; `sizes` of the tensors that a vector consists of."""
    return np.concatenate([top(piece, fraction) for piece in np.split(vector, np.cumsum(sizes)[:-1])])


def booked(t, uploading, up, down, sizes):
    """The ledger's entries of a round: uploads of a fraction `up` of each tensor, downloads of fractions `down`."""
    sent = [(t, n, len(down), up) for n in np.flatnonzero(uploading)]
    sent += [(t, len(down), n, down[n]) for n in np.flatnonzero(down)]
    return [(*who, 4 * sum(int(np.ceil(q * size - 1e-9)) for size in sizes)) for *who, q in sent]


def by_reputation(method, start, updates, weights, sizes, patience):
    """CGSV or RFFL from the formulas; of each round the reputation, everybody's model and what is booked."""
    models_, present, reputation = start, weights > 0, 0 * weights
    for t, update in enumerate(updates):
        norms = np.linalg.norm(update, axis=1, keepdims=True)
        uploads = update * (0.15 / (norms + 1e-7) if method == "cgsv" else np.minimum(1, 0.15 / norms))
        total = (reputation if t else weights) @ uploads
        cosines = uploads @ total / np.linalg.norm(uploads, axis=1) / np.linalg.norm(total)
        mixed = 0.95 * reputation + 0.05 * cosines
        mixed = np.maximum(mixed, 1e-3) if method == "cgsv" else np.maximum(mixed, 0) * present
        reputation, uploading, kept = mixed / mixed.sum(), present, 0
        share = np.tanh(reputation) / np.tanh(reputation).max()
        if method == "rffl":
            if t >= patience:
                present = present & (reputation >= 1 / 3 / present.sum())
                reputation = reputation * present / (reputation @ present)
            share, kept = reputation / reputation.max(), uploads
        models_ = models_ + kept + np.array([top_of_each(total, q, sizes) for q in share])
        yield reputation, models_, booked(t, uploading, 1.0, share, sizes)


def by_credibility(start, updates, scores, sizes):
    """CFFL from the formulas; of each round also the models judged, by sender, and the server's model."""
    models_, server, credibility = start, start[0], np.full(len(start), 1 / len(start))
    for t, update in enumerate(updates):
        kept, present = np.clip(update, -1e-3, 1e-3), credibility > 0
        uploads = np.array([top_of_each(row, 0.1, sizes) for row in kept])
        judged = {n: server + uploads[n] for n in np.flatnonzero(present)}
        credibility = np.sinh(5 * (0.8 * credibility + 0.2 * scores * present / (scores @ present)))
        credibility = credibility / credibility.sum()
        credibility = np.where(credibility < 1 / 3 / present.sum(), 0, credibility)
        credibility = credibility / credibility.sum()
        total = uploads[credibility > 0].sum(0)
        given = np.array([top_of_each(total, c, sizes) for c in credibility])
        server, models_ = server + total, models_ + kept + np.where(given != 0, given - uploads, 0)
        yield credibility, models_, booked(t, present, 0.1, credibility, sizes), judged, server


def fixed_rounds(method, small_run, begun, monkeypatch, updates):
    """The real loop with given local updates [round, participant, number]: its rounds, and what a rule starts from."""
    run = small_run(method, local_epochs=0, rounds=len(updates))
    state = begun(run)
    start = parameters(state.participants[0].model)
    sizes = [tensor.numel() for tensor in start]

    def local(party, epoch, options):
        before, update = vector(party.model.parameters()), torch.from_numpy(updates[epoch, party.index]).float()
        baselines._set(party.model, before + update)
        return torch.zeros(2), before, update

    monkeypatch.setattr(baselines, "_local", local)
    starts = np.tile(vector(start).numpy().astype(float), (5, 1))
    return play(state, method, run.options), state, starts, sizes


def models_of(done):
    return np.array([vector(p.model.parameters()).detach().numpy() for p in done.participants])


@pytest.mark.parametrize("method", ["cgsv", "rffl"])
def test_rounds_by_reputation_are_their_rule(method, small_run, begun, monkeypatch):
    """P5 points backwards and P4 sideways, both forwards in the end; by then, with RFFL, both have left."""
    monkeypatch.setattr(baselines, "PATIENCE", 2)
    rng = np.random.default_rng(0)
    forward = rng.uniform(0.5, 2, (5, 5, 1))
    forward[:3, 3:] = [[-0.12], [-0.5]]
    updates = forward * rng.normal(size=(5, 1, 2410)) + rng.normal(size=(5, 5, 2410))
    updates *= rng.uniform(1e-3, 5e-3, (5, 5, 1))  # norms on both sides of 0.15
    rounds, state, start, sizes = fixed_rounds(method, small_run, begun, monkeypatch, updates)
    weights = np.array([p.size for p in state.participants]) / sum(p.size for p in state.participants)
    entries = []
    for done, rule in zip(rounds, by_reputation(method, start, updates, weights, sizes, 2), strict=True):
        reputation, wanted, sent = rule
        entries += sent
        assert np.allclose(state.memory["reputation"], reputation, atol=1e-6)
        assert np.allclose(models_of(done), wanted, atol=1e-5)
        assert sorted(done.ledger.entries) == sorted(entries)
    counts = done.ledger.matrix()
    assert counts[:5, 5].tolist() == ([5] * 5 if method == "cgsv" else [5, 5, 5, 3, 3])
    assert counts[5, :5].tolist() == ([5] * 5 if method == "cgsv" else [5, 5, 5, 2, 0])  # P5's reputation was never > 0


def test_cffl_rounds_are_their_rule(small_run, begun, monkeypatch):
    """P4's uploads are worth nearly nothing: it leaves in round 3; then P5, by the higher threshold of four."""
    updates = 3.5e-4 * np.random.default_rng(0).normal(size=(6, 5, 2410))  # some entries are clipped
    scores, verdicts, entries = np.array([50.0, 60.0, 70.0, 0.1, 23.0]), [], []
    rounds, state, start, sizes = fixed_rounds("cffl", small_run, begun, monkeypatch, updates)

    def accuracy(model, *_):
        judged, score = verdicts.pop(0)
        assert np.allclose(vector(model.parameters()).detach().numpy(), judged, atol=1e-6)
        return score

    monkeypatch.setattr(baselines, "accuracy", accuracy)
    for credibility, wanted, sent, judged, server in by_credibility(start, updates, scores, sizes):
        verdicts += [(model, scores[n]) for n, model in judged.items()]
        entries += sent
        done = next(rounds)
        assert not verdicts and np.allclose(state.memory["credibility"], credibility, atol=1e-6)
        assert np.allclose(vector(state.memory["server"].values()).numpy(), server, atol=1e-6)
        assert np.allclose(models_of(done), wanted, atol=1e-6)
        assert sorted(done.ledger.entries) == sorted(entries)
    assert done.ledger.matrix()[:5, 5].tolist() == [6, 6, 6, 4, 5]  # what they were removed for had been uploaded
    assert done.ledger.matrix()[5, :5].tolist() == [6, 6, 6, 3, 4]


def test_cffls_server_moves_and_knows_its_batchnorm(small_run, begun, mlp_with_batchnorm):
    """The sum of all uploads is added to the server's model; statistics are those of the validation images."""
    run = small_run("cffl", local_epochs=0, rounds=2)
    state = begun(run)
    fresh = vector(state.participants[0].model.parameters())
    for _ in play(state, "cffl", run.options):
        server = state.memory["server"]
        moved = torch.cat([server[name].flatten() for name in ("1.weight", "1.bias", "2.weight", "2.bias")]) - fresh
        assert moved.abs().max() > 1e-3 / 2
    everybody = torch.cat([p.prepare(p.inputs, False) for p in state.participants]).flatten(1)
    assert torch.allclose(server["1.running_mean"], everybody.mean(0), atol=1e-5)


@pytest.mark.parametrize("method", ["fedavg", "cffl", "rffl", "cgsv"])
def test_messages_to_and_from_the_server_are_counted(method, one_round):
    *_, state = one_round(method)
    assert state.ledger.possible == 10 and state.ledger.sent == 10
    matrix = state.ledger.matrix(bytes=True)
    assert (matrix[:5, :5] == 0).all() and (matrix[5, :5] > 0).all() and (matrix[:5, 5] > 0).all()


@pytest.mark.parametrize("method", ["cffl", "rffl", "cgsv"])
def test_the_servers_memory_is_resumed(method, small_run, begun):
    run = small_run(method, local_epochs=0, rounds=4)
    *_, whole = play(begun(run), method, run.options)
    state = begun(run)
    rounds = play(state, method, run.options)
    next(rounds), next(rounds)
    again = begun(run).restore(copy.deepcopy(state.save()))
    *_, resumed = play(again, method, run.options)
    for a, b in zip(whole.participants, resumed.participants, strict=True):
        assert torch.equal(vector(a.model.parameters()), vector(b.model.parameters()))


@pytest.mark.parametrize("method, lr", [("cgsv", 0.015), ("rffl", 0.015), ("cffl", 0.01)])
def test_the_presets_are_those_of_their_code(method, lr):
    """Learning rate times 0.977 a round, three local epochs a round, no momentum, batches of 128."""
    chosen = {"methods": (method,), "splits": ("homogeneous",), "variants": ("preset", "preset-cffl")}
    (run,) = catalogue.runs_of("baseline-presets", "laptop", **chosen)
    for t in (0, 1, 10):
        for epoch in range(3):
            assert run.options.lr * run.options.decay(3 * t + epoch) == pytest.approx(lr * 0.977**t)
    assert (run.options.epochs_per_round, run.options.momentum, run.options.batch_size) == (3, 0, 128)


@pytest.mark.parametrize("method", ["cffl", "rffl", "cgsv"])
def test_an_upload_of_huge_numbers_is_refused_and_named(small_run, rounds_of, monkeypatch, method):
    """Finite, so that it would be added up; the others go on with numbers."""
    exchange = Ranks.exchange

    def forged(self, messages, *rest):
        return exchange(self, {pair: 1e30 * row if pair[0] == 4 else row for pair, row in messages.items()}, *rest)

    monkeypatch.setattr(Ranks, "exchange", forged)
    for done, weights in rounds_of(small_run(method)):
        assert done.refused == {(4, 5): "too large numbers"}
        assert all(row.isfinite().all() for row in weights)
