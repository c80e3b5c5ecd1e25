"""Polynomial networks and parameters: what is folded, what is refused."""

import numpy as np
import pytest
import tenseal.sealapi as seal
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from cycle.fhe import errors
from cycle.fhe.params import SECURE_BITS, WEIGHT_BITS, Params
from cycle.fhe.polynet import PolyNet
from reproduction.models import Square, build


def convolutional():
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(3),
        Square(),
        nn.AvgPool2d(2),
        nn.Sequential(nn.Flatten(), nn.Linear(12, 6), nn.BatchNorm1d(6)),
        Square(),
        nn.Linear(6, 4),
    )
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
            layer.running_mean.normal_()
            layer.running_var.uniform_(0.5, 2)
            nn.init.normal_(layer.weight)
    return model


@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_network_equals_torch_with_everything_folded(temperature):
    model, inputs = convolutional().double().eval(), torch.randn(5, 2, 7, 7, dtype=torch.float64)
    with torch.no_grad():
        logits = model(inputs) / temperature
    network = PolyNet.from_torch(model.float(), (2, 7, 7), temperature)
    assert network.depth == 2 and network.features == 98 and network.classes == 4
    expected = logits - logits.mean(dim=1, keepdim=True)
    assert np.allclose(network(inputs.flatten(1).numpy()), expected.numpy(), atol=1e-6)


def test_from_torch_reads_running_statistics_and_leaves_the_module_alone():
    model = convolutional().train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    PolyNet.from_torch(model, (2, 7, 7))
    assert model.training and all((before[name] == value).all() for name, value in model.state_dict().items())


@pytest.mark.parametrize(
    "layer", [nn.ReLU(), nn.MaxPool2d(2), nn.Sigmoid(), nn.Dropout(), nn.GroupNorm(1, 2), nn.LSTM(3, 3)]
)
def test_other_layers_are_refused_by_name(layer):
    with pytest.raises(errors.InputRefused, match=type(layer).__name__):
        PolyNet.from_torch(nn.Sequential(nn.Flatten(), nn.Linear(4, 4), layer, nn.Linear(4, 2)), (4,))


def test_a_square_must_square():
    class Square(nn.Module):
        def forward(self, x):
            return x**3

    with pytest.raises(errors.InputRefused, match="squares of its inputs"):
        PolyNet.from_torch(nn.Sequential(nn.Linear(2, 2), Square(), nn.Linear(2, 2)), (2,))


def test_networks_that_cannot_be_folded_are_refused():
    with pytest.raises(errors.InputRefused, match="BatchNorm1d"):
        PolyNet.from_torch(nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2, track_running_stats=False)), (3,))
    with pytest.raises(errors.InputRefused, match="Linear does not fit"):
        PolyNet.from_torch(nn.Sequential(nn.Linear(3, 2)), (4,))
    with pytest.raises(errors.InputRefused, match="vector"):
        PolyNet.from_torch(nn.Sequential(nn.Conv2d(1, 1, 3)), (1, 5, 5))
    with pytest.raises(errors.FHEError, match="temperature"):
        PolyNet.from_torch(nn.Sequential(nn.Linear(3, 2)), (3,), temperature=0)
    broken = nn.Sequential(nn.Linear(3, 2))
    nn.init.constant_(broken[0].weight, float("nan"))
    with pytest.raises(errors.InputRefused, match="finite"):
        PolyNet.from_torch(broken, (3,))


def test_a_container_with_its_own_forward_is_refused():
    class Residual(nn.Sequential):
        def forward(self, x):
            return x + super().forward(x)

    with pytest.raises(errors.InputRefused, match="Residual"):
        PolyNet.from_torch(nn.Sequential(Residual(nn.Linear(3, 3)), nn.Linear(3, 2)), (3,))


def test_the_books_polynomial_network_is_accepted():
    assert PolyNet.from_torch(build("poly_mlp", (1, 8, 8), 10), (1, 8, 8)).depth == 1
    with pytest.raises(errors.InputRefused, match="ReLU"):
        PolyNet.from_torch(build("mlp", (1, 8, 8), 10), (1, 8, 8))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 30))
def test_quantised_networks_never_wrap(seed, size):
    """Worst-case inputs keep every scaled value below half the modulus that is left at that point."""
    rng = np.random.default_rng(seed)
    maps = [(size * rng.normal(size=(5, 7)), rng.normal(size=5)), (size * rng.normal(size=(3, 5)), rng.normal(size=3))]
    network, params = PolyNet(tuple(maps)), Params(1, 100)
    try:
        (first, bias, bits), (last, shift, last_bits) = network.quantised(params)
    except errors.InputRefused:
        assert size > 0.5  # weights as small as that always fit
        return
    inputs = np.sign(first[0]) * params.input_bound
    hidden = first @ inputs * 2.0**-bits + bias
    scale = 2.0 ** (params.input_bits + bits)
    assert ((hidden * scale) ** 2).max() < 2.0 ** (params.prime_bits * len(params.moduli) - 1)
    logits = np.abs(last @ hidden**2 * 2.0**-last_bits + shift).max()
    scale = scale**2 / 2.0**params.prime_bits * 2.0**last_bits
    assert scale == 2.0 ** (params.answer_bits + params.prime_bits)  # one prime is dropped: the agreed scale
    assert logits * 2.0**params.answer_bits <= 2.0 ** (params.prime_bits - 2)  # as much is left to the mask


def test_huge_networks_and_deep_networks_are_refused():
    layer = np.full((2, 3), 1e6), np.zeros(2)
    with pytest.raises(errors.InputRefused, match="wrap"):
        PolyNet((layer, (np.ones((2, 2)), np.zeros(2)))).quantised(Params(1, 4))
    with pytest.raises(errors.InputRefused, match="2 squares"):
        PolyNet((layer, layer, layer)).quantised(Params(1, 4))
    with pytest.raises(errors.InputRefused, match="chain has room for 4"):
        Params(5, 4)
    assert Params(4, 4).slots == 8192


def test_a_row_of_zero_weights_keeps_one_unit():
    (weights, _, bits), _ = PolyNet(((np.zeros((2, 3)), np.ones(2)), (np.eye(2), np.zeros(2)))).quantised(Params(1, 4))
    assert np.abs(weights).sum(axis=1).tolist() == [1, 1] and bits > 10


@pytest.mark.parametrize("depth", range(5))
def test_every_chain_is_secure_and_long_enough(depth):
    params = Params(depth, 16)
    total = params.prime_bits * len(params.all_moduli)
    assert (
        total <= SECURE_BITS[params.degree] == seal.CoeffModulus.MaxBitCount(params.degree, seal.SEC_LEVEL_TYPE.TC128)
    )
    assert params.context.parameters_set() and len(params.moduli) == params.depth + 1 + (depth > 0)
    assert all(modulus.bit_length() == params.prime_bits for modulus in params.all_moduli)
    scale = params.input_bits + WEIGHT_BITS
    for index, square in enumerate(params.square_bits):
        assert scale <= square <= scale + 1  # what a map adds to the scale
        assert 2 * square < params.prime_bits * (len(params.moduli) - index)
        scale = 2 * square - params.prime_bits + WEIGHT_BITS
    assert scale == params.answer_bits + (depth > 0) * params.prime_bits


def test_parameters_are_checked_and_named():
    wrong = (
        {"batch": 0},
        {"batch": 4097},
        {"batch": 2.5},
        {"depth": -1},
        {"depth": "1"},
        {"input_bound": float("nan")},
    )
    for bad in wrong:
        with pytest.raises(errors.FHEError, match=next(iter(bad))):
            Params(**{"depth": 1, "batch": 4} | bad)
    digests = {Params(*a).digest for a in [(1, 4), (2, 4), (1, 5), (1, 4, 2.0)]}
    assert len(digests) == 4 and Params(1, 4).digest in digests


def test_merging_needs_one_rotation_key_or_none():
    """3^k turns slots k places to the left; by the rest of them is by the batch to the right."""
    params = Params(1, 400)
    assert params.merged == 10 and params.galois_element == pow(3, 4096 - 400, 16384)
    assert Params(1, 3000).galois_element is None
