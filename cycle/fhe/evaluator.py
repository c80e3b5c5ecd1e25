"""The evaluator: a peer that computes on somebody else's encrypted samples, with that owner's public bytes only."""

from collections import Counter

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe import residues, wire
from cycle.fhe.errors import FHEError, WrongContent
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

SEED_BYTES = 32


class Evaluator:
    """Answers one owner: params and bundle (KeyOwner.public_bundle), then inputs (KeyOwner.encrypt_inputs), once.

    `operations` counts what has been done under encryption so far.
    """

    def __init__(self, params: Params, bundle: bytes, inputs: bytes, features: int):
        self.params = params
        public, relinearisation, *rotation = wire.split(bundle, 2 + bool(params.rotations))
        self._zeros = seal.Encryptor(params.context, wire.from_bytes(seal.PublicKey, params.context, public))
        self._relinearisation = wire.from_bytes(seal.RelinKeys, params.context, relinearisation)
        self._rotation = wire.from_bytes(seal.GaloisKeys, params.context, rotation[0]) if rotation else None
        self._seal = seal.Evaluator(params.context)
        self._encoder = seal.CKKSEncoder(params.context)
        self._inputs = unpack_columns(params, inputs, features)
        self.operations = Counter()

    def logits(self, network: PolyNet) -> bytes:
        """The encrypted centred z / T of the network on the owner's samples, merged and at the end of the chain."""
        columns = self._infer(network, "logits")
        merged = self.params.merged
        answers = [self._merge(columns[start : start + merged]) for start in range(0, len(columns), merged)]
        return wire.join([self._randomised(answer) for answer in answers])

    def loss(self, network: PolyNet, probabilities: bytes) -> bytes:
        """The encrypted sum over samples of p . z / T; probabilities: KeyOwner.encrypt_probabilities of this round."""
        fresh = unpack_columns(self.params, probabilities, network.classes)
        columns = self._infer(network, "loss")
        scale, level = 2.0**self.params.probability_bits, columns[0].parms_id()
        encrypted = []
        for column in range(network.classes):
            ciphertext = wire.ciphertext_from_residues(self.params, _polynomials(fresh, column), scale)
            self._seal.mod_switch_to_inplace(ciphertext, level)
            encrypted.append(ciphertext)
        total = self.dot(encrypted, columns)
        self._to_last_level(total)
        for step, times in self.params.rotations:
            turned = total
            for _ in range(times):
                turned = self._rotate(turned, step)
                total = self._add(total, turned)
        return wire.join([self._randomised(total)])

    def _randomised(self, answer) -> bytes:
        """The answer plus a fresh encryption of zero, made with the owner's public key.

        Without it an answer is a fixed function of the weights and of ciphertexts that the owner made itself: a guess
        of the weights could be confirmed and, for a network without squares, the weights be read off c_1.
        """
        zero = seal.Ciphertext()
        self._zeros.encrypt_zero(answer.parms_id(), zero)
        zero.scale = answer.scale
        self.operations.update(randomisations=1)
        return wire.to_bytes(self._add(answer, zero))

    def dot(self, left: list, right: list):
        """sum_c left_c * right_c, slot by slot: one relinearisation and one rescale for the whole sum."""
        total, product = None, seal.Ciphertext()
        for a, b in zip(left, right, strict=True):
            if total is None:
                total = seal.Ciphertext()
                self._seal.multiply(a, b, total)
            else:
                self._seal.multiply(a, b, product)
                self._seal.add_inplace(total, product)
        self._seal.relinearize_inplace(total, self._relinearisation)
        self._seal.rescale_to_next_inplace(total)
        self.operations.update(multiplications=len(left), relinearisations=1, rescales=1)
        return total

    def _infer(self, network, mode):
        """One ciphertext a class: integer matrix product on the residues, then squares and SEAL's products."""
        if mode != self.params.mode:
            raise FHEError(f"the parameters are for mode {self.params.mode}, not {mode}")
        if network.features != self._inputs.shape[1]:
            raise WrongContent(f"the network takes {network.features} features, E(X) has {self._inputs.shape[1]}")
        (weights, bias, bits), *later = network.quantised(self.params)
        columns = self._first_map(weights, bias, bits)
        for weights, bias, bits in later:
            columns = self._map([self._square(column) for column in columns], weights, bias, bits)
        if mode == "logits":
            for column in columns:
                self._to_last_level(column)
        return columns

    def _first_map(self, weights, bias, bits):
        """W x + b on E(X) as it arrived, by exact modular matrix products (cycle.fhe.residues)."""
        params, scale = self.params, 2.0 ** (self.params.input_bits + bits)
        products = [
            residues.modular_product(weights, rows, modulus)
            for rows, modulus in zip(self._inputs, params.moduli, strict=True)
        ]
        self.operations.update(plain_multiplications=int(np.count_nonzero(weights)))
        stacked = np.stack(products)
        columns = []
        for row in range(len(weights)):
            columns.append(wire.ciphertext_from_residues(params, _polynomials(stacked, row), scale))
            self._add_bias(columns[-1], bias[row])
        return columns

    def _map(self, inputs, weights, bias, bits):
        """W h + b through SEAL, for ciphertexts that are not at the top of the chain."""
        level, plaintext, product = inputs[0].parms_id(), seal.Plaintext(), seal.Ciphertext()
        columns = []
        for row, shift in zip(weights, bias, strict=True):
            total = None
            for index in np.flatnonzero(row):
                self._encoder.encode(float(row[index] * 2.0**-bits), level, 2.0**bits, plaintext)
                if total is None:
                    total = seal.Ciphertext()
                    self._seal.multiply_plain(inputs[index], plaintext, total)
                else:
                    self._seal.multiply_plain(inputs[index], plaintext, product)
                    self._seal.add_inplace(total, product)
            self._add_bias(total, shift)
            columns.append(total)
        self.operations.update(plain_multiplications=int(np.count_nonzero(weights)))
        return columns

    def _add_bias(self, ciphertext, bias):
        """Only in the slots that hold samples: the others must stay empty for merging and for sums."""
        plaintext = seal.Plaintext()
        self._encoder.encode([float(bias)] * self.params.batch, ciphertext.parms_id(), ciphertext.scale, plaintext)
        self._seal.add_plain_inplace(ciphertext, plaintext)

    def _square(self, ciphertext):
        result = seal.Ciphertext()
        self._seal.square(ciphertext, result)
        self._seal.relinearize_inplace(result, self._relinearisation)
        self._seal.rescale_to_next_inplace(result)
        self.operations.update(multiplications=1, relinearisations=1, rescales=1)
        return result

    def _merge(self, columns):
        """Columns side by side in one ciphertext by Horner's rule, so that one rotation key is enough."""
        result = columns[-1]
        for column in reversed(columns[:-1]):
            result = self._add(self._rotate(result, -self.params.batch), column)
        return result

    def _rotate(self, ciphertext, step):
        result = seal.Ciphertext()
        self._seal.rotate_vector(ciphertext, step, self._rotation, result)
        self.operations.update(rotations=1)
        return result

    def _add(self, left, right):
        result = seal.Ciphertext()
        self._seal.add(left, right, result)
        return result

    def _to_last_level(self, ciphertext):
        while ciphertext.coeff_modulus_size() > 1:
            self._seal.mod_switch_to_next_inplace(ciphertext)


def unpack_columns(params: Params, content: bytes, columns: int) -> np.ndarray:
    """Ciphertexts written by KeyOwner._encrypt as residues [prime, column, (c_0, c_1) side by side], uint64."""
    size = params.degree * len(params.moduli) * params.prime_bits // 8
    if len(content) != SEED_BYTES + columns * size:
        raise WrongContent(f"{columns} seeded ciphertexts take {SEED_BYTES + columns * size} bytes, got {len(content)}")
    seed = content[:SEED_BYTES]
    result = np.empty((len(params.moduli), columns, 2, params.degree), dtype=np.uint64)
    for column in range(columns):
        packed = content[SEED_BYTES + column * size : SEED_BYTES + (column + 1) * size]
        words = residues.unpack_bits(packed, params.prime_bits, params.degree * len(params.moduli))
        result[:, column, 0] = words.reshape(-1, params.degree)
        result[:, column, 1] = residues.uniform(seed, column, params.moduli, params.degree)
    for rows, modulus in zip(result, params.moduli, strict=True):
        if rows.max() >= modulus:
            raise WrongContent("a residue is not below its modulus")
    return result.reshape(len(params.moduli), columns, -1)


def _polynomials(stacked, column):
    """(c_0, c_1) of one column as [2, prime, degree]."""
    primes = stacked.shape[0]
    return stacked[:, column].reshape(primes, 2, -1).transpose(1, 0, 2)
