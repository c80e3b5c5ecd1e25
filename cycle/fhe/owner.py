"""The key owner: the only place where a secret key exists. It encrypts inputs, decrypts answers."""

import os

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe import residues, wire
from cycle.fhe.errors import DecryptionFailed, FHEError, InputRefused, seal_refusals
from cycle.fhe.params import RANGE_BITS, Params


class KeyOwner:
    """Makes a key pair for `params`; only bytes leave: public_bundle() and encrypt_inputs()."""

    def __init__(self, params: Params):
        self.params = params
        generator = seal.KeyGenerator(params.context)
        secret = generator.secret_key()
        self._encoder = seal.CKKSEncoder(params.context)
        self._encryptor = seal.Encryptor(params.context, secret)
        self._decryptor = seal.Decryptor(params.context, secret)
        self._secret = wire.words_of(params, secret.data(), len(params.all_moduli))[0]
        self._bundle = self._public_keys(generator)
        self.key_id = wire.fingerprint(self._bundle)

    def public_bundle(self) -> bytes:
        """The public key, to randomise answers; one to relinearise; one for merging rotations."""
        return self._bundle

    def _public_keys(self, generator) -> bytes:
        public, relinearisation, rotation = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
        generator.create_public_key(public)
        generator.create_relin_keys(relinearisation)
        keys = [public, *relinearisation.data(0)]
        if self.params.galois_element:
            generator.create_galois_keys([self.params.galois_element], rotation)
            keys += rotation.key(self.params.galois_element)
        return self._seeded((key.data() for key in keys), self.params.all_moduli)

    def encrypt_inputs(self, inputs) -> bytes:
        """E(X_n), one ciphertext a feature and one slot a sample; [batch, features], bounded."""
        inputs, bound = np.asarray(inputs, dtype=np.float64), self.params.input_bound
        if inputs.ndim != 2 or len(inputs) != self.params.batch or inputs.shape[1] == 0:
            expected = f"{self.params.batch} samples x columns"
            raise InputRefused(f"inputs must be {expected}, got shape {inputs.shape}")
        largest = np.abs(inputs).max()
        if not largest <= bound:
            raise InputRefused(f"inputs must be finite and within +-{bound:g}, got {largest:g}")
        columns = (self.fresh(column, self.params.input_bits) for column in inputs.T)
        return self._seeded(columns, self.params.moduli)

    def _seeded(self, ciphertexts, moduli) -> bytes:
        """A seed, then each c_0 - (mask - c_1) s; the seed gives everybody the second half, mask.

        SEAL's own (c_0, c_1) is thrown away, so its noise is used once.
        """
        seed, packed = os.urandom(wire.SEED_BYTES), []
        each, secret = np.array(moduli)[:, None], self._secret[: len(moduli)]
        for index, ciphertext in enumerate(ciphertexts):
            first, second = wire.words_of(self.params, ciphertext, len(moduli))
            mask = residues.uniform(seed, index, moduli, self.params.degree)
            turn = residues.modular_subtract(mask, second, each)
            turn = residues.modular_multiply(turn, secret, each)
            packed.append(wire.pack(self.params, residues.modular_subtract(first, turn, each)))
        return seed + b"".join(packed)

    def fresh(self, column: np.ndarray, scale_bits: int):
        """An ordinary SEAL ciphertext with one value in each slot, before it is seeded."""
        plaintext, ciphertext = seal.Plaintext(), seal.Ciphertext()
        self._encoder.encode(column.tolist(), 2.0**scale_bits, plaintext)
        self._encryptor.encrypt_symmetric(plaintext, ciphertext)
        return ciphertext

    def slots(self, ciphertext) -> np.ndarray:
        """What the slots of a SEAL ciphertext hold, complex: a curious owner sees both parts."""
        plaintext = seal.Plaintext()
        with seal_refusals(DecryptionFailed, "decrypt"):
            self._decryptor.decrypt(ciphertext, plaintext)
            return np.array(self._encoder.decode_complex(plaintext))

    def decrypt_logits(self, payload: bytes, classes: int) -> np.ndarray:
        """Centred z / T [batch, classes] from an answer; refuses what no honest evaluation gives.

        Everything but these numbers is noise that the evaluator put there to hide its weights.
        """
        params = self.params
        words = wire.unpack(params, payload, params.moduli[:1], -(-classes // params.merged), 2)
        parts = [wire.ciphertext(params, part, 2.0**params.answer_bits) for part in words]
        used = params.merged * params.batch
        columns = [self.slots(part).real[:used].reshape(-1, params.batch) for part in parts]
        logits = np.concatenate(columns)[:classes].T
        largest = np.abs(logits).max()
        if not largest <= 2.0**RANGE_BITS:
            raise DecryptionFailed(f"values beyond +-{2**RANGE_BITS}: wrong key or overflow")
        if np.abs(logits.sum(axis=1)).max() > 1e-2 * max(1.0, largest):
            raise DecryptionFailed("the answer is not centred: wrong key or overflow")
        return logits

    def __reduce_ex__(self, protocol):
        raise FHEError("a KeyOwner holds a secret key: it cannot be copied or pickled")
