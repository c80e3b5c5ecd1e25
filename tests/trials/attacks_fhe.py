"""Forged messages of the encrypted channel, with and without the key: refused, named or harmless."""

import os
from collections import Counter
from dataclasses import replace

import numpy as np

from cycle.fhe import Evaluator, FHEError, KeyOwner, Params, PolyNet, keys, message, wire
from cycle.fhe.channel import try_keys
from tests.trials import recorded

NETWORK = PolyNet(((np.array([[0.5, -0.25]]), np.zeros(1)), (np.array([[1.0], [-1.0]]), np.zeros(2))))
PARAMS = Params(1, 5)
CLASSES = 2
FATES = ("accepted", "refused", "harmful")


def measure(messages: int = 2000, seed: int = 0) -> dict:
    """Counts of what became of so many forged messages; half of them carry a valid MAC."""
    rng, owner, link = np.random.default_rng(seed), KeyOwner(PARAMS), os.urandom(32)
    upload = owner.encrypt_inputs(rng.uniform(-1, 1, (PARAMS.batch, 2)))
    answer = Evaluator(PARAMS, owner.public_bundle(), upload, 2).logits(NETWORK)
    honest = message.Envelope("answer", 1, 0, 7, (PARAMS.batch, CLASSES), PARAMS.digest, owner.key_id)
    sealed, reasons = message.seal(honest, answer, link), Counter()
    counts = Counter({f"{group}_{fate}": 0 for group in ("without_key", "with_key") for fate in FATES})

    def decrypted(content):
        return owner.decrypt_logits(message.Inbox().accept(content, honest, link), CLASSES)

    def fate(index) -> str:
        if index % 2 == 0:
            decrypted(_changed(sealed, rng))
            return "without_key_accepted"
        if index % 20 == 1:  # keys of a hostile owner, here the receiver of answers
            bundle = _forged_keys(owner.public_bundle(), rng)
            keys.survive(try_keys, PARAMS, bundle, upload)
            Evaluator(PARAMS, bundle, upload, 2).logits(NETWORK)
            return "with_key_harms_its_sender_only"  # whatever it decrypts, only it can
        logits = decrypted(message.seal(*_lie(honest, answer, rng), link))
        bounded = logits.shape == (PARAMS.batch, CLASSES) and np.abs(logits).max() <= 2**10
        return "with_key_bounded_numbers" if bounded else "with_key_harmful"

    for index in range(messages):
        group = "with_key" if index % 2 else "without_key"
        counts[group] += 1
        try:
            counts[fate(index)] += 1
        except FHEError as error:
            counts[group + "_refused"] += 1
            reasons[type(error).__name__] += 1
        except Exception as error:  # what must not happen
            counts["crashed"] += 1
            reasons[f"CRASH {type(error).__name__}: {error}"] += 1
    return {"seed": seed, "crashed": counts["crashed"], **counts, "reasons": dict(reasons)}


def _changed(content: bytes, rng) -> bytes:
    """Another message than this one: bits flipped, cut, longer, written over, parts exchanged, or made up."""
    forgery, place = bytearray(content), int(rng.integers(len(content)))
    if rng.random() < 0.3:
        place = int(rng.integers(message.HEADER.size))
    width = int(rng.integers(1, 65))
    match rng.integers(7):
        case 0:
            forgery[place] ^= 1 << int(rng.integers(8))
        case 1:
            del forgery[place:]
        case 2:
            del forgery[place : place + width]
        case 3:
            forgery[place:place] = rng.bytes(width)
        case 4:
            forgery[place : place + width] = rng.bytes(len(forgery[place : place + width]))
        case 5:
            forgery[place:] = forgery[place + width :] + forgery[place : place + width]
        case _:
            forgery = bytearray(rng.bytes(int(rng.integers(2 * len(content)))))
    return bytes(forgery) if bytes(forgery) != content else b""


def _lie(envelope, payload, rng):
    """What somebody with the link's key can seal: a wrong envelope, or a payload of its own."""
    wrong = (
        {"kind": "inputs"},
        {"sender": 2},
        {"receiver": 3},
        {"round_index": int(rng.integers(7))},
        {"round_index": 8 + int(rng.integers(99))},
        {"shape": (2**31, 2**31)},
        {"shape": (1, CLASSES)},
        {"parameters": rng.bytes(16)},
        {"key_id": rng.bytes(16)},
    )
    words = wire.unpack(PARAMS, payload, PARAMS.moduli[:1], 1, 2)
    other = wire.pack(PARAMS, rng.integers(0, PARAMS.moduli[0], words.shape, dtype=np.uint64))
    scaled = wire.pack(PARAMS, words * np.uint64(rng.integers(2, 1000)) % np.uint64(PARAMS.moduli[0]))
    lies = (b"", bytes(len(payload)), b"\xff" * len(payload), _changed(payload, rng), other, scaled, 2 * payload)
    if rng.random() < 0.4:
        return replace(envelope, **wrong[rng.integers(len(wrong))]), payload
    return envelope, lies[rng.integers(len(lies))]


def _forged_keys(bundle, rng):
    """A bundle of an owner who means harm."""
    seed, count = bundle[: wire.SEED_BYTES], 1 + 2 * len(PARAMS.moduli)
    words = wire.unpack(PARAMS, bundle[wire.SEED_BYTES :], PARAMS.all_moduli, count)
    one = int(rng.integers(count))
    forgeries = (
        lambda: bytes(len(bundle)),
        lambda: seed + bytes(len(bundle) - wire.SEED_BYTES),
        lambda: _changed(bundle, rng),
        lambda: seed + wire.pack(PARAMS, words[rng.permutation(count)]),  # keys of one kind in the place of another
        lambda: seed + wire.pack(PARAMS, np.where(np.arange(count)[:, None, None] == one, 0, words).astype(np.uint64)),
        lambda: rng.bytes(wire.SEED_BYTES) + bundle[wire.SEED_BYTES :],  # of another secret
        lambda: bundle[: wire.SEED_BYTES + wire.size(PARAMS, one, len(PARAMS.all_moduli))],
        lambda: KeyOwner(Params(0, 5)).public_bundle(),
    )
    return forgeries[rng.integers(len(forgeries))]()


if __name__ == "__main__":
    recorded("attacks_fhe", measure)
