"""Somebody else's public keys: checked as numbers, then as SEAL's, then in a process of their own.

Lengths and levels follow from the parameters, so no bundle has keys too many, too few or at another
level. Keys of another kind in the right place are only wrong numbers: they harm who sent them.
"""

import multiprocessing
import os
import sys

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe import residues, wire
from cycle.fhe.errors import KeysRefused
from cycle.fhe.params import Params

TRIAL_SECONDS = 300


def read(params: Params, bundle: bytes):
    """SEAL's PublicKey, RelinKeys and GaloisKeys (None if nothing turns) in a public bundle."""
    digits, element = len(params.moduli), params.galois_element
    count = 1 + digits * (2 if element else 1)
    words = wire.unpack_seeded(params, bundle, params.all_moduli, count)
    for key in words:
        _refuse_degenerate(key, params.all_moduli)
    public, relinearisation, rotation = words[0], words[1 : 1 + digits], words[1 + digits :]
    return (
        wire.ciphertext(params, public, 1.0, seal.PublicKey),
        wire.switching_key(seal.RelinKeys, params, relinearisation, 0),
        wire.switching_key(seal.GaloisKeys, params, rotation, element // 2) if element else None,
    )


def _refuse_degenerate(key, moduli):
    """A first polynomial that does not look random would let answers show what made them.

    Zeros, repetitions and multiples of the second polynomial are seen; a key made for another
    secret than the inputs' is not.
    """
    for first, second, modulus in zip(*key, moduli, strict=True):
        factor = int(first[0]) * pow(int(second[0]), -1, modulus) % modulus
        multiple = residues.modular_multiply(second, np.full_like(second, factor), modulus)
        if len(np.unique(first)) < 0.99 * len(first):
            raise KeysRefused("a key repeats itself")
        if abs(first.mean(dtype=np.float64) / modulus - 0.5) > 0.03:  # nine deviations at 4,096
            raise KeysRefused("a key is not spread over its modulus")
        if (multiple == first).mean() > 0.01:
            raise KeysRefused("a key is a multiple of its second half")


def survive(compute, *arguments) -> None:
    """Call compute(*arguments) in a process of its own; refuse the keys if it fails, dies or hangs.

    Bytes that SEAL cannot bear end that process and not this one; only text comes back from it.
    """
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    told = context.RawArray("c", 1000)
    process = context.Process(target=_attempt, args=(told, compute, arguments), daemon=True)
    process.start()
    process.join(TRIAL_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
        raise KeysRefused(f"no end after {TRIAL_SECONDS} s")
    if process.exitcode:
        died = f"the process that tried them died with exit code {process.exitcode}"
        raise KeysRefused(told.value.decode(errors="replace") or died)


def _attempt(told, compute, arguments):
    try:
        compute(*arguments)
    except Exception as error:
        told.value = f"{type(error).__name__}: {error}".encode()[:1000]
        sys.exit(1)
