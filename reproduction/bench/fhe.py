"""Encrypted distillation against the two ways that TenSEAL's tutorials show, all in one run on one core.

Times are processor time, so that other programs on the machine do not count; ratios compare the same work.
"""

import gc
import resource
import sys
import time
from collections.abc import Callable

import numpy as np
import tenseal as ts
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

from cycle.distillation import approximate_kl, kl
from cycle.fhe import EncryptedChannel, Evaluator, FHEError, KeyOwner, Params, PolyNet, message, wire
from cycle.fhe.evaluator import unpack_columns
from reproduction import models

SLOTS = 4096
CLASSES = 10


def measure() -> dict[str, float]:
    """Numbers by name; see the targets in the chapter on encryption. Takes about a minute."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        memory = {"memory_growth_mb": memory_growth()} | _convolution()  # first, as a peak never falls
        images, labels = _digits()
        network = _trained(models.build("poly_mlp", (1, 8, 8), CLASSES), images, labels)
        numbers = _kl_term() | _inference(network, images) | _bytes(network, images) | _gradient(network, images)
        return numbers | memory | {"refused": _refused(network, images)}
    finally:
        torch.set_num_threads(threads)


def memory_growth(rounds: int = 2000) -> float:
    """Megabytes by which the process's peak grows over so many encrypted answers, after a warm-up."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 1), models.Square(), nn.Linear(1, 2))
    channel = EncryptedChannel([torch.rand(4, 2), torch.rand(4, 2)], network)
    for index in range(rounds + 100):
        if index == 100:
            before = _peak_megabytes()
        channel.answer(0, 1, index, network)
    return _peak_megabytes() - before


def _kl_term():
    """p . z for every sample: encrypt p, multiply with an encrypted z, decrypt; without the wire on either side."""
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(CLASSES), SLOTS)
    logits = rng.normal(0, 0.8, (SLOTS, CLASSES))
    exact = (probabilities * logits).sum(axis=1)

    params = Params(1, SLOTS)
    owner = KeyOwner(params)
    evaluator = Evaluator(params, owner.public_bundle(), owner.encrypt_inputs(np.zeros((SLOTS, 1))), 1)
    scale_bits = 50
    encrypted = [owner.fresh(column, scale_bits) for column in logits.T]

    def packed():
        return owner.slots(evaluator.dot([owner.fresh(column, scale_bits) for column in probabilities.T], encrypted))

    few = 16
    context = _tenseal_context([60, 40, 60], 40)
    peers = [ts.ckks_vector(context, row) for row in logits[:few]]

    def naive():
        mine = [ts.ckks_vector(context, row) for row in probabilities[:few]]
        return [p.dot(z).decrypt()[0] for p, z in zip(mine, peers, strict=True)]

    ours, theirs = _seconds(packed, 5) / SLOTS, _seconds(naive, 2) / few
    return {
        "kl_us_per_sample": 1e6 * ours,
        "kl_vs_naive": theirs / ours,
        "kl_error": float(np.abs(packed() - exact).max()),
    }


def _inference(network, images):
    """The polynomial network on 4,096 digits: ours, a tensor with samples in slots, and one image at a time."""
    samples = images[np.arange(SLOTS) % len(images)]
    flat = samples.flatten(1).double().numpy()
    polynomial = PolyNet.from_torch(network, (1, 8, 8))
    params = Params(polynomial.depth, SLOTS)
    owner = KeyOwner(params)
    evaluator = Evaluator(params, owner.public_bundle(), owner.encrypt_inputs(flat), polynomial.features)
    clear = polynomial(flat)
    found = owner.decrypt_logits(evaluator.logits(polynomial), CLASSES)
    ours = _seconds(lambda: evaluator.logits(polynomial), 5) / SLOTS

    # A unit that is always one carries the biases, so both baselines are two matrix products around a square.
    (first, bias), (last, shift) = polynomial.maps
    inner = np.block([[first.T, np.zeros((64, 1))], [bias, 1.0]])
    outer = np.vstack([last.T, shift])
    ones = np.hstack([flat, np.ones((SLOTS, 1))])
    context = _tenseal_context([40, 30, 30, 30, 40], 30)

    batch = ts.ckks_tensor(context, ones[:, None], batch=True)
    plain = ts.plain_tensor(inner), ts.plain_tensor(outer)
    tensor = _seconds(lambda: batch.mm(plain[0]).square().mm(plain[1]), 1) / SLOTS
    vector = ts.ckks_vector(context, ones[0])
    matrices = inner.tolist(), outer.tolist()
    single = _seconds(lambda: vector.mm(matrices[0]).square().mm(matrices[1]), 2)
    baselines = [
        np.array(batch.mm(plain[0]).square().mm(plain[1]).decrypt().tolist())[:, 0],
        np.array(vector.mm(matrices[0]).square().mm(matrices[1]).decrypt()),
    ]
    if max(np.abs(baselines[0] - clear).max(), np.abs(baselines[1] - clear[0]).max()) > 0.05:
        raise RuntimeError("a baseline computes something else")
    return {
        "mlp_ms_per_sample": 1e3 * ours,
        "mlp_vs_single_image": single / ours,
        "mlp_vs_tensor_batch": tensor / ours,
        "logit_error": float(np.abs(found - clear).max()),
        "argmax_agreement": float((found.argmax(axis=1) == clear.argmax(axis=1)).mean()),
    }


def _bytes(network, images):
    """What an answer to 128 samples costs, envelope included, and what seeding saves of the upload."""
    channel = EncryptedChannel([images[:128], images[128:130]], network)
    channel.answer(1, 0, 0, network)
    params = Params(1, 128)
    owner = KeyOwner(params)
    upload = owner.encrypt_inputs(images[:128].flatten(1).numpy())
    columns = unpack_columns(params, upload, 64).reshape(len(params.moduli), 64, 2, -1)
    unseeded = sum(
        len(wire.to_bytes(wire.ciphertext_from_residues(params, columns[:, i].transpose(1, 0, 2), 2.0**20)))
        for i in range(64)
    )
    return {
        "bytes_per_prediction_128": channel.meter.total_bytes("answer") / 128,
        "upload_vs_unseeded": len(upload) / unseeded,
    }


def _gradient(network, images):
    """Cosine between the gradient from an encrypted answer and that of the true KL divergence."""
    inputs = images[:400]
    torch.manual_seed(1)
    student = models.build("poly_mlp", (1, 8, 8), CLASSES)
    answer = EncryptedChannel([inputs, images[400:402]], network).answer(1, 0, 0, network)

    def gradient(loss):
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, student.parameters())]).double()

    true = gradient(kl(student(inputs), network(inputs).detach()))
    ours = gradient(approximate_kl(student(inputs), 5 * answer))
    return {"gradient_cosine": float(F.cosine_similarity(true, ours, dim=0))}


def _convolution():
    """A convolutional network with two squares on 28 x 28 images, and the peak memory of the process by then."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 4, 7, stride=3),
        models.Square(),
        nn.Flatten(),
        nn.Linear(256, 64),
        models.Square(),
        nn.Linear(64, CLASSES),
    )
    samples = torch.rand(SLOTS, 784).numpy()
    polynomial = PolyNet.from_torch(network, (1, 28, 28), samples=samples[:128])
    params = Params(polynomial.depth, SLOTS)
    owner = KeyOwner(params)
    evaluator = Evaluator(params, owner.public_bundle(), owner.encrypt_inputs(samples), polynomial.features)
    seconds = _seconds(lambda: evaluator.logits(polynomial), 1)
    return {"cnn_ms_per_sample": 1e3 * seconds / SLOTS, "peak_memory_gb": _peak_megabytes() / 1e3}


def _refused(network, images, attempts=1000):
    """Share of messages with one flipped bit that are refused."""
    params = Params(1, 2)
    owner = KeyOwner(params)
    evaluator = Evaluator(params, owner.public_bundle(), owner.encrypt_inputs(images[:2].flatten(1).numpy()), 64)
    envelope = message.Envelope("answer", 1, 0, 0, (2, CLASSES), params.digest, owner.key_id)
    sealed = message.seal(envelope, evaluator.logits(PolyNet.from_torch(network, (1, 8, 8))), b"k" * 32)
    rng, refused = np.random.default_rng(0), 0
    for bit in rng.choice(8 * len(sealed), attempts, replace=False):
        forged = bytearray(sealed)
        forged[bit // 8] ^= 1 << (bit % 8)
        try:
            message.Inbox().accept(bytes(forged), envelope, b"k" * 32)
        except FHEError:
            refused += 1
    return refused / attempts


def _digits():
    digits = load_digits()
    return torch.tensor(digits.images[:, None] / 16, dtype=torch.float32), torch.tensor(digits.target)


def _trained(network, images, labels, epochs=30):
    torch.manual_seed(0)
    optimizer = torch.optim.Adam(network.parameters(), 2e-3, weight_decay=1e-4)
    for _ in range(epochs):
        for rows in torch.randperm(len(labels)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(network(images[rows]), labels[rows]).backward()
            optimizer.step()
    return network.eval()


def _tenseal_context(bits, scale_bits):
    context = ts.context(ts.SCHEME_TYPE.CKKS, 8192, coeff_mod_bit_sizes=bits, n_threads=1)
    context.global_scale = 2.0**scale_bits
    context.generate_galois_keys()
    return context


def _seconds(function: Callable, times: int) -> float:
    """Processor seconds of the fastest of `times` calls."""
    gc.collect()
    spans = []
    for _ in range(times):
        start = time.process_time()
        function()
        spans.append(time.process_time() - start)
    return min(spans)


def _peak_megabytes():
    units = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / units
