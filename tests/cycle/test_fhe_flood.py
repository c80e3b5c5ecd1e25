"""What the noise of an answer tells its owner: everything without flooding, nothing with it."""

import numpy as np
import pytest
import tenseal.sealapi as seal
from scipy import stats

from cycle.fhe import residues, wire
from cycle.fhe.evaluator import Evaluator, gaussian
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import FLOOD, Params
from cycle.fhe.polynet import PolyNet

BATCH, FEATURES, CLASSES = 4, 64, 3


@pytest.fixture(scope="module")
def linear():
    """Four samples of 64 features: far fewer than the weights of a linear network."""
    params, rng = Params(0, BATCH), np.random.default_rng(0)
    owner, weights = KeyOwner(params), rng.normal(0, 0.2, (CLASSES, FEATURES))
    weights -= weights.mean(axis=0)
    upload = owner.encrypt_inputs(rng.uniform(-1, 1, (BATCH, FEATURES)))
    evaluator = Evaluator(params, owner.public_bundle(), upload, FEATURES)
    return owner, evaluator, upload, PolyNet(((weights, np.zeros(CLASSES)),))


def heard(owner, payload):
    """Every slot of an answer, both parts: what an owner sees who looks at more than the logits."""
    (words,) = wire.unpack(owner.params, payload, owner.params.moduli[:1], 1, 2)
    return owner.slots(wire.ciphertext(owner.params, words, 2.0**owner.params.answer_bits))


def stolen(owner, upload, answer, imaginary):
    """All weights by least squares: the idle slots, or imaginary parts, hold W times a noise that the owner knows."""
    params = owner.params
    sent = wire.unpack_seeded(params, upload, params.moduli, FEATURES)
    noise = [owner.slots(wire.ciphertext(params, words, 2.0**params.input_bits)) for words in sent]
    noise = np.stack(noise, axis=1)
    noise = np.concatenate([np.roll(noise, BATCH * row, axis=0) for row in range(CLASSES)], axis=1)
    if imaginary:
        noise, answer = noise.imag, answer.imag
    else:
        noise, answer = noise.real[BATCH * CLASSES :], answer.real[BATCH * CLASSES :]
    return np.linalg.lstsq(noise, answer, rcond=None)[0].reshape(CLASSES, FEATURES)


@pytest.mark.parametrize("imaginary", [False, True])
def test_noise_keeps_the_weights_from_being_read_out_of_an_answer_and_without_it_they_are(
    linear, imaginary, monkeypatch
):
    owner, evaluator, upload, network = linear
    weights = network.maps[0][0]
    flooded = stolen(owner, upload, heard(owner, evaluator.logits(network)), imaginary)
    assert np.abs(np.corrcoef(flooded.ravel(), weights.ravel())[0, 1]) < 0.3  # four deviations of chance: 0.29
    assert np.abs(flooded - weights).mean() > 1e3 * np.abs(weights).max()
    monkeypatch.setattr("cycle.fhe.evaluator.gaussian", lambda *shape: np.zeros(shape))
    bare = stolen(owner, upload, heard(owner, evaluator.logits(network)), imaginary)
    assert np.abs(bare - weights).max() < 0.05 * np.abs(weights).max()


def test_every_part_of_an_answer_has_the_noise_that_was_meant_for_it(linear):
    owner, evaluator, _, network = linear
    answers = np.stack([heard(owner, evaluator.logits(network)) for _ in range(40)])
    logits, idle = answers[:, : BATCH * CLASSES], answers[:, BATCH * CLASSES :]
    mask = owner.params.mask
    assert idle.real.std() == pytest.approx(mask, rel=0.02) and answers.imag.std() == pytest.approx(mask, rel=0.02)
    deviations = (logits.real - logits.real.mean(axis=0)).std() * np.sqrt(40 / 39)
    assert deviations == pytest.approx(FLOOD, rel=0.15)  # 468 degrees of freedom: 3.3 % a deviation


@pytest.mark.parametrize(("depth", "bits"), [(0, 22), (1, 15), (2, 18)])
def test_the_flood_exceeds_what_evaluation_adds_by_the_bits_that_are_claimed(depth, bits):
    """The logits against the same integers on the decrypted inputs: the rest is made by the evaluator's products."""
    rng, params = np.random.default_rng(depth), Params(depth, 100)
    sizes = [8, *[6] * depth, 3]
    maps = [(rng.normal(size=(o, i)) / i**0.5, rng.normal(size=o)) for i, o in zip(sizes, sizes[1:], strict=False)]
    inputs, owner = rng.uniform(-1, 1, (100, 8)), KeyOwner(params)
    network, upload = PolyNet(tuple(maps), inputs), owner.encrypt_inputs(inputs)
    evaluator = Evaluator(params, owner.public_bundle(), upload, 8)
    sent = wire.unpack_seeded(params, upload, params.moduli, 8)
    known = [owner.slots(wire.ciphertext(params, words, 2.0**params.input_bits))[:100] for words in sent]
    values = np.stack(known, axis=1)
    for index, (weights, bias, weight_bits) in enumerate(network.quantised(params)):
        values = (values if index == 0 else values**2) @ (weights * 2.0**-weight_bits).T + bias
    columns = [evaluator._at_the_end(column) for column in evaluator._infer(network)]
    made = np.stack([owner.slots(column)[:100] for column in columns], axis=1) - values
    assert made.real.std() * 2.0**bits < FLOOD


def test_the_second_polynomial_of_an_answer_does_not_tell_which_weights_made_it():
    """Without squares c_1 of an answer would be sum_i W_i c_1i, all of whose c_1i the owner knows."""
    rng, params = np.random.default_rng(1), Params(0, 2048)
    maps = ((rng.normal(size=(1, 6)), np.zeros(1)),)
    network, owner = PolyNet(maps), KeyOwner(params)
    upload = owner.encrypt_inputs(rng.uniform(-1, 1, (2048, 6)))
    evaluator = Evaluator(params, owner.public_bundle(), upload, 6)
    second = wire.unpack_seeded(params, upload, params.moduli, 6)[:, 1, 0]
    guess = residues.modular_product(network.quantised(params)[0][0], second, params.moduli[0])
    (plain,) = evaluator._infer(network)
    assert np.array_equal(wire.words_of(params, plain, 1)[1], guess)  # to the last bit
    first, again = (wire.unpack(params, evaluator.logits(network), params.moduli, 2) for _ in range(2))
    for answer in (first, again):
        assert np.mean(answer[1] == guess) < 0.01
    assert np.mean(first == again) < 0.01


def test_noise_is_normal_and_never_repeats():
    noise = gaussian(2, 5000)
    assert noise.shape == (2, 5000)
    assert stats.kstest(noise.ravel(), "norm").pvalue > 1e-6
    assert not np.isin(noise, gaussian(2, 5000)).any()


def test_the_mask_never_wraps_around_the_modulus():
    """Coefficients of the largest masks stay below a quarter of the modulus, values below another quarter."""
    for depth in (0, 1, 2):
        params = Params(depth, 1)
        encoder, plaintext, decoded = seal.CKKSEncoder(params.context), seal.Plaintext(), None
        slots = (params.mask * (gaussian(params.slots) + 1j * gaussian(params.slots))).tolist()
        encoder.encode(slots, params.context.last_parms_id(), 2.0**params.answer_bits, plaintext)
        decoded = np.array(encoder.decode_complex(plaintext))
        assert np.abs(decoded - slots).max() < 1e-3  # nothing wrapped
        coefficients = params.mask * (2 / params.degree) ** 0.5 * 2.0**params.answer_bits
        assert 7.9 * coefficients < params.moduli[0] / 4 < 8.1 * coefficients
