"""The channel: encrypted answers are the clear ones, costs are counted, silence is free."""

import os
import time

import numpy as np
import pytest
import torch
from torch import nn

from cycle.distillation import approximate_kl, kl
from cycle.fhe import EncryptedChannel, KeyOwner, errors, keys, message, wire
from cycle.fhe import channel as channels
from cycle.fhe.evaluator import Evaluator
from reproduction.models import Square, build


def tiny():
    return nn.Sequential(nn.Flatten(), nn.Linear(4, 3), Square(), nn.Linear(3, 3))


@pytest.fixture(scope="module")
def setting():
    torch.manual_seed(0)
    inputs = [torch.rand(size, 1, 2, 2) * 2 - 1 for size in (7, 20, 3)]
    peers = [tiny() for _ in inputs]
    return inputs, peers, EncryptedChannel(inputs, peers[0])


def test_encrypted_and_clear_answers_agree_and_are_centred(setting):
    inputs, peers, channel = setting
    for sender, receiver in ((0, 1), (2, 1), (1, 2)):
        answer = channel.answer(sender, receiver, 0, peers[sender])
        logits = peers[sender](inputs[receiver]).detach() / 5
        assert answer.dtype == inputs[0].dtype and not answer.requires_grad
        assert torch.allclose(answer, logits - logits.mean(dim=1, keepdim=True), atol=5e-4)


def test_only_what_is_asked_for_is_computed_and_counted(setting, monkeypatch):
    inputs, peers, _ = setting
    channel, computed, infer = EncryptedChannel(inputs, peers[0]), [], Evaluator._infer
    monkeypatch.setattr(Evaluator, "_infer", lambda self, *a: computed.append(self) or infer(self, *a))
    published = dict(channel.bytes)
    assert sorted(kind for kind, *_ in published) == ["inputs"] * 6 + ["keys"] * 6
    for sender, receiver, round_index in ((0, 1, 0), (0, 1, 4), (2, 0, 4)):
        channel.answer(sender, receiver, round_index, peers[sender])
    answers = {which: size for which, size in channel.bytes.items() if which not in published}
    assert len(computed) == len(answers) == 3 and {kind for kind, *_ in answers} == {"answer"}
    envelope = message.HEADER.size + message.MAC_BYTES
    assert set(answers.values()) == {2 * 8192 * 54 // 8 + envelope}  # two polynomials of 54-bit residues, nothing else


def test_a_second_answer_in_a_round_is_a_replay(setting):
    inputs, peers, _ = setting
    channel = EncryptedChannel(inputs, peers[0])
    channel.answer(0, 1, 3, peers[0])
    for round_index in (3, 2):
        with pytest.raises(errors.AnswerRefused, match="from participant 0: round [32]") as caught:
            channel.answer(0, 1, round_index, peers[0])
        assert type(caught.value.__cause__) is errors.ReplayedMessage
    channel.answer(1, 0, 3, peers[1])


def test_gradients_agree_with_the_true_kl_on_digits():
    """What the receiver trains on: its own network against an encrypted answer and against the peer itself."""
    torch.manual_seed(1)
    from sklearn.datasets import load_digits

    images = torch.tensor(load_digits().images[:160, None] / 16, dtype=torch.float32)
    inputs = [images[:120], images[120:]]
    me, peer = (build("poly_mlp", (1, 8, 8), 10) for _ in range(2))
    with torch.no_grad():
        peer[-1].weight *= 20  # as decided as a trained network
    answer = EncryptedChannel(inputs, me).answer(1, 0, 0, peer)

    def gradient(loss):
        return torch.cat([part.flatten() for part in torch.autograd.grad(loss, me.parameters())]).double()

    true = gradient(kl(me(inputs[0]), peer(inputs[0]).detach()))
    ours = gradient(approximate_kl(me(inputs[0]), 5 * answer))
    assert torch.cosine_similarity(true, ours, dim=0) >= 0.999999
    assert torch.norm(true - ours) <= 1e-3 * torch.norm(true)


def test_a_bad_answer_is_refused_by_its_senders_name_and_the_next_one_is_heard(setting, monkeypatch):
    inputs, peers, _ = setting
    channel, true = EncryptedChannel(inputs, peers[0]), Evaluator.logits
    broken = tiny()
    nn.init.constant_(broken[1].weight, float("nan"))
    huge = tiny()
    nn.init.normal_(huge[3].weight, std=1e30)
    forgeries = {
        "zeros": lambda payload: bytes(len(payload)),
        "noise": lambda payload: bytes(np.random.default_rng(0).bytes(len(payload))),
        "short": lambda payload: payload[:-8],
        "another form": lambda payload: payload[len(payload) // 2 :] + payload[: len(payload) // 2],
    }
    for index, model in enumerate((broken, huge, nn.Sequential(nn.Flatten(), nn.Linear(3, 3)))):
        with pytest.raises(errors.AnswerRefused, match="from participant 2") as caught:
            channel.answer(2, 1, index, model)
        assert caught.value.sender == 2 and caught.value.__cause__
    for index, (name, forged) in enumerate(forgeries.items(), start=10):
        with monkeypatch.context() as patch:
            patch.setattr(Evaluator, "logits", lambda *a, forged=forged: forged(true(*a)))
            if name == "zeros":  # decrypts to zeros: a legal answer that says nothing
                assert channel.answer(0, 1, index, peers[0]).abs().max() == 0
                continue
            with pytest.raises(errors.AnswerRefused) as caught:
                channel.answer(0, 1, index, peers[0])
            assert caught.value.sender == 0
    assert torch.isfinite(channel.answer(0, 1, 20, peers[0])).all()
    assert torch.isfinite(channel.answer(2, 1, 20, peers[2])).all()


def test_an_owner_with_bad_keys_gets_no_answers_and_harms_nobody(setting, monkeypatch):
    inputs, peers, _ = setting
    true = KeyOwner.public_bundle

    def zeros_from_one(self):  # the participant with three samples
        bundle = true(self)
        if self.params.batch != 3:
            return bundle
        self.key_id = wire.fingerprint(bytes(len(bundle)))
        return bytes(len(bundle))

    monkeypatch.setattr(KeyOwner, "public_bundle", zeros_from_one)
    channel = EncryptedChannel(inputs, peers[0])
    with pytest.raises(errors.AnswerRefused, match="repeats") as caught:
        channel.answer(0, 2, 0, peers[0])
    assert caught.value.sender == 2
    assert torch.isfinite(channel.answer(2, 0, 0, peers[2])).all()


def test_keys_are_tried_in_a_process_that_may_die(setting, monkeypatch):
    inputs, peers, _ = setting
    monkeypatch.setattr(channels, "try_keys", lambda params, *_: params.batch == 3 and os.kill(os.getpid(), 9))
    channel = EncryptedChannel(inputs, peers[0])
    with pytest.raises(errors.AnswerRefused, match="died with exit code -9") as caught:
        channel.answer(1, 2, 0, peers[1])
    assert caught.value.sender == 2 and type(caught.value.__cause__) is errors.KeysRefused
    assert torch.isfinite(channel.answer(1, 0, 0, peers[1])).all()


def test_a_trial_that_fails_or_hangs_is_a_refusal(monkeypatch):
    assert keys.survive(divmod, 7, 3) is None
    with pytest.raises(errors.KeysRefused, match="ZeroDivisionError"):
        keys.survive(divmod, 7, 0)
    monkeypatch.setattr(keys, "TRIAL_SECONDS", 0.3)
    with pytest.raises(errors.KeysRefused, match="no end after 0.3 s"):
        keys.survive(time.sleep, 30)


def test_bad_arguments_are_named(setting):
    inputs, peers, encrypted = setting
    for pair in ((0, 0), (0, 3), (-1, 0)):
        with pytest.raises(errors.FHEError, match="sender and receiver"):
            encrypted.answer(*pair, 9, peers[0])
    with pytest.raises(errors.InputRefused, match="at least 2"):
        EncryptedChannel(inputs[:1], peers[0])
    with pytest.raises(errors.InputRefused, match="same shape"):
        EncryptedChannel([inputs[0], torch.rand(3, 5)], peers[0])
    with pytest.raises(errors.InputRefused, match="finite"):
        EncryptedChannel([inputs[0], inputs[1] * np.nan], peers[0])
    with pytest.raises(errors.FHEError, match="temperature"):
        EncryptedChannel(inputs, peers[0], temperature=-1)
    with pytest.raises(errors.InputRefused, match="ReLU"):
        EncryptedChannel(inputs, nn.Sequential(nn.Flatten(), nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)))
