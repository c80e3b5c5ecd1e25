"""Public bundles of somebody who means harm: refused, or harmful to the sender only."""

import numpy as np
import pytest

from cycle.fhe import errors, wire
from cycle.fhe.channel import try_keys
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

PARAMS = Params(1, 5)
NETWORK = PolyNet(((np.array([[0.5, -0.25]]), np.zeros(1)), (np.array([[1.0], [-1.0]]), np.zeros(2))))
MODULI, SHAPE = PARAMS.all_moduli, (7, 4, PARAMS.degree)  # public, three digits to relinearise, three to rotate


@pytest.fixture(scope="module")
def owner():
    return KeyOwner(PARAMS)


@pytest.fixture(scope="module")
def upload(owner):
    return owner.encrypt_inputs(np.random.default_rng(0).uniform(-1, 1, (5, 2)))


def changed(owner, change):
    """The owner's bundle after a change of its residues [key, prime, degree], packed again."""
    bundle = owner.public_bundle()
    words = wire.unpack(PARAMS, bundle[wire.SEED_BYTES :], MODULI, SHAPE[0]).copy()
    return bundle[: wire.SEED_BYTES] + wire.pack(PARAMS, change(words))


def second_polynomials(owner):
    return wire.unpack_seeded(PARAMS, owner.public_bundle(), MODULI, SHAPE[0])[:, 1]


def zero(words, which=slice(None)):
    words[which] = 0
    return words


DEGENERATE = {
    "all zeros": zero,
    "a public key of zeros": lambda words: zero(words, 0),
    "relinearisation keys of zeros": lambda words: zero(words, slice(1, 4)),
    "zeros under one prime": lambda words: zero(words, (0, 2)),
    "a constant": lambda words: np.full_like(words, 7),
    "a short period": lambda words: np.tile(words[..., :64], 128),
    "small numbers": lambda words: words >> np.uint64(10),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_keys_are_refused(owner, upload, name):
    with pytest.raises(errors.KeysRefused, match="repeats|spread"):
        Evaluator(PARAMS, changed(owner, DEGENERATE[name]), upload, 2)


@pytest.mark.parametrize("factor", [1, -1, 3, 2**40])
def test_a_public_key_without_a_secret_is_refused(owner, upload, factor):
    """(k a, a): a zero encrypted with it is a multiple of one mask, which c_0 - k c_1 would take away."""
    masks = second_polynomials(owner)

    def multiple(words):
        for prime, modulus in enumerate(MODULI):
            words[0, prime] = [int(value) * factor % modulus for value in masks[0, prime]]
        return words

    with pytest.raises(errors.KeysRefused, match="multiple"):
        Evaluator(PARAMS, changed(owner, multiple), upload, 2)


@pytest.mark.parametrize("change", ["short", "long", "empty", "too large", "fewer keys", "another depth"])
def test_bundles_of_another_form_are_refused(owner, upload, change):
    bundle = owner.public_bundle()
    bad = {
        "short": bundle[:-1],
        "long": bundle + b"x",
        "empty": b"",
        "too large": bundle[: wire.SEED_BYTES] + b"\xff" * (len(bundle) - wire.SEED_BYTES),
        "fewer keys": bundle[: wire.SEED_BYTES + wire.size(PARAMS, 4, 4)],  # without the rotation keys
        "another depth": KeyOwner(Params(0, 5)).public_bundle(),
    }[change]
    with pytest.raises(errors.WrongContent, match="agreed on|modulus"):
        Evaluator(PARAMS, bad, upload, 2)


def test_keys_in_each_others_place_harm_only_their_owner(owner, upload):
    """Galois keys where relinearisation keys belong once ended the evaluator's process."""
    swapped = changed(owner, lambda words: words[[0, 4, 5, 6, 1, 2, 3]])
    try_keys(PARAMS, swapped, upload)  # survives
    answer = Evaluator(PARAMS, swapped, upload, 2).logits(NETWORK)
    with pytest.raises(errors.DecryptionFailed):
        owner.decrypt_logits(answer, 2)


def test_good_keys_pass_and_are_all_used_by_the_trial(owner, upload):
    for depth in (0, 2):
        params = Params(depth, 5, input_bound=8.0)
        other = KeyOwner(params)
        try_keys(params, other.public_bundle(), other.encrypt_inputs(np.full((5, 3), -8.0)))
    try_keys(PARAMS, owner.public_bundle(), upload)
    one_column = Params(1, 4096)  # nothing to merge, no rotation key
    big = KeyOwner(one_column)
    assert len(big.public_bundle()) == wire.SEED_BYTES + wire.size(one_column, 4, 4)
    try_keys(one_column, big.public_bundle(), big.encrypt_inputs(np.zeros((4096, 1))))
