"""One's own rules and methods through the front door: each does what it says, and the paper's are the defaults."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from test_front import FEW, group, run, weights

import cycle
from cycle import methods, reputation, sharing
from cycle.rules import Rules
from cycle.state import alone


def test_an_own_similarity_gives_the_scores():
    """The angle between the gradients as numbers: every pair is asked at both calibrations, nobody scores itself."""
    seen = []

    def by_angle(own, peer):
        seen.append(float(F.cosine_similarity(own, peer, dim=0)))
        return 1 - float(np.arccos(np.clip(seen[-1], -1, 1)) / np.pi)

    first = next(done for done in cycle.rounds(group(), options=FEW, device="cpu", score=by_angle) if done.scored)
    fresh = [1 - np.arccos(cosine) / np.pi for cosine in seen]
    expected = np.zeros((3, 3))
    expected[~np.eye(3, dtype=bool)] = fresh
    assert np.allclose(first.reputation, reputation.update(None, expected, FEW.alpha))


def test_the_papers_score_given_by_hand_changes_nothing():
    def papers(own, peer):
        return float(reputation.soft_clip(reputation.misalignment(own, peer), FEW.tau_opt, FEW.tau_max))

    given = run(group(), score=papers, weigh=Rules().weigh, share=sharing.draw_shares)
    assert all(map(torch.equal, weights(given.parties), weights(run(group()).parties)))


def test_an_own_sharing_rule_decides_who_answers():
    def only_the_first(reputation, round_index, period, rng):
        shares = np.zeros(reputation.shape, dtype=bool)
        shares[0, 1] = True
        return shares

    result = run(group(), share=only_the_first)
    assert result.shares.tolist() == [[0, 3, 0], [0, 0, 0], [0, 0, 0]] and result.messages == 3
    alone_ = weights(run(group(), "standalone").parties)
    same = [torch.equal(a, b) for a, b in zip(weights(result.parties), alone_, strict=True)]
    assert same == [True, False, True]


def test_an_own_trust_rule_decides_how_far_each_counts():
    """Everybody trusts P1 alone: the others' answers, which come all the same, change nothing."""

    def the_first(scores, scorer, round_index, rng):
        return np.array([1.0, 0, 0]) * (scorer != 0)

    def answering(*who):
        return lambda reputation, *_: np.isin(np.arange(3), who)[:, None] & ~np.eye(3, dtype=bool)

    trusting = run(group(), weigh=the_first, share=answering(0, 1, 2))
    asking = run(group(), weigh=the_first, share=answering(0))
    assert (trusting.messages, asking.messages) == (18, 6)
    assert all(map(torch.equal, weights(trusting.parties), weights(asking.parties)))
    assert torch.equal(weights(trusting.parties)[0], weights(run(group(), "standalone").parties)[0])


def test_what_is_drawn_by_a_trust_rule_is_drawn_anew_with_each_calibration_only():
    drawn = []

    def random(scores, scorer, round_index, rng):
        drawn.append((round_index, scorer, rng.random()))
        return scores

    run(group(), weigh=random, options=cycle.Options(local_epochs=1, rounds=4, batch_size=16, lr=0.05, period=2))
    of_each = {(t // 2, scorer): {number for r, s, number in drawn if (r // 2, s) == (t // 2, scorer)}
               for t, scorer, _ in drawn}  # fmt: skip
    assert len(of_each) == 2 * 3 and all(len(numbers) == 1 for numbers in of_each.values())
    assert len({numbers.pop() for numbers in of_each.values()}) == 6


def test_what_counts_is_asked_of_centred_logits_and_labels():
    """Answers that count nothing leave everybody alone; those that count all are the paper's."""
    asked = []

    def none(logits, labels):
        asked.append((logits.mean(dim=2).abs().max().item(), logits.shape[1] == len(labels)))
        return torch.zeros(logits.shape[:2])

    nothing = run(group(), "vpdl", count=none)
    assert asked and max(mean for mean, _ in asked) < 1e-5 and all(fits for _, fits in asked)
    assert all(map(torch.equal, weights(nothing.parties), weights(run(group(), "standalone").parties)))
    everything = run(group(), "vpdl", count=lambda logits, labels: torch.ones(logits.shape[:2]))
    papers = weights(run(group(), "vpdl").parties)
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(weights(everything.parties), papers, strict=True))


def test_a_method_of_ones_own_is_a_generator(monkeypatch):
    """Unregistered, registered by name, and with a promise that is kept: local epochs as everybody's."""
    monkeypatch.setattr(methods, "METHODS", dict(methods.METHODS))

    def mine(state, options, rules):
        yield from alone(state, options, options.epochs)

    alone_ = weights(run(group(), "standalone").parties)
    assert all(map(torch.equal, weights(run(group(), mine).parties), alone_))
    assert cycle.method("mine", local_start=True)(mine) is mine
    result = run(group(), "mine")
    assert result.method == "mine" and all(map(torch.equal, weights(result.parties), alone_))
    assert run(group(), mine).method == "mine"


def test_nobody_answers_itself_whatever_a_sharing_rule_says():
    def everybody(reputation, *_):
        return np.ones(reputation.shape, dtype=bool)

    def others(reputation, *_):
        return ~np.eye(len(reputation), dtype=bool)

    found, expected = run(group(), share=everybody), run(group(), share=others)
    assert found.shares.tolist() == expected.shares.tolist() and not found.shares.diagonal().any()
    assert not found.reputation.diagonal().any()
    assert all(map(torch.equal, weights(found.parties), weights(expected.parties)))


@pytest.mark.parametrize(
    "wrong", [None, [[True] * 3] * 3, np.ones((3, 3)), np.ones((2, 2), dtype=bool), np.ones(3, dtype=bool)]
)
def test_what_no_sharing_rule_may_return_is_refused(wrong):
    with pytest.raises(ValueError, match=r"your rule `share` must return a NumPy array of bool \[3, 3\], got"):
        run(group(), share=lambda *_: wrong)


@pytest.mark.parametrize("wrong", [7, -0.1, float("nan"), None, "1", np.ones(2), torch.tensor(2.0)])
def test_a_score_that_is_no_number_from_0_to_1_is_refused_by_the_name_of_the_rule(wrong):
    with pytest.raises(ValueError, match=r"your rule `score` must return a number in \[0, 1\], got"):
        run(group(), score=lambda own, peer: wrong)


@pytest.mark.parametrize("wrong", [np.ones(2), 1.0, np.array([0, 7, 1]), np.array([0, np.nan, 1])])
def test_weights_that_are_no_row_from_0_to_1_are_refused_by_the_name_of_the_rule(wrong):
    with pytest.raises(ValueError, match=r"your rule `weigh` must return 3 numbers in \[0, 1\], got"):
        run(group(), weigh=lambda *_: wrong)
