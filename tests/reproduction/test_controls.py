"""Who is taught by nobody, who refuses, who lies, and whose scores are dealt to others."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from cycle.weights import vector
from reproduction import attacks, controls, settings


@pytest.fixture
def collaborating(digits, rounds_of, tmp_path):
    """The rounds of collaboration of a run, with whatever it puts in the place of the paper's rules."""

    def make(run):
        rules = controls.rules_of(run, settings.parties_of(run, digits), tmp_path)
        return [done for done, _ in rounds_of(run, **vars(rules)) if done.shares is not None]

    return make


def test_refusing_peers(small_run, collaborating):
    """One who never answers is scored 0 by all; one who answers when forced keeps a reputation."""
    silent = collaborating(replace(small_run("cycle"), silent=(1,)))
    assert not any(done.shares[1].any() for done in silent)
    assert all((done.reputation[:, 1] == 0).all() for done in silent)
    forced = collaborating(replace(small_run("cycle"), forced_only=(1,)))
    assert [bool(done.shares[1].any()) for done in forced] == [True, False, False, True, False, False]
    assert forced[-1].reputation[[0, 2, 3, 4], 1].max() > 0


@pytest.mark.parametrize("method, silent", [("vpdl", 1), ("cycle", 5), ("cycle", -1)])
def test_who_refuses_must_exist_and_the_method_must_know_refusal(method, silent, small_run, tmp_path):
    run = replace(small_run(method), silent=(silent,))
    with pytest.raises(ValueError, match="silent and forced_only must be below n = 5, and the method cycle"):
        controls.rules_of(run, [], tmp_path)


def test_a_run_without_control_keeps_the_papers_rules(small_run, tmp_path):
    assert controls.rules_of(small_run("cycle"), [], tmp_path) is None


def test_what_a_liar_says_is_what_is_learned_from(small_run, begun, collaborating):
    """P2 calls everything the first class; P1 hears nobody else and takes one step, by hand."""
    one_step = {"local_epochs": 0, "rounds": 1, "batch_size": 1000, "momentum": 0.0, "weight_decay": 0.0}
    run = replace(small_run("vpdl", n=2, lambda_0=8.0, **one_step), lies={1: attacks.constant})
    one = begun(run).participants[0]
    logits = one.model(one.prepare(one.inputs, False))
    told = torch.zeros(10)
    told[0] = 100.0
    log_p, log_q = torch.log_softmax(logits / 5, dim=1), torch.log_softmax(told / 5, dim=0)
    loss = F.cross_entropy(logits, one.labels) + 8.0 * (log_p.exp() * (log_p - log_q)).sum(dim=1).mean()
    gradients = torch.autograd.grad(loss, list(one.model.parameters()))
    stepped = [w - run.options.lr * g for w, g in zip(one.model.parameters(), gradients, strict=True)]
    (done,) = collaborating(run)
    assert torch.allclose(vector(done.participants[0].model.parameters()), vector(stepped), atol=1e-5)
    assert done.ledger.sent == 2


def test_controls_learn_without_peers(small_run, begun, rounds_of):
    """One step over all samples: who was taught by a copy of itself learned nothing more than alone, and a teacher to
    whom all classes are equal asks for entropy: KL(p || 1/M) = log M - H(p)."""
    one_step = {"local_epochs": 0, "rounds": 1, "batch_size": 1000, "momentum": 0.0, "weight_decay": 0.0}
    run = small_run("standalone", lambda_0=10.0, **one_step)
    ended = {name: rounds_of(run, name)[-1] for name in ("standalone", "echo", "blank")}
    assert all(done.ledger.sent == 0 for done, _ in ended.values())
    everybody = begun(run).participants
    for person, alone, echo, blank in zip(everybody, *(weights for _, weights in ended.values()), strict=True):
        assert torch.allclose(alone, echo, atol=1e-6)
        logits = person.model(person.prepare(person.inputs, False))
        p = (logits / run.options.temperature).softmax(dim=1)
        loss = F.cross_entropy(logits, person.labels) + 10.0 * (np.log(10) + (p * p.log()).sum(dim=1).mean())
        gradients = torch.autograd.grad(loss, list(person.model.parameters()))
        stepped = [w - run.options.lr * g for w, g in zip(person.model.parameters(), gradients, strict=True)]
        assert torch.allclose(blank, vector(stepped), atol=1e-5)
        assert not torch.allclose(blank, alone, atol=1e-4)


def test_echo_teaches_with_the_model_of_the_rounds_start(small_run, rounds_of):
    """From the second minibatch on it differs from training alone, and lambda_0 = 0 takes that away."""
    run = small_run("standalone", batch_size=16)
    free = replace(run, options=replace(run.options, lambda_0=0.0))
    alone, echo, without = (rounds_of(*way)[-1][1][0] for way in ((run,), (run, "echo"), (free, "echo")))
    assert not torch.allclose(alone, echo, atol=1e-4) and torch.equal(alone, without)


def test_dealt_scores_are_the_rows_own():
    """By example: dealt to others, averaged, turned; one's own entry, zero, stays where it is."""
    row = np.array([0.1, 0.0, 0.9, 0.5, 0.3])
    for seed in range(20):
        dealt = controls.rearranged(row, 1, 0, np.random.default_rng(seed))
        assert sorted(dealt) == sorted(row) and dealt[1] == 0 and (dealt != row).any()
    assert controls.averaged(row, 1, 0, None).tolist() == pytest.approx([0.45, 0, 0.45, 0.45, 0.45])
    assert controls.upside_down(row, 1, 0, None).tolist() == [0.9, 0.0, 0.1, 0.3, 0.5]
    assert controls.certain(row, 1, 0, None).tolist() == [1, 0, 1, 1, 1]


def test_with_the_oracle_only_the_largest_teaches(small_run, collaborating):
    run = replace(small_run("cycle"), control=controls.oracle)
    for done in collaborating(run):
        assert done.shares.tolist() == [[False] + 4 * [True]] + 4 * [5 * [False]]


def test_timed_counts_the_mean_of_that_calibration(small_run, record_of, tmp_path):
    """By hand: two calibrations with means 0.6 and 0.2; without the record a clear error."""
    run = replace(small_run("cycle"), variant="timed", control=controls.timed)
    with pytest.raises(ValueError, match="must be recorded before"):
        controls.timed(run, [], tmp_path)
    plain = replace(run, variant="", control=None)
    first, second = np.full((5, 5), 0.6), np.zeros((5, 5))
    second[0, 1:] = 1.0  # four of twenty scores
    scores = [{"round": t, "matrix": matrix.tolist()} for t, matrix in ((0, first), (3, second))]
    path = tmp_path / plain.path
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(record_of(plain, [50.0] * 5, reputation=scores)))
    weigh = controls.timed(run, [], tmp_path).weigh
    for t, mean in ((0, 0.6), (2, 0.6), (3, 0.2), (5, 0.2)):
        assert weigh(np.ones(5), 2, t, None).tolist() == pytest.approx([mean, mean, 0, mean, mean])


def test_with_slack_a_tie_counts_half_and_what_is_as_wrong_as_the_slack_nothing():
    answers = torch.tensor([[[2.0, 0.0, -2.0], [0.0, 0.0, 0.0], [0.0, 1.0, -1.0], [-1.0, 1.0, 0.0]]])
    control = controls.margin_of(2, 2)
    counts = control(None, None, None).count(answers, torch.zeros(4, dtype=torch.long))
    assert counts.tolist() == [[1.0, 0.5, 0.25, 0.0]] and control.__name__ == "margin2-slack2"


def test_how_far_answers_counted_is_told_where_a_rule_counts(small_run, collaborating):
    """A liar's answers count nothing, nobody is told of who did not answer, and without a rule there is nothing."""
    run = replace(small_run("vpdl"), control=controls.margin, lies={4: attacks.inverted})
    for done in collaborating(run):
        assert np.isnan(done.counted.diagonal()).all() and (done.counted[:4, 4] < 0.05).all()
        assert (done.counted[:4, :4][~np.eye(4, dtype=bool)] > 0).all()
    assert all(done.counted is None for done in collaborating(replace(run, control=None)))
