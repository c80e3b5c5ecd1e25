"""What travels: residues without gaps. Every length follows from the public parameters.

A sender chooses no level, scale, form or number of anything: those are written here, by the
receiver. TenSEAL's binding of SEAL reads files only: memory poses as one.
"""

import hashlib
import os
import struct
import tempfile

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
    _check_size(content, size(params, *shape, len(moduli)))
    words = residues.unpack_bits(content, params.prime_bits)
    words = words.reshape(*shape, len(moduli), params.degree)
    if (words >= np.array(moduli, dtype=np.uint64)[:, None]).any():
        raise WrongContent("a residue is not below its modulus")
    return words


def unpack_seeded(params, content: bytes, moduli, count: int) -> np.ndarray:
    """[count, 2, prime, degree]: first polynomials as sent, second ones expanded from the seed.

    The owner cannot choose a second polynomial: it is the output of a hash function.
    """
    step = size(params, len(moduli))
    _check_size(content, SEED_BYTES + count * step)
    words = np.empty((count, 2, len(moduli), params.degree), dtype=np.uint64)
    for index in range(count):  # one at a time, as inputs may fill a large part of the memory
        start = SEED_BYTES + index * step
        words[index, 0] = unpack(params, content[start : start + step], moduli)
        words[index, 1] = residues.uniform(content[:SEED_BYTES], index, moduli, params.degree)
    return words


def _check_size(content, expected):
    if len(content) != expected:
        raise WrongContent(f"{expected} bytes were agreed on, got {len(content)}")


def fingerprint(bundle: bytes) -> bytes:
    """Sixteen bytes that name a public bundle, and so the key it belongs to."""
    return hashlib.sha256(bundle).digest()[:16]


def words_of(params, array, primes: int) -> np.ndarray:
    """What one of SEAL's arrays of words holds, [polynomial, prime, degree]."""
    words = np.fromiter(array.dyn_array(), np.uint64, array.dyn_array().size())
    return words.reshape(-1, primes, params.degree)


def ciphertext(params, words: np.ndarray, scale: float, kind=seal.Ciphertext):
    """SEAL's Ciphertext or PublicKey from [2, prime, degree]; the primes tell its level."""
    return _load(kind, params, _ciphertext_bytes(params, words, scale))


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
    array = struct.pack("<Q", words.size) + words.astype("<u8").tobytes()
    about = CIPHERTEXT.pack(*parameter_id, True, count, degree, primes, scale, 1)
    return _with_header(about + _with_header(array))


def _with_header(body: bytes) -> bytes:
    own = seal.Serialization.SEALHeader()  # magic and version of this build, no compression
    version, length = (own.version_major, own.version_minor), own.header_size + len(body)
    return SEAL_HEADER.pack(own.magic, own.header_size, *version, 0, 0, length) + body


def _load(kind, params, content: bytes):
    """Read from a nameless file in memory, or a private temporary one where there is no memfd.

    A new one each time: two processes after a fork would overwrite a shared one. No secret key
    ever comes here.
    """
    thing, nameless = kind(), hasattr(os, "memfd_create")
    file = os.fdopen(os.memfd_create("seal"), "wb") if nameless else tempfile.NamedTemporaryFile()
    with file, seal_refusals(WrongContent, f"read a {kind.__name__}"):
        file.write(content)
        file.flush()
        thing.load(params.context, f"/proc/self/fd/{file.fileno()}" if nameless else file.name)
    return thing
