"""How answers travel: in this process, between ranks, or encrypted. One protocol, three classes."""

from collections.abc import Callable
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from cycle import party as parties
from cycle.checks import check
from cycle.options import Options
from cycle.party import answer, at_once
from cycle.sharing import BYTES_PER_NUMBER
from cycle.state import State, frozen
from cycle.streams import SCORE, TRAIN, stream


class Channel:
    """What carries answers: peers answer as they were when the round was opened."""

    def __init__(self, state: State):
        self.state, self.heard = state, {}

    def open(self, t: int, epoch: int, shares: np.ndarray, scoring: bool) -> dict:
        """A round begins; says which (sender, receiver) did not come through, and why."""
        raise NotImplementedError

    def hear(self, k: int, n: int, purpose: int) -> Callable:
        """Of k, for n, who is to score or to train: (inputs, rows) -> logits."""
        logits = self.heard[k, n, purpose]
        return lambda inputs, rows: logits[rows]

    def bytes(self, t: int) -> np.ndarray:
        """Of one message, by [sender, receiver]: logits on all samples of the receiver."""
        numbers = self.state.classes * np.array(self.state.sizes)
        return np.broadcast_to(BYTES_PER_NUMBER * numbers, (self.state.n, self.state.n))


def channel(state: State, options: Options) -> Channel:
    """The one that the options ask for."""
    check_peers(state)
    if options.privacy == "fhe":
        return Encrypted(state, options)
    return BetweenRanks(state, options) if state.ranks.size > 1 else Here(state)


@torch.no_grad()
def check_peers(state: State) -> None:
    """Whether everybody's model takes everybody's inputs: one of each kind is tried."""
    kinds = {}
    for asker in state.everyone:
        inputs = asker.prepare(asker.inputs[:1].to(state.device, copy=True), False)
        kinds.setdefault((inputs.shape, inputs.dtype), (asker, inputs))
    for peer in state.participants:
        for asker, inputs in kinds.values():
            try:
                peer.model.eval()(inputs)
            except Exception as error:
                what = f"the model of {peer} cannot take the inputs of {asker} ({error})"
                raise ValueError(f"parties: {what}") from error


class Here(Channel):
    """Everybody lives in this process: answers are computed batch by batch, as they are needed."""

    def __init__(self, state: State):
        super().__init__(state)
        self.peers = frozen(state.participants)

    def open(self, t, epoch, shares, scoring):
        for peer, party in zip(self.peers, self.state.participants, strict=True):
            peer.load_state_dict(party.model.state_dict())
        return {}

    def hear(self, k, n, purpose):
        return lambda inputs, rows: answer(self.peers[k], inputs)


class Encrypted(Channel):
    """Keys and encrypted samples are published once; then one encrypted answer a pair and round."""

    def __init__(self, state: State, options: Options):
        from cycle.fhe import EncryptedChannel, FHEError  # TenSEAL is needed here only

        check(state.ranks.size == 1, "privacy", "be 'plain' with several ranks", options.privacy)
        super().__init__(state)
        self.temperature, self.refusal = options.temperature, FHEError
        inputs = [party.prepare(party.inputs.clone(), False) for party in state.participants]
        self.carrier = EncryptedChannel(inputs, state.participants[0].model, options.temperature)

    def open(self, t, epoch, shares, scoring):
        self.heard, refused = {}, {}
        for k, n in np.argwhere(shares).tolist():
            try:
                tempered = self.carrier.answer(k, n, t, self.state.everyone[k].model)
                self.heard[k, n, SCORE] = self.heard[k, n, TRAIN] = self.temperature * tempered
            except self.refusal as error:
                refused[k, n] = str(error)
        return refused

    def bytes(self, t):
        sizes, everybody = self.carrier.bytes, range(self.state.n)
        return np.array([[sizes.get(("answer", k, n, t), 0) for n in everybody] for k in everybody])


class BetweenRanks(Channel):
    """Samples cross once, then answers in each round: in the order and the batches in which their
    receiver uses them, which follow from the seed."""

    def __init__(self, state: State, options: Options):
        modules = [module for party in state.participants for module in party.model.modules()]
        shared = options.augment and any(isinstance(module, nn.Dropout) for module in modules)
        check(not shared, "augment", "be False with several ranks and dropout: one stream", True)
        super().__init__(state)
        self.options = options
        others = [(p, k) for p in state.participants for k in range(state.n) if k != p.index]
        self.samples = state.ranks.exchange(
            {(p.index, k): p.inputs for p, k in others},
            lambda n, k: (state.everyone[n].inputs.shape, state.everyone[n].inputs.dtype),
            state.device,
        )

    def open(self, t, epoch, shares, scoring):
        """All answers come before anybody learns."""
        self.heard, state, here = {}, self.state, self.state.ranks.here
        pairs = [tuple(pair) for pair in np.argwhere(shares).tolist()]
        purposes = (SCORE, TRAIN) if scoring else (TRAIN,)
        for purpose in purposes:
            most = self.options.score_samples if purpose == SCORE else max(state.sizes)
            able = [(k, n) for k, n in pairs if k in here and (n, k) in self.samples]
            arrived = state.ranks.exchange(
                {(k, n): self._answer(k, n, purpose, epoch) for k, n in able},
                lambda k, n, most=most: ((min(state.sizes[n], most), state.classes), torch.float32),
                state.device,
            )
            for (k, n), logits in arrived.items():
                table = torch.zeros(state.sizes[n], state.classes, device=state.device)
                with self._drawn(n, purpose, epoch) as rows:
                    table[rows] = logits
                self.heard[k, n, purpose] = table
        return {
            (k, n): "no logits for the samples that were asked"
            for k, n in pairs
            if n in here and not all((k, n, purpose) in self.heard for purpose in purposes)
        }

    @contextmanager
    def _drawn(self, n, purpose, epoch):
        """The rows that `learn` or `score` of n looks at; inside, random numbers go on as there."""
        with stream(self.state.device, self.state.seed, purpose, n, epoch):
            rows = torch.randperm(self.state.sizes[n], device=self.state.device)
            yield rows[: self.options.score_samples] if purpose == SCORE else rows

    def _answer(self, k, n, purpose, epoch):
        """What k says to the inputs that n will use, in batches and prepared as n does it."""
        model, asker, own = self.state.everyone[k].model, self.state.everyone[n], self.samples[n, k]
        size, augment = self.options.batch_size, self.options.augment
        if purpose == SCORE:
            size, augment = at_once(own, parties.GRAPH_NUMBERS), False
        with self._drawn(n, purpose, epoch) as rows:
            batches = (asker.prepare(own[part], augment) for part in rows.split(size))
            return torch.cat([answer(model.eval(), inputs) for inputs in batches])
