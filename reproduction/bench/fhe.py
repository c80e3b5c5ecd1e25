"""Encrypted distillation against the two ways that TenSEAL's tutorials show, all in one run on one core.

Times are processor time, so that other programs on the machine do not count; ratios compare the same work.
"""

import math
import os
import tempfile
from functools import partial

import numpy as np
import tenseal as ts
import tenseal.sealapi as seal
import torch
import torch.nn.functional as F
from torch import nn

from cycle.distillation import approximate_kl, kl
from cycle.fhe import EncryptedChannel, Evaluator, KeyOwner, Params, PolyNet, wire
from cycle.fhe.params import FLOOD
from cycle.options import Options
from cycle.party import Party, learn
from reproduction import models, records
from reproduction.bench import recording
from reproduction.bench.recording import fastest, peak_megabytes
from reproduction.data import datasets

RECORD = records.RESULTS / "bench" / "fhe.json"
SLOTS = 4096
CLASSES = 10
IMAGE = (1, 8, 8)
EPOCHS = 30


def measure() -> dict[str, float]:
    """Numbers by name; see the targets in the chapter on encryption. Takes about a minute."""
    memory = {"memory_growth_mb": memory_growth()} | _convolutions()  # first, as a peak never falls
    network, images = _digits()
    numbers = kl_term() | _inference(network, images) | _bytes(network, images) | _gradient(network, images)
    return numbers | memory | {"flooding_bits": flooding_bits(network, images)}


def pair(inputs: np.ndarray, depth: int = 1) -> tuple[KeyOwner, Evaluator, bytes]:
    """The owner of these samples, who may evaluate on them, and what was uploaded."""
    owner = KeyOwner(Params(depth, len(inputs)))
    upload = owner.encrypt_inputs(inputs)
    return owner, Evaluator(owner.params, owner.public_bundle(), upload, inputs.shape[1]), upload


def memory_growth(rounds: int = 2000) -> float:
    """Megabytes by which the process's peak grows over so many encrypted answers, after a warm-up."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 1), models.Square(), nn.Linear(1, 2))
    channel = EncryptedChannel([torch.rand(4, 2), torch.rand(4, 2)], network)
    for index in recording.steps(range(rounds + 100), "encrypted answers"):
        if index == 100:
            before = peak_megabytes()
        channel.answer(0, 1, index, network)
    return peak_megabytes() - before


def kl_term(samples=SLOTS) -> dict[str, float]:
    """p . z for every sample: encrypt p, multiply with an encrypted z, decrypt; without the wire on either side."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(CLASSES), samples)
    logits = rng.normal(0, 0.8, (samples, CLASSES))
    owner, evaluator, _ = pair(np.zeros((samples, 1)))
    encrypted = [owner.fresh(column, 50) for column in logits.T]

    def packed():
        mine = [owner.fresh(column, 50) for column in probabilities.T]
        return owner.slots(dot(evaluator, mine, encrypted)).real[:samples]

    few = 16
    context = _tenseal_context([60, 40, 60], 40)
    peers = [ts.ckks_vector(context, row) for row in logits[:few]]

    def naive():
        mine = [ts.ckks_vector(context, row) for row in probabilities[:few]]
        return [p.dot(z).decrypt()[0] for p, z in zip(mine, peers, strict=True)]

    ours, theirs = fastest(packed, 5) / samples, fastest(naive, 2) / few
    error = float(np.abs(packed() - (probabilities * logits).sum(axis=1)).max())
    return {"kl_us_per_sample": 1e6 * ours, "kl_vs_naive": theirs / ours, "kl_error": error}


def dot(evaluator: Evaluator, left: list, right: list):
    """sum_c left_c * right_c, slot by slot: one relinearisation and one rescale for the whole sum."""
    raw, total, product = evaluator._seal, seal.Ciphertext(), seal.Ciphertext()
    raw.multiply(left[0], right[0], total)
    for a, b in zip(left[1:], right[1:], strict=True):
        raw.multiply(a, b, product)
        raw.add_inplace(total, product)
    raw.relinearize_inplace(total, evaluator._relinearisation)
    raw.rescale_to_next_inplace(total)
    return total


def _inference(network, images):
    """The polynomial network on 4,096 digits: ours, a tensor with samples in slots, and one image at a time."""
    flat = images[np.arange(SLOTS) % len(images)].flatten(1).double().numpy()
    polynomial = PolyNet.from_torch(network, IMAGE)
    owner, evaluator, _ = pair(flat)
    clear, found = polynomial(flat), owner.decrypt_logits(evaluator.logits(polynomial), CLASSES)
    ours = fastest(lambda: evaluator.logits(polynomial), 5) / SLOTS

    # A unit that is always one carries the biases, so both baselines are two matrix products around a square.
    (first, bias), (last, shift) = polynomial.maps
    inner = np.block([[first.T, np.zeros((64, 1))], [bias, 1.0]])
    outer = np.vstack([last.T, shift])
    ones = np.hstack([flat, np.ones((SLOTS, 1))])
    context = _tenseal_context([40, 30, 30, 30, 40], 30)

    def baseline(encrypted, maps, times):
        """Seconds, and the logits that came out."""
        outcomes = []
        taken = fastest(lambda: outcomes.append(encrypted.mm(maps[0]).square().mm(maps[1])), times)
        decrypted = outcomes[-1].decrypt()
        return taken, np.array(decrypted if isinstance(decrypted, list) else decrypted.tolist()).squeeze()

    batch = ts.ckks_tensor(context, ones[:, None], batch=True)
    tensor, of_all = baseline(batch, (ts.plain_tensor(inner), ts.plain_tensor(outer)), 1)
    single, of_one = baseline(ts.ckks_vector(context, ones[0]), (inner.tolist(), outer.tolist()), 2)
    if max(np.abs(of_all - clear).max(), np.abs(of_one - clear[0]).max()) > 0.05:
        raise RuntimeError("a baseline computes something else")
    return {
        "mlp_ms_per_sample": 1e3 * ours,
        "mlp_vs_single_image": single / ours,
        "mlp_vs_tensor_batch": tensor / SLOTS / ours,
        "logit_error": float(np.abs(found - clear).max()),
        "argmax_agreement": float((found.argmax(axis=1) == clear.argmax(axis=1)).mean()),
    }


def _bytes(network, images):
    """What an answer to 128 samples costs, envelope included, and what seeding saves of the upload."""
    channel = EncryptedChannel([images[:128], images[128:130]], network)
    channel.answer(1, 0, 0, network)
    owner, _, upload = pair(images[:128].flatten(1).numpy())
    with tempfile.NamedTemporaryFile() as file:
        owner.fresh(images[:128, 0, 0, 0].numpy(), owner.params.input_bits).save(file.name)
        whole = 64 * os.path.getsize(file.name)  # as SEAL writes ciphertexts
    answer = channel.bytes["answer", 1, 0, 0]
    return {"bytes_per_prediction_128": answer / 128, "upload_vs_unseeded": len(upload) / whole}


def _gradient(network, images):
    """Cosine between the gradient from an encrypted answer and that of the true KL divergence."""
    inputs = images[:400]
    torch.manual_seed(1)
    student = models.build("poly_mlp", IMAGE, CLASSES)
    answer = EncryptedChannel([inputs, images[400:402]], network).answer(1, 0, 0, network)
    losses = kl(student(inputs), network(inputs).detach()), approximate_kl(student(inputs), 5 * answer)
    gradients = [torch.autograd.grad(loss, student.parameters()) for loss in losses]
    true, ours = (torch.cat([part.flatten() for part in gradient]).double() for gradient in gradients)
    return {"gradient_cosine": float(F.cosine_similarity(true, ours, dim=0))}


def flooding_bits(network, images) -> float:
    """log2 of the flood over what evaluation adds to the logits, beyond the owner's own noise that it knows."""
    flat = images[:128].flatten(1).double().numpy()
    polynomial = PolyNet.from_torch(network, IMAGE, samples=flat)
    owner, evaluator, upload = pair(flat)
    params, known = owner.params, []
    for words in wire.unpack_seeded(params, upload, params.moduli, flat.shape[1]):
        known.append(owner.slots(wire.ciphertext(params, words, 2.0**params.input_bits))[:128])
    values = np.stack(known, axis=1)
    for index, (weights, bias, bits) in enumerate(polynomial.quantised(params)):
        values = (values if index == 0 else values**2) @ (weights * 2.0**-bits).T + bias
    columns = [evaluator._at_the_end(column) for column in evaluator._infer(polynomial)]
    heard = np.stack([owner.slots(column)[:128] for column in columns], axis=1)
    return float(np.log2(FLOOD / (heard - values).real.std()))


def _convolutions():
    """Networks on images of 28 x 28 and of CIFAR's shape, and the peak memory of the process by then.

    One square: a second one takes a ring of twice the degree, so twice the memory.
    """
    torch.manual_seed(0)
    first = nn.Sequential(nn.Conv2d(1, 4, 7, stride=3), models.Square(), nn.Flatten(), nn.Linear(256, CLASSES))
    small, _ = random_images(first, (1, 28, 28))
    peak = peak_megabytes() / 1e3
    second = nn.Sequential(nn.Conv2d(3, 8, 8, stride=4), models.Square(), nn.Flatten(), nn.Linear(392, CLASSES))
    cifar, error = random_images(second, (3, 32, 32))
    return {
        "cnn_ms_per_sample": small,
        "peak_memory_gb": peak,
        "cifar_ms_per_sample": cifar,
        "cifar_logit_error": error,
        "cifar_peak_mb": peak_megabytes(),
    }


def random_images(network, shape) -> tuple[float, float]:
    """Milliseconds a sample, and the largest error, of 4,096 answers of a network as it starts."""
    samples, answers = torch.rand(SLOTS, math.prod(shape)).numpy(), []
    polynomial = PolyNet.from_torch(network, shape, samples=samples[:128])
    owner, evaluator, _ = pair(samples, polynomial.depth)
    taken = fastest(lambda: answers.append(evaluator.logits(polynomial)), 1)
    found = owner.decrypt_logits(answers[0], CLASSES)
    return 1e3 * taken / SLOTS, float(np.abs(found - polynomial(samples)).max())


def _digits():
    """A polynomial network that learned digits, and their images."""
    digits = datasets.load("digits", "cpu")
    images = digits.train_images.permute(0, 3, 1, 2).float() / digits.full_scale
    torch.manual_seed(0)
    network, adam = models.build("poly_mlp", IMAGE, CLASSES), partial(torch.optim.Adam, lr=2e-3, weight_decay=1e-4)
    options = Options(batch_size=64, lr_every=EPOCHS)  # one rate throughout
    party = Party(network, (images, digits.train_labels), optimizer=adam).join(options, images.device)
    for epoch in range(EPOCHS):
        learn(party, epoch, options)
    return network.eval(), images


def _tenseal_context(bits, scale_bits):
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=bits, n_threads=1)
    context.global_scale = 2.0**scale_bits
    context.generate_galois_keys()
    return context


if __name__ == "__main__":
    recording.write(RECORD, "python -m reproduction.bench.fhe", measure)
