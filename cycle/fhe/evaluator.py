"""The evaluator: a peer that computes on encrypted samples, with their owner's public bytes."""

import os

import numpy as np
import tenseal.sealapi as seal
from scipy.special import ndtri

from cycle.fhe import keys, residues, wire
from cycle.fhe.errors import FHEError, WrongContent, seal_refusals
from cycle.fhe.params import FLOOD, Params
from cycle.fhe.polynet import PolyNet


class Evaluator:
    """Answers one owner: params, KeyOwner.public_bundle() and KeyOwner.encrypt_inputs(), once."""

    def __init__(self, params: Params, bundle: bytes, inputs: bytes, features: int):
        self.params = params
        with seal_refusals(WrongContent, "use the keys"):
            public, self._relinearisation, self._rotation = keys.read(params, bundle)
            self._zeros = seal.Encryptor(params.context, public)
        self._seal = seal.Evaluator(params.context)
        self._encoder = seal.CKKSEncoder(params.context)
        self._inputs = wire.unpack_seeded(params, inputs, params.moduli, features)

    def logits(self, network: PolyNet) -> bytes:
        """The encrypted centred z / T of the network on the owner's samples, merged and flooded."""
        with seal_refusals(FHEError, "compute an answer"):
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
        self._add(answer, (noise[0] + 1j * noise[1]).tolist())
        zero = seal.Ciphertext()
        self._zeros.encrypt_zero(answer.parms_id(), zero)
        zero.scale = answer.scale
        self._seal.add_inplace(answer, zero)

    def _infer(self, network):
        """One ciphertext a class: integer matrix product on residues, then squares and maps."""
        got, columns = len(self._inputs), []
        if network.features != got:
            raise WrongContent(f"the network takes {network.features} features, E(X) has {got}")
        for index, (weights, bias, bits) in enumerate(network.quantised(self.params)):
            squares = [self._square(column) for column in columns]
            columns = self._map(squares, weights, bits) if index else self._first_map(weights, bits)
            for column, shift in zip(columns, bias.tolist(), strict=True):
                # the slots without a sample must stay empty for merging
                self._add(column, [shift] * self.params.batch)
        return columns

    def _first_map(self, weights, bits):
        """W x on E(X) as it arrived, by exact modular matrix products (cycle.fhe.residues)."""
        params, scale = self.params, 2.0 ** (self.params.input_bits + bits)
        products = np.empty((len(weights), *self._inputs.shape[1:]), dtype=np.uint64)
        for half, prime in np.ndindex(2, len(params.moduli)):
            rows, modulus = self._inputs[:, half, prime], params.moduli[prime]
            products[:, half, prime] = residues.modular_product(weights, rows, modulus)
        return [wire.ciphertext(params, product, scale) for product in products]

    def _map(self, inputs, weights, bits):
        """W h through SEAL, for ciphertexts that are not at the top of the chain."""
        columns = []
        for row in weights * 2.0**-bits:
            used = np.flatnonzero(row)
            products = (self._times(inputs[index], row[index], 2.0**bits) for index in used)
            columns.append(next(products))
            for product in products:
                self._seal.add_inplace(columns[-1], product)
        return columns

    def _times(self, ciphertext, factor, scale):
        plaintext, product = seal.Plaintext(), seal.Ciphertext()
        self._encoder.encode(float(factor), ciphertext.parms_id(), scale, plaintext)
        self._seal.multiply_plain(ciphertext, plaintext, product)
        return product

    def _add(self, ciphertext, slots):
        plaintext = seal.Plaintext()
        self._encoder.encode(slots, ciphertext.parms_id(), ciphertext.scale, plaintext)
        self._seal.add_plain_inplace(ciphertext, plaintext)

    def _square(self, ciphertext):
        result = seal.Ciphertext()
        self._seal.square(ciphertext, result)
        self._seal.relinearize_inplace(result, self._relinearisation)
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
                column = self._times(column, 1.0, missing)
            self._seal.rescale_to_next_inplace(column)
        column.scale = 2.0**params.answer_bits
        return column

    def _merge(self, columns):
        """Columns side by side by Horner's rule, so that one rotation key is enough."""
        result = columns[-1]
        for column in reversed(columns[:-1]):
            turned = seal.Ciphertext()
            self._seal.rotate_vector(result, -self.params.batch, self._rotation, turned)
            self._seal.add_inplace(turned, column)
            result = turned
        return result


def gaussian(*shape: int) -> np.ndarray:
    """Normal noise from the operating system: what hides must not follow from what is seen."""
    words = np.frombuffer(os.urandom(8 * int(np.prod(shape))), dtype=np.uint64)
    return ndtri(((words >> np.uint64(12)) + 0.5) * 2.0**-52).reshape(shape)
