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
COLUMNS = 2048  # columns of one block: the float copies of the limbs stay in the cache


def modular_product(weights: np.ndarray, residues: np.ndarray, modulus: int) -> np.ndarray:
    """weights @ residues mod modulus: [out, in] integers (as floats), [in, columns] uint64."""
    limb_bits = min(LIMB_BITS, EXACT_BITS - int(np.abs(weights).sum(axis=1).max()).bit_length())
    if limb_bits < 1:
        raise ValueError("weights must have rows whose absolute sum is below 2**52")
    limbs = reversed(range(0, modulus.bit_length(), limb_bits))
    shifts, mask = [np.uint64(shift) for shift in limbs], np.uint64((1 << limb_bits) - 1)
    groups = _rows_by_support(weights)
    result = np.empty((len(weights), residues.shape[1]), dtype=np.uint64)
    for start in range(0, residues.shape[1], COLUMNS):
        block = residues[:, start : start + COLUMNS]
        floats = [((block >> shift) & mask).view(np.int64).astype(np.float64) for shift in shifts]
        for rows, columns in groups:
            part = weights[np.ix_(rows, columns)]
            everything = len(columns) == len(block)
            products = (part @ (limb if everything else limb[columns]) for limb in floats)
            digits = ((product.astype(np.int64), product) for product in products)
            result[rows, start : start + COLUMNS] = _horner(digits, modulus, limb_bits)
    return result


def _rows_by_support(weights):
    """Rows that use the same inputs, together: output channels of one pixel of a convolution."""
    groups = {}
    for row, used in enumerate(weights != 0):
        groups.setdefault(used.tobytes(), (np.flatnonzero(used), []))[1].append(row)
    return [(np.array(rows), columns) for columns, rows in groups.values()]


def modular_multiply(left: np.ndarray, right: np.ndarray, modulus) -> np.ndarray:
    """left * right mod modulus by element; uint64 below the modulus, which is below 2^60."""
    left, right = left.view(np.int64), right.view(np.int64)
    limbs = right >> LIMB_BITS, right & ((1 << LIMB_BITS) - 1)
    digits = [(left * limb, left.astype(np.float64) * limb) for limb in limbs]
    return _horner(digits, modulus, LIMB_BITS)


def _horner(digits, modulus, bits):
    """sum_i digits[i] * 2^(bits * i) mod modulus, the last digit first.

    Each is given as int64 and as a double that is near it. What exceeds 64 bits wraps around, but
    that cancels where a multiple of the modulus is taken away.
    """
    total = np.int64(0)
    for digit, near in digits:
        quotient = np.floor(total * ((1 << bits) / modulus) + near / modulus).astype(np.int64)
        total = (total << bits) + digit - quotient * modulus
        total += (total >> 63) & modulus  # a quotient is off by one at most
        total -= modulus
        total += (total >> 63) & modulus
    return total.view(np.uint64)


def modular_subtract(left: np.ndarray, right: np.ndarray, modulus) -> np.ndarray:
    """left - right mod modulus; uint64 below the modulus."""
    difference = left.view(np.int64) - right.view(np.int64)
    return (difference + ((difference >> 63) & modulus)).view(np.uint64)


def uniform(seed: bytes, index: int, moduli: tuple[int, ...], degree: int) -> np.ndarray:
    """The uniform polynomial number `index` of a seed, [prime, degree]: SHAKE-128, rejection."""
    rows = []
    for prime, modulus in enumerate(moduli):
        mask = np.uint64((1 << modulus.bit_length()) - 1)
        label = seed + index.to_bytes(4, "little") + prime.to_bytes(1, "little")
        draws, words = degree, ()
        while len(words) < degree:
            draws += degree // 16
            words = np.frombuffer(hashlib.shake_128(label).digest(8 * draws), dtype="<u8") & mask
            words = words[words < modulus]
        rows.append(words[:degree])
    return np.stack(rows)


def pack_bits(values: np.ndarray, bits: int) -> bytes:
    """Values below 2^bits, the lowest bit first, without gaps."""
    octets = values.astype("<u8").view(np.uint8).reshape(-1, 8)
    digits = np.unpackbits(octets, axis=1, count=bits, bitorder="little")
    return np.packbits(digits, bitorder="little").tobytes()


def unpack_bits(packed: bytes, bits: int) -> np.ndarray:
    """The values of `bits` bits each that pack_bits wrote."""
    digits = np.unpackbits(np.frombuffer(packed, dtype=np.uint8), bitorder="little")
    octets = np.packbits(digits.reshape(-1, bits), axis=1, bitorder="little")
    padded = np.pad(octets, ((0, 0), (0, 8 - octets.shape[1])))
    return padded.view("<u8").reshape(-1)
