"""What travels: residues without gaps. Every length follows from the public parameters.

A sender chooses no level, scale, form or number of anything: those are written here, by the
receiver. TenSEAL's binding of SEAL reads files only: memory poses as one.
"""

import hashlib
import os
import struct
import tempfile
from contextlib import contextmanager

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe import residues
from cycle.fhe.errors import WrongContent, seal_refusals

SEED_BYTES = 32
SEAL_HEADER = struct.Struct("<HBBBBHQ")  # magic, header size, version (two), compression, 0, size
# parameter id, NTT form, polynomials, degree, primes, scale, correction factor
CIPHERTEXT = struct.Struct("<4QB3QdQ")


def pack(params, words: np.ndarray) -> bytes:
    """Residues of any shape, prime_bits each."""
    return residues.pack_bits(words.reshape(-1), params.prime_bits)


def size(params, *shape: int) -> int:
    """Bytes of packed polynomials [*shape, degree]."""
    return int(np.prod(shape)) * params.degree * params.prime_bits // 8


def unpack(params, content: bytes, moduli, *shape: int) -> np.ndarray:
    """What `pack` made of [*shape, prime, degree], each residue below its prime."""
    expected = size(params, *shape, len(moduli))
    if len(content) != expected:
        raise WrongContent(f"{expected} bytes were agreed on, got {len(content)}")
    words = residues.unpack_bits(content, params.prime_bits)
    words = words.reshape(*shape, len(moduli), params.degree)
    if (words >= np.array(moduli, dtype=np.uint64)[:, None]).any():
        raise WrongContent("a residue is not below its modulus")
    return words


def unpack_seeded(params, content: bytes, moduli, count: int) -> np.ndarray:
    """[prime, count, 2, degree]: first polynomials as sent, second ones expanded from the seed.

    The owner cannot choose a second polynomial: it is the output of a hash function.
    """
    step = size(params, len(moduli))
    if len(content) != SEED_BYTES + count * step:
        raise WrongContent(f"{SEED_BYTES + count * step} bytes were agreed on, got {len(content)}")
    words = np.empty((len(moduli), count, 2, params.degree), dtype=np.uint64)
    for index in range(count):  # one at a time, as inputs may fill a large part of the memory
        start = SEED_BYTES + index * step
        words[:, index, 0] = unpack(params, content[start : start + step], moduli)
        seed = content[:SEED_BYTES]
        words[:, index, 1] = residues.uniform(seed, index, moduli, params.degree)
    return words


def fingerprint(bundle: bytes) -> bytes:
    """Sixteen bytes that name a public bundle, and so the key it belongs to."""
    return hashlib.sha256(bundle).digest()[:16]


def words_of(params, array, primes: int) -> np.ndarray:
    """What one of SEAL's arrays of words holds, [polynomial, prime, degree]."""
    words = np.fromiter(array.dyn_array(), np.uint64, array.dyn_array().size())
    return words.reshape(-1, primes, params.degree)


def ciphertext(params, words: np.ndarray, scale: float):
    """A SEAL ciphertext from [2, prime, degree]; its level is the number of primes."""
    return _load(seal.Ciphertext, params, _ciphertext_bytes(params, words, scale))


def public_key(params, words: np.ndarray):
    """A SEAL public key from [2, prime, degree]."""
    return _load(seal.PublicKey, params, _ciphertext_bytes(params, words, 1.0))


def switching_key(kind, params, words: np.ndarray, index: int):
    """SEAL's RelinKeys or GaloisKeys with the one key number `index`, [digit, 2, prime, degree]."""
    digits = b"".join(_ciphertext_bytes(params, digit, 1.0) for digit in words)
    counts = struct.pack(f"<{index + 2}Q", index + 1, *[0] * index, len(words))
    parameter_id = struct.pack("<4Q", *params.context.key_parms_id())
    return _load(kind, params, _with_header(parameter_id + counts + digits))


def _ciphertext_bytes(params, words, scale) -> bytes:
    count, primes, degree = words.shape
    context = params.context
    levels = {1: context.last_parms_id(), len(params.moduli): context.first_parms_id()}
    parameter_id = (levels | {len(params.all_moduli): context.key_parms_id()})[primes]
    array = struct.pack("<Q", words.size) + np.ascontiguousarray(words, dtype="<u8").tobytes()
    about = CIPHERTEXT.pack(*parameter_id, True, count, degree, primes, scale, 1)
    return _with_header(about + _with_header(array))


def _with_header(body: bytes) -> bytes:
    own = seal.Serialization.SEALHeader()  # magic and version of this build, no compression
    version, length = (own.version_major, own.version_minor), own.header_size + len(body)
    return SEAL_HEADER.pack(own.magic, own.header_size, *version, 0, 0, length) + body


def _load(kind, params, content: bytes):
    thing = kind()
    with _file(content) as path, seal_refusals(WrongContent, f"read a {kind.__name__}"):
        thing.load(params.context, path)
    return thing


@contextmanager
def _file(content: bytes):
    """The path of a nameless file in memory, or of a private temporary file without memfd.

    A new one each time: two processes after a fork would overwrite a shared one. No secret key
    ever comes here.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("seal", os.MFD_CLOEXEC)
        path, remove = f"/proc/self/fd/{descriptor}", lambda: None
    else:
        descriptor, path = tempfile.mkstemp(prefix="seal-")
        remove = lambda: os.unlink(path)  # noqa: E731
    try:
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            view = memoryview(content)
            while view:
                view = view[file.write(view) :]
            yield path
    finally:
        remove()
