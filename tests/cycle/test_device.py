"""Stands in for a GPU: every tensor must be made on a named device, and batch loops must not wait for it."""

import numpy as np
import pytest
import torch
from torch.overrides import TorchFunctionMode

from cycle import party, private
from cycle.methods import METHODS
from reproduction import execute
from reproduction.data import datasets

FACTORIES = {
    getattr(torch, name)
    for name in "tensor zeros ones full empty rand randn randint randperm arange linspace eye as_tensor".split()
}
SYNCHRONISE = {torch.Tensor.item, torch.Tensor.cpu, torch.Tensor.tolist, torch.Tensor.numpy, torch.Tensor.__bool__,
               torch.Tensor.__float__, torch.Tensor.__int__, torch.Tensor.nonzero, torch.nonzero,
               torch.Tensor.masked_select, torch.masked_select}  # fmt: skip


class Watch(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.placed, self.waits = [], []

    def __torch_function__(self, function, types, arguments=(), options=None):
        options = options or {}
        if function in FACTORIES and options.get("device") is None:
            self.placed.append(function.__name__)
        if function in SYNCHRONISE:
            self.waits.append(function.__name__)
        if function is torch.Tensor.__getitem__ and torch.is_tensor(arguments[1]) and arguments[1].dtype == torch.bool:
            self.waits.append("mask")
        return function(*arguments, **options)


@pytest.fixture
def people(small_run, begun):
    run = small_run("cycle", augment=True, batch_size=16)
    return run.options, begun(run).participants


def test_the_watch_sees_what_it_should():
    with Watch() as watch:
        torch.zeros(3)
        some = torch.zeros(3, device="cpu")
        some.sum().item()
        some[some > 0]
    assert watch.placed == ["zeros"] and watch.waits == ["item", "mask"]


def live(model):
    return lambda inputs, rows: party.answer(model.eval(), inputs)


def answers(people):
    return [live(one.model) for one in people]


@pytest.mark.parametrize("bound", [None, 5.0])
def test_learning_neither_leaves_the_device_nor_waits(people, bound):
    options, (one, *others) = people
    weights = torch.ones(4, dtype=torch.float64)
    with Watch() as watch:
        party.learn(one, 0, options, party.Heard(answers(others), weights, bound))
    assert watch.placed == [] and watch.waits == []


def test_scoring_stays_on_the_device(people):
    options, everybody = people
    with Watch() as watch:
        heard = dict(enumerate(answers(everybody)))
        own, others = party.gradients(everybody[0], 0, options, {1: heard[1]})
        private.papers_score(options, own, others[1])
    assert watch.placed == []
    assert len(watch.waits) <= 9  # a few at each calibration, none for each batch


def test_testing_waits_once(people, digits):
    _, everybody = people
    with Watch() as watch:
        party.accuracy(everybody[0].model, digits.test_images, digits.test_labels, datasets.Pixels(digits))
    assert watch.placed == [] and watch.waits == ["item"]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_and_resumes_on_a_gpu(method, small_run, cut_after, tmp_path):
    run = small_run(method)
    whole = execute.execute(run, "test", tmp_path / "whole", "cuda", progress=False)
    cut_after(4, run, tmp_path / "cut", "cuda")
    resumed = execute.execute(run, "test", tmp_path / "cut", "cuda", progress=False)
    assert np.allclose(resumed["accuracy"], whole["accuracy"], atol=1.0)
