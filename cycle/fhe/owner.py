"""The key owner: the only place where a secret key exists. It encrypts its inputs once and decrypts answers."""

import numpy as np
import tenseal.sealapi as seal

from cycle.fhe import residues, wire
from cycle.fhe.errors import DecryptionFailed, InputRefused, SecretKeyRefused, WrongContent
from cycle.fhe.params import Params, fresh_seed


class KeyOwner:
    """Makes a key pair for `params`; only bytes leave: public_bundle(), encrypt_inputs(), encrypt_probabilities()."""

    def __init__(self, params: Params):
        self.params = params
        generator = seal.KeyGenerator(params.context)
        secret = generator.secret_key()
        public, relinearisation, rotation = seal.PublicKey(), seal.RelinKeys(), seal.GaloisKeys()
        generator.create_public_key(public)
        generator.create_relin_keys(relinearisation)
        keys = [wire.to_bytes(public), wire.to_bytes(relinearisation)]
        if params.rotations:
            generator.create_galois_keys(params.galois_elements(), rotation)
            keys.append(wire.to_bytes(rotation))
        self._bundle = wire.join(keys)
        self._encoder = seal.CKKSEncoder(params.context)
        self._encryptor = seal.Encryptor(params.context, secret)
        self._decryptor = seal.Decryptor(params.context, secret)
        self._secret = wire.plaintext_residues(secret.data(), len(params.moduli) + 1)[:-1]
        self.key_id = wire.fingerprint(self._bundle)

    def public_bundle(self) -> bytes:
        """The public key, to randomise answers; one to relinearise; those for the rotations that an answer needs."""
        return self._bundle

    def encrypt_inputs(self, inputs) -> bytes:
        """E(X_n), one ciphertext a feature and one slot a sample; inputs: [batch, features] in +-input_bound."""
        return self._encrypt(inputs, self.params.input_bits, self.params.input_bound, "inputs")

    def encrypt_probabilities(self, probabilities) -> bytes:
        """E(p) for the loss mode, one ciphertext a class; probabilities: [batch, classes] in [0, 1]."""
        return self._encrypt(probabilities, self.params.probability_bits, 1.0, "probabilities")

    def _encrypt(self, values, scale_bits, bound, name) -> bytes:
        values = np.asarray(values, dtype=np.float64)
        if values.ndim != 2 or len(values) != self.params.batch or values.shape[1] == 0:
            raise InputRefused(f"{name} must be {self.params.batch} samples x columns, got shape {values.shape}")
        if not np.isfinite(values).all():
            raise InputRefused(f"{name} must be finite")
        if np.abs(values).max() > bound:
            raise InputRefused(f"{name} must lie within +-{bound:g}, got {np.abs(values).max():g}")
        seed = fresh_seed()
        packed = [self._seeded(column, scale_bits, seed, index) for index, column in enumerate(values.T)]
        return seed + b"".join(packed)

    def _seeded(self, column, scale_bits, seed, index) -> bytes:
        """c_0 of a symmetric encryption (c_0, c_1) whose c_1 everybody can expand from the seed.

        SEAL encrypts under a c_1 of its own; that decrypts to message + noise, and c_0 = message + noise - c_1 s hides
        it again under our c_1. The first ciphertext is thrown away, so the noise is used once.
        """
        params, plaintext = self.params, seal.Plaintext()
        self._decryptor.decrypt(self.fresh(column, scale_bits), plaintext)
        noisy = wire.plaintext_residues(plaintext, len(params.moduli))
        mask = residues.uniform(seed, index, params.moduli, params.degree)
        rows = [
            residues.modular_subtract(row, residues.modular_multiply(masked, secret, modulus), modulus)
            for row, masked, secret, modulus in zip(noisy, mask, self._secret, params.moduli, strict=True)
        ]
        return residues.pack_bits(np.concatenate(rows), params.prime_bits)

    def fresh(self, column: np.ndarray, scale_bits: int):
        """An ordinary SEAL ciphertext with one value in each slot, before it is seeded."""
        plaintext, ciphertext = seal.Plaintext(), seal.Ciphertext()
        self._encoder.encode(column.tolist(), 2.0**scale_bits, plaintext)
        self._encryptor.encrypt_symmetric(plaintext, ciphertext)
        return ciphertext

    def slots(self, ciphertext) -> np.ndarray:
        """What the slots of a SEAL ciphertext hold; refuses values that the modulus cannot have held."""
        limit = self.params.moduli[0] / 2 / ciphertext.scale
        if not 0 < limit < float("inf"):
            raise WrongContent(f"an answer must have a positive scale below the modulus, got {ciphertext.scale}")
        plaintext = seal.Plaintext()
        try:
            self._decryptor.decrypt(ciphertext, plaintext)
            values = np.array(self._encoder.decode_double(plaintext))
        except (RuntimeError, ValueError) as error:
            raise DecryptionFailed(f"SEAL cannot decrypt: {error}") from None
        if not (np.isfinite(values).all() and np.abs(values).max() <= limit):
            raise DecryptionFailed("decrypted values exceed what the modulus can hold: wrong key or overflow")
        return values

    def decrypt_logits(self, payload: bytes, classes: int) -> np.ndarray:
        """Centred z / T [batch, classes] from an answer; refuses values that no honest evaluation can give."""
        batch, merged = self.params.batch, self.params.merged
        slots = [self._decrypt(part) for part in wire.split(payload, -(-classes // merged))]
        columns = [part[: merged * batch].reshape(merged, batch) for part in slots]
        logits = np.concatenate(columns)[:classes].T
        tolerance = 1e-2 * max(1.0, np.abs(logits).max())
        rest = [part[merged * batch :] for part in slots] + list(np.concatenate(columns)[classes:])
        if any(np.abs(values).max(initial=0) > tolerance for values in [*rest, logits.sum(axis=1)]):
            raise DecryptionFailed("the answer is not centred or its unused slots are not empty: wrong key or overflow")
        return logits

    def decrypt_loss(self, payload: bytes) -> float:
        """Batch mean of p . z / T from an answer in loss mode."""
        (part,) = wire.split(payload, 1)
        means = self._decrypt(part) / self.params.batch
        if np.ptp(means) > 1e-2 * max(1.0, np.abs(means).max()):
            raise DecryptionFailed("the slots of a sum differ: wrong key or overflow")
        return float(means.mean())

    def _decrypt(self, content: bytes) -> np.ndarray:
        ciphertext = wire.from_bytes(seal.Ciphertext, self.params.context, content)
        if ciphertext.size() != 2 or ciphertext.coeff_modulus_size() != 1 or not ciphertext.is_ntt_form():
            raise WrongContent("an answer must be a ciphertext of two polynomials at the end of the modulus chain")
        return self.slots(ciphertext)

    def _refuse(self, *_):
        raise SecretKeyRefused("a KeyOwner holds a secret key: it cannot be copied or pickled; send its public bytes")

    __reduce_ex__ = __reduce__ = __getstate__ = __copy__ = __deepcopy__ = _refuse

    def __repr__(self) -> str:
        return f"KeyOwner(key {self.key_id.hex()[:8]})"
