"""SEAL objects as bytes and as arrays. TenSEAL's binding of SEAL reads and writes files only: memory poses as one."""

import hashlib
import os
import struct
import tempfile
from contextlib import contextmanager

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe.errors import WrongContent

SEAL_HEADER = struct.Struct("<HBBBBHQ")  # magic, header size, version (two), compression, reserved, size
CIPHERTEXT = struct.Struct("<4QB3QdQ")  # parameter id, NTT form, polynomials, degree, primes, scale, correction factor


@contextmanager
def _scratch(content: bytes = b""):
    """(path, descriptor) of a nameless file in memory, or of a private temporary file where there is no memfd.

    A new one each time: two processes after a fork would overwrite a shared one. Secret keys never come here.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("seal", os.MFD_CLOEXEC)
        path, remove = f"/proc/self/fd/{descriptor}", lambda: None
    else:
        descriptor, path = tempfile.mkstemp(prefix="seal-")
        remove = lambda: os.unlink(path)  # noqa: E731
    try:
        with os.fdopen(descriptor, "r+b", buffering=0, closefd=True) as file:
            view = memoryview(content)
            while view:
                view = view[file.write(view) :]
            yield path, file
    finally:
        remove()


def to_bytes(thing) -> bytes:
    """A ciphertext or public key in SEAL's format."""
    if isinstance(thing, seal.SecretKey):
        raise WrongContent("a secret key is never written anywhere")
    with _scratch() as (path, file):
        thing.save(path)
        file.seek(0)
        return file.read()


def from_bytes(kind, context, content: bytes):
    """An object of SEAL class `kind`, checked against the context."""
    thing = kind()
    with _scratch(content) as (path, _):
        try:
            thing.load(context, path)
        except (RuntimeError, ValueError, IndexError, OverflowError, MemoryError) as error:
            raise WrongContent(f"SEAL cannot read a {kind.__name__}: {error}") from None
    return thing


def plaintext_residues(plaintext, primes: int) -> np.ndarray:
    """The coefficients of an encoded plaintext (or of a secret key's), uint64 [prime, degree]."""
    count = plaintext.coeff_count()
    return np.fromiter(map(plaintext.__getitem__, range(count)), np.uint64, count).reshape(primes, -1)


def ciphertext_from_residues(params, residues: np.ndarray, scale: float):
    """A SEAL ciphertext at the top of the chain from uint64 [2 polynomials, prime, degree] in NTT form."""
    size, primes, degree = residues.shape
    words = struct.pack("<Q", residues.size) + np.ascontiguousarray(residues, dtype="<u8").tobytes()
    parameter_id = params.context.first_parms_id()
    body = CIPHERTEXT.pack(*parameter_id, True, size, degree, primes, scale, 1) + _with_header(words)
    return from_bytes(seal.Ciphertext, params.context, _with_header(body))


def _with_header(body: bytes) -> bytes:
    own = seal.Serialization.SEALHeader()  # magic and version of this build, no compression
    version = own.version_major, own.version_minor
    return SEAL_HEADER.pack(own.magic, own.header_size, *version, 0, 0, own.header_size + len(body)) + body


def fingerprint(bundle: bytes) -> bytes:
    """Sixteen bytes that name a public bundle, and so the key it belongs to."""
    return hashlib.sha256(bundle).digest()[:16]


def join(parts: list[bytes]) -> bytes:
    """Several byte strings in one, each behind its length."""
    return b"".join(struct.pack("<Q", len(part)) + part for part in parts)


def split(content: bytes, count: int) -> list[bytes]:
    """What `join` joined; exactly `count` parts and nothing else."""
    parts, position = [], 0
    for _ in range(count):
        if position + 8 > len(content):
            raise WrongContent(f"payload ends within part {len(parts) + 1} of {count}")
        (length,) = struct.unpack_from("<Q", content, position)
        position += 8
        if length > len(content) - position:
            raise WrongContent(f"payload ends within part {len(parts) + 1} of {count}")
        parts.append(content[position : position + length])
        position += length
    if position != len(content):
        raise WrongContent(f"payload has {len(content) - position} bytes too many")
    return parts
