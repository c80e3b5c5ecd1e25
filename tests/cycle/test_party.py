"""One party: a step, a score, a gradient and an accuracy, each against the formula written out with autograd."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cycle import distillation
from cycle import party as parties
from cycle.options import Options
from cycle.party import Heard, Party, accuracy, answer, gradients, learn
from cycle.private import papers_score
from cycle.weights import vector


def live(model):
    """Answers computed when they are needed."""
    return lambda inputs, rows: answer(model, inputs)


def heard(models, weights) -> Heard:
    return Heard([live(model.eval()) for model in models], torch.tensor(weights, dtype=torch.float64))


def everything(party):
    return party.prepare(party.inputs, False)


@pytest.mark.parametrize("own_temperature", [1.0, 5.0])
def test_one_step_of_learn_is_sgd_on_the_papers_loss(small_run, begun, own_temperature):
    """Against autograd on the loss written out with separate KL terms."""
    run = small_run("vpdl", own_temperature=own_temperature, batch_size=1000, momentum=0.0, weight_decay=0.0)
    first, second, third = begun(run).participants[:3]
    options, x = run.options, everything(first)
    logits = first.model(x)
    loss = -torch.log_softmax(logits / own_temperature, dim=1)[range(first.size), first.labels].mean()
    for weight, other in ((4.0, second), (2.5, third)):
        loss = loss + weight * distillation.kl(logits, other.model.eval()(x).detach(), options.temperature)
    found = torch.autograd.grad(loss, list(first.model.parameters()))
    expected = [p.detach() - options.lr * g for p, g in zip(first.model.parameters(), found, strict=True)]
    learn(first, 0, options, heard([second.model, third.model], [4.0, 2.5]))
    for got, want in zip(first.model.parameters(), expected, strict=True):
        assert torch.allclose(got, want, atol=1e-6)


@pytest.mark.parametrize("norm", [None, 0.01, 1e9])
def test_a_step_is_no_longer_than_the_clipped_gradient(small_run, begun, norm):
    """Without momentum and decay a step is the rate times the gradient: one batch, its length by the rule."""
    run = small_run("standalone", split="homogeneous", batch_size=1000, momentum=0.0, weight_decay=0.0, clip_norm=norm)
    one = begun(run).participants[0]
    before = vector(one.model.parameters())
    loss = F.cross_entropy(one.model(everything(one)), one.labels)
    length = float(vector(torch.autograd.grad(loss, list(one.model.parameters()))).norm())
    learn(one, 0, run.options)
    step = float((vector(one.model.parameters()) - before).norm())
    assert step == pytest.approx(run.options.lr * (length if norm is None else min(norm, length)), rel=1e-3)


def test_only_training_asks_for_augmented_inputs():
    """What `prepare` is told, by what is done: the option for training, never for scores and tests."""
    asked = []

    def prepare(inputs, augment):
        asked.append(augment)
        return inputs

    inputs, labels = torch.randn(40, 3), torch.arange(40) % 2
    for augment in (True, False):
        options = Options(augment=augment, batch_size=16)
        one = Party(nn.Linear(3, 2), (inputs, labels), prepare=prepare).join(options, torch.device("cpu"))
        learn(one, 0, options)
        assert asked == [augment] * 3
        asked.clear()
        gradients(one, 0, options, {})
        accuracy(one.model, inputs, labels, prepare)
        assert set(asked) == {False}
        asked.clear()


def test_an_own_loss_takes_the_place_of_the_cross_entropy():
    """A squared error to one-hot labels, by hand; the distillation beside it stays."""
    inputs, labels = torch.randn(6, 3), torch.arange(6) % 2

    def squared(logits, labels):
        return (logits - F.one_hot(labels, 2)).square().sum(dim=1).mean()

    options = Options(lr=0.05, momentum=0.0, weight_decay=0.0)
    one = Party(nn.Linear(3, 2, bias=False), (inputs, labels), loss=squared).join(options, torch.device("cpu"))
    weight = one.model.weight.detach().clone()
    error = inputs @ weight.T - F.one_hot(labels, 2)
    learn(one, 0, options)
    assert torch.allclose(one.model.weight, weight - 0.05 * 2 / 6 * error.T @ inputs, atol=1e-6)


def test_losses_are_means_over_the_samples(small_run, begun):
    """Of minibatches of unequal size, while nothing moves."""
    run = small_run("vpdl", lr=1e-9, batch_size=16)
    first, *others = begun(run).participants
    logits = first.model(everything(first))
    assert first.size % 16
    pulls = [5 * distillation.kl(logits, other.model(everything(first)).detach()) for other in others]
    found = learn(first, 0, run.options, heard([other.model for other in others], [5.0] * 4))
    assert found.tolist() == pytest.approx([F.cross_entropy(logits, first.labels).item(), sum(pulls).item()], rel=1e-4)


@pytest.mark.parametrize("at_once, own_temperature", [(10_000, 1.0), (7, 1.0), (10_000, 5.0)])
def test_score_is_the_equation(small_run, begun, monkeypatch, at_once, own_temperature):
    """Also where only seven samples fit into a pass with a graph."""
    monkeypatch.setattr(parties, "GRAPH_NUMBERS", 64 * at_once)
    options = small_run("cycle", own_temperature=own_temperature, score_samples=10_000).options
    one, other = begun(small_run("cycle")).participants[:2]
    logits = one.model.eval()(everything(one))
    peer = other.model.eval()(everything(one)).detach()

    def gradient(loss):
        return vector(torch.autograd.grad(loss, list(one.model.parameters()), retain_graph=True))

    own, pull = gradient(F.cross_entropy(logits / own_temperature, one.labels)), gradient(distillation.kl(logits, peer))
    cosine = float(own @ pull / (own.norm() * pull.norm()))
    mine, theirs = gradients(one, 0, options, {1: live(other.model)})
    assert papers_score(options, mine, theirs[1]) == pytest.approx(np.clip(0.5 + cosine, 0, 1), abs=1e-5)
    assert torch.allclose(mine, own, atol=1e-6) and torch.allclose(theirs[1], pull, atol=1e-6)


def test_the_gradient_is_that_of_the_cross_entropy_at_its_temperature(small_run, begun):
    run = small_run("gossip")
    one, options = begun(run).participants[0], replace(run.options, own_temperature=5.0, score_samples=10_000)
    log_p = torch.log_softmax(one.model(everything(one)) / 5.0, dim=1)
    wanted = torch.autograd.grad(-log_p[range(one.size), one.labels].mean(), list(one.model.parameters()))
    assert torch.allclose(gradients(one, 0, options, {})[0], vector(wanted), atol=1e-6)


def test_scores_and_gradients_leave_batchnorm_as_it_is(small_run, begun, mlp_with_batchnorm):
    run = small_run("cycle")
    one, other = begun(run).participants[:2]
    before = copy.deepcopy(one.model.state_dict())
    gradients(one, 0, run.options, {1: live(other.model.eval())})
    assert "1.running_mean" in before
    assert all(torch.equal(value, before[name]) for name, value in one.model.state_dict().items())


def test_scores_are_taken_on_a_draw_of_the_own_samples_anew_at_each_calibration(small_run, begun):
    run = small_run("cycle", score_samples=8)
    one, other = begun(run).participants[:2]
    drawn = []

    def watched(inputs, rows):
        drawn.append(set(rows.tolist()))
        return answer(other.model.eval(), inputs)

    for epoch in (0, 5):
        gradients(one, epoch, run.options, {1: watched})
    assert one.size > 8 and [len(rows) for rows in drawn] == [8, 8] and drawn[0] != drawn[1]


def test_accuracy_is_that_of_eval_mode(small_run, begun, digits, mlp_with_batchnorm):
    """Of a model that has just been trained on: counted by hand with its running statistics, which stay as they are."""
    run = small_run("standalone")
    one = begun(run).participants[0]
    learn(one, 0, run.options)
    before = copy.deepcopy(one.model.state_dict())
    images, labels = digits.test_images[:50], digits.test_labels[:50]
    found = accuracy(one.model.train(), images, labels, one.prepare)
    assert all(torch.equal(value, before[name]) for name, value in one.model.state_dict().items())
    logits = one.model.eval()(one.prepare(images, False))
    assert found == 2 * (logits.argmax(dim=1) == labels).sum().item()  # of 50, in percent


def test_a_party_does_not_depend_on_who_else_is_computed(small_run, begun, rounds_of):
    """P2's standalone weights are the same when the others are trained before, after or not at all."""
    run = small_run("standalone")
    full = rounds_of(run)[-1][1][1]
    second = begun(run).participants[1]
    torch.rand(17)  # somebody else used the global stream
    for epoch in range(run.options.epochs):
        learn(second, epoch, run.options)
    assert torch.equal(full, vector(second.model.parameters()))


def test_the_schedule_multiplies_the_rates_of_an_own_optimiser():
    """Two groups with rates of their own, written out: weight w <- w - rate * decay * gradient."""
    inputs, labels = torch.randn(8, 3), torch.arange(8) % 2

    def groups(parameters):
        weight, bias = parameters
        return torch.optim.SGD([{"params": [weight], "lr": 0.2}, {"params": [bias], "lr": 0.01}])

    options = Options(lr=99.0, lr_every=1, lr_decay=0.5, local_epochs=0, rounds=3)
    one = Party(nn.Linear(3, 2), (inputs, labels), optimizer=groups).join(options, torch.device("cpu"))
    expected = [part.detach().clone() for part in one.model.parameters()]
    for epoch in range(3):
        loss = F.cross_entropy(one.model(inputs), labels)
        found = torch.autograd.grad(loss, list(one.model.parameters()))
        expected = [part - rate * 0.5**epoch * g for part, rate, g in zip(expected, (0.2, 0.01), found, strict=True)]
        learn(one, epoch, options)
        for got, want in zip(one.model.parameters(), expected, strict=True):
            assert torch.allclose(got, want, atol=1e-6)


@pytest.mark.parametrize(
    "arguments, said",
    [
        ({"model": "linear"}, "model must be an nn.Module with parameters to train, got str"),
        ({"model": nn.Flatten()}, "model must be an nn.Module with parameters"),
        ({"optimizer": 0.1}, "optimizer must be a function, got float"),
        ({"prepare": torch.ones(3)}, "prepare must be a function, got Tensor"),
        ({"loss": "mse"}, "loss must be a function, got str"),
        ({"test": (torch.ones(4, 3), torch.ones(3).long())}, "test must hold one label for each input"),
    ],
)
def test_a_party_says_what_is_wrong_with_it(arguments, said):
    data = torch.ones(4, 3), torch.zeros(4).long()
    with pytest.raises(ValueError, match=said):
        Party(**{"model": nn.Linear(3, 2), "data": data} | arguments)
