"""CKKS parameters from the number of squares in a network, always at 128-bit security."""

import hashlib
import math

import tenseal.sealapi as seal

from cycle.fhe.errors import FHEError, InputRefused

# Ring degree -> most bits of modulus at 128-bit security (homomorphic encryption standard).
SECURE_BITS = {4096: 109, 8192: 218, 16384: 438}
LARGEST_PRIME = 60  # SEAL's limit
SMALLEST_PRIME = 54  # below this the scales leave too few bits for inputs and weights
MOST_SQUARES = 4  # beyond it the noise of evaluation comes near that of the flood
WEIGHT_BITS = 18
RANGE_BITS = 10  # an answer lies in +-2^10
FLOOD = 2.0**-14  # standard deviation of the noise that every number of an answer gets


class Params:
    """What owner and evaluators agree on in public, and all that follows from it.

    depth: squares in the networks; batch: samples of the owner, one to a slot; input_bound: every
    input lies in [-input_bound, input_bound].
    """

    def __init__(self, depth: int, batch: int, input_bound: float = 1.0):
        if not (isinstance(depth, int) and depth >= 0):
            raise FHEError(f"depth must be a number of squares, 0 or more, got {depth!r}")
        if not 0 < input_bound < float("inf"):
            raise FHEError(f"input_bound must be positive and finite, got {input_bound}")
        self.depth, self.batch, self.input_bound = depth, batch, float(input_bound)
        self.degree, self.prime_bits, primes = _chain(depth)
        self.slots = self.degree // 2
        if not (isinstance(batch, int) and 1 <= batch <= self.slots):
            raise FHEError(f"batch must be 1 to {self.slots} samples, got {batch!r}")

        parameters = seal.EncryptionParameters(seal.SCHEME_TYPE.CKKS)
        parameters.set_poly_modulus_degree(self.degree)
        primes = seal.CoeffModulus.Create(self.degree, [self.prime_bits] * primes)
        parameters.set_coeff_modulus(primes)
        # The primes of a key, and those of a fresh ciphertext: all but the special one.
        self.all_moduli = tuple(prime.value() for prime in primes)
        self.moduli = self.all_moduli[:-1]
        # SEAL checks the security of the chain once more.
        self.context = seal.SEALContext(parameters, True, seal.SEC_LEVEL_TYPE.TC128)
        if not self.context.parameters_set():
            reason = self.context.parameters_error_message()
            raise FHEError(f"SEAL refuses the parameters: {reason}")

        # Scales, in bits. The last one is fixed, so that no sender chooses it: a bit for the sign,
        # one for the noise that hides idle slots, RANGE_BITS for values. The others follow from it
        # backwards: a square doubles the bits and drops a prime, a map before it adds WEIGHT_BITS.
        self.answer_bits = self.prime_bits - 2 - RANGE_BITS
        self.square_bits = []  # the scale of what each square takes, the first one first
        scale = self.answer_bits + (self.prime_bits if depth else 0) - WEIGHT_BITS
        for _ in range(depth):
            self.square_bits.insert(0, (scale + self.prime_bits) // 2)
            scale = self.square_bits[0] - WEIGHT_BITS
        self.input_bits = scale

        # Columns of `batch` values that share one ciphertext of an answer, and 3^step mod 2N for
        # the rotation by -batch that puts them there; None if it needs none.
        self.merged = self.slots // batch
        turn = pow(3, self.slots - batch, 2 * self.degree)
        self.galois_element = turn if self.merged > 1 else None

        # Standard deviation of the noise in all that is no part of an answer, as much as the
        # modulus holds: coefficients of mask * sqrt(2 / degree) * 2^answer_bits, eight of these
        # below a quarter of the modulus.
        self.mask = 2.0 ** (RANGE_BITS - 3) * math.sqrt(self.slots)

        # Sixteen bytes that name these parameters in every message.
        chain = (self.degree, self.all_moduli, self.input_bits, self.answer_bits)
        agreed = repr((depth, batch, self.input_bound, *chain))
        self.digest = hashlib.sha256(agreed.encode()).digest()[:16]


def _chain(depth: int) -> tuple[int, int, int]:
    """(degree, bits of a prime, primes) of the smallest ring that is secure.

    One prime for the answer, one for each square, and SEAL's special one. Squares leave noise that
    depends on the weights; one prime more keeps it far below the flood.
    """
    primes = depth + 2 + (depth > 0)
    for degree, secure_bits in SECURE_BITS.items():
        bits = min(LARGEST_PRIME, secure_bits // primes)
        if bits >= SMALLEST_PRIME and depth <= MOST_SQUARES:
            return degree, bits, primes
    raise InputRefused(
        f"depth {depth}: the longest secure modulus chain has room for {MOST_SQUARES} squares in a "
        "row; use a shallower network"
    )
