"""CKKS parameters from the depth of a network and the kind of answer, always at 128-bit security."""

import hashlib
import os
from dataclasses import dataclass
from functools import cached_property

import tenseal.sealapi as seal

from cycle.fhe.errors import DepthExceeded, FHEError

MODES = ("logits", "loss")

# Ring degree -> most bits of modulus at 128-bit security (homomorphic encryption standard, ternary secret).
SECURE_BITS = {4096: 109, 8192: 218, 16384: 438}
LARGEST_PRIME = 60  # SEAL's limit
SMALLEST_PRIME = 54  # below this the scales leave too few bits for inputs and weights
SUM_RADIX = 8  # slots are summed with 7 rotations by each of 1, 8, 64, ...: four keys instead of twelve


@dataclass(frozen=True)
class Params:
    """What owner and evaluators agree on in public.

    depth: squares in the networks; mode: "logits" or "loss" (one more multiplication); batch: samples of the owner,
    one to a slot; input_bound: every input lies in [-input_bound, input_bound].
    """

    depth: int
    batch: int
    mode: str = "logits"
    input_bound: float = 1.0

    def __post_init__(self):
        if self.mode not in MODES:
            raise FHEError(f"mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if not (isinstance(self.depth, int) and self.depth >= 0):
            raise FHEError(f"depth must be a number of squares, 0 or more, got {self.depth!r}")
        if not 0 < self.input_bound < float("inf"):
            raise FHEError(f"input_bound must be positive and finite, got {self.input_bound}")
        if not 1 <= self.batch <= self.slots:
            raise FHEError(f"batch must be 1 to {self.slots} samples (one to a slot), got {self.batch}")

    @property
    def multiplications(self) -> int:
        """Ciphertext products in a row; each costs one prime."""
        return self.depth + (self.mode == "loss")

    @cached_property
    def _chain(self):
        """Smallest ring whose modulus has room for a base prime, one for each product, and SEAL's special prime."""
        primes = self.multiplications + 2
        for degree, secure_bits in SECURE_BITS.items():
            bits = min(LARGEST_PRIME, secure_bits // primes)
            if bits >= SMALLEST_PRIME:
                return degree, bits, primes
        most = max(SECURE_BITS.values()) // SMALLEST_PRIME - 2
        raise DepthExceeded(
            f"{self.multiplications} products in a row (depth {self.depth}, mode {self.mode}), but the longest secure "
            f"modulus chain has room for {most}; use a shallower network"
        )

    @property
    def degree(self) -> int:
        return self._chain[0]

    @property
    def slots(self) -> int:
        return self.degree // 2

    @property
    def prime_bits(self) -> int:
        return self._chain[1]

    @cached_property
    def moduli(self) -> tuple[int, ...]:
        """The primes of a fresh ciphertext (without the special one)."""
        return tuple(modulus.value() for modulus in self._seal_parameters.coeff_modulus())[:-1]

    # Scales, in bits. A product of two values at `square_bits` returns to prime_bits / 2 when one prime is dropped, so
    # layers repeat; the split between inputs and weights balances encryption noise against rounded weights.

    @property
    def square_bits(self) -> int:
        return (self.prime_bits + self.prime_bits // 2) // 2

    @property
    def input_bits(self) -> int:
        return self.square_bits * 3 // 5

    @property
    def probability_bits(self) -> int:
        return 40

    @cached_property
    def _seal_parameters(self):
        parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(self.degree)
        parameters.set_coeff_modulus(seal.CoeffModulus.Create(self.degree, [self.prime_bits] * self._chain[2]))
        return parameters

    @cached_property
    def context(self):
        """SEAL's context, which checks the security of the chain once more."""
        context = seal.SEALContext(self._seal_parameters, True, seal.SEC_LEVEL_TYPE.TC128)
        if not context.parameters_set():
            raise FHEError(f"SEAL refuses the parameters: {context.parameters_error_message()}")
        return context

    @cached_property
    def digest(self) -> bytes:
        """Sixteen bytes that name these parameters in every message."""
        agreed = (self.depth, self.batch, self.mode, float(self.input_bound), self.degree, self.moduli, self.input_bits)
        return hashlib.sha256(repr(agreed).encode()).digest()[:16]

    @property
    def merged(self) -> int:
        """Columns of `batch` values that share one ciphertext of an answer."""
        return self.slots // self.batch

    @cached_property
    def rotations(self) -> list[tuple[int, int]]:
        """(step, times) for which an evaluator needs a key: Horner merging of logits, or the sum over all slots."""
        if self.mode == "logits":
            return [(self.slots - self.batch, self.merged - 1)] if self.merged > 1 else []
        ladder, step = [], 1
        while step < self.slots:
            radix = min(SUM_RADIX, self.slots // step)
            ladder.append((step, radix - 1))
            step *= radix
        return ladder

    def galois_elements(self) -> list[int]:
        """SEAL's create_galois_keys wants elements of the Galois group, not steps: 3^step mod 2N."""
        return [pow(3, step, 2 * self.degree) for step, _ in self.rotations]


def fresh_seed() -> bytes:
    """Thirty-two bytes from the operating system; encryption is never seeded by an experiment."""
    return os.urandom(32)
