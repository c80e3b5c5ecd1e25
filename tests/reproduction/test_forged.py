"""What hostile parties send where models travel: in the place of their models only, and none of them learns from it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from cycle.play import play
from cycle.weights import vector
from reproduction import controls, execute, forged

OWN = torch.tensor([1.0, -2.0])
OTHERS = [torch.tensor([1.0, 0.0]), torch.tensor([3.0, 0.0])]


def test_forgeries_by_hand():
    assert forged.loud(OWN, OTHERS).tolist() == [100, -200] and forged.turned(OWN, OTHERS).tolist() == [-10, 20]
    assert forged.huge(OWN, OTHERS).isfinite().all() and forged.huge(OWN, OTHERS)[0] > 1e29
    assert torch.allclose(forged.little(OWN, OTHERS), torch.tensor([2 - 1.5 * 2**0.5, 0.0]))
    assert torch.equal(forged.noise(OWN, OTHERS), forged.noise(OWN, OTHERS))


@pytest.mark.parametrize("method", ["gossip", "cycle-gossip", "fedavg"])
def test_only_what_is_a_model_is_forged_and_the_liar_stays_itself(small_run, begun, method):
    run = replace(small_run(method, local_epochs=0, rounds=2, period=1), lies={4: lambda own, others: 0 * own})
    state, seen = begun(run), []

    class Seen(forged.Forging):
        def exchange(self, messages, expected, device):
            arrived = super().exchange(messages, expected, device)
            seen.append({pair: torch.equal(row, messages[pair]) for pair, row in arrived.items()})
            return arrived

    state.ranks = Seen(state.n, state=state, forgeries=run.lies)
    *_, done = play(state, method, run.options)
    changed = [{pair[0] for pair, same in one.items() if not same} for one in seen]
    assert {4} in changed and all(one <= {4} for one in changed)
    if method == "cycle-gossip":  # gradients first, then models
        assert changed[0] == set() and done.reputation[0, 4] > 0
    assert vector(done.participants[4].model.parameters()).any()


def test_several_ranks_are_refused(small_run, begun):
    run = replace(small_run("gossip"), lies={4: forged.huge})
    state = begun(run)
    assert forged.posted(replace(run, lies={}), state) is state.ranks
    state.ranks = replace(state.ranks, size=2)
    with pytest.raises(ValueError, match="lies must be empty with several ranks"):
        forged.posted(run, state)


@pytest.mark.parametrize("method", ["gossip", "fedavg"])
def test_one_hostile_model_destroys_all_under_the_papers_rule_and_nobody_clipped(small_run, tmp_path, method):
    run = replace(small_run(method, local_epochs=0, rounds=12), lies={4: forged.huge}, variant="hugex1")
    plain = execute.execute(run, "test", tmp_path, progress=False)
    clipped = replace(run, variant="hugex1-clipped", control=forged.clipped)
    bounded = execute.execute(clipped, "test", tmp_path, progress=False)
    assert np.mean(plain["accuracy"][:4]) < 25 < 40 < np.mean(bounded["accuracy"][:4])
    assert controls.rules_of(clipped, [], tmp_path).combine is not None and bounded["refused"] == {}
