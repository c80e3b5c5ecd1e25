"""A party whose encrypted answers are garbage harms nobody: they are dropped, it is named, the run goes on."""

from dataclasses import replace

import numpy as np

from cycle.fhe import channel as channels
from reproduction import catalogue


def test_a_bad_answer_is_dropped_and_named_and_the_others_go_on(rounds_of, monkeypatch):
    run = next(run for run in catalogue.runs_of("encrypted", "smoke") if run.method == "cycle")
    options = replace(run.options, local_epochs=1, rounds=2, period=3, privacy="fhe")
    true_delivery = channels.EncryptedChannel._deliver

    def garbage_from_the_last(self, kind, sender, receiver, round_index, shape, payload):
        if kind == "answer" and sender == 2:
            payload = np.random.default_rng(0).bytes(len(payload))
        return true_delivery(self, kind, sender, receiver, round_index, shape, payload)

    monkeypatch.setattr(channels.EncryptedChannel, "_deliver", garbage_from_the_last)
    rounds = rounds_of(replace(run, n=3, images=150, options=options))
    last, weights = rounds[-1]
    assert last.index == 1 and all(vector.isfinite().all() for vector in weights)
    refused = {pair: why for done, _ in rounds for pair, why in done.refused.items()}
    assert {sender for sender, _ in refused} == {2}
    assert all("from participant 2" in why for why in refused.values())
    assert last.reputation[0, 1] > 0
