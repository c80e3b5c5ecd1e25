import numpy as np
import pytest
import torch

from cycle import training
from cycle.options import Options
from cycle.participants import learn
from reproduction import settings


def rates(**changes):
    options = Options(**{"local_epochs": 4, "rounds": 8, "lr": 1.0, "lr_decay": 0.5, "lr_every": 3} | changes)
    return [options.lr_at(epoch) for epoch in range(options.epochs)]


def test_the_rate_decays_from_the_start_or_from_the_first_round():
    assert rates() == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125]
    assert rates(decay_from="rounds") == [1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_the_rate_rises_over_the_warm_up_of_the_same_clock():
    assert rates(warmup=3, lr_every=20) == [0.25, 0.5, 0.75] + 9 * [1]
    assert rates(warmup=1, lr_every=20, decay_from="rounds") == 4 * [1] + [0.5] + 7 * [1]


@pytest.mark.parametrize("norm", [None, 0.01, 1e9])
def test_a_step_is_no_longer_than_the_clipped_gradient(small_run, digits, norm):
    """Without momentum and decay a step is the rate times the gradient: one batch, its length by the rule."""
    run = small_run("standalone", split="homogeneous", batch_size=1000, momentum=0.0, weight_decay=0.0, clip_norm=norm)
    person = settings.task_of(run, digits).participants(run.options)[0]
    before = torch.cat([part.detach().flatten().clone() for part in person.model.parameters()])
    inputs = person.pixels(person.images)
    loss = torch.nn.functional.cross_entropy(person.model(inputs), person.labels)
    gradient = torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(person.model.parameters()))])
    learn(person, 0, run.options)
    after = torch.cat([part.detach().flatten() for part in person.model.parameters()])
    length = float(gradient.norm()) if norm is None else min(norm, float(gradient.norm()))
    assert float((after - before).norm()) == pytest.approx(run.options.lr * length, rel=1e-3)


@pytest.mark.parametrize("common", [False, True])
def test_a_common_start_is_the_first_ones_weights_for_all(small_run, digits, common):
    run = small_run("cycle", common_start=common)
    first, *others = training.start(settings.task_of(run, digits), run.options).participants
    weights = [torch.cat([part.flatten() for part in one.model.parameters()]) for one in (first, *others)]
    assert all(torch.equal(weights[0], other) == common for other in weights[1:])
    own = training.start(settings.task_of(small_run("cycle"), digits), small_run("cycle").options).participants[0]
    assert np.array_equal(torch.cat([part.detach().flatten() for part in own.model.parameters()]), weights[0].detach())


@pytest.mark.parametrize("change", [{"clip_norm": 0.0}, {"clip_norm": -1.0}, {"warmup": -1}, {"decay_from": "end"}])
def test_bad_values_are_named(change):
    with pytest.raises(ValueError, match=f"{next(iter(change))} must be"):
        Options(**change)
