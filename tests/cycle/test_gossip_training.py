import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_device import Watch

from cycle import gossip, gossip_training, methods, participants, training
from cycle.options import Options
from reproduction import catalogue, records, settings
from reproduction.models import parameter_count


def task_and_options(small_run, digits, method="gossip", n=5, model="mlp", width=None, **changes):
    run = small_run(method, n=n, **({"local_epochs": 0} | changes))
    task = settings.task_of(replace(run, model=model, width=width), digits)
    return task, run.options


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()]).double().numpy()


def play(method, task, options, state=None):
    """Every round with copies of what it shows."""
    for done in methods.play(method, task, options, state):
        models = {point: [flat(model) for model in models] for point, models in done.models.items()}
        yield done, models


def full_batch_gradients(task, options):
    """gradient(i, x): of participant i's cross-entropy on all its samples at x, by autograd on a model of its own."""
    members = task.participants(options, common_start=True)

    def gradient(i, x):
        torch.nn.utils.vector_to_parameters(torch.tensor(x, dtype=torch.float32), members[i].model.parameters())
        loss = F.cross_entropy(members[i].model(members[i].pixels(members[i].images)), members[i].labels)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(members[i].model.parameters()))]).numpy()

    return gradient, np.stack([flat(member.model) for member in members])


PLAIN = {"batch_size": 1000, "momentum": 0.0, "weight_decay": 0.0, "lr_every": 1000, "score_samples": 1000}


@pytest.mark.parametrize("topology", ["complete", "ring", "exponential"])
def test_gossip_is_the_dense_reference_step_by_step(small_run, digits, topology):
    task, options = task_and_options(small_run, digits, n=6, topology=topology, **PLAIN)
    gradient, x = full_batch_gradients(task, options)
    reference = gossip.reference(x, gradient, gossip.adjacency(topology, 6), options.lr, options.rounds)
    for (_, models), (half, after, _) in zip(play("gossip", task, options), reference, strict=True):
        assert np.allclose(models["before"], half, atol=2e-5)
        assert np.allclose(models["after"], after, atol=2e-5)


@pytest.mark.parametrize("topology", ["complete", "ring"])
def test_cycle_gossip_is_the_dense_reference_step_by_step(small_run, digits, topology):
    """The reference draws each round's shares from the stream of that round."""
    task, options = task_and_options(small_run, digits, "cycle-gossip", topology=topology, **PLAIN)
    gradient, x = full_batch_gradients(task, options)

    class Streams:
        epoch = -1

        def random(self, shape):
            self.epoch += 1
            seed = participants.stream_seed(task.seed, participants.SHARE, self.epoch)
            return np.random.default_rng(seed).random(shape)

    links = gossip.adjacency(topology, task.n)
    reference = gossip.reference(
        x, gradient, links, options.lr, options.rounds, options.beta, options.alpha, options.period, Streams()
    )
    sent = 0
    for (done, models), (half, after, W) in zip(play("cycle-gossip", task, options), reference, strict=True):
        assert np.allclose(done.reputation, W, atol=1e-4)
        assert np.allclose(models["before"], half, atol=1e-4)
        assert np.allclose(models["after"], after, atol=1e-4)
        sent += done.shares.sum()
    assert 0 < sent < options.rounds * links.sum()


def test_local_steps_mix_after_every_minibatch(small_run, digits):
    """Against a loop over minibatches written out here: P1 has more of them, and the others then only mix."""
    task, options = task_and_options(small_run, digits, rounds=1, batch_size=32, local_steps=1, momentum=0.0)
    members = task.participants(options, common_start=True)
    W = gossip.mixing_matrix(gossip.adjacency("complete", task.n))
    orders = []
    for member in members:
        with participants.stream(member.device, task.seed, participants.TRAIN, member.index, 0):
            orders.append(torch.randperm(member.size).split(32))
    assert len({len(order) for order in orders}) > 1
    for step in range(max(map(len, orders))):
        for member, order in zip(members, orders, strict=True):
            if step < len(order):
                logits = member.model(member.pixels(member.images[order[step]]))
                member.optimizer.zero_grad()
                F.cross_entropy(logits, member.labels[order[step]]).backward()
                member.optimizer.step()
        x = W @ np.stack([flat(member.model) for member in members])
        for member, row in zip(members, x, strict=True):
            torch.nn.utils.vector_to_parameters(torch.tensor(row, dtype=torch.float32), member.model.parameters())
    ((done, models),) = play("gossip", task, options)
    assert np.allclose(models["after"], x, atol=1e-5)
    assert done.ledger.sent == max(map(len, orders)) * 20 and (done.shares.sum() == done.ledger.sent)


def test_a_round_passes_over_every_sample_once(small_run, digits, monkeypatch):
    task, options = task_and_options(small_run, digits, rounds=1, batch_size=8, local_steps=2)
    seen = []

    def watched(participant, epoch, options):
        seen.append((participant.index, participant.images.flatten(1).double()))
        return torch.ones(2)

    monkeypatch.setattr(gossip_training, "learn", watched)
    ((done, _),) = play("gossip", task, options)
    for member in done.participants:
        images = torch.cat([images for index, images in seen if index == member.index])
        assert len(images) == member.size
        assert torch.equal(images.sum(0), member.images.flatten(1).double().sum(0))
    assert torch.allclose(done.losses, torch.ones(5, 2))


def test_the_first_local_step_is_that_of_standalone(small_run, digits):
    task, options = task_and_options(small_run, digits, "cycle-gossip", rounds=1)
    alone = training.start(task, options, common_start=True)
    next(training.standalone(task, options, alone))
    ((_, models),) = play("cycle-gossip", task, options)
    assert np.array_equal(models["before"], [flat(member.model) for member in alone.participants])


def buffers(model):
    return torch.cat([b.flatten() for b in model.buffers() if b.is_floating_point()])


@pytest.mark.parametrize("mixed", [True, False])
def test_batchnorm_buffers_are_mixed_unless_told_otherwise(small_run, digits, mixed):
    task, options = task_and_options(small_run, digits, model="resnet18", width=8, rounds=1, mix_buffers=mixed)
    (done,) = methods.play("gossip", task, options)
    before, after = ([buffers(model) for model in done.models[point]] for point in ("before", "after"))
    assert not torch.equal(before[0], before[1])
    for own, kept in zip(after, before, strict=True):
        expected = torch.stack(before).mean(0) if mixed else kept
        assert torch.allclose(own, expected, atol=1e-5)
    message = done.ledger.entries[0][3]
    numbers = parameter_count(done.participants[0].model) + (len(after[0]) if mixed else 0)
    assert message == 4 * numbers
    counters = {name for name in done.participants[0].model.state_dict() if name.endswith("num_batches_tracked")}
    assert counters  # integers: they count the own batches, and are not averaged
    small, large = (done.participants[i].model.state_dict()[min(counters)] for i in (1, 0))
    assert small < large


def test_after_one_mixing_on_the_complete_graph_all_models_are_one(small_run, digits):
    task, options = task_and_options(small_run, digits, rounds=2)
    for _, models in play("gossip", task, options):
        assert all(np.array_equal(models["after"][0], other) for other in models["after"])
        assert not np.array_equal(models["before"][0], models["before"][1])


def test_optimiser_state_stays_local(small_run, digits):
    """The momenta after a round are those of the same local epoch without mixing."""
    task, options = task_and_options(small_run, digits, rounds=1)
    alone = training.start(task, options, common_start=True)
    next(training.standalone(task, options, alone))
    (done,) = methods.play("gossip", task, options)
    for mixed, own in zip(done.participants, alone.participants, strict=True):
        for p, q in zip(mixed.model.parameters(), own.model.parameters(), strict=True):
            momentum = mixed.optimizer.state[p]["momentum_buffer"]
            assert torch.equal(momentum, own.optimizer.state[q]["momentum_buffer"]) and not torch.equal(p, q)


def test_everybody_begins_from_the_same_weights_without_local_epochs():
    for name in ("gossip", "cycle-gossip"):
        assert methods.METHODS[name].common_start and not methods.METHODS[name].local_start
        (run, *_) = catalogue.runs_of("gossip-readings", "paper", methods=[name])
        assert (run.options.local_epochs, run.options.rounds) == (0, 100)


def test_warm_up_is_a_reading(small_run, digits):
    runs = {run.variant: run for run in catalogue.runs_of("gossip-readings", "paper", methods=["gossip"])}
    assert (runs["warm"].options.local_epochs, runs["warm"].options.rounds) == (25, 75)
    task, options = task_and_options(small_run, digits, local_epochs=2, rounds=1)
    rounds = list(methods.play("gossip", task, options))
    assert [done.index for done in rounds] == [-2, -1, 0] and list(rounds[0].models) == ["own"]


def test_the_readings_are_a_grid_without_repetitions():
    runs = list(catalogue.runs_of("gossip-readings", "laptop"))
    assert len({run.path for run in runs}) == len(runs)
    settings = [(run.method, run.split, run.options) for run in runs]
    assert len(set(settings)) == len(settings)
    assert all(run.options.link_rule == "weight" for run in runs if run.method == "gossip")


@pytest.mark.parametrize("rule", ["weight", "relative"])
def test_gossip_never_forces_sharing(small_run, digits, rule):
    """Scored in every round, and still sharing with the probabilities of W alone, under both link rules."""
    task, options = task_and_options(small_run, digits, "cycle-gossip", period=1, beta=50.0, link_rule=rule)
    for done, _ in play("cycle-gossip", task, options):
        assert done.scored and done.shares.sum() < 20
        others = done.reputation * ~np.eye(5, dtype=bool)
        probability = others if rule == "weight" else others / others.max(axis=1, keepdims=True)
        rng = np.random.default_rng(participants.stream_seed(task.seed, participants.SHARE, done.index))
        assert np.array_equal(done.shares, rng.random((5, 5)) < probability)
        assert np.allclose(done.reputation.sum(axis=1), 1) and (np.diag(done.reputation) > 0).all()


def test_cycle_gossip_refuses_a_directed_graph(small_run, digits):
    task, options = task_and_options(small_run, digits, topology="exponential")
    with pytest.raises(ValueError, match="topology must be undirected"):
        methods.play("cycle-gossip", task, options)
    assert next(methods.play("gossip", task, options))
    assert next(methods.play("cycle-gossip", task, replace(options, topology="exponential-undirected")))


def test_the_ledger_counts_parameters_and_gradients(small_run, digits):
    task, options = task_and_options(small_run, digits, "cycle-gossip", topology="ring", n=6)
    rounds = [done for done, _ in play("cycle-gossip", task, options)]
    parameters = sum(done.shares.sum() for done in rounds)
    gradients = 2 * 12  # two calibrations in six rounds with R = 3; a ring of six has twelve directed links
    ledger = rounds[-1].ledger
    assert ledger.sent == parameters + gradients
    assert ledger.matrix(bytes=True).sum() == 4 * parameter_count(rounds[0].participants[0].model) * ledger.sent


def test_alignment_from_updates_compares_the_local_steps(small_run, digits):
    task, options = task_and_options(small_run, digits, "cycle-gossip", rounds=1, alignment="updates")
    start = [flat(member.model) for member in task.participants(options, common_start=True)]
    ((done, models),) = play("cycle-gossip", task, options)
    unit = np.stack([(half - x) / np.linalg.norm(half - x) for half, x in zip(models["before"], start, strict=True)])
    links = gossip.adjacency("complete", 5)
    expected = gossip.reweigh(gossip.mixing_matrix(links), (1 + unit @ unit.T) / 2, links, options.beta)
    assert np.allclose(done.reputation, expected, atol=1e-5)


def test_a_round_of_gossip_neither_leaves_the_device_nor_waits(small_run, digits):
    task, options = task_and_options(small_run, digits, batch_size=16, local_steps=1, augment=True)
    rounds = methods.play("gossip", task, options)
    next(rounds)
    with Watch() as watch:
        next(rounds)
    assert watch.placed == [] and watch.waits == []


def test_a_zero_gradient_is_orthogonal_to_all():
    zero, other = torch.zeros(3), torch.ones(3)
    assert gossip_training.alignments([zero, other], ~np.eye(2, dtype=bool))[0, 1] == 0.5


@pytest.mark.parametrize(
    "method, topology", [("gossip", "ring"), ("cycle-gossip", "complete"), ("cycle-gossip", "ring")]
)
def test_the_absent_are_left_alone(small_run, digits, method, topology):
    task, options = task_and_options(
        small_run, digits, method, n=10, participation=0.4, topology=topology, period=1, rounds=8
    )
    state = training.start(task, options, common_start=True)
    models = [flat(member.model) for member in state.participants]
    W = gossip.mixing_matrix(gossip.adjacency(topology, 10))
    ever = set()
    for done, now in play(method, task, options, state):
        changed = {i for i in range(10) if not np.array_equal(models[i], now["after"][i])}
        present = gossip_training.draw_present(task, options, done.index)
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


def test_partial_participation_mixes_by_the_sub_mixing_matrix(small_run, digits):
    task, options = task_and_options(small_run, digits, n=10, participation=0.3, rounds=2)
    for done, models in play("gossip", task, options):
        present = gossip_training.draw_present(task, options, done.index)
        mean = np.mean([models["before"][i] for i in present], axis=0)
        for i in present:
            assert np.allclose(models["after"][i], mean, atol=1e-6)


@pytest.mark.parametrize("method", ["gossip", "cycle-gossip"])
def test_resumed_after_any_round_the_numbers_are_identical(small_run, digits, method):
    task, options = task_and_options(small_run, digits, method, participation=0.6, local_steps=2)
    state = training.start(task, options, common_start=True)
    saved = []
    for _, models in play(method, task, options, state):  # noqa: B007 (those of the last round)
        saved.append(copy.deepcopy(state.save()))
    for stop in (0, 2, 4):
        again = training.start(task, options, common_start=True).restore(copy.deepcopy(saved[stop]))
        *_, (done, resumed) = play(method, task, options, again)
        assert all(np.array_equal(resumed[point], models[point]) for point in ("before", "after"))
        assert np.array_equal(done.reputation, state.reputation)
        assert done.ledger.entries == state.ledger.entries


def test_records_hold_both_evaluation_points(small_run, tmp_path):
    found = {}
    for evaluation in ("after", "before"):
        run = small_run("cycle-gossip", local_epochs=0, evaluation=evaluation)
        found[evaluation] = records.execute(run, "test", tmp_path / evaluation, progress=False)
        last = found[evaluation]["curve"][-1]
        assert found[evaluation]["accuracy"] == last["accuracy"] == last["points"][evaluation]
    assert found["after"]["curve"][-1]["points"] == found["before"]["curve"][-1]["points"]
    assert found["after"]["accuracy"] != found["before"]["accuracy"]
    plain = records.execute(small_run("standalone"), "test", tmp_path, progress=False)
    assert set(plain["curve"][0]) == {"round", "accuracy"}


@pytest.mark.parametrize(
    "change",
    [
        {"beta": -1}, {"local_steps": -1}, {"evaluation": "during"}, {"link_rule": "all"},
        {"alignment": "losses"}, {"participation": 0}, {"participation": 1.5},
    ],
)  # fmt: skip
def test_options_refuse(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        Options(**change)


def test_an_unknown_topology_is_refused_at_once(small_run, digits):
    task, options = task_and_options(small_run, digits, topology="torus")
    for method in ("gossip", "cycle-gossip"):
        with pytest.raises(ValueError, match="complete, ring, exponential"):
            methods.play(method, task, options)


def test_the_gradient_does_not_depend_on_how_many_samples_fit_at_once(small_run, digits, monkeypatch):
    task, options = task_and_options(small_run, digits)
    one = task.participants(options)[0]
    whole = gossip_training.gradient(one, 0, options)
    monkeypatch.setattr(gossip_training, "GRAPH_PIXELS", 64 * 7)
    assert one.size > 7
    assert torch.allclose(gossip_training.gradient(one, 0, options), whole, atol=1e-6)


def test_the_gradient_is_that_of_the_cross_entropy_at_its_temperature(small_run, digits):
    task, options = task_and_options(small_run, digits)
    one = task.participants(options)[0]
    options = replace(options, own_temperature=5.0, score_samples=10_000)
    log_p = torch.log_softmax(one.model(one.pixels(one.images)) / 5.0, dim=1)
    own = torch.autograd.grad(-log_p[range(one.size), one.labels].mean(), list(one.model.parameters()))
    wanted = torch.cat([part.flatten() for part in own])
    assert torch.allclose(gossip_training.gradient(one, 0, options), wanted, atol=1e-6)


def test_self_loops_let_the_softmax_run_over_oneself(small_run, digits):
    """One calibration from uniform weights, alpha = 1/2: w_ij = 1 / 2N + e^(beta s_ij) / 2 sum_k e^(beta s_ik)."""
    weights = {}
    for loops in (False, True):
        task, options = task_and_options(small_run, digits, "cycle-gossip", rounds=1, self_loops=loops, beta=3.0)
        (done,) = methods.play("cycle-gossip", task, options)
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
