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
from cycle.fhe.evaluator import Evaluator, unpack_columns
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

rng = np.random.default_rng(0)


def network(*sizes, centred=True):
    """Random maps between these numbers of units, with squares between them."""
    maps = [(rng.normal(size=(o, i)) / i**0.5, rng.normal(size=o) / 4) for i, o in zip(sizes, sizes[1:], strict=False)]
    if centred:
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
    ("sizes", "batch"), [((6, 4, 3), 1), ((6, 4, 10), 400), ((5, 7), 30), ((9, 6, 5, 4), 800), ((6, 4, 3), 4096)]
)
def test_encrypted_logits_equal_clear_ones(sizes, batch):
    model, inputs = network(*sizes), rng.uniform(-2, 2, (batch, sizes[0]))
    params = Params(model.depth, batch, input_bound=2.0)
    owner, evaluator = pair(params, inputs)
    answer = evaluator.logits(model)
    assert len(answer) < 1.01 * params.degree * 2 * 8 * -(-sizes[-1] // params.merged)  # as few ciphertexts as possible
    clear = model(inputs)
    assert np.abs(owner.decrypt_logits(answer, sizes[-1]) - clear).max() < 5e-4 * max(1, np.abs(clear).max())


def test_shallower_networks_run_on_longer_chains():
    model, inputs = network(6, 4, 3), rng.uniform(-1, 1, (20, 6))
    owner, evaluator = pair(Params(2, 20), inputs)
    assert np.abs(owner.decrypt_logits(evaluator.logits(model), 3) - model(inputs)).max() < 5e-4


@pytest.mark.parametrize("batch", [40, 2048])
def test_encrypted_loss_is_the_mean_of_p_dot_z(batch):
    model, inputs = network(6, 4, 5, centred=False), rng.uniform(-1, 1, (batch, 6))
    probabilities = rng.dirichlet(np.ones(5), batch)
    owner, evaluator = pair(Params(1, batch, "loss"), inputs)
    answer = evaluator.loss(model, owner.encrypt_probabilities(probabilities))
    assert abs(owner.decrypt_loss(answer) - (probabilities * model(inputs)).sum(axis=1).mean()) < 1e-4
    assert evaluator.operations["relinearisations"] == 4 + 1  # the squares, and one for all products with p
    with pytest.raises(errors.FHEError, match="mode"):
        evaluator.logits(model)


def test_matrix_product_on_residues_equals_the_product_through_seal(small):
    """The first layer's fast way and the way of all later layers are the same function, bit for bit."""
    owner, evaluator, model, _ = small
    weights, bias, bits = model.quantised(evaluator.params)[0]
    scale = 2.0**evaluator.params.input_bits
    polynomials = [evaluator._inputs[:, i].reshape(2, 2, -1).transpose(1, 0, 2) for i in range(6)]
    inputs = [wire.ciphertext_from_residues(evaluator.params, part, scale) for part in polynomials]
    fast, slow = evaluator._first_map(weights, bias, bits), evaluator._map(inputs, weights, bias, bits)
    for a, b in zip(fast, slow, strict=True):
        assert wire.to_bytes(a) == wire.to_bytes(b)


def test_seeded_ciphertexts_are_ordinary_ones_of_half_the_size(small):
    owner, _, _, inputs = small
    params, upload = owner.params, owner.encrypt_inputs(inputs)
    columns = unpack_columns(params, upload, 6)
    again = unpack_columns(params, owner.encrypt_inputs(inputs), 6)
    assert (columns != again).mean() > 0.99  # fresh randomness every time
    unseeded = 0
    for column in range(6):
        polynomials = columns[:, column].reshape(2, 2, -1).transpose(1, 0, 2)
        ciphertext, plaintext = wire.ciphertext_from_residues(params, polynomials, 2.0**params.input_bits), None
        unseeded += len(wire.to_bytes(ciphertext))
        plaintext = seal.Plaintext()
        owner._decryptor.decrypt(ciphertext, plaintext)
        assert np.abs(owner._encoder.decode_double(plaintext)[:50] - inputs[:, column]).max() < 2e-5
    assert len(upload) < 0.5 * unseeded


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
    forged = owner.encrypt_inputs(inputs)[:32] + b"\xff" * (6 * 8192 * 2 * 60 // 8)
    with pytest.raises(errors.WrongContent, match="modulus"):
        Evaluator(owner.params, owner.public_bundle(), forged, 6)


def test_an_answer_under_another_key_is_recognised(small):
    _, evaluator, model, _ = small
    stranger, answer = KeyOwner(evaluator.params), evaluator.logits(model)
    for _ in range(3):
        with pytest.raises(errors.DecryptionFailed, match="wrong key"):
            stranger.decrypt_logits(answer, 3)
    with pytest.raises(errors.DecryptionFailed, match="wrong key"):
        stranger.decrypt_loss(answer)


def test_overflow_is_recognised():
    """Samples that are much too tame mislead the evaluator about its scales; the owner notices."""
    model, inputs = network(6, 4, 3), rng.uniform(-1, 1, (50, 6))
    owner, evaluator = pair(Params(1, 50, input_bound=64.0), 64 * inputs)
    misled = PolyNet(model.maps, 1e-3 * inputs)
    with pytest.raises(errors.DecryptionFailed, match="overflow"):
        owner.decrypt_logits(evaluator.logits(misled), 3)


def test_answers_must_have_the_agreed_form(small):
    owner, evaluator, model, _ = small
    answer = evaluator.logits(model)
    for bad in (b"", answer[:-1], answer + b"x", answer[:4], wire.join([b"no ciphertext"]), wire.join([b""])):
        with pytest.raises(errors.WrongContent):
            owner.decrypt_logits(bad, 3)
    fresh = evaluator._first_map(*model.quantised(owner.params)[0])[0]
    with pytest.raises(errors.WrongContent, match="end of the modulus chain"):
        owner.decrypt_logits(wire.join([wire.to_bytes(fresh)]), 3)
    for place, kind in enumerate(("PublicKey", "RelinKeys")):
        keys = wire.split(owner.public_bundle(), 3)
        keys[place] = b"x" * 99
        with pytest.raises(errors.WrongContent, match=kind):
            Evaluator(owner.params, wire.join(keys), owner.encrypt_inputs(small[3]), 6)


def test_the_second_polynomial_of_an_answer_does_not_tell_which_weights_made_it():
    """Without squares c_1 of an answer would be sum_i W_i c_1i, all of whose c_1i the owner knows."""
    model, inputs = network(6, 3), rng.uniform(-1, 1, (2048, 6))
    params = Params(0, 2048)
    owner, evaluator = pair(params, inputs)
    uploaded = evaluator._inputs[0, :, params.degree :]  # the c_1i
    weights = model.quantised(params)[0][0]
    plain = evaluator._infer(model, "logits")
    for row, column in enumerate(plain):  # what a guess of the weights gives, to the last bit
        guess = residues.modular_product(weights[row : row + 1], uploaded, params.moduli[0])[0]
        sent = wire.from_bytes(seal.Ciphertext, params.context, evaluator._randomised(column))
        assert np.array_equal(second_polynomial(column, params), guess)
        assert np.mean(second_polynomial(sent, params) == guess) < 0.01
    first, again = evaluator.logits(model), evaluator.logits(model)
    assert first != again
    for answer in (first, again):
        assert np.abs(owner.decrypt_logits(answer, 3) - model(inputs)).max() < 5e-4


def second_polynomial(ciphertext, params) -> np.ndarray:
    return np.array([ciphertext[params.degree + place] for place in range(params.degree)], dtype=np.uint64)


def contains(haystack: bytes, secret: np.ndarray) -> bool:
    """Is any run of four words of the secret key in there, at any offset, as words or as bits packed for an upload?"""
    words = secret.ravel().tobytes()
    packed = b"".join(residues.pack_bits(row, 60)[: 30 * 100] for row in secret)  # 8 x 30 bytes are whole words again
    return any(words[start : start + 32] in haystack for start in range(0, len(words), 4096)) or any(
        packed[start : start + 30] in haystack for start in range(0, len(packed), 30)
    )


def test_the_secret_key_is_in_nothing_that_leaves(small, tmp_path):
    generator = seal.KeyGenerator(small[0].params.context)
    secret = generator.secret_key()
    secret.save(str(tmp_path / "key"))
    known = wire.plaintext_residues(secret.data(), 3)
    assert contains((tmp_path / "key").read_bytes(), known)  # the search would find one
    assert contains(b"some" + residues.pack_bits(known.ravel(), 60), known)
    owner, evaluator, model, inputs = small
    leaves = [owner.public_bundle(), owner.encrypt_inputs(inputs), owner.key_id, repr(owner).encode()]
    leaves += [owner.encrypt_probabilities(abs(inputs)), evaluator.logits(model)]
    assert not any(contains(content, owner._secret) for content in leaves)
    private = (KeyOwner, seal.SecretKey, seal.Decryptor, seal.KeyGenerator)
    assert not any(isinstance(value, private) for value in vars(evaluator).values())
    encryptors = [name for name, value in vars(evaluator).items() if isinstance(value, seal.Encryptor)]
    assert encryptors == ["_zeros"]  # made with the public key, out of bytes that are searched above
    with pytest.raises(errors.WrongContent, match="never written"):
        wire.to_bytes(secret)


def test_the_owner_cannot_be_copied_or_pickled(small):
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy, lambda o: pickle.dumps({"nested": [o]}, protocol=0)):
        with pytest.raises(errors.SecretKeyRefused):
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
        assert np.abs(owner.decrypt_logits(answer, 3) - model(inputs)).max() < 5e-4


def test_without_memfd_temporary_files_serve_and_vanish(monkeypatch, tmp_path):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model, inputs = network(3, 2), rng.uniform(-1, 1, (5, 3))
    owner, evaluator = pair(Params(0, 5), inputs)
    assert np.abs(owner.decrypt_logits(evaluator.logits(model), 2) - model(inputs)).max() < 5e-4
    assert list(tmp_path.iterdir()) == []


def test_units_without_weights_give_their_bias():
    dead = PolyNet(((np.zeros((2, 3)), np.array([0.5, -1.0])), (np.zeros((2, 2)), np.array([0.25, -0.25]))))
    owner, evaluator = pair(Params(1, 9), rng.uniform(-1, 1, (9, 3)))
    assert np.allclose(owner.decrypt_logits(evaluator.logits(dead), 2), [0.25, -0.25], atol=5e-4)
