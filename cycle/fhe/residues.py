"""Exact arithmetic on ciphertexts seen as plain arrays: residues modulo primes of up to 60 bits.

A CKKS ciphertext is a stack of integers modulo each prime of the chain. Adding and multiplying by
integers acts on each separately, so a linear layer with integer weights is a matrix product modulo
each prime. Floating-point BLAS computes it exactly when the residues are cut into limbs so short
that no sum leaves the 53 bits of a double.
"""

import hashlib

import numpy as np

LIMB_BITS = 30
EXACT_BITS = 53
WORD = 64
COLUMNS = 2048  # columns of one block: the float copies of the limbs stay in the cache


def modular_product(weights: np.ndarray, residues: np.ndarray, modulus: int) -> np.ndarray:
    """weights @ residues mod modulus: [out, in] integers (as floats), [in, columns] uint64."""
    limb_bits = min(LIMB_BITS, EXACT_BITS - int(np.abs(weights).sum(axis=1).max()).bit_length())
    if limb_bits < 1:
        raise ValueError("weights must have rows whose absolute sum is below 2**52")
    limbs = range(0, modulus.bit_length(), limb_bits)
    mask = np.uint64((1 << limb_bits) - 1)
    groups = _rows_by_support(weights)
    result = np.empty((len(weights), residues.shape[1]), dtype=np.uint64)
    for start in range(0, residues.shape[1], COLUMNS):
        block = residues[:, start : start + COLUMNS]
        floats = [
            ((block >> np.uint64(shift)) & mask).view(np.int64).astype(np.float64)
            for shift in reversed(limbs)
        ]
        for rows, columns in groups:
            part = weights[np.ix_(rows, columns)]
            everything = len(columns) == len(block)
            products = [part @ (limb if everything else limb[columns]) for limb in floats]
            result[rows, start : start + COLUMNS] = _join(products, modulus, limb_bits)
    return result


def _rows_by_support(weights):
    """Rows that use the same inputs, together: output channels of one pixel of a convolution."""
    groups = {}
    for row, used in enumerate(weights != 0):
        groups.setdefault(used.tobytes(), []).append(row)
    return [
        (np.array(rows), np.flatnonzero(np.frombuffer(key, dtype=bool)))
        for key, rows in groups.items()
    ]


def _join(products, modulus, limb_bits):
    """sum_i products[i] * 2^(limb_bits * i) mod modulus by Horner's rule, the last one first."""
    total = None
    for product in products:
        digit = product.astype(np.int64)
        if total is None:
            total = digit - np.floor(product / modulus).astype(np.int64) * modulus
        else:
            # Products overflow 64 bits, but wrap-around cancels in the difference.
            quotient = np.floor(
                total.astype(np.float64) * ((1 << limb_bits) / modulus) + product / modulus
            )
            total = (total << limb_bits) + digit - quotient.astype(np.int64) * modulus
        _settle(total, modulus)
    return total.view(np.uint64)


def modular_multiply(left: np.ndarray, right: np.ndarray, modulus: int) -> np.ndarray:
    """left * right mod modulus by element; uint64 below the modulus, which is below 2^60."""
    left, right = left.view(np.int64), right.view(np.int64)
    ratio = left.astype(np.float64) / modulus
    total = np.zeros_like(left)
    for digit in (right >> LIMB_BITS, right & ((1 << LIMB_BITS) - 1)):
        quotient = np.floor(total.astype(np.float64) * ((1 << LIMB_BITS) / modulus) + ratio * digit)
        total = (total << LIMB_BITS) + left * digit - quotient.astype(np.int64) * modulus
        _settle(total, modulus)
    return total.view(np.uint64)


def _settle(total, modulus):
    """From [-modulus, 2 modulus) to [0, modulus), in place: a quotient is off by one at most."""
    total += (total >> 63) & modulus
    total -= modulus
    total += (total >> 63) & modulus


def modular_subtract(left: np.ndarray, right: np.ndarray, modulus: int) -> np.ndarray:
    """left - right mod modulus; uint64 below the modulus."""
    return np.where(left >= right, left - right, left + np.uint64(modulus) - right)


def uniform(seed: bytes, index: int, moduli: tuple[int, ...], degree: int) -> np.ndarray:
    """The uniform polynomial number `index` of a seed, [prime, degree]: SHAKE-128, rejection."""
    rows = []
    for prime, modulus in enumerate(moduli):
        mask = np.uint64((1 << modulus.bit_length()) - 1)
        label = seed + index.to_bytes(4, "little") + prime.to_bytes(1, "little")
        accept = modulus / (1 << modulus.bit_length())
        draws = int(degree / accept * 1.05) + 64
        while True:
            words = np.frombuffer(hashlib.shake_128(label).digest(8 * draws), dtype="<u8") & mask
            words = words[words < modulus]
            if len(words) >= degree:
                break
            draws *= 2
        rows.append(words[:degree])
    return np.stack(rows)


def pack_bits(values: np.ndarray, bits: int) -> bytes:
    """Values below 2^bits without gaps: each 64 of them fill `bits` words."""
    groups = values.reshape(-1, WORD)
    words = np.zeros((len(groups), bits + 1), dtype="<u8")
    for place in range(WORD):
        word, shift = divmod(place * bits, WORD)
        words[:, word] |= groups[:, place] << np.uint64(shift)
        if shift:
            words[:, word + 1] |= groups[:, place] >> np.uint64(WORD - shift)
    return words[:, :bits].tobytes()


def unpack_bits(packed: bytes, bits: int) -> np.ndarray:
    """The values of `bits` bits each that pack_bits wrote."""
    words = np.frombuffer(packed, dtype="<u8").reshape(-1, bits)
    values = np.empty((len(words), WORD), dtype=np.uint64)
    for place in range(WORD):
        word, shift = divmod(place * bits, WORD)
        values[:, place] = words[:, word] >> np.uint64(shift)
        if shift + bits > WORD:
            values[:, place] |= words[:, word + 1] << np.uint64(WORD - shift)
    return (values & np.uint64((1 << bits) - 1)).reshape(-1)
