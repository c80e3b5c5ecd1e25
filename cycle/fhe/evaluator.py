"""The evaluator: a peer that computes on encrypted samples, with their owner's public bytes."""

import os

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe import keys, residues, wire
from cycle.fhe.errors import EvaluationFailed, WrongContent, seal_refusals
from cycle.fhe.params import FLOOD, Params
from cycle.fhe.polynet import PolyNet


class Evaluator:
    """Answers one owner: params, KeyOwner.public_bundle() and KeyOwner.encrypt_inputs(), once."""

    def __init__(self, params: Params, bundle: bytes, inputs: bytes, features: int):
        self.params = params
        with seal_refusals(WrongContent, "use the keys"):
            self._keys = keys.read(params, bundle)
            self._zeros = seal.Encryptor(params.context, self._keys.public)
        self._seal = seal.Evaluator(params.context)
        self._encoder = seal.CKKSEncoder(params.context)
        columns = wire.unpack_seeded(params, inputs, params.moduli, features)
        # [prime, feature, (c_0, c_1) side by side], as the matrix product wants them
        self._inputs = columns.reshape(len(params.moduli), features, -1)

    def logits(self, network: PolyNet) -> bytes:
        """The encrypted centred z / T of the network on the owner's samples, merged and flooded."""
        with seal_refusals(EvaluationFailed, "compute an answer"):
            columns = [self._at_the_end(column) for column in self._infer(network)]
            merged, answers = self.params.merged, []
            for start in range(0, len(columns), merged):
                part = columns[start : start + merged]
                self._hide(answer := self._merge(part), len(part))
                answers.append(wire.words_of(self.params, answer, 1))
            return wire.pack(self.params, np.stack(answers))

    def _hide(self, answer, columns):
        """Add noise wherever there is no logit, a little to the logits, and an encryption of zero.

        An owner knows the noise of its own ciphertexts. In an idle slot, and in the imaginary part
        of every slot, an answer holds the network's value at that noise: one equation each for
        the weights. The mask drowns them; the flood drowns what evaluation adds to the logits.
        The zero, made with the owner's public key, hides which ciphertexts were added up.
        """
        params = self.params
        noise = gaussian(2, params.slots) * params.mask
        noise[0, : columns * params.batch] *= FLOOD / params.mask
        plaintext, zero = seal.Plaintext(), seal.Ciphertext()
        slots = (noise[0] + 1j * noise[1]).tolist()
        self._encoder.encode(slots, answer.parms_id(), answer.scale, plaintext)
        self._seal.add_plain_inplace(answer, plaintext)
        self._zeros.encrypt_zero(answer.parms_id(), zero)
        zero.scale = answer.scale
        self._seal.add_inplace(answer, zero)

    def _infer(self, network):
        """One ciphertext a class: integer matrix product on residues, then squares and maps."""
        expected = self._inputs.shape[1]
        if network.features != expected:
            raise WrongContent(f"the network takes {network.features} features, E(X) {expected}")
        (weights, bias, bits), *later = network.quantised(self.params)
        columns = self._first_map(weights, bias, bits)
        for weights, bias, bits in later:
            columns = self._map([self._square(column) for column in columns], weights, bias, bits)
        return columns

    def _first_map(self, weights, bias, bits):
        """W x + b on E(X) as it arrived, by exact modular matrix products (cycle.fhe.residues)."""
        params, scale = self.params, 2.0 ** (self.params.input_bits + bits)
        products = [
            residues.modular_product(weights, rows, modulus)
            for rows, modulus in zip(self._inputs, params.moduli, strict=True)
        ]
        columns = []
        for *rows, shift in zip(*products, bias, strict=True):
            words = np.stack(rows).reshape(len(rows), 2, -1).swapaxes(0, 1)
            columns.append(wire.ciphertext(params, words, scale))
            self._add_bias(columns[-1], shift)
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
        return columns

    def _add_bias(self, ciphertext, bias):
        """Only in the slots that hold samples: the others must stay empty for merging."""
        plaintext, values = seal.Plaintext(), [float(bias)] * self.params.batch
        self._encoder.encode(values, ciphertext.parms_id(), ciphertext.scale, plaintext)
        self._seal.add_plain_inplace(ciphertext, plaintext)

    def _square(self, ciphertext):
        result = seal.Ciphertext()
        self._seal.square(ciphertext, result)
        self._seal.relinearize_inplace(result, self._keys.relinearisation)
        self._seal.rescale_to_next_inplace(result)
        return result

    def _at_the_end(self, column):
        """At one prime and at the scale that was agreed on."""
        params = self.params
        while column.coeff_modulus_size() > 2:
            self._seal.mod_switch_to_next_inplace(column)
        if column.coeff_modulus_size() == 2:
            missing = 2.0 ** (params.answer_bits + params.prime_bits) / column.scale
            if missing > 1.5:  # a network with fewer squares than there are primes for
                one = seal.Plaintext()
                self._encoder.encode(1.0, column.parms_id(), missing, one)
                self._seal.multiply_plain_inplace(column, one)
            self._seal.rescale_to_next_inplace(column)
        column.scale = 2.0**params.answer_bits
        return column

    def _merge(self, columns):
        """Columns side by side by Horner's rule, so that one rotation key is enough."""
        result = columns[-1]
        for column in reversed(columns[:-1]):
            turned = seal.Ciphertext()
            self._seal.rotate_vector(result, -self.params.batch, self._keys.rotation, turned)
            self._seal.add_inplace(turned, column)
            result = turned
        return result


def gaussian(*shape: int) -> np.ndarray:
    """Normal noise from the operating system: what hides must not follow from what is seen."""
    count = int(np.prod(shape))
    words = np.frombuffer(os.urandom(16 * count), dtype=np.uint64).reshape(2, count) >> np.uint64(
        11
    )
    radius, angle = (words + 0.5) * 2.0**-53
    return (np.sqrt(-2 * np.log(radius)) * np.cos(2 * np.pi * angle)).reshape(shape)
