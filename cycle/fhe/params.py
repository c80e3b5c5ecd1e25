"""CKKS parameters from the number of squares in a network, always at 128-bit security."""

import hashlib
import math
from dataclasses import dataclass
from functools import cached_property

import tenseal.sealapi as seal

from cycle.fhe.errors import DepthExceeded, FHEError

# Ring degree -> most bits of modulus at 128-bit security (homomorphic encryption standard).
SECURE_BITS = {4096: 109, 8192: 218, 16384: 438}
LARGEST_PRIME = 60  # SEAL's limit
SMALLEST_PRIME = 54  # below this the scales leave too few bits for inputs and weights
MOST_SQUARES = 4  # beyond it the noise of evaluation comes near that of the flood
WEIGHT_BITS = 18
RANGE_BITS = 10  # an answer lies in +-2^10
FLOOD = 2.0**-14  # standard deviation of the noise that every number of an answer gets


@dataclass(frozen=True)
class Params:
    """What owner and evaluators agree on in public.

    depth: squares in the networks; batch: samples of the owner, one to a slot; input_bound: every
    input lies in [-input_bound, input_bound].
    """

    depth: int
    batch: int
    input_bound: float = 1.0

    def __post_init__(self):
        if not (isinstance(self.depth, int) and self.depth >= 0):
            raise FHEError(f"depth must be a number of squares, 0 or more, got {self.depth!r}")
        if not 0 < self.input_bound < float("inf"):
            raise FHEError(f"input_bound must be positive and finite, got {self.input_bound}")
        if not (isinstance(self.batch, int) and 1 <= self.batch <= self.slots):
            raise FHEError(f"batch must be 1 to {self.slots} samples, got {self.batch!r}")

    @cached_property
    def _chain(self):
        """(degree, bits of a prime, primes) of the smallest ring that is secure.

        One prime for the answer, one for each square, and SEAL's special one. Squares leave noise
        that depends on the weights; one prime more keeps it far below the flood.
        """
        primes = self.depth + 2 + (self.depth > 0)
        for degree, secure_bits in SECURE_BITS.items():
            bits = min(LARGEST_PRIME, secure_bits // primes)
            if bits >= SMALLEST_PRIME and self.depth <= MOST_SQUARES:
                return degree, bits, primes
        raise DepthExceeded(
            f"depth {self.depth}: the longest secure modulus chain has room for {MOST_SQUARES} "
            "squares in a row; use a shallower network"
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
    def all_moduli(self) -> tuple[int, ...]:
        """The primes of a key: those of a fresh ciphertext and the special one."""
        return tuple(modulus.value() for modulus in self._seal_parameters.coeff_modulus())

    @property
    def moduli(self) -> tuple[int, ...]:
        """The primes of a fresh ciphertext."""
        return self.all_moduli[:-1]

    # Scales, in bits. The last one is fixed, so that no sender chooses it; the others follow from
    # it backwards: a square doubles the bits and drops a prime, a map before it adds WEIGHT_BITS.

    @property
    def answer_bits(self) -> int:
        """A bit for the sign, one for the noise that hides idle slots, RANGE_BITS for values."""
        return self.prime_bits - 2 - RANGE_BITS

    @cached_property
    def square_bits(self) -> tuple[int, ...]:
        """The scale of what each square takes, the first one first."""
        scale, squares = self.answer_bits + self.prime_bits - WEIGHT_BITS, []
        for _ in range(self.depth):
            squares.insert(0, (scale + self.prime_bits) // 2)
            scale = squares[0] - WEIGHT_BITS
        return tuple(squares)

    @property
    def input_bits(self) -> int:
        return (self.square_bits[0] if self.depth else self.answer_bits) - WEIGHT_BITS

    @property
    def mask(self) -> float:
        """Standard deviation of the noise in all that is no part of an answer.

        As much as the modulus holds: coefficients of mask * sqrt(2 / degree) * 2^answer_bits, eight
        of these below a quarter of the modulus.
        """
        return 2.0 ** (RANGE_BITS - 3) * math.sqrt(self.slots)

    @cached_property
    def _seal_parameters(self):
        parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(self.degree)
        primes = [self.prime_bits] * self._chain[2]
        parameters.set_coeff_modulus(seal.CoeffModulus.Create(self.degree, primes))
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
        chain = (self.degree, self.all_moduli, self.input_bits, self.answer_bits)
        agreed = (self.depth, self.batch, float(self.input_bound), *chain)
        return hashlib.sha256(repr(agreed).encode()).digest()[:16]

    @property
    def merged(self) -> int:
        """Columns of `batch` values that share one ciphertext of an answer."""
        return self.slots // self.batch

    @property
    def galois_element(self) -> int | None:
        """3^step mod 2N for the rotation that merging needs, by -batch; None if it needs none."""
        return pow(3, self.slots - self.batch, 2 * self.degree) if self.merged > 1 else None
