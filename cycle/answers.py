"""How answers travel: in this process, between ranks, or encrypted. One protocol, three classes."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from torch import nn

from cycle import party as parties
from cycle.options import Options
from cycle.party import answer, at_once
from cycle.sharing import BYTES_PER_NUMBER
from cycle.state import State, frozen
from cycle.streams import SCORE, TRAIN, stream


class Channel(Protocol):
    """What carries answers: peers answer as they were when the round was opened."""

    def open(
        self, t: int, epoch: int, shares: np.ndarray, scoring: bool
    ) -> dict[tuple[int, int], str]:
        """A round begins; says which (sender, receiver) did not come through, and why."""

    def hear(self, k: int, n: int, purpose: int) -> Callable:
        """Of k, for n, who is to score or to train: (inputs, rows) -> logits."""

    def bytes(self, t: int) -> np.ndarray:
        """Of one message, by [sender, receiver]."""


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
                raise ValueError(
                    f"parties: the model of {peer} cannot take the inputs of {asker} ({error})"
                ) from error


def in_clear(state: State) -> np.ndarray:
    """Bytes of everybody's logits on all samples of a receiver."""
    return np.broadcast_to(
        BYTES_PER_NUMBER * state.classes * np.array(state.sizes), (state.n, state.n)
    )


def stored(logits: torch.Tensor):
    """Answers looked up in one message that holds all of this round's."""
    return lambda inputs, rows: logits[rows]


class Here:
    """Everybody lives in this process: answers are computed batch by batch, as they are needed."""

    def __init__(self, state: State):
        self.state, self.peers = state, frozen(state.participants)

    def open(self, t, epoch, shares, scoring):
        for peer, party in zip(self.peers, self.state.participants, strict=True):
            peer.load_state_dict(party.model.state_dict())
        return {}

    def hear(self, k, n, purpose):
        return lambda inputs, rows: answer(self.peers[k], inputs)

    def bytes(self, t):
        return in_clear(self.state)


class Encrypted:
    """Keys and encrypted samples are published once; then one encrypted answer a pair and round."""

    def __init__(self, state: State, options: Options):
        from cycle.fhe.channel import EncryptedChannel  # TenSEAL is needed here only

        if state.ranks.size > 1:
            raise ValueError("privacy must be 'plain' with several ranks")
        self.state, self.temperature, self.sent = state, options.temperature, {}
        self.peers = frozen(state.participants)
        inputs = [party.prepare(party.inputs.clone(), False) for party in state.participants]
        self.carrier = EncryptedChannel(inputs, self.peers[0], options.temperature)

    def open(self, t, epoch, shares, scoring):
        from cycle.fhe.errors import FHEError

        self.sent, refused = {}, {}
        for k, n in np.argwhere(shares).tolist():
            try:
                tempered = self.carrier.answer(k, n, t, self.state.everyone[k].model.eval())
                self.sent[k, n] = stored(self.temperature * tempered)
            except FHEError as error:
                refused[k, n] = str(error)
        return refused

    def hear(self, k, n, purpose):
        return self.sent[k, n]

    def bytes(self, t):
        everybody = range(self.state.n)
        return np.array(
            [[self.carrier.meter.bytes[k, n, t]["answer"] for n in everybody] for k in everybody]
        )


class BetweenRanks:
    """Samples cross once, then in each round questions and answers, in the batches of `Here`."""

    def __init__(self, state: State, options: Options):
        modules = [module for party in state.participants for module in party.model.modules()]
        if options.augment and any(isinstance(module, nn.Dropout) for module in modules):
            raise ValueError(
                "augment must be False with several ranks and dropout: they share a stream"
            )
        self.state, self.options, self.heard = state, options, {}
        others = [(p, k) for p in state.participants for k in range(state.n) if k != p.index]
        self.samples = state.ranks.exchange(
            {(p.index, k): p.inputs for p, k in others},
            lambda n, k: (state.everyone[n].inputs.shape, state.everyone[n].inputs.dtype),
            state.device,
        )

    def open(self, t, epoch, shares, scoring):
        self.heard, refused = {}, {}
        for purpose in (SCORE, TRAIN) if scoring else (TRAIN,):
            refused |= self._round(shares, epoch, purpose)
        return refused

    def hear(self, k, n, purpose):
        return self.heard[k, n, purpose]

    def bytes(self, t):
        return in_clear(self.state)

    def _round(self, shares, epoch, purpose):
        """Questions go out, answers come back: all of them before anybody learns."""
        state = self.state
        asked = {p.index: question(p, purpose, epoch, self.options) for p in state.participants}
        most = self.options.score_samples if purpose == SCORE else max(state.sizes)
        count = [min(size, most) for size in state.sizes]
        content = next(iter(asked.values()))[1]
        shape, dtype = content.shape[1:], content.dtype
        questions = state.ranks.exchange(
            {
                (n, int(k)): content
                for n, (_, content) in asked.items()
                for k in shares[:, n].nonzero()[0]
            },
            lambda n, k: ((count[n], *shape), dtype),
            state.device,
        )
        answers = state.ranks.exchange(
            {(k, n): self._answer(k, n, purpose, content) for (n, k), content in questions.items()},
            lambda k, n: ((count[n], state.classes), torch.float32),
            state.device,
        )
        for (k, n), logits in answers.items():
            table = torch.zeros(state.sizes[n], state.classes, device=state.device)
            table[asked[n][0]] = logits
            self.heard[k, n, purpose] = stored(table)
        told = {(int(k), n) for n in asked for k in shares[:, n].nonzero()[0]}
        return {pair: "no logits for the samples that were asked" for pair in told - set(answers)}

    def _answer(self, k, n, purpose, content):
        """Batch by batch as n will use them; rows that n does not have are answered with zeros."""
        asker, model = self.state.everyone[n], self.state.everyone[k].model.eval()
        own, scored = self.samples.get((n, k)), at_once(asker.inputs, parties.GRAPH_NUMBERS)
        batches = content.split(scored if purpose == SCORE else self.options.batch_size)
        if self.options.augment and purpose == TRAIN:
            return torch.cat([answer(model, batch) for batch in batches])
        if own is None or content.min() < 0 or content.max() >= len(own):
            return torch.zeros(len(content), self.state.classes, device=self.state.device)
        return torch.cat([answer(model, asker.prepare(own[rows], False)) for rows in batches])


def question(
    party, purpose: int, epoch: int, options: Options
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows that `learn` or `score` will look at, and what is asked: rows or inputs."""
    with stream(party.device, party.seed, purpose, party.index, epoch):
        order = torch.randperm(party.size, device=party.device)
        if purpose == SCORE:
            rows = order[: options.score_samples]
            return rows, rows
        if not options.augment:
            return order, order
        batches = [
            party.prepare(party.inputs[rows], True) for rows in order.split(options.batch_size)
        ]
        return order, torch.cat(batches)
