"""How answers travel: the loop with its answers really encrypted, against the same loop in clear."""

from dataclasses import replace

import numpy as np
import pytest

from cycle.fhe import channel as channels
from cycle.party import accuracy
from cycle.play import begin, play
from reproduction import catalogue, settings


@pytest.fixture(scope="module")
def outcomes(digits):
    """Three parties, four rounds of CYCle, in clear and encrypted; and how often the channel was asked."""
    run = next(run for run in catalogue.runs_of("encrypted", "smoke") if run.method == "cycle")
    run = replace(run, n=3, images=150, options=replace(run.options, local_epochs=3, rounds=4, period=3))
    asked, played = [], {}
    true_answer = channels.EncryptedChannel.answer

    def counted(self, sender, receiver, round_index, model):
        asked.append((round_index, sender, receiver))
        return true_answer(self, sender, receiver, round_index, model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(channels.EncryptedChannel, "answer", counted)
        for privacy in ("plain", "fhe"):
            options = replace(run.options, privacy=privacy)
            state = begin(settings.parties_of(run, digits), "cycle", options, run.seed, "cpu")
            played[privacy] = [done for done in play(state, "cycle", options) if done.shares is not None]
    return played["plain"], played["fhe"], asked


def test_masks_and_reputations_agree(outcomes):
    clear, private, _ = outcomes
    for a, b in zip(clear, private, strict=True):
        assert np.array_equal(a.shares, b.shares)
        assert np.abs(a.reputation - b.reputation).max() < 1e-3


def test_accuracies_agree_up_to_noise(outcomes, digits):
    clear, private, _ = outcomes
    for a, b in zip(clear[-1].participants, private[-1].participants, strict=True):
        tested = [accuracy(p.model, digits.test_images, digits.test_labels, p.prepare) for p in (a, b)]
        assert tested[0] == pytest.approx(tested[1], abs=0.6)  # three of 500 digits


def test_exactly_the_answers_of_the_mask_are_computed(outcomes):
    _, private, asked = outcomes
    allowed = [(done.index, *pair) for done in private for pair in np.argwhere(done.shares).tolist()]
    assert sorted(asked) == sorted(allowed)
    assert len(asked) < len(private) * 6  # and the mask withheld some


def test_the_ledger_counts_encrypted_bytes(outcomes):
    clear, private, _ = outcomes
    assert private[-1].ledger.sent == clear[-1].ledger.sent
    smallest = min(size for *_, size in private[-1].ledger.entries)
    assert smallest > 10_000 > max(size for *_, size in clear[-1].ledger.entries)


def test_a_network_that_encryption_cannot_carry_is_refused_before_it_is_trained(small_run, begun):
    run = small_run("cycle", privacy="fhe")  # rectifiers
    state = begun(run)
    with pytest.raises(ValueError, match="ReLU cannot be evaluated"):
        next(play(state, "cycle", run.options))
    assert state.epoch == 0


@pytest.mark.parametrize("method", ["standalone", "fedavg", "cffl", "gossip", "cycle-gossip"])
def test_what_cannot_be_encrypted_is_not_called_so(method, small_run, begun):
    run = small_run(method)
    if method == "standalone":
        assert catalogue.with_privacy([run], "fhe") == [run]
    else:
        with pytest.raises(ValueError, match=f"privacy must be plain for {method}: leave them out"):
            catalogue.with_privacy([run], "fhe")
    clear = [small_run("cycle")]
    (encrypted,) = catalogue.with_privacy(clear, "fhe")
    assert encrypted.path.endswith("cycle+fhe.seed0.json") and catalogue.with_privacy([encrypted], "plain") == clear
    with pytest.raises(ValueError, match=f"privacy must be plain for {method}"):
        play(begun(run), method, replace(run.options, privacy="fhe"))
