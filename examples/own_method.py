"""An own method: one generator. Here everybody learns from the one peer whose answers were best on its own samples."""

import numpy as np
import torch
from own_data import hospitals

import cycle
from cycle.party import Heard, accuracy, learn
from cycle.state import alone, frozen


@cycle.method("best-peer", local_start=True)
def best_peer(state, options, rules):
    """After the local epochs: choose the peer that is right most often on the own samples, and distil from it."""
    yield from alone(state, options, options.local_epochs)
    while state.epoch < options.epochs:
        peers, losses, shares = frozen(state.participants), [], np.zeros((state.n, state.n), dtype=bool)
        for party in state.participants:
            right = [accuracy(peer, party.inputs, party.labels, party.prepare) for peer in peers]
            right[party.index] = -1.0
            best = int(np.argmax(right))
            shares[best, party.index] = True
            weight = torch.full((1,), options.lambda_0, dtype=torch.float64, device=party.device)
            heard = Heard([lambda inputs, rows, peer=peers[best]: peer(inputs).detach()], weight)
            losses.append(learn(party, state.epoch, options, heard))
        t = state.epoch - options.local_epochs
        state.ledger.record(t, shares, 4 * state.classes * np.array(state.sizes))
        state.epoch += 1
        yield cycle.Round(t, state.participants, torch.stack(losses), state.ledger, shares=shares)


if __name__ == "__main__":
    parties, test = hospitals()
    result = cycle.run(parties, "best-peer", cycle.Options.recommended(batch_size=8), test=test, progress=False)
    print([round(value, 1) for value in result.accuracy], result.messages, "messages")
    print(result.shares)
