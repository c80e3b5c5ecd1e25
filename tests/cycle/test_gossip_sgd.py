"""Gossip-SGD and its CYCle form against the dense reference and loops written out; who is absent, what is sent."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from dense_gossip import reference
from test_device import Watch

from cycle import defence, gossip, gossip_sgd
from cycle.methods import METHODS
from cycle.party import learn
from cycle.play import play
from cycle.ranks import Ranks
from cycle.rules import Rules
from cycle.streams import SHARE, TRAIN, generator, stream
from cycle.weights import vector


@pytest.fixture
def gossiping(small_run, begun):
    """A run of gossip without local epochs, and its state before the first round."""

    def make(method="gossip", model="mlp", width=None, **changes):
        run = replace(small_run(method, **({"local_epochs": 0} | changes)), model=model, width=width)
        return run, begun(run)

    return make


def flat(model):
    return vector(model.parameters()).double().numpy()


def played(run, state):
    """Every round with copies of what it shows."""
    for done in play(state, run.method, run.options):
        models = {point: [flat(model) for model in models] for point, models in done.models.items()}
        yield done, models


def full_batch_gradients(members):
    """gradient(i, x): of member i's cross-entropy on all its samples at x, by autograd on its own model."""

    def gradient(i, x):
        one = members[i]
        torch.nn.utils.vector_to_parameters(torch.tensor(x, dtype=torch.float32), one.model.parameters())
        loss = F.cross_entropy(one.model(one.prepare(one.inputs, False)), one.labels)
        return vector(torch.autograd.grad(loss, list(one.model.parameters()))).numpy()

    return gradient, np.stack([flat(member.model) for member in members])


PLAIN = {"batch_size": 1000, "momentum": 0.0, "weight_decay": 0.0, "lr_every": 1000, "score_samples": 1000}


@pytest.mark.parametrize("topology", ["complete", "ring", "exponential"])
def test_gossip_is_the_dense_reference_step_by_step(gossiping, topology):
    run, state = gossiping(n=6, topology=topology, **PLAIN)
    gradient, x = full_batch_gradients(gossiping(n=6, topology=topology, **PLAIN)[1].participants)
    dense = reference(x, gradient, gossip.adjacency(topology, 6), run.options.lr, run.options.rounds)
    for (_, models), (half, after, _) in zip(played(run, state), dense, strict=True):
        assert np.allclose(models["before"], half, atol=2e-5)
        assert np.allclose(models["after"], after, atol=2e-5)


@pytest.mark.parametrize("topology", ["complete", "ring"])
def test_cycle_gossip_is_the_dense_reference_step_by_step(gossiping, topology):
    """The reference draws each round's shares from the stream of that round."""
    run, state = gossiping("cycle-gossip", topology=topology, **PLAIN)
    options = run.options
    gradient, x = full_batch_gradients(gossiping("cycle-gossip", topology=topology, **PLAIN)[1].participants)

    class Streams:
        epoch = -1

        def random(self, shape):
            self.epoch += 1
            return generator(run.seed, SHARE, self.epoch).random(shape)

    links = gossip.adjacency(topology, run.n)
    settings = options.lr, options.rounds, options.beta, options.alpha, options.period
    dense = reference(x, gradient, links, *settings, Streams())
    sent = 0
    for (done, models), (half, after, W) in zip(played(run, state), dense, strict=True):
        assert np.allclose(done.reputation, W, atol=1e-4)
        assert np.allclose(models["before"], half, atol=1e-4)
        assert np.allclose(models["after"], after, atol=1e-4)
        sent += done.shares.sum()
    assert 0 < sent < options.rounds * links.sum()


def test_local_steps_mix_after_every_minibatch(gossiping):
    """Against a loop over minibatches written out here: P1 has more of them, and the others then only mix."""
    changes = {"rounds": 1, "batch_size": 32, "local_steps": 1, "momentum": 0.0}
    members = gossiping(**changes)[1].participants
    W = gossip.mixing_matrix(gossip.adjacency("complete", len(members)))
    orders = []
    for member in members:
        with stream(member.device, member.seed, TRAIN, member.index, 0):
            orders.append(torch.randperm(member.size).split(32))
    assert len({len(order) for order in orders}) > 1
    for step in range(max(map(len, orders))):
        for member, order in zip(members, orders, strict=True):
            if step < len(order):
                logits = member.model(member.prepare(member.inputs[order[step]], False))
                member.optimizer.zero_grad()
                F.cross_entropy(logits, member.labels[order[step]]).backward()
                member.optimizer.step()
        x = W @ np.stack([flat(member.model) for member in members])
        for member, row in zip(members, x, strict=True):
            torch.nn.utils.vector_to_parameters(torch.tensor(row, dtype=torch.float32), member.model.parameters())
    ((done, models),) = played(*gossiping(**changes))
    assert np.allclose(models["after"], x, atol=1e-5)
    assert done.ledger.sent == max(map(len, orders)) * 20 and (done.shares.sum() == done.ledger.sent)


def test_a_round_passes_over_every_sample_once(gossiping, monkeypatch):
    run, state = gossiping(rounds=1, batch_size=8, local_steps=2)
    seen = {party.index: [] for party in state.participants}

    def watched(party, epoch, options, part):
        seen[party.index] += part[0].tolist()
        return torch.ones(2)

    monkeypatch.setattr(gossip_sgd, "learn", watched)
    ((done, _),) = played(run, state)
    assert all(sorted(seen[member.index]) == list(range(member.size)) for member in done.participants)
    assert torch.allclose(done.losses, torch.ones(5, 2))


def test_the_first_local_step_is_that_of_training_alone(gossiping):
    """Models before the first mixing, and the momenta after it, are those of an epoch alone."""
    run, alone = gossiping("cycle-gossip", rounds=1)
    for party in alone.participants:
        learn(party, 0, run.options)
    ((done, models),) = played(*gossiping("cycle-gossip", rounds=1))
    assert np.array_equal(models["before"], [flat(member.model) for member in alone.participants])
    for mixed, own in zip(done.participants, alone.participants, strict=True):
        for p, q in zip(mixed.model.parameters(), own.model.parameters(), strict=True):
            momentum = mixed.optimizer.state[p]["momentum_buffer"]
            assert torch.equal(momentum, own.optimizer.state[q]["momentum_buffer"]) and not torch.equal(p, q)


def buffers(model):
    return torch.cat([b.flatten() for b in model.buffers() if b.is_floating_point()])


@pytest.mark.parametrize("mixed", [True, False])
def test_batchnorm_buffers_are_mixed_unless_told_otherwise(gossiping, mixed):
    run, state = gossiping(model="resnet18", width=8, rounds=1, mix_buffers=mixed)
    (done,) = play(state, run.method, run.options)
    before, after = ([buffers(model) for model in done.models[point]] for point in ("before", "after"))
    assert not torch.equal(before[0], before[1])
    for own, kept in zip(after, before, strict=True):
        expected = torch.stack(before).mean(0) if mixed else kept
        assert torch.allclose(own, expected, atol=1e-5)
    message = done.ledger.entries[0][3]
    numbers = len(flat(done.participants[0].model)) + (len(after[0]) if mixed else 0)
    assert message == 4 * numbers
    counters = {name for name in done.participants[0].model.state_dict() if name.endswith("num_batches_tracked")}
    assert counters  # integers: they count the own batches, and are not averaged
    small, large = (done.participants[i].model.state_dict()[min(counters)] for i in (1, 0))
    assert small < large


def test_after_one_mixing_on_the_complete_graph_all_models_are_one(gossiping):
    for _, models in played(*gossiping(rounds=2)):
        assert all(np.array_equal(models["after"][0], other) for other in models["after"])
        assert not np.array_equal(models["before"][0], models["before"][1])


def test_everybody_begins_from_the_same_weights_and_a_warm_up_can_precede(gossiping):
    run, state = gossiping(local_epochs=2, rounds=1)
    assert METHODS["gossip"].common_start and METHODS["cycle-gossip"].common_start
    starts = [flat(member.model) for member in state.participants]
    assert all(np.array_equal(starts[0], other) for other in starts)
    rounds = [(done.index, list(done.models)) for done in play(state, run.method, run.options)]
    assert rounds == [(-2, ["own"]), (-1, ["own"]), (0, ["after", "before"])]


@pytest.mark.parametrize("rule", ["weight", "relative"])
def test_gossip_never_forces_sharing(gossiping, rule):
    """Scored in every round, and still sharing with the probabilities of W alone, under both link rules."""
    run, state = gossiping("cycle-gossip", period=1, beta=50.0, link_rule=rule)
    for done, _ in played(run, state):
        assert done.scored and done.shares.sum() < 20
        others = done.reputation * ~np.eye(5, dtype=bool)
        probability = others if rule == "weight" else others / others.max(axis=1, keepdims=True)
        assert np.array_equal(done.shares, generator(run.seed, SHARE, done.index).random((5, 5)) < probability)
        assert np.allclose(done.reputation.sum(axis=1), 1) and (np.diag(done.reputation) > 0).all()


def test_cycle_gossip_refuses_a_directed_graph(gossiping):
    run, state = gossiping(topology="exponential")
    with pytest.raises(ValueError, match="topology must be undirected"):
        play(state, "cycle-gossip", run.options)
    assert next(play(state, "gossip", run.options))
    assert next(played(*gossiping("cycle-gossip", topology="exponential-undirected")))


@pytest.mark.parametrize("method", ["gossip", "cycle-gossip"])
def test_an_unknown_topology_is_refused_at_once(gossiping, method):
    run, state = gossiping(method, topology="torus")
    with pytest.raises(ValueError, match="complete, ring, exponential"):
        play(state, method, run.options)


def test_the_ledger_counts_parameters_and_gradients(gossiping):
    rounds = [done for done, _ in played(*gossiping("cycle-gossip", topology="ring", n=6))]
    parameters = sum(done.shares.sum() for done in rounds)
    gradients = 2 * 12  # two calibrations in six rounds with R = 3; a ring of six has twelve directed links
    ledger = rounds[-1].ledger
    assert ledger.sent == parameters + gradients
    assert ledger.matrix(bytes=True).sum() == 4 * len(flat(rounds[0].participants[0].model)) * ledger.sent


def test_alignment_from_updates_compares_the_local_steps(gossiping):
    run, state = gossiping("cycle-gossip", rounds=1, alignment="updates")
    start = [flat(member.model) for member in state.participants]
    ((done, models),) = played(run, state)
    unit = np.stack([(half - x) / np.linalg.norm(half - x) for half, x in zip(models["before"], start, strict=True)])
    links = gossip.adjacency("complete", 5)
    expected = gossip.reweigh(gossip.mixing_matrix(links), (1 + unit @ unit.T) / 2, links, run.options.beta)
    assert np.allclose(done.reputation, expected, atol=1e-5)


def test_a_round_of_gossip_stays_on_the_device_and_waits_once_a_mixing(gossiping):
    """To see whether all that arrived is finite."""
    run, state = gossiping(batch_size=16, local_steps=1, augment=True)
    rounds = play(state, run.method, run.options)
    next(rounds)
    with Watch() as watch:
        next(rounds)
    assert watch.placed == [] and watch.waits == ["tolist"] * -(-max(state.sizes) // 16)


def test_a_zero_gradient_is_orthogonal_to_all():
    zero, other = torch.zeros(3), torch.ones(3)
    assert gossip_sgd.alignments({0: zero, 3: other}, {(3, 0): other}, np.array([0, 3]))[0, 1] == 0.5


@pytest.mark.parametrize(
    "method, topology", [("gossip", "ring"), ("cycle-gossip", "complete"), ("cycle-gossip", "ring")]
)
def test_the_absent_are_left_alone(gossiping, method, topology):
    run, state = gossiping(method, n=10, participation=0.4, topology=topology, period=1, rounds=8)
    models = [flat(member.model) for member in state.participants]
    W, drawn = gossip.mixing_matrix(gossip.adjacency(topology, 10)), gossiping(method, n=10)[1]
    ever = set()
    for done, now in played(run, state):
        changed = {i for i in range(10) if not np.array_equal(models[i], now["after"][i])}
        drawn.epoch = done.index
        present = gossip_sgd.draw_present(drawn, run.options)
        assert changed == set(present) and len(present) == 4
        absent = np.setdiff1d(np.arange(10), present)
        assert not done.shares[absent].any() and not done.shares[:, absent].any()
        assert np.array_equal(done.reputation[absent], W[absent])
        assert np.array_equal(done.reputation[:, absent], W[:, absent])
        assert np.allclose(done.reputation.sum(axis=1), 1)
        assert all(np.array_equal(now["before"][i], now["after"][i]) for i in absent)
        assert not done.losses[absent].any() and (done.losses[present, 0] > 0).all()
        models, W = now["after"], done.reputation
        ever |= changed
    assert len(ever) > 4


def test_partial_participation_mixes_by_the_sub_mixing_matrix(gossiping):
    for done, models in played(*gossiping(n=10, participation=0.3, rounds=2)):
        present = np.flatnonzero(done.losses[:, 0].numpy())
        mean = np.mean([models["before"][i] for i in present], axis=0)
        assert len(present) == 3 and all(np.allclose(models["after"][i], mean, atol=1e-6) for i in present)


@pytest.mark.parametrize("method", ["gossip", "cycle-gossip"])
def test_resumed_after_any_round_the_numbers_are_identical(gossiping, method):
    run, state = gossiping(method, participation=0.6, local_steps=2)
    saved = []
    for _, models in played(run, state):  # noqa: B007 (those of the last round)
        saved.append(copy.deepcopy(state.save()))
    for stop in (0, 2, 4):
        again = gossiping(method)[1].restore(copy.deepcopy(saved[stop]))
        *_, (done, resumed) = played(run, again)
        assert all(np.array_equal(resumed[point], models[point]) for point in ("before", "after"))
        assert np.array_equal(done.reputation, state.mixing)
        assert done.ledger.entries == state.ledger.entries


def test_self_loops_let_the_softmax_run_over_oneself(gossiping):
    """One calibration from uniform weights, alpha = 1/2: w_ij = 1 / 2N + e^(beta s_ij) / 2 sum_k e^(beta s_ik)."""
    weights = {}
    for loops in (False, True):
        ((done, _),) = played(*gossiping("cycle-gossip", rounds=1, self_loops=loops, beta=3.0))
        weights[loops] = done.reputation
    n = len(weights[True])
    plain, looped = weights[False], weights[True]
    others = ~np.eye(n, dtype=bool)
    # without self-loops row i is (1/2 [1/N + softmax_ij], own 1/N) normalised: the softmax over others can be read back
    scale = 1 / n / plain.diagonal()
    softmax = np.where(others, 2 * plain * scale[:, None] - 1 / n, 0)
    odds = softmax / softmax.sum(axis=1, keepdims=True)  # e^(3 s_ij) / sum over the others
    fresh = 2 * looped - 1 / n  # rows of `looped` sum to one without normalisation
    assert np.allclose(fresh.sum(axis=1), 1) and (fresh.diagonal()[:, None] >= fresh).all()
    assert np.allclose(np.where(others, fresh, 0) / (1 - fresh.diagonal())[:, None], odds, atol=1e-12)


@pytest.mark.parametrize("method", ["gossip", "cycle-gossip"])
def test_who_sends_what_is_not_finite_is_named_and_left_out(gossiping, monkeypatch, method):
    """P2 sends NaN from the start: the others go on as if it had been silent, itself too."""
    run, state = gossiping(method, rounds=4, period=2)
    exchange = Ranks.exchange

    def spoiled(self, messages, expected, device):
        arrived = exchange(self, messages, expected, device)
        return {pair: row * (torch.nan if pair[0] == 1 else 1) for pair, row in arrived.items()}

    monkeypatch.setattr(Ranks, "exchange", spoiled)
    for done, models in played(run, state):
        assert done.refused and all(sender == 1 for sender, _ in done.refused)
        assert set(done.refused.values()) == {"numbers that are not finite"}
        assert not done.shares[1].any() and np.isfinite(models["after"]).all()
        if method == "gossip":
            honest = np.mean([models["before"][k] for k in (0, 2, 3, 4)], axis=0)
            assert len(done.refused) == 4 and np.allclose(models["after"][0], honest, atol=1e-6)


@pytest.mark.parametrize("method", ["gossip", "cycle-gossip"])
@pytest.mark.parametrize("combine", [defence.clipped, defence.trimmed_mean()])
def test_bounded_a_huge_model_destroys_nobody(gossiping, monkeypatch, method, combine):
    run, state = gossiping(method, rounds=4, period=2)
    exchange = Ranks.exchange

    def spoiled(self, messages, expected, device):
        arrived = exchange(self, messages, expected, device)
        return {pair: row * (1e30 if pair[0] == 1 else 1) for pair, row in arrived.items()}

    monkeypatch.setattr(Ranks, "exchange", spoiled)
    *_, done = play(state, run.method, run.options, Rules(combine=combine))
    assert done.refused == {} and all(np.abs(flat(party.model)).max() < 10 for party in done.participants)
