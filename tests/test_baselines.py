"""Each baseline's rule against a small NumPy version of it, and a round of the real loop against the rule."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from cycle import baselines, methods, models, runs

vectors = st.integers(0, 999).map(lambda seed: np.random.default_rng(seed).normal(size=37))


@given(vectors, st.floats(0, 1))
def test_largest_keeps_the_top_entries(vector, fraction):
    kept = baselines.largest(torch.from_numpy(vector), fraction).numpy()
    count = int(np.ceil(fraction * vector.size))
    expected = np.zeros_like(vector)
    order = np.argsort(-np.abs(vector))[:count]
    expected[order] = vector[order]
    assert np.array_equal(kept, expected)


@given(vectors, st.floats(1e-3, 10))
def test_normalised_and_clipped_have_the_norm_of_the_paper(vector, scale):
    update = [torch.from_numpy(scale * vector[:20]), torch.from_numpy(scale * vector[20:])]
    norm = scale * np.linalg.norm(vector)
    assert float(baselines.vector(baselines.normalised(update)).norm()) == pytest.approx(0.15, rel=1e-3)
    assert float(baselines.vector(baselines.clipped(update)).norm()) == pytest.approx(min(0.15, norm), rel=1e-3)


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
    c = np.sinh(5 * (0.8 * previous + 0.2 * scores / scores.sum()))
    c /= c.sum()
    c[c < 1 / 3 / n] = 0
    assert np.allclose(baselines.cffl_credibility(previous, scores, present), c / c.sum())


def one_round(method, small_run, digits):
    run = small_run(method, local_epochs=0, rounds=1)
    task = runs.task_of(run, digits)
    trained = task.participants(run.options, common_start=True)
    start = baselines._parameters(trained[0])
    for participant in trained:
        baselines.learn(participant, 0, run.options)
    updates = [[a - b for a, b in zip(baselines._parameters(p), start, strict=True)] for p in trained]
    (done,) = methods.play(method, task, run.options)
    return [p.size for p in trained], start, updates, [baselines._parameters(p) for p in done.participants], done


def test_fedavg_is_the_size_weighted_mean(small_run, digits):
    sizes, start, updates, after, _ = one_round("fedavg", small_run, digits)
    weights = np.array(sizes) / sum(sizes)
    for index, first in enumerate(start):
        expected = first.numpy() + sum(w * u[index].numpy() for w, u in zip(weights, updates, strict=True))
        for model in after:
            assert np.allclose(model[index].numpy(), expected, atol=1e-6)


def test_fedavg_averages_batchnorm_buffers(small_run, digits, monkeypatch):
    monkeypatch.setitem(
        models.MODELS,
        "mlp",
        lambda shape, classes, width=32: nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), nn.Linear(64, classes)),
    )
    run = small_run("fedavg", local_epochs=0, rounds=1)
    task = runs.task_of(run, digits)
    trained = task.participants(run.options, common_start=True)
    for participant in trained:
        baselines.learn(participant, 0, run.options)
    (done,) = methods.play("fedavg", task, run.options)
    sizes = np.array([p.size for p in trained])
    expected = sum(s / sizes.sum() * p.model[1].running_mean for s, p in zip(sizes, trained, strict=True))
    for participant in done.participants:
        assert torch.allclose(participant.model[1].running_mean, expected.float(), atol=1e-6)


def test_a_cgsv_round_is_its_rule(small_run, digits):
    sizes, start, updates, after, _ = one_round("cgsv", small_run, digits)
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


def test_rffl_keeps_the_own_update(small_run, digits):
    _, start, updates, after, done = one_round("rffl", small_run, digits)
    strongest = int(np.argmax([baselines.vector(a).numpy() @ baselines.vector(a).numpy() for a in after]))
    own = baselines.clipped(updates[strongest])
    moved = baselines.vector([a - s for a, s in zip(after[strongest], start, strict=True)])
    assert float(torch.nn.functional.cosine_similarity(moved, baselines.vector(own), dim=0)) > 0.5
    assert float(moved.norm()) > 0.15  # its own 0.15 and what it was given


def test_cffl_moves_within_its_clip(small_run, digits):
    _, start, _, after, _ = one_round("cffl", small_run, digits)
    for model in after:
        for a, s in zip(model, start, strict=True):
            assert (a - s).abs().max() <= 5 * 1e-3 + 1e-6  # at most five clipped uploads add up


@pytest.mark.parametrize("method", ["fedavg", "cffl", "rffl", "cgsv"])
def test_messages_to_and_from_the_server_are_counted(method, small_run, digits):
    *_, done = one_round(method, small_run, digits)
    assert done.ledger.possible == 10 and done.ledger.sent == 10
    matrix = done.ledger.matrix(bytes=True)
    assert (matrix[:5, :5] == 0).all() and (matrix[5, :5] > 0).all() and (matrix[:5, 5] > 0).all()


@pytest.mark.parametrize("method", ["cffl", "rffl", "cgsv"])
def test_the_servers_memory_is_resumed(method, small_run, digits):
    run = small_run(method, local_epochs=0, rounds=4)
    task = runs.task_of(run, digits)
    whole = list(methods.play(method, task, run.options))[-1]
    state = baselines_state(task, run.options)
    rounds = methods.play(method, task, run.options, state)
    next(rounds), next(rounds)
    saved = copy.deepcopy(state.save())
    again = baselines_state(task, run.options).restore(saved)
    resumed = list(methods.play(method, task, run.options, again))[-1]
    for a, b in zip(whole.participants, resumed.participants, strict=True):
        assert all(torch.equal(x, y) for x, y in zip(a.model.parameters(), b.model.parameters(), strict=True))


def baselines_state(task, options):
    from cycle import training

    return training.start(task, options, common_start=True)
