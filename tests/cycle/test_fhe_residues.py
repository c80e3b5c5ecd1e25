"""The array arithmetic against Python's own integers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cycle.fhe import residues
from cycle.fhe.params import Params

MODULI = [*Params(1, 8).moduli, *Params(2, 8).moduli, 2**30 - 35]


def exact(values):
    return np.array([int(value) for value in values.ravel()], dtype=object).reshape(values.shape)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODULI), st.integers(1, 7), st.integers(1, 9), st.integers(0, 40), st.integers(0, 2**32))
def test_modular_product_is_exact(modulus, rows, inner, weight_bits, seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-(2**weight_bits), 2**weight_bits, (rows, inner), endpoint=True)
    weights[rng.random((rows, inner)) < 0.3] = 0
    numbers = rng.integers(0, modulus, (inner, 2500), dtype=np.uint64)
    numbers[:, :3] = [0, 1, modulus - 1]
    product = residues.modular_product(weights.astype(float), numbers, modulus)
    checked = np.r_[0:40, 2030:2070, 2490:2500]
    expected = exact(weights) @ exact(numbers[:, checked]) % modulus
    assert (exact(product[:, checked]) == expected).all()
    assert product.max() < modulus


def test_modular_product_refuses_sums_that_no_double_can_hold():
    with pytest.raises(ValueError, match="weights"):
        residues.modular_product(np.full((1, 2), 2.0**52), np.ones((2, 3), np.uint64), MODULI[0])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(MODULI), st.data())
def test_modular_multiply_and_subtract(modulus, data):
    numbers = st.lists(st.integers(0, modulus - 1), min_size=5, max_size=5)
    left, right = data.draw(numbers) + [modulus - 1, 0], data.draw(numbers) + [modulus - 1, modulus - 1]
    arrays = np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64)
    products = [a * b % modulus for a, b in zip(left, right, strict=True)]
    differences = [(a - b) % modulus for a, b in zip(left, right, strict=True)]
    assert residues.modular_multiply(*arrays, modulus).tolist() == products
    assert residues.modular_subtract(*arrays, modulus).tolist() == differences


def test_uniform_depends_on_seed_and_index_only_and_fills_the_range():
    moduli = (MODULI[0], 3 * 2**40 + 1)  # the second rejects a quarter of the draws
    first = residues.uniform(b"s" * 32, 0, moduli, 8192)
    assert (first == residues.uniform(b"s" * 32, 0, moduli, 8192)).all()
    for other in (residues.uniform(b"s" * 32, 1, moduli, 8192), residues.uniform(b"t" * 32, 0, moduli, 8192)):
        assert (first != other).mean() > 0.99
    for row, modulus in zip(first, moduli, strict=True):
        assert row.max() < modulus
        counts = np.histogram(row / modulus, bins=16, range=(0, 1))[0]
        assert ((counts - 512) ** 2 / 512).sum() < 60  # chi-square, 15 degrees of freedom: p < 1e-6


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 64), st.integers(0, 2**32))
def test_bits_are_packed_without_gaps_and_come_back(bits, seed):
    values = np.random.default_rng(seed).integers(0, 2**bits - 1, 128, dtype=np.uint64, endpoint=True)
    packed = residues.pack_bits(values, bits)
    assert len(packed) == 16 * bits
    assert int.from_bytes(packed, "little") == sum(int(value) << (bits * i) for i, value in enumerate(values))
    assert (residues.unpack_bits(packed, bits) == values).all()
