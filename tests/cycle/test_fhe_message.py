"""The envelope: every deviation is named, and ten thousand mutants are refused."""

import dataclasses

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cycle.fhe import errors
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.message import HEADER, MAC_BYTES, VERSION, Envelope, Inbox, seal, unseal
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

KEY = b"k" * 32
EXPECTED = Envelope("answer", 1, 2, 7, (5, 2), b"p" * 16, b"i" * 16)


def altered(**changes):
    return seal(dataclasses.replace(EXPECTED, **changes), b"payload", KEY)


def test_the_message_that_was_asked_for_is_accepted_once():
    message, inbox = altered(), Inbox()
    assert unseal(message, KEY) == (EXPECTED, b"payload")
    assert len(message) == HEADER.size + len(b"payload") + MAC_BYTES
    assert inbox.accept(message, EXPECTED, KEY) == b"payload"
    with pytest.raises(errors.ReplayedMessage, match="round 7"):
        inbox.accept(message, EXPECTED, KEY)


@pytest.mark.parametrize(
    ("message", "refusal", "words"),
    [
        (b"", errors.TruncatedMessage, "0 bytes cannot hold"),
        (altered()[:40], errors.TruncatedMessage, "40 bytes cannot hold"),
        (altered()[:-1], errors.TruncatedMessage, "1 bytes are missing"),
        (altered()[: HEADER.size], errors.TruncatedMessage, "cannot hold"),
        (altered() + b"x", errors.TamperedMessage, "MAC"),
        (altered()[:-1] + b"x", errors.TamperedMessage, "MAC"),
        (altered().replace(b"payload", b"Payload"), errors.TamperedMessage, "MAC"),
        (b"XXXX" + altered()[4:], errors.TamperedMessage, "protocol"),
        (altered()[:4] + bytes([VERSION + 1]) + altered()[5:], errors.TamperedMessage, "version"),
        (seal(EXPECTED, b"payload", b"other" * 8), errors.TamperedMessage, "MAC"),
        (altered(parameters=b"q" * 16), errors.WrongEnvelope, "parameters is 71717171, expected 70707070"),
        (altered(key_id=b"j" * 16), errors.WrongEnvelope, "key_id is 6a6a6a6a, expected 69696969"),
        (altered(sender=0), errors.WrongEnvelope, "sender is 0, expected 1"),
        (altered(receiver=3), errors.WrongEnvelope, "receiver is 3, expected 2"),
        (altered(round_index=6), errors.WrongEnvelope, "round_index is 6, expected 7"),
        (altered(round_index=8), errors.WrongEnvelope, "round_index is 8, expected 7"),
        (altered(kind="inputs"), errors.WrongEnvelope, "kind is inputs, expected answer"),
        (altered(shape=(2, 5)), errors.WrongEnvelope, r"shape is \(2, 5\), expected \(5, 2\)"),
        ("text", errors.WrongContent, "must be bytes, got str"),
    ],
)
def test_every_deviation_is_named(message, refusal, words):
    inbox = Inbox()
    with pytest.raises(refusal, match=words) as caught:
        inbox.accept(message, EXPECTED, KEY)
    assert type(caught.value) is refusal
    assert inbox.accept(altered(), EXPECTED, KEY) == b"payload"  # a refusal changes nothing


def test_an_old_round_is_a_replay_even_if_it_never_arrived():
    inbox = Inbox()
    inbox.accept(altered(), EXPECTED, KEY)
    with pytest.raises(errors.ReplayedMessage):
        inbox.accept(altered(round_index=3), dataclasses.replace(EXPECTED, round_index=3), KEY)
    later = dataclasses.replace(EXPECTED, round_index=8)
    assert inbox.accept(altered(round_index=8), later, KEY) == b"payload"
    assert inbox.accept(altered(sender=0), dataclasses.replace(EXPECTED, sender=0), KEY) == b"payload"


def test_the_inbox_stays_small():
    inbox = Inbox()
    for index in range(100):
        inbox.accept(altered(round_index=index), dataclasses.replace(EXPECTED, round_index=index), KEY)
    assert len(inbox._accepted) == 1


def test_an_envelope_that_does_not_fit_is_refused():
    for changes in ({"round_index": -1}, {"sender": 2**16}, {"shape": (2**32, 1)}):
        with pytest.raises(errors.WrongContent, match="envelope"):
            altered(**changes)


@pytest.fixture(scope="module")
def real():
    """An owner and an encrypted answer to it."""
    rng = np.random.default_rng(0)
    network, params = PolyNet(((np.array([[0.5, -0.2], [-0.5, 0.2]]), np.zeros(2)),)), Params(0, 5)
    owner, inputs = KeyOwner(params), rng.uniform(-1, 1, (5, 2))
    payload = Evaluator(params, owner.public_bundle(), owner.encrypt_inputs(inputs), 2).logits(network)
    envelope = dataclasses.replace(EXPECTED, parameters=params.digest, key_id=owner.key_id)
    assert np.abs(owner.decrypt_logits(payload, 2) - network(inputs)).max() < 5e-4
    return owner, envelope, payload


def positions(size):
    """Anywhere, and often in the header and in the MAC."""
    return st.one_of(st.integers(0, size - 1), st.integers(0, HEADER.size), st.integers(size - MAC_BYTES, size - 1))


def mutations(size):
    place, some = positions(size), st.binary(min_size=1, max_size=12)
    return st.one_of(
        st.tuples(st.just("flip"), place, st.integers(0, 7)),
        st.tuples(st.just("cut"), place, st.just(0)),
        st.tuples(st.just("drop"), place, st.integers(1, 64)),
        st.tuples(st.just("insert"), place, some),
        st.tuples(st.just("write"), place, some),
        st.tuples(st.just("repeat"), place, st.integers(1, 64)),
        st.tuples(st.just("swap"), place, st.integers(1, 64)),
    )


def mutant(message, mutation):
    name, place, extra = mutation
    head, tail = message[:place], message[place:]
    if name == "flip":
        return head + bytes([tail[0] ^ (1 << extra)]) + tail[1:]
    if name == "cut":
        return head
    if name == "drop":
        return head + tail[extra:]
    if name == "insert":
        return head + extra + tail
    if name == "write":
        return (head + extra + tail[len(extra) :])[: len(message)]
    if name == "repeat":
        return head + tail[:extra] + tail
    return head + tail[extra : 2 * extra] + tail[:extra] + tail[2 * extra :]


def test_ten_thousand_mutated_messages_are_refused(real):
    owner, envelope, payload = real
    message, inbox, tried = seal(envelope, payload, KEY), Inbox(), 0

    @settings(max_examples=260, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(mutations(len(message)), min_size=50, max_size=50))
    def attack(batch):
        nonlocal tried
        for mutation in batch:
            forged = mutant(message, mutation)
            if forged == message:
                continue
            tried += 1
            with pytest.raises(errors.MessageError):
                owner.decrypt_logits(inbox.accept(forged, envelope, KEY), 2)

    attack()
    assert tried >= 10_000
    assert inbox.accept(message, envelope, KEY) == payload


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_peer_that_authenticates_garbage_crashes_nobody(real, data):
    """With the right MAC a hostile peer may send any number, but never anything else than numbers or a refusal."""
    owner, envelope, payload = real
    for mutation in data.draw(st.lists(mutations(len(payload)), min_size=30, max_size=30)):
        message = seal(envelope, mutant(payload, mutation), KEY)
        try:
            logits = owner.decrypt_logits(Inbox().accept(message, envelope, KEY), 2)
        except errors.FHEError:
            continue
        assert logits.shape == (5, 2) and np.isfinite(logits).all()
