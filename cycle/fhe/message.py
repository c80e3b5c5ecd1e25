"""The envelope of every message. Ciphertexts prove nothing: most corrupted ones decrypt to garbage.

An envelope says who sends what to whom, in which round, under which parameters and for which key,
and a keyed hash (HMAC-SHA256, one shared key for each pair) covers all of it. An inbox accepts what
it asked for, once.
"""

import hashlib
import hmac
import struct
from dataclasses import astuple, dataclass

from cycle.fhe import errors

MAGIC, VERSION = b"CYCL", 2
KINDS = ("keys", "inputs", "answer")
# magic, version, kind, sender, receiver, round, shape, parameters, key, payload length
HEADER = struct.Struct("<4sBBHHIII16s16sQ")
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
    kind, *parties, shape, parameters, key = astuple(envelope)
    about = KINDS.index(kind), *parties, *shape, parameters, key, len(payload)
    try:
        content = HEADER.pack(MAGIC, VERSION, *about) + payload
    except struct.error as error:
        raise errors.WrongContent(f"envelope: {error}") from None
    return content + hmac.digest(mac_key, content, hashlib.sha256)


def unseal(message: bytes, mac_key: bytes) -> tuple[Envelope, bytes]:
    """Envelope and payload of an authentic message; nothing is looked at before the MAC holds."""
    if not isinstance(message, bytes):
        raise errors.WrongContent(f"message must be bytes, got {type(message).__name__}")
    if len(message) < HEADER.size + MAC_BYTES:
        raise errors.TruncatedMessage(f"{len(message)} bytes cannot hold a header and a MAC")
    header = HEADER.unpack_from(message)
    magic, version, kind, *parties, rows, columns, parameters, key, length = header
    if (magic, version) != (MAGIC, VERSION):
        raise errors.TamperedMessage(f"not a message of version {VERSION} of this protocol")
    missing = HEADER.size + length + MAC_BYTES - len(message)
    if missing > 0:
        raise errors.TruncatedMessage(f"{missing} bytes are missing")
    content, mac = message[:-MAC_BYTES], message[-MAC_BYTES:]
    if not hmac.compare_digest(hmac.digest(mac_key, content, hashlib.sha256), mac):
        raise errors.TamperedMessage("the MAC does not match")
    if missing < 0 or kind >= len(KINDS):
        raise errors.WrongContent("the sender authenticated a malformed message")
    envelope = Envelope(KINDS[kind], *parties, (rows, columns), parameters, key)
    return envelope, content[HEADER.size :]


class Inbox:
    """What a participant accepted: the last round of each (sender, kind), so it never grows."""

    def __init__(self):
        self._accepted = {}

    def accept(self, message: bytes, expected: Envelope, mac_key: bytes) -> bytes:
        """The payload of the one message that was asked for; every deviation has its own error."""
        envelope, payload = unseal(message, mac_key)
        source, index = (envelope.sender, envelope.kind), envelope.round_index
        if index <= self._accepted.get(source, -1):
            raise errors.ReplayedMessage(f"round {index} from {source[0]} was accepted before")
        for field, wanted in vars(expected).items():
            got = getattr(envelope, field)
            if got != wanted:
                if isinstance(got, bytes):
                    got, wanted = got.hex()[:8], wanted.hex()[:8]
                raise errors.WrongEnvelope(f"{field} is {got}, expected {wanted}")
        self._accepted[source] = index
        return payload
