"""How the training loop asks for an encrypted answer: a channel carries it through messages.

It publishes everybody's keys and samples once, and from then on computes an answer only when it is asked for: what the
sharing mask withholds costs nothing. All messages are counted in `meter`.
"""

import os
from collections.abc import Sequence
from itertools import permutations

import numpy as np
import torch
from torch import nn

from cycle.fhe import message
from cycle.fhe.errors import FHEError, InputRefused, WrongContent
from cycle.fhe.evaluator import Evaluator
from cycle.fhe.meter import TrafficMeter
from cycle.fhe.owner import KeyOwner
from cycle.fhe.params import Params
from cycle.fhe.polynet import PolyNet
from cycle.fhe.wire import fingerprint

SETUP = 0  # the round that publications carry; their kinds never meet those of answers
PROBES = 128  # own samples on which a sender looks how large its network's values get


class EncryptedChannel:
    """Everybody owns a key; samples and answers travel encrypted, and only the receiver of an answer can read it.

    Links have a MAC key for each pair, everybody an inbox. There is no seed: whoever can repeat the randomness of a key
    holds the key. Answers carry noise of about 1e-4.
    """

    def __init__(self, inputs: Sequence[torch.Tensor], module_template: nn.Module, temperature: float = 5.0):
        if len(inputs) < 2:
            raise InputRefused(f"inputs: one tensor for each of at least 2 participants, got {len(inputs)}")
        if any(len(samples) == 0 or samples.shape[1:] != inputs[0].shape[1:] for samples in inputs):
            raise InputRefused("inputs: every participant needs samples, and all of the same shape")
        if not temperature > 0:
            raise FHEError(f"temperature must be positive, got {temperature}")
        self.meter = TrafficMeter()
        self.temperature = temperature
        self._device, self._dtype = inputs[0].device, inputs[0].dtype
        self._in_shape = tuple(inputs[0].shape[1:])
        self._batches = [len(samples) for samples in inputs]
        # Stands for keys that a deployment agrees on in an authenticated key exchange.
        self._mac_keys = {frozenset(pair): os.urandom(32) for pair in permutations(range(len(inputs)), 2)}
        self._inboxes = [message.Inbox() for _ in inputs]
        self._setup(inputs, module_template)

    def answer(self, sender: int, receiver: int, round_index: int, model: nn.Module) -> torch.Tensor:
        """Centred z / T [samples, classes] of the sender's model on all the receiver's samples, on their device.

        One answer for each sender, receiver and round, in increasing rounds: a second one is refused as a replay.
        """
        if frozenset((sender, receiver)) not in self._mac_keys:
            raise FHEError(f"sender and receiver must be two of the {len(self._batches)} participants")
        payload, operations = self._compute(sender, receiver, model)
        self.meter.computed(sender, receiver, round_index, operations)
        shape = (self._batches[receiver], self._classes)
        payload = self._deliver("answer", sender, receiver, round_index, shape, payload, self._identity(receiver))
        logits = torch.from_numpy(self._read(receiver, payload))
        return logits.to(self._device, self._dtype)

    def _deliver(self, kind, sender, receiver, round_index, shape, payload, identity):
        """Seal, count, and open on the other side."""
        envelope = message.Envelope(kind, sender, receiver, round_index, shape, *identity)
        mac_key = self._mac_keys[frozenset((sender, receiver))]
        sealed = message.seal(envelope, payload, mac_key)
        self.meter.sent(sender, receiver, round_index, kind, len(sealed))
        return self._inboxes[receiver].accept(sealed, envelope, mac_key)

    def _publish(self, owner, kind, shape, payload, identity):
        """One message to everybody else. The copies are equal, so this simulation keeps one of them."""
        others = [n for n in range(len(self._batches)) if n != owner]
        copies = {self._deliver(kind, owner, other, SETUP, shape, payload, identity) for other in others}
        (copy,) = copies
        return copy

    def _setup(self, inputs, template):
        network = PolyNet.from_torch(template, self._in_shape, self.temperature)
        self._classes = network.classes
        if not all(torch.isfinite(samples).all() for samples in inputs):
            raise InputRefused("inputs must be finite")
        # Public: the power of two that bounds everybody's inputs.
        bound = 2.0 ** np.ceil(np.log2(max(1e-3, *(float(samples.abs().max()) for samples in inputs))))
        self._samples = [samples[:PROBES].flatten(1).numpy(force=True) for samples in inputs]
        self._owners, self._evaluators = [], []
        for n, samples in enumerate(inputs):
            params = Params(network.depth, len(samples), input_bound=bound)
            owner = KeyOwner(params)
            identity = (params.digest, owner.key_id)
            shape = (len(samples), network.features)
            encrypted = owner.encrypt_inputs(samples.flatten(1).numpy(force=True))
            bundle = self._publish(n, "keys", (0, 0), owner.public_bundle(), identity)
            if fingerprint(bundle) != owner.key_id:
                raise WrongContent("the bundle does not belong to its key id")
            published = self._publish(n, "inputs", shape, encrypted, identity)
            self._owners.append(owner)
            self._evaluators.append(Evaluator(params, bundle, published, network.features))

    def _identity(self, receiver):
        owner = self._owners[receiver]
        return owner.params.digest, owner.key_id

    def _compute(self, sender, receiver, model):
        evaluator = self._evaluators[receiver]
        before = evaluator.operations.copy()
        network = PolyNet.from_torch(model, self._in_shape, self.temperature, samples=self._samples[sender])
        payload = evaluator.logits(network)
        return payload, evaluator.operations - before

    def _read(self, receiver, payload):
        return self._owners[receiver].decrypt_logits(payload, self._classes)
