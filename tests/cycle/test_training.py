import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cycle import distillation, gossip_training, methods, participants, reputation, training
from cycle.options import Options
from reproduction import settings


def play(run, dataset, method=None):
    task = settings.task_of(run, dataset)
    return list(_copies(methods.play(method or run.method, task, run.options)))


def _copies(rounds):
    for done in rounds:
        weights = [
            torch.cat([p.detach().flatten().clone() for p in one.model.parameters()]) for one in done.participants
        ]
        yield done, weights


def test_a_round_yields_everything(small_run, digits):
    rounds = play(small_run("cycle"), digits)
    assert [done.index for done, _ in rounds] == list(range(-2, 6))
    assert [done.scored for done, _ in rounds] == [False, False, True, False, False, True, False, False]
    last = rounds[-1][0]
    assert last.losses.shape == (5, 2) and torch.isfinite(last.losses).all()
    assert last.reputation.shape == last.shares.shape == (5, 5)
    assert last.ledger.sent == sum(done.shares.sum() for done, _ in rounds if done.shares is not None)
    assert last.ledger.possible == 6 * 20


@pytest.mark.parametrize("own_temperature", [1.0, 5.0])
def test_one_step_of_learn_is_sgd_on_the_papers_loss(small_run, digits, own_temperature):
    """Against autograd on the loss written out with separate KL terms."""
    run = small_run("vpdl", lambda_0=10.0, own_temperature=own_temperature)
    options = replace(run.options, batch_size=1000, momentum=0.0, weight_decay=0.0)
    task = settings.task_of(run, digits)
    first, second, third = task.participants(options)[:3]
    for other in (second, third):
        other.model.eval()
    x = first.pixels(first.images)
    logits = first.model(x)
    loss = -torch.log_softmax(logits / own_temperature, dim=1)[range(first.size), first.labels].mean()
    for weight, other in ((4.0, second), (2.5, third)):
        loss = loss + weight * distillation.kl(logits, other.model(x).detach(), options.temperature)
    gradients = torch.autograd.grad(loss, list(first.model.parameters()))
    expected = [p.detach() - options.lr * g for p, g in zip(first.model.parameters(), gradients, strict=True)]
    heard = [participants.live(second.model), participants.live(third.model)]
    participants.learn(first, 0, options, heard, [4.0, 2.5])
    for got, want in zip(first.model.parameters(), expected, strict=True):
        assert torch.allclose(got, want, atol=1e-6)


@pytest.mark.parametrize(
    "method, normalisation, weight", [("vpdl", "mean", 10), ("vpdl", "per_peer", 20), ("cycle", "mean", 10)]
)
def test_rounds_are_algorithm_2_by_hand(small_run, digits, monkeypatch, method, normalisation, weight):
    """Three unequal participants, whole batches, all written out: frozen peers, weights, rate, Nesterov, decay."""
    changes = {"local_epochs": 1, "rounds": 3, "lr_every": 2, "batch_size": 1000, "lambda_0": 20.0, "period": 1}
    run = small_run(method, n=3, **changes, normalisation=normalisation)
    scores = np.array([[0, 0.3, 0.9], [0.5, 0, 0.2], [1.0, 0.7, 0]]) if method == "cycle" else np.ones((3, 3))
    monkeypatch.setattr(training, "score", lambda p, epoch, o, answers: {k: scores[p.index, k] for k in answers})
    final = play(run, digits)[-1][1]

    people = settings.task_of(run, digits).participants(run.options)
    velocities = [[torch.zeros_like(p) for p in person.model.parameters()] for person in people]
    for epoch in range(4):
        frozen = [copy.deepcopy(person.model) for person in people]
        for n, person in enumerate(people):
            inputs, parameters = person.pixels(person.images), list(person.model.parameters())
            log_own = torch.log_softmax(person.model(inputs) / 5, dim=1)
            loss = F.cross_entropy(person.model(inputs), person.labels)
            for k in {0, 1, 2} - {n} if epoch >= 1 else ():
                log_peer = torch.log_softmax(frozen[k](inputs).detach() / 5, dim=1)
                loss = loss + weight * scores[n, k] * (log_own.exp() * (log_own - log_peer)).sum(1).mean()
            for p, g, v in zip(parameters, torch.autograd.grad(loss, parameters), velocities[n], strict=True):
                g = g + 5e-4 * p.detach()
                v.mul_(0.9).add_(g)
                p.data -= 0.1 * 0.1 ** (epoch // 2) * (g + 0.9 * v)
    for person, got in zip(people, final, strict=True):
        assert torch.allclose(got, torch.cat([p.detach().flatten() for p in person.model.parameters()]), atol=2e-5)


def test_losses_are_means_over_the_samples_and_bytes_follow_the_receiver(small_run, digits):
    run = small_run("vpdl", lr=1e-9, batch_size=16, lambda_0=20.0)
    done = play(run, digits)[-1][0]
    for n, person in enumerate(done.participants):
        logits = person.model(person.pixels(person.images))
        peers = [p.model(person.pixels(person.images)).detach() for p in done.participants if p is not person]
        expected = [F.cross_entropy(logits, person.labels), sum(5 * distillation.kl(logits, z, 5.0) for z in peers)]
        assert done.losses[n].tolist() == pytest.approx([loss.item() for loss in expected], rel=1e-4)
        assert set(done.ledger.matrix(bytes=True)[:, n]) == {0, 6 * 4 * 10 * person.size}


def test_augmentation_is_what_the_option_says(small_run, digits):
    alone = [play(small_run("standalone", augment=augment), digits)[-1][1][0] for augment in (False, True)]
    assert not torch.allclose(*alone)


def test_scores_and_gradients_leave_batchnorm_as_it_is(small_run, digits, mlp_with_batchnorm):
    run = small_run("cycle")
    one, other = settings.task_of(run, digits).participants(run.options)[:2]
    before = {name: value.clone() for name, value in one.model.state_dict().items()}
    participants.score(one, 0, run.options, {1: participants.live(other.model.eval())})
    gossip_training.gradient(one, 0, run.options)
    assert all(torch.equal(value, before[name]) for name, value in one.model.state_dict().items())


def test_accuracy_is_that_of_eval_mode(small_run, digits, mlp_with_batchnorm):
    """Of a model that has just been trained on: counted by hand with its running statistics, which stay as they are."""
    run = small_run("standalone")
    (one,) = settings.task_of(run, digits).participants(run.options, only=[0])
    participants.learn(one, 0, run.options)
    before = copy.deepcopy(one.model.state_dict())
    found = participants.accuracy(one.model.train(), digits.test_images[:50], digits.test_labels[:50], one.pixels)
    assert all(torch.equal(value, before[name]) for name, value in one.model.state_dict().items())
    logits = one.model.eval()(one.pixels(digits.test_images[:50]))
    assert found == 2 * (logits.argmax(dim=1) == digits.test_labels[:50]).sum().item()  # of 50, in percent


def test_scores_are_taken_on_a_draw_of_the_own_samples_anew_at_each_calibration(small_run, digits):
    run = small_run("cycle", score_samples=8)
    one, other = settings.task_of(run, digits).participants(run.options)[:2]
    drawn = []

    def heard(inputs, rows):
        drawn.append(set(rows.tolist()))
        return participants.answer(other.model.eval(), inputs)

    for epoch in (0, 5):
        participants.score(one, epoch, run.options, {1: heard})
    assert one.size > 8 and [len(rows) for rows in drawn] == [8, 8] and drawn[0] != drawn[1]


@pytest.mark.parametrize("at_once, own_temperature", [(10_000, 1.0), (7, 1.0), (10_000, 5.0)])
def test_score_is_the_equation(small_run, digits, monkeypatch, at_once, own_temperature):
    monkeypatch.setattr(participants, "GRAPH_PIXELS", 64 * at_once)
    run = small_run("cycle", own_temperature=own_temperature)
    task = settings.task_of(run, digits)
    options = replace(run.options, score_samples=10_000)
    one, other = task.participants(options)[:2]
    one.model.eval(), other.model.eval()
    logits = one.model(one.pixels(one.images))
    peer = other.model(one.pixels(one.images)).detach()

    def gradient(loss):
        return torch.cat(
            [g.flatten() for g in torch.autograd.grad(loss, list(one.model.parameters()), retain_graph=True)]
        )

    own, pull = gradient(F.cross_entropy(logits / own_temperature, one.labels)), gradient(distillation.kl(logits, peer))
    cosine = float(own @ pull / (own.norm() * pull.norm()))
    fresh = participants.score(one, 0, options, {1: participants.live(other.model)})
    assert fresh[1] == pytest.approx(np.clip(0.5 + cosine, 0, 1), abs=1e-5)


def test_vpdl_is_cycle_with_every_reputation_one(small_run, digits, monkeypatch):
    for normalisation in ("mean", "per_peer"):
        run = small_run("vpdl", normalisation=normalisation, lambda_0=20.0)
        vpdl = play(run, digits)
        monkeypatch.setattr(training, "score", lambda p, epoch, options, answers: dict.fromkeys(answers, 1.0))
        cycle = play(run, digits, "cycle")
        monkeypatch.undo()
        assert cycle[-1][0].ledger.sent == vpdl[-1][0].ledger.sent
        assert all(torch.equal(a, b) for a, b in zip(cycle[-1][1], vpdl[-1][1], strict=True))


def test_without_peers_cycle_is_standalone(small_run, digits, monkeypatch):
    run = small_run("standalone")
    alone = play(run, digits)
    monkeypatch.setattr(training, "score", lambda p, epoch, options, answers: dict.fromkeys(answers, 0.0))
    cycle = play(run, digits, "cycle")
    assert all(torch.equal(a, b) for a, b in zip(cycle[-1][1], alone[-1][1], strict=True))


def test_masks_are_drawn_from_the_reputations_of_the_round_before(small_run, digits):
    """Redrawn from the recorded reputations with the stream of the round."""
    from cycle import sharing

    run = small_run("cycle")
    rounds = [done for done, _ in play(run, digits) if done.shares is not None]
    for before, after in zip(rounds, rounds[1:], strict=False):
        epoch = after.index + run.options.local_epochs
        rng = np.random.default_rng(participants.stream_seed(run.seed, participants.SHARE, epoch))
        expected = sharing.draw_shares(before.reputation, after.index, run.options.period, rng)
        assert np.array_equal(after.shares, expected)


def test_reputation_moves_by_momentum_at_calibrations_only(small_run, digits, monkeypatch):
    values = iter([0.8] * 5 + [0.2] * 5)

    def constant(participant, epoch, options, peers):
        value = next(values)
        return dict.fromkeys(peers, value)

    monkeypatch.setattr(training, "score", constant)
    rounds = [done for done, _ in play(small_run("cycle", alpha=0.75), digits) if done.reputation is not None]
    off = ~np.eye(5, dtype=bool)
    expected = [0.8, 0.8, 0.8] + [reputation.update(0.8, 0.2, 0.75)] * 3
    assert [np.unique(done.reputation[off]).tolist() for done in rounds] == [[value] for value in expected]


def test_an_answer_not_sent_is_not_computed(small_run, digits, monkeypatch):
    answers = []
    true_answer = participants.answer
    monkeypatch.setattr(participants, "answer", lambda peer, x: answers.append(len(x)) or true_answer(peer, x))
    run = small_run("cycle")
    rounds = [done for done, _ in play(run, digits) if done.shares is not None]
    sizes = [p.size for p in rounds[0].participants]
    learned = sum(sizes[k] for done in rounds for n, k in np.argwhere(done.shares) if done.reputation[k, n] > 0)
    scored = 2 * sum(min(size, run.options.score_samples) for size in sizes) * 4
    assert sum(answers) == learned + scored


def test_peers_answer_in_eval_mode_without_a_graph(small_run, digits, monkeypatch):
    seen = []
    true_answer = participants.answer

    def watched(peer, x):
        result = true_answer(peer, x)
        seen.append((peer.training, result.requires_grad, result.is_inference()))
        return result

    monkeypatch.setattr(participants, "answer", watched)
    play(small_run("vpdl"), digits)
    assert set(seen) == {(False, False, True)}


def test_a_participant_does_not_depend_on_who_else_is_computed(small_run, digits):
    """P2's standalone weights are the same when the others are trained before, after or not at all."""
    run = small_run("standalone")
    full = play(run, digits)[-1][1][1]
    task = settings.task_of(run, digits)
    second = task.participants(run.options)[1]
    torch.rand(17)  # somebody else used the global stream
    for epoch in range(run.options.epochs):
        participants.learn(second, epoch, run.options)
    assert torch.equal(full, torch.cat([p.detach().flatten() for p in second.model.parameters()]))


def test_a_silent_peer_scores_zero_at_a_calibration(small_run, digits):
    run = small_run("cycle")
    task = settings.task_of(run, digits)
    state = training.start(task, run.options)
    shares = ~np.eye(5, dtype=bool)
    shares[4] = False
    peers = [p.model.eval() for p in state.participants]
    fresh = training.calibrated(state, 0, run.options, shares, lambda k, n, purpose: participants.live(peers[k]))
    assert (fresh[:, 4] == 0).all() and (fresh[:4, :4].sum() > 0)


def test_refusing_peers(small_run, digits):
    """One who never answers is scored 0 by all; one who answers when forced keeps a reputation."""
    silent = [done for done, _ in play(small_run("cycle", silent=(1,)), digits) if done.shares is not None]
    assert not any(done.shares[1].any() for done in silent)
    assert all((done.reputation[:, 1] == 0).all() for done in silent)
    forced = [done for done, _ in play(small_run("cycle", forced_only=(1,)), digits) if done.shares is not None]
    assert [bool(done.shares[1].any()) for done in forced] == [True, False, False, True, False, False]
    assert forced[-1].reputation[[0, 2, 3, 4], 1].max() > 0


@pytest.mark.parametrize("method", ["vpdl", "cycle", "gossip", "cycle-gossip"])
def test_a_peer_that_diverged_harms_nobody(method, small_run, digits, caplog):
    """P3's weights are lost before the first round: nobody else's are, it is scored 0, and a warning names it."""
    gossip = {"local_epochs": 0, "rounds": 2} if "gossip" in method else {"local_epochs": 1, "rounds": 4}
    run = small_run(method, **gossip)
    task = settings.task_of(run, digits)
    state = training.start(task, run.options)
    state.epoch = run.options.local_epochs
    with torch.no_grad():
        next(state.participants[2].model.parameters()).fill_(torch.nan)
    *_, done = methods.play(method, task, run.options, state)
    finite = [all(part.isfinite().all() for part in p.model.parameters()) for p in done.participants]
    assert finite == [True, True, False, True, True]
    if method == "cycle":
        assert (done.reputation[[0, 1, 3, 4], 2] == 0).all() and done.reputation[0, 1] > 0
    if method == "cycle-gossip":
        assert (done.reputation[[0, 1, 3, 4], 2] < done.reputation[[0, 1, 3, 4], [1, 0, 1, 1]]).all()
    assert method in ("vpdl", "gossip") or "P3" in caplog.text


@pytest.mark.parametrize(
    "method, change, said",
    [("vpdl", {"silent": (1,)}, "empty for vpdl"), ("cycle", {"silent": (5,)}, "below n = 5")],
)
def test_who_refuses_must_exist_and_the_method_must_know_refusal(method, change, said, small_run, digits):
    run = small_run(method, **change)
    with pytest.raises(ValueError, match=said):
        methods.play(method, settings.task_of(run, digits), run.options)


@pytest.mark.parametrize(
    "change",
    [
        {"silent": (-1,)},
        {"silent": 1},
        {"beta": float("inf")},
        {"batch_size": 1.5},
        {"local_steps": 0.5},
        {"lr": 0},
        {"normalisation": "sum"},
        {"alpha": 2},
        {"alpha": 1.0},
        {"tau_opt": 0.9},
        {"rounds": -1},
        {"period": 0},
    ],
)
def test_options_refuse(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        Options(**change)


def test_controls_learn_without_peers(small_run, digits):
    """One step over all samples: who was taught by a copy of itself learned nothing more than alone, and a teacher to
    whom all classes are equal asks for entropy: KL(p || 1/M) = log M - H(p)."""
    run = small_run("standalone", lambda_0=10.0)
    one_step = {"local_epochs": 0, "rounds": 1, "batch_size": 1000, "momentum": 0.0, "weight_decay": 0.0}
    run = replace(run, options=replace(run.options, **one_step))
    ended = {name: play(run, digits, name)[-1] for name in ("standalone", "echo", "blank")}
    assert all(done.ledger.sent == 0 for done, _ in ended.values())
    for person, alone, echo, blank in zip(
        settings.task_of(run, digits).participants(run.options),
        *(weights for _, weights in ended.values()),
        strict=True,
    ):
        assert torch.allclose(alone, echo, atol=1e-6)
        logits = person.model(person.pixels(person.images))
        p = (logits / run.options.temperature).softmax(dim=1)
        loss = F.cross_entropy(logits, person.labels) + 10.0 * (np.log(10) + (p * p.log()).sum(dim=1).mean())
        gradients = torch.autograd.grad(loss, list(person.model.parameters()))
        stepped = [w - run.options.lr * g for w, g in zip(person.model.parameters(), gradients, strict=True)]
        assert torch.allclose(blank, torch.cat([w.detach().flatten() for w in stepped]), atol=1e-5)
        assert not torch.allclose(blank, alone, atol=1e-4)


def test_echo_teaches_with_the_model_of_the_rounds_start(small_run, digits):
    """From the second minibatch on it differs from training alone, and lambda_0 = 0 takes that away."""
    run = small_run("standalone", batch_size=16)
    free = replace(run, options=replace(run.options, lambda_0=0.0))
    alone, echo, without = (
        play(*way)[-1][1][0] for way in ((run, digits), (run, digits, "echo"), (free, digits, "echo"))
    )
    assert not torch.allclose(alone, echo, atol=1e-4) and torch.equal(alone, without)
