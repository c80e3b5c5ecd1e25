"""Public functions and arguments of any type, shape and value: the name of what is wrong, or the right value."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cycle import distillation, gossip, partition, reputation, sharing
from reproduction import models, subsets
from tests.trials import calls
from tests.trials.accepted import call as made_of

KINDS = [np.bool_, np.int8, np.int64, np.uint8, np.float32, np.float64, np.complex128, np.dtype("U3")]
ARRAYS = st.sampled_from(KINDS).flatmap(
    lambda kind: hnp.arrays(kind, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))
)
TENSORS = hnp.arrays(st.sampled_from([np.float32, np.float64, np.int64]), hnp.array_shapes(max_dims=4, max_side=5))
NUMBERS = st.floats() | st.integers(-5, 60) | st.complex_numbers()
ANYTHING = (
    (st.none() | st.booleans() | st.text(max_size=5) | st.binary(max_size=3) | NUMBERS)
    | (ARRAYS | TENSORS.map(torch.from_numpy))
    | st.lists(NUMBERS, max_size=5)
    | st.lists(st.lists(NUMBERS, max_size=3), max_size=3)
    | st.sampled_from(calls.NONSENSE)
)
ARGUMENTS = [(made, name) for made in calls.CALLS for name in made.right]


@pytest.mark.parametrize("made", calls.CALLS, ids=lambda made: made.function.__name__)
def test_every_right_call_gives_a_value(made):
    if made.allowed[next(iter(made.right))](made.right[next(iter(made.right))]):  # else there is no right one here
        for name, value in made.right.items():
            assert made.allowed[name](value) is not False, name
            assert calls.judged(made, name, value) == "used"


@pytest.mark.parametrize("made", calls.CALLS, ids=lambda made: made.function.__name__)
def test_every_argument_refuses_every_nonsense_by_name(made):
    for name in made.right:
        for value in calls.NONSENSE:
            assert calls.judged(made, name, value) in ("refused", "used"), (name, value)


@settings(max_examples=300)
@given(st.sampled_from(ARGUMENTS), ANYTHING)
def test_whatever_comes_is_refused_by_name_or_used_rightly(which, value):
    assert calls.judged(*which, value) in ("refused", "used")


def test_the_benchmark_counts_five_hundred():
    found = calls.measure()
    assert found == {"calls": 500, "refused": 500 - found["used"], "used": found["used"], "failed": 0}
    assert found["refused"] > 400 and found["used"] > 0


def test_the_benchmark_sees_what_is_wrong():
    """Functions that answer in silence, raise something else, name nothing, refuse what is right, or change a list."""

    def silent(x):
        return 0.0

    def raw(x):
        return x["x"]

    def nameless(x):
        raise ValueError("something is wrong")

    def strict(x):
        raise ValueError("x must be something else")

    def greedy(x):
        x.append(0)

    def undefined(x):
        return [float("nan")]

    wrong = {"x": (1.0, lambda x: False)}
    assert calls.judged(made_of(silent, **wrong), "x", 2.0) == "used in silence"
    assert calls.judged(made_of(raw, **wrong), "x", 2.0).startswith("raw TypeError")
    assert calls.judged(made_of(nameless, **wrong), "x", 2.0).startswith("unnamed")
    right = {"x": (1.0, lambda x: True)}
    assert calls.judged(made_of(strict, **right), "x", 2.0) == "refused though right"
    assert calls.judged(made_of(greedy, **right), "x", []) == "arguments changed"
    assert calls.judged(made_of(undefined, **right), "x", 2.0) == "used, and gave NaN"


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: distillation.weighted_kl(torch.ones(2, 3), torch.ones(1, 3), 1.0), "peer_target"),
        (lambda: distillation.weighted_kl(torch.ones(2, 3), torch.ones(2, 3), 1.0, 0), "temperature"),
        (lambda: sharing.draw_shares(np.ones((2, 2)), 1, np.nan, np.random.default_rng(0)), "period"),
        (lambda: sharing.draw_shares(np.ones((2, 2)), 1, 2.5, np.random.default_rng(0)), "period"),
        (lambda: sharing.draw_shares(np.ones((2, 2)), 1, np.inf, np.random.default_rng(0)), "period"),
        (lambda: sharing.draw_shares(np.ones((2, 2)), 1, 5, random), "rng"),
        (lambda: subsets.natural([0, 1, np.nan], 3), "centers"),
        (lambda: partition.homogeneous(np.arange(10), 5, None), "seed"),
        (lambda: partition.flip_labels(np.zeros(4, np.uint8), 0.5, 1000, 0), "num_classes"),
        (lambda: gossip.reweigh(-np.eye(2), np.eye(2), ~np.eye(2, dtype=bool)), "W"),
        (lambda: gossip.link_probabilities(9 * np.eye(2)), "W"),
        (lambda: reputation.alignment_softmax(np.full((2, 2), np.nan), ~np.eye(2, dtype=bool)), "alignment"),
        (lambda: models.build("mlp", (1, 8, 8), 10, 0), "width"),
        (lambda: models.build("mlp", (1, 8, 8), 0), "num_classes"),
    ],
)
def test_what_was_once_answered_in_silence(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_images_that_are_not_square_fit_the_cnn():
    model = models.build("cnn", (1, 16, 40), 3)
    assert model(torch.ones(2, 1, 16, 40)).shape == (2, 3)
