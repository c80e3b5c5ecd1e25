"""Owner and evaluator: answers against clear evaluation, and what never leaves the owner."""

import copy
import multiprocessing
import os
import pickle
import tempfile

import numpy as np
import pytest
import tenseal.sealapi as seal

from cycle.fhe import errors, residues, wire
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

rng = np.random.default_rng(0)
TOLERANCE = 5e-4  # eight times the flood


def network(*sizes):
    """Random maps between these numbers of units, with squares between them, centred at the end."""
    maps = [(rng.normal(size=(o, i)) / i**0.5, rng.normal(size=o) / 4) for i, o in zip(sizes, sizes[1:], strict=False)]
    weights, bias = maps[-1]
    maps[-1] = weights - weights.mean(axis=0), bias - bias.mean()
    return PolyNet(tuple(maps), rng.uniform(-2, 2, (50, sizes[0])))


def pair(params, inputs):
    owner = KeyOwner(params)
    return owner, Evaluator(params, owner.public_bundle(), owner.encrypt_inputs(inputs), inputs.shape[1])


@pytest.fixture(scope="module")
def small():
    inputs = rng.uniform(-1, 1, (50, 6))
    return *pair(Params(1, 50), inputs), network(6, 4, 3), inputs


@pytest.mark.parametrize(
    ("sizes", "batch"),
    [((6, 4, 3), 1), ((6, 4, 10), 400), ((5, 7), 30), ((9, 6, 5, 4), 800), ((6, 4, 3), 4096)],
)
def test_encrypted_logits_equal_clear_ones(sizes, batch):
    model, inputs = network(*sizes), rng.uniform(-2, 2, (batch, sizes[0]))
    params = Params(model.depth, batch, input_bound=2.0)
    owner, evaluator = pair(params, inputs)
    answer = evaluator.logits(model)
    assert len(answer) == params.degree * 2 * params.prime_bits // 8 * -(-sizes[-1] // params.merged)
    clear = model(inputs)
    assert np.abs(owner.decrypt_logits(answer, sizes[-1]) - clear).max() < TOLERANCE * max(1, np.abs(clear).max())


@pytest.mark.parametrize("sizes", [(6, 4, 3), (6, 3)])
def test_shallower_networks_run_on_longer_chains(sizes):
    model, inputs = network(*sizes), rng.uniform(-1, 1, (20, 6))
    owner, evaluator = pair(Params(2, 20), inputs)
    assert np.abs(owner.decrypt_logits(evaluator.logits(model), 3) - model(inputs)).max() < TOLERANCE


def test_matrix_product_on_residues_equals_the_product_through_seal(small):
    """The first layer's fast way and the way of all later layers are the same function, bit for bit."""
    owner, evaluator, model, _ = small
    params = owner.params
    weights, _, bits = model.quantised(params)[0]
    inputs = [wire.ciphertext(params, column, 2.0**params.input_bits) for column in evaluator._inputs]
    fast, slow = evaluator._first_map(weights, bits), evaluator._map(inputs, weights, bits)
    for a, b in zip(fast, slow, strict=True):
        assert a.scale == b.scale
        assert np.array_equal(wire.words_of(params, a, 3), wire.words_of(params, b, 3))


def test_seeded_ciphertexts_are_ordinary_ones_of_half_the_size(small):
    owner, _, _, inputs = small
    params, upload = owner.params, owner.encrypt_inputs(inputs)
    columns = wire.unpack_seeded(params, upload, params.moduli, 6)
    again = wire.unpack_seeded(params, owner.encrypt_inputs(inputs), params.moduli, 6)
    assert (columns != again).mean() > 0.99  # fresh randomness every time
    for column, clear in zip(columns, inputs.T, strict=True):
        ciphertext = wire.ciphertext(params, column, 2.0**params.input_bits)
        assert np.abs(owner.slots(ciphertext)[:50] - clear).max() < 1e-10
    assert len(upload) < 0.5 * columns.nbytes


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.5, -1.0001])
def test_inputs_that_cannot_be_encrypted_are_refused(small, value):
    inputs = small[3].copy()
    inputs[7, 2] = value
    with pytest.raises(errors.InputRefused, match="inputs must"):
        small[0].encrypt_inputs(inputs)


def test_shapes_are_checked(small):
    owner, evaluator, _, inputs = small
    for bad in (inputs[:-1], inputs[:, :0], inputs[0]):
        with pytest.raises(errors.InputRefused, match="samples x columns"):
            owner.encrypt_inputs(bad)
    with pytest.raises(errors.WrongContent, match="5 features"):
        evaluator.logits(network(5, 4, 3))
    with pytest.raises(errors.WrongContent, match="bytes"):
        Evaluator(owner.params, owner.public_bundle(), owner.encrypt_inputs(inputs), 7)
    upload = owner.encrypt_inputs(inputs)
    with pytest.raises(errors.WrongContent, match="modulus"):
        Evaluator(owner.params, owner.public_bundle(), upload[:32] + b"\xff" * (len(upload) - 32), 6)


def test_an_answer_under_another_key_is_recognised(small):
    _, evaluator, model, _ = small
    stranger, answer = KeyOwner(evaluator.params), evaluator.logits(model)
    for _ in range(3):
        with pytest.raises(errors.DecryptionFailed, match="wrong key"):
            stranger.decrypt_logits(answer, 3)


def test_overflow_is_recognised():
    """Samples that are much too tame mislead the evaluator about its scales; the owner notices."""
    model, inputs = network(6, 4, 3), rng.uniform(-1, 1, (50, 6))
    owner, evaluator = pair(Params(1, 50, input_bound=4096.0), 4096 * inputs)
    misled = PolyNet(model.maps, 1e-3 * inputs)
    with pytest.raises(errors.DecryptionFailed, match="overflow"):
        owner.decrypt_logits(evaluator.logits(misled), 3)


def test_answers_must_have_the_agreed_form(small):
    owner, evaluator, model, _ = small
    answer = evaluator.logits(model)
    for bad in (b"", answer[:-1], answer + b"x", answer[:4], 2 * answer):
        with pytest.raises(errors.WrongContent, match="agreed"):
            owner.decrypt_logits(bad, 3)
    with pytest.raises(errors.WrongContent, match="modulus"):
        owner.decrypt_logits(b"\xff" * len(answer), 3)


def test_an_answer_beyond_its_range_is_refused(small):
    """Whatever scale a sender computes at, the receiver reads at the agreed one."""
    owner, evaluator, _, _ = small
    params = owner.params
    for value, refused in ((900.0, False), (1100.0, True), (-1e5, True)):
        centred = [np.full(50, value), np.full(50, -value), np.zeros(50)]
        ciphertext = owner.fresh(np.concatenate(centred), params.answer_bits)
        while ciphertext.coeff_modulus_size() > 1:
            evaluator._seal.mod_switch_to_next_inplace(ciphertext)
        payload = wire.pack(params, wire.words_of(params, ciphertext, 1))
        if refused:
            with pytest.raises(errors.DecryptionFailed, match="beyond"):
                owner.decrypt_logits(payload, 3)
        else:
            assert np.abs(owner.decrypt_logits(payload, 3)[:, 0] - value).max() < TOLERANCE


def test_what_seal_raises_becomes_a_refusal(small, monkeypatch):
    owner, evaluator, model, _ = small
    answer = evaluator.logits(model)

    class Broken:
        def __getattr__(self, name):
            raise RuntimeError("result ciphertext is transparent")

    monkeypatch.setattr(evaluator, "_seal", Broken())
    with pytest.raises(errors.FHEError, match="SEAL cannot compute an answer: result ciphertext"):
        evaluator.logits(model)
    monkeypatch.setattr(owner, "_decryptor", Broken())
    with pytest.raises(errors.DecryptionFailed, match="SEAL cannot decrypt"):
        owner.decrypt_logits(answer, 3)


def contains(haystack: bytes, secret: np.ndarray, bits: int) -> bool:
    """Is any run of four words of the secret key in there, at any offset, as words or as bits packed to travel?"""
    words = secret.ravel().tobytes()
    packed = b"".join(residues.pack_bits(row[:832], bits) for row in secret)
    step = 4 * bits  # 32 residues, whole bytes again
    return any(words[start : start + 32] in haystack for start in range(0, len(words), 4096)) or any(
        packed[start : start + step] in haystack for start in range(0, len(packed), step)
    )


def test_the_secret_key_is_in_nothing_that_leaves(small):
    owner, evaluator, model, inputs = small
    generator = seal.KeyGenerator(owner.params.context)
    secret = generator.secret_key()
    known, bits = wire.words_of(owner.params, secret.data(), 4)[0], owner.params.prime_bits
    assert contains(b"some" + known.tobytes() + b"thing", known, bits)  # the search would find one
    assert contains(b"some" + residues.pack_bits(known.ravel(), bits), known, bits)
    leaves = [owner.public_bundle(), owner.encrypt_inputs(inputs), owner.key_id]
    leaves += [evaluator.logits(model)]
    assert not any(contains(content, owner._secret, bits) for content in leaves)
    private = (KeyOwner, seal.SecretKey, seal.Decryptor, seal.KeyGenerator)
    assert not any(isinstance(value, private) for value in vars(evaluator).values())
    encryptors = [name for name, value in vars(evaluator).items() if isinstance(value, seal.Encryptor)]
    assert encryptors == ["_zeros"]  # made with the public key, out of bytes that are searched above


def test_the_owner_cannot_be_copied_or_pickled(small):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, lambda o: pickle.dumps({"nested": [o]}, protocol=0)):
        with pytest.raises(errors.FHEError, match="secret key"):
            attempt(small[0])


def _answer_in_child(evaluator, model, connection):
    connection.send_bytes(evaluator.logits(model))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_answers_can_be_computed_after_a_fork(small):
    owner, evaluator, model, inputs = small
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=_answer_in_child, args=(evaluator, model, theirs))
    child.start()
    here = evaluator.logits(model)  # while the child works: no shared scratch file, no shared lock
    assert ours.poll(30), "the child hangs"
    there = ours.recv_bytes()
    child.join(30)
    assert child.exitcode == 0
    for answer in (here, there):
        assert np.abs(owner.decrypt_logits(answer, 3) - model(inputs)).max() < TOLERANCE


def test_without_memfd_temporary_files_serve_and_vanish(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model, inputs = network(3, 2), rng.uniform(-1, 1, (5, 3))
    owner, evaluator = pair(Params(0, 5), inputs)
    assert np.abs(owner.decrypt_logits(evaluator.logits(model), 2) - model(inputs)).max() < TOLERANCE
    assert list(tmp_path.iterdir()) == []


def test_units_without_weights_give_their_bias():
    dead = PolyNet(((np.zeros((2, 3)), np.array([0.5, -1.0])), (np.zeros((2, 2)), np.array([0.25, -0.25]))))
    owner, evaluator = pair(Params(1, 9), rng.uniform(-1, 1, (9, 3)))
    assert np.allclose(owner.decrypt_logits(evaluator.logits(dead), 2), [0.25, -0.25], atol=TOLERANCE)
