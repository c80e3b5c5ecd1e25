import numpy as np
import pytest
import torch

from cycle.options import Options
from cycle.weights import vector


def rates(**changes):
    options = Options(**{"local_epochs": 4, "rounds": 8, "lr": 1.0, "lr_decay": 0.5, "lr_every": 3} | changes)
    return [options.decay(epoch) for epoch in range(options.epochs)]


def test_the_rate_decays_from_the_start_or_from_the_first_round():
    assert rates() == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125, 0.125, 0.125]
    assert rates(decay_from="rounds") == [1, 1, 1, 1, 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25]


def test_the_rate_rises_over_the_warm_up_of_the_same_clock():
    assert rates(warmup=3, lr_every=20) == [0.25, 0.5, 0.75] + 9 * [1]
    assert rates(warmup=1, lr_every=20, decay_from="rounds") == 4 * [1] + [0.5] + 7 * [1]


@pytest.mark.parametrize("common", [False, True])
def test_a_common_start_is_the_first_ones_weights_for_all(small_run, begun, common):
    started = [begun(small_run("cycle", common_start=choice)).participants for choice in (common, False)]
    weights, own = ([vector(party.model.parameters()) for party in people] for people in started)
    assert torch.equal(weights[0], own[0])
    assert all(torch.equal(weights[0], other) == common for other in weights[1:])


def test_the_defaults_are_the_papers():
    """Appendix F, and where it is silent CaPriDe's code: temperature, momentum, decay."""
    paper = Options()
    assert (paper.local_epochs, paper.rounds, paper.batch_size) == (25, 75, 128)
    assert [paper.lr * paper.decay(epoch) for epoch in (0, 25, 99)] == pytest.approx([0.1, 0.01, 1e-4])
    assert (paper.temperature, paper.lambda_0, paper.tau_opt, paper.tau_max) == (5, 50, 0.25, 0.75)
    assert (paper.period, paper.alpha, paper.momentum, paper.weight_decay) == (5, 0.5, 0.9, 5e-4)


@pytest.mark.parametrize(
    "change",
    [
        {"beta": float("inf")}, {"beta": -1}, {"batch_size": 1.5}, {"batch_size": "32"}, {"local_steps": 0.5},
        {"local_steps": -1}, {"lr": 0}, {"lr": float("nan")}, {"normalisation": "sum"}, {"alpha": 2}, {"alpha": 1.0},
        {"tau_opt": 0.9}, {"rounds": -1}, {"period": 0}, {"link_rule": "all"}, {"alignment": "losses"},
        {"participation": 0}, {"participation": 1.5}, {"clip_norm": 0.0}, {"clip_norm": -1.0}, {"warmup": -1},
        {"decay_from": "end"}, {"augment": 1}, {"bound": 0}, {"privacy": "aes"},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_value_is_named(change):
    with pytest.raises(ValueError, match=f"^{next(iter(change))}"):
        Options(**change)


def test_what_does_not_fit_together_is_named():
    with pytest.raises(ValueError, match="augment must be False with privacy 'fhe'"):
        Options(privacy="fhe", augment=True)
    with pytest.raises(ValueError, match=r"local_epochs \+ rounds must be at least 1"):
        Options(local_epochs=0, rounds=0)


def test_numbers_of_numpy_are_numbers():
    assert Options(lr=np.float64(0.5), rounds=np.int64(3)) == Options(lr=0.5, rounds=3)
