"""How a training loop asks for an encrypted answer: a channel carries it through messages.

It publishes everybody's keys and samples once; from then on an answer is computed when it is asked
for, so what is withheld costs nothing. `bytes` has the size of every message.
"""

import os
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import torch
from torch import nn

from cycle.fhe import keys, message, wire
from cycle.fhe.errors import AnswerRefused, FHEError, InputRefused, WrongContent
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet

SETUP = 0  # the round that publications carry; their kinds never meet those of answers
PROBES = 128  # own samples on which a sender looks how large its network's values get


class EncryptedChannel:
    """Everybody owns a key; only the receiver of an answer can read it.

    Links have a MAC key for each pair, everybody an inbox. There is no seed: whoever can repeat the
    randomness of a key holds the key.
    """

    def __init__(
        self, inputs: Sequence[torch.Tensor], module_template: nn.Module, temperature: float = 5.0
    ):
        if len(inputs) < 2:
            raise InputRefused(f"inputs: a tensor for each of at least 2, got {len(inputs)}")
        if any(len(part) == 0 or part.shape[1:] != inputs[0].shape[1:] for part in inputs):
            raise InputRefused("inputs: every participant needs samples, and all of the same shape")
        if not all(torch.isfinite(part).all() for part in inputs):
            raise InputRefused("inputs must be finite")
        self.bytes = {}  # by (kind, sender, receiver, round)
        self._like, self._in_shape = inputs[0], tuple(inputs[0].shape[1:])
        self._temperature = temperature
        template = PolyNet.from_torch(module_template, self._in_shape, temperature)
        self._classes, people = template.classes, range(len(inputs))
        # Stands for keys that a deployment agrees on in an authenticated key exchange.
        self._mac_keys = {frozenset(pair): os.urandom(32) for pair in combinations(people, 2)}
        self._inboxes = [message.Inbox() for _ in people]
        flat = [part.flatten(1).numpy(force=True) for part in inputs]
        self._samples = [part[:PROBES] for part in flat]
        # Public: the power of two that bounds everybody's inputs.
        bound = 2.0 ** np.ceil(np.log2(max(1e-3, *(float(np.abs(part).max()) for part in flat))))
        self._owners = [KeyOwner(Params(template.depth, len(part), bound)) for part in flat]
        self._evaluators = [self._published(n, part) for n, part in enumerate(flat)]

    def answer(self, sender: int, receiver: int, round_index: int, model: nn.Module):
        """Centred z / T [samples, classes] of the sender's model on all the receiver's samples.

        One answer for each sender, receiver and round, in increasing rounds. AnswerRefused names
        whose message was at fault, the sender's or the keys of the receiver.
        """
        if frozenset((sender, receiver)) not in self._mac_keys:
            raise FHEError(f"sender and receiver must be two of {len(self._owners)} participants")
        owner, evaluator = self._owners[receiver], self._evaluators[receiver]
        if isinstance(evaluator, FHEError):
            raise AnswerRefused(receiver, evaluator) from evaluator
        try:
            samples = self._samples[sender]
            network = PolyNet.from_torch(model, self._in_shape, self._temperature, samples)
            payload, shape = evaluator.logits(network), (owner.params.batch, self._classes)
            payload = self._deliver("answer", sender, receiver, round_index, shape, payload)
            logits = torch.from_numpy(owner.decrypt_logits(payload, self._classes))
        except FHEError as error:
            raise AnswerRefused(sender, error) from error
        return logits.to(self._like)

    def _deliver(self, kind, sender, receiver, round_index, shape, payload):
        """Seal, count, and open on the other side."""
        owner = self._owners[receiver if kind == "answer" else sender]
        identity = owner.params.digest, owner.key_id
        envelope = message.Envelope(kind, sender, receiver, round_index, shape, *identity)
        mac_key = self._mac_keys[frozenset((sender, receiver))]
        sealed = message.seal(envelope, payload, mac_key)
        self.bytes[kind, sender, receiver, round_index] = len(sealed)
        return self._inboxes[receiver].accept(sealed, envelope, mac_key)

    def _published(self, owner: int, inputs) -> "Evaluator | FHEError":
        """What the others make of an owner's keys and samples. Copies are equal: one is kept."""
        own = self._owners[owner]
        bundle, encrypted = own.public_bundle(), own.encrypt_inputs(inputs)
        for other in set(range(len(self._owners))) - {owner}:
            self._deliver("keys", owner, other, SETUP, (0, 0), bundle)
            self._deliver("inputs", owner, other, SETUP, inputs.shape, encrypted)
        try:
            if wire.fingerprint(bundle) != own.key_id:
                raise WrongContent("the bundle does not belong to its key id")
            keys.survive(try_keys, own.params, bundle, encrypted)
            return Evaluator(own.params, bundle, encrypted, inputs.shape[1])
        except FHEError as error:
            return error


def try_keys(params: Params, bundle: bytes, inputs: bytes) -> None:
    """One answer to the owner's first feature by a network that uses every key."""
    squares = [(np.full((1, 1), 0.5), np.zeros(1))] * params.depth
    last = np.array([[0.5], [-0.5]]), np.zeros(2)
    network = PolyNet((*squares, last), samples=np.zeros((1, 1)))  # small enough for any bound
    first = inputs[: wire.SEED_BYTES + wire.size(params, len(params.moduli))]
    Evaluator(params, bundle, first, 1).logits(network)
