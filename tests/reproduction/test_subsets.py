"""Who made which sample, and a part that stands for the whole: by hand, by property, refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction import subsets

FEW = np.array([0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 0, 0])


def test_what_is_drawn_stays_what_recorded_runs_had():
    assert subsets.stratified(FEW, 5, 0).tolist() == [2, 4, 6, 8, 11]
    assert subsets.stratified(FEW, 12, 0).tolist() == list(range(12))
    assert subsets.stratified(np.array(["cat", "dog", "emu"])[FEW], 5, 0).tolist() == [2, 4, 6, 8, 11]
    assert subsets.stratified(FEW, 1, 0).size == 1


@given(st.integers(0, 10_000), st.integers(60, 400), st.integers(2, 10), st.floats(0.1, 1))
def test_a_stratified_part_has_the_classes_of_the_whole(seed, samples, classes, share):
    labels = np.random.default_rng(seed).integers(0, classes, samples)
    size = max(1, int(share * labels.size))
    chosen = subsets.stratified(labels, size, seed)
    assert chosen.size == np.unique(chosen).size == size
    expected = np.bincount(labels) * size / labels.size
    assert np.abs(np.bincount(labels[chosen], minlength=expected.size) - expected).max() < 2


def test_natural_gives_each_center_its_own_samples_in_the_order_of_their_numbers():
    assert [part.tolist() for part in subsets.natural([7, 2, 7, 5, 2], 3)] == [[1, 4], [3], [0, 2]]
    assert [part.tolist() for part in subsets.natural(["b", "a", "b"], 2)] == [[1], [0, 2]]


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: subsets.stratified(FEW[None], 2, 0), "^labels must be one-dimensional"),
        (lambda: subsets.stratified(FEW, 2, -1), "^seed must be a whole number, at least 0"),
        (lambda: subsets.stratified(FEW, 0, 0), "^size must be a whole number, from 1 to 12"),
        (lambda: subsets.stratified(FEW, 13, 0), "^size must be a whole number, from 1 to 12"),
        (lambda: subsets.natural(FEW[None], 3), "^centers must be one-dimensional"),
        (lambda: subsets.natural([0, 1, 2], 2), "^n must be the number of centers, 3, got 2"),
    ],
)
def test_refuses(call, named):
    with pytest.raises(ValueError, match=named):
        call()
