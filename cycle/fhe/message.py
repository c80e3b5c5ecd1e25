"""The envelope of every message. Ciphertexts carry no proof of anything: SEAL decrypts most corrupted ones to garbage.

An envelope says who sends what to whom, in which round, under which parameters and for which key, and a keyed hash
(HMAC-SHA256, one shared key for each pair of participants) covers all of it. An inbox accepts what it asked for, once.
"""

import hashlib
import hmac
import struct
from dataclasses import dataclass

from cycle.fhe import errors

MAGIC = b"CYCL"
VERSION = 1
KINDS = ("keys", "inputs", "probabilities", "answer")
# magic, version, kind, parameters, key, round, sender, receiver, shape, payload length
HEADER = struct.Struct("<4sBB16s16sIHHIIQ")
MAC_BYTES = 32


@dataclass(frozen=True)
class Envelope:
    """All that is said about a payload; shape is (rows, columns) of the matrix that it encrypts."""

    kind: str
    sender: int
    receiver: int
    round_index: int
    shape: tuple[int, int]
    parameters: bytes
    key_id: bytes


def seal(envelope: Envelope, payload: bytes, mac_key: bytes) -> bytes:
    """The message: header, payload, MAC over both."""
    try:
        header = HEADER.pack(
            MAGIC,
            VERSION,
            KINDS.index(envelope.kind),
            envelope.parameters,
            envelope.key_id,
            envelope.round_index,
            envelope.sender,
            envelope.receiver,
            *envelope.shape,
            len(payload),
        )
    except struct.error as error:
        raise errors.WrongContent(f"envelope: {error}") from None
    return b"".join((header, payload, hmac.digest(mac_key, header + payload, hashlib.sha256)))


def unseal(message: bytes, mac_key: bytes) -> tuple[Envelope, bytes]:
    """Envelope and payload of an authentic message; nothing in it is looked at further before the MAC holds."""
    if not isinstance(message, bytes):
        raise errors.WrongContent(f"message must be bytes, got {type(message).__name__}")
    if not message:
        raise errors.EmptyMessage("the message is empty")
    if len(message) < HEADER.size + MAC_BYTES:
        raise errors.TruncatedMessage(f"{len(message)} bytes cannot hold a header and a MAC")
    magic, version, kind, parameters, key_id, round_index, sender, receiver, rows, columns, length = HEADER.unpack_from(
        message
    )
    if magic != MAGIC or version != VERSION:
        raise errors.TamperedMessage(f"not a message of version {VERSION} of this protocol")
    missing = HEADER.size + length + MAC_BYTES - len(message)
    if missing > 0:
        raise errors.TruncatedMessage(f"{missing} bytes are missing")
    if not hmac.compare_digest(hmac.digest(mac_key, message[:-MAC_BYTES], hashlib.sha256), message[-MAC_BYTES:]):
        raise errors.TamperedMessage("the MAC does not match")
    if missing < 0 or kind >= len(KINDS):
        raise errors.WrongContent("the sender authenticated a malformed message")
    envelope = Envelope(KINDS[kind], sender, receiver, round_index, (rows, columns), parameters, key_id)
    return envelope, message[HEADER.size : -MAC_BYTES]


class Inbox:
    """One participant's memory of what it accepted: the last round for each (sender, kind), so it never grows."""

    def __init__(self):
        self._accepted = {}

    def accept(self, message: bytes, expected: Envelope, mac_key: bytes) -> bytes:
        """The payload of the one message that was asked for; every deviation has its own error."""
        envelope, payload = unseal(message, mac_key)
        if envelope.parameters != expected.parameters:
            raise errors.WrongParameters("made under other encryption parameters")
        if envelope.key_id != expected.key_id:
            raise errors.WrongKey(f"made for key {envelope.key_id.hex()[:8]}, not {expected.key_id.hex()[:8]}")
        if (envelope.sender, envelope.receiver) != (expected.sender, expected.receiver):
            raise errors.WrongParty(
                f"from {envelope.sender} to {envelope.receiver}, expected {expected.sender} to {expected.receiver}"
            )
        if envelope.kind != expected.kind or envelope.shape != expected.shape:
            raise errors.WrongContent(
                f"{envelope.kind} of shape {envelope.shape}, expected {expected.kind} of shape {expected.shape}"
            )
        source = (envelope.sender, envelope.kind)
        if envelope.round_index <= self._accepted.get(source, -1):
            raise errors.ReplayedMessage(f"round {envelope.round_index} from {envelope.sender} was accepted before")
        if envelope.round_index != expected.round_index:
            raise errors.WrongRound(f"of round {envelope.round_index}, expected {expected.round_index}")
        self._accepted[source] = envelope.round_index
        return payload
