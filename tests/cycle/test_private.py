"""The private methods: Algorithm 2 by hand, who answers whom, and what a peer without answers counts."""

import copy

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cycle import answers, distillation, private, reputation, sharing
from cycle.rules import Rules
from cycle.streams import SHARE, generator
from cycle.weights import vector


def collaborating(rounds):
    return [done for done, _ in rounds if done.shares is not None]


def test_a_round_yields_everything(small_run, rounds_of):
    rounds = rounds_of(small_run("cycle"))
    assert [done.index for done, _ in rounds] == list(range(-2, 6))
    assert [done.scored for done, _ in rounds] == [False, False, True, False, False, True, False, False]
    last = rounds[-1][0]
    assert last.losses.shape == (5, 2) and torch.isfinite(last.losses).all()
    assert last.reputation.shape == last.shares.shape == (5, 5)
    assert last.ledger.sent == sum(done.shares.sum() for done in collaborating(rounds))
    assert last.ledger.possible == 6 * 20


@pytest.mark.parametrize(
    "method, normalisation, weight", [("vpdl", "mean", 10), ("vpdl", "per_peer", 20), ("cycle", "mean", 10)]
)
def test_rounds_are_algorithm_2_by_hand(small_run, begun, rounds_of, method, normalisation, weight):
    """Three unequal parties, whole batches, all written out: frozen peers, weights, rate, Nesterov, decay."""
    changes = {"local_epochs": 1, "rounds": 3, "lr_every": 2, "batch_size": 1000, "lambda_0": 20.0, "period": 1}
    run = small_run(method, n=3, **changes, normalisation=normalisation)
    scores = np.array([[0, 0.3, 0.9], [0.5, 0, 0.2], [1.0, 0.7, 0]]) if method == "cycle" else np.ones((3, 3))
    given = {"weigh": lambda row, scorer, round_index, rng: scores[scorer]} if method == "cycle" else {}
    final = rounds_of(run, **given)[-1][1]

    people = begun(run).participants
    velocities = [[torch.zeros_like(p) for p in person.model.parameters()] for person in people]
    for epoch in range(4):
        frozen = [copy.deepcopy(person.model) for person in people]
        for n, person in enumerate(people):
            inputs, parameters = person.prepare(person.inputs, False), list(person.model.parameters())
            log_own = torch.log_softmax(person.model(inputs) / 5, dim=1)
            loss = F.cross_entropy(person.model(inputs), person.labels)
            for k in {0, 1, 2} - {n} if epoch >= 1 else ():
                log_peer = torch.log_softmax(frozen[k](inputs).detach() / 5, dim=1)
                loss = loss + weight * scores[n, k] * (log_own.exp() * (log_own - log_peer)).sum(1).mean()
            for p, g, v in zip(parameters, torch.autograd.grad(loss, parameters), velocities[n], strict=True):
                g = g + 5e-4 * p.detach()
                v.mul_(0.9).add_(g)
                p.data -= 0.1 * 0.1 ** (epoch // 2) * (g + 0.9 * v)
    for person, got in zip(people, final, strict=True):
        assert torch.allclose(got, vector(person.model.parameters()), atol=2e-5)


def test_losses_are_of_this_round_and_bytes_follow_the_receiver(small_run, rounds_of):
    done = rounds_of(small_run("vpdl", lr=1e-9, batch_size=16, lambda_0=20.0))[-1][0]
    for n, person in enumerate(done.participants):
        inputs = person.prepare(person.inputs, False)
        logits = person.model(inputs)
        pulls = [5 * distillation.kl(logits, p.model(inputs).detach()) for p in done.participants if p is not person]
        expected = [F.cross_entropy(logits, person.labels).item(), sum(pulls).item()]
        assert done.losses[n].tolist() == pytest.approx(expected, rel=1e-4)
        assert set(done.ledger.matrix(bytes=True)[:, n]) == {0, 6 * 4 * 10 * person.size}


@pytest.mark.parametrize("normalisation", ["mean", "per_peer"])
def test_vpdl_is_cycle_with_every_reputation_one(small_run, rounds_of, normalisation):
    run = small_run("vpdl", normalisation=normalisation, lambda_0=20.0)
    (vpdl, weights), (cycle, same) = rounds_of(run)[-1], rounds_of(run, "cycle", score=lambda own, peer: 1.0)[-1]
    assert cycle.ledger.sent == vpdl.ledger.sent
    assert all(torch.equal(a, b) for a, b in zip(same, weights, strict=True))


def test_without_peers_cycle_is_standalone(small_run, rounds_of):
    run = small_run("standalone")
    alone, cycle = rounds_of(run)[-1][1], rounds_of(run, "cycle", score=lambda own, peer: 0.0)[-1][1]
    assert all(torch.equal(a, b) for a, b in zip(cycle, alone, strict=True))


def test_masks_are_drawn_from_the_reputations_of_the_round_before(small_run, rounds_of):
    """Redrawn from the recorded reputations with the stream of the round."""
    run = small_run("cycle")
    rounds = collaborating(rounds_of(run))
    for before, after in zip(rounds, rounds[1:], strict=False):
        rng = generator(run.seed, SHARE, after.index + run.options.local_epochs)
        expected = sharing.draw_shares(before.reputation, after.index, run.options.period, rng)
        assert np.array_equal(after.shares, expected)


def test_reputation_moves_by_momentum_at_calibrations_only(small_run, rounds_of):
    values = iter([0.8] * 20 + [0.2] * 20)
    rounds = collaborating(rounds_of(small_run("cycle", alpha=0.75), score=lambda own, peer: next(values)))
    off = ~np.eye(5, dtype=bool)
    expected = [0.8, 0.8, 0.8] + [reputation.update(0.8, 0.2, 0.75)] * 3
    assert [np.unique(done.reputation[off]).tolist() for done in rounds] == [[value] for value in expected]


def test_what_is_used_of_a_row_is_what_the_rule_says_and_the_true_scores_are_carried_on(small_run, rounds_of):
    """Nobody weighs anything: the weights are those alone, the reputations those of the true scores."""
    run = small_run("cycle")
    nothing = rounds_of(run, weigh=lambda row, scorer, round_index, rng: 0 * row)
    alone = rounds_of(run, "standalone")[-1][1]
    assert all(torch.equal(a, b) for a, b in zip(nothing[-1][1], alone, strict=True))
    true = collaborating(rounds_of(run))[0].reputation
    assert np.array_equal(collaborating(nothing)[0].reputation, true) and true.any()


def test_an_answer_not_sent_is_not_computed(small_run, rounds_of, monkeypatch):
    computed, true_answer = [], answers.answer
    monkeypatch.setattr(answers, "answer", lambda peer, x: computed.append(len(x)) or true_answer(peer, x))
    run = small_run("cycle")
    rounds = collaborating(rounds_of(run))
    sizes = [p.size for p in rounds[0].participants]
    learned = sum(sizes[k] for done in rounds for n, k in np.argwhere(done.shares) if done.reputation[k, n] > 0)
    scored = 2 * sum(min(size, run.options.score_samples) for size in sizes) * 4
    assert sum(computed) == learned + scored < 6 * 4 * sum(sizes) + scored


def test_peers_answer_in_eval_mode_without_a_graph(small_run, rounds_of, monkeypatch):
    seen, true_answer = [], answers.answer

    def watched(peer, x):
        result = true_answer(peer, x)
        seen.append((peer.training, result.requires_grad, result.is_inference()))
        return result

    monkeypatch.setattr(answers, "answer", watched)
    rounds_of(small_run("vpdl"))
    assert set(seen) == {(False, False, True)}


def test_a_silent_peer_scores_zero_at_a_calibration(small_run, begun):
    run = small_run("cycle")
    state = begun(run)
    shares = ~np.eye(5, dtype=bool)
    shares[4] = False
    channel = answers.Here(state)
    channel.open(0, 0, shares, True)
    fresh = private.scores(state, run.options, Rules(), channel, shares)
    assert (fresh[:, 4] == 0).all() and fresh[:4, :4].sum() > 0


@pytest.mark.parametrize("method", ["vpdl", "cycle", "gossip", "cycle-gossip"])
def test_a_peer_that_diverged_harms_nobody(method, small_run, begun, rounds_of, caplog):
    """P3's weights are lost before the first round: nobody else's are, it is scored 0, and it is named."""
    gossip = {"local_epochs": 0, "rounds": 2} if "gossip" in method else {"local_epochs": 1, "rounds": 4}
    run = small_run(method, **gossip)
    state = begun(run)
    state.epoch = run.options.local_epochs
    with torch.no_grad():
        next(state.participants[2].model.parameters()).fill_(torch.nan)
    rounds = [done for done, _ in rounds_of(run, state=state)]
    finite = [all(part.isfinite().all() for part in p.model.parameters()) for p in rounds[-1].participants]
    assert finite == [True, True, False, True, True]
    if method == "vpdl":
        batches = [-(-person.size // run.options.batch_size) for person in state.participants]
        named = {(2, n): f"no usable logits in {batches[n]} batches" for n in (0, 1, 3, 4)}
        assert all(done.refused == named for done in rounds)
    if method == "cycle":
        row = rounds[-1].reputation
        assert (row[[0, 1, 3, 4], 2] == 0).all() and row[0, 1] > 0
    if method == "cycle-gossip":
        row = rounds[-1].reputation
        assert (row[[0, 1, 3, 4], 2] < row[[0, 1, 3, 4], [1, 0, 1, 1]]).all()
    assert method in ("vpdl", "gossip") or "P3" in caplog.text
