"""A torch network as affine maps with squares between them: what CKKS evaluates well."""

import copy
import math

import numpy as np
import torch
from torch import nn

from cycle.fhe.errors import FHEError, InputRefused
from cycle.fhe.params import RANGE_BITS, WEIGHT_BITS, Params

AFFINE = (nn.Linear, nn.Conv2d, nn.AvgPool2d, nn.Flatten, nn.BatchNorm1d, nn.BatchNorm2d)
ALLOWED = ", ".join(kind.__name__ for kind in AFFINE)
SAFETY = 16.0  # how much larger than on the evaluator's samples values may get


class PolyNet:
    """x -> A_d(... (A_1 (A_0 x)^2)^2 ...)^2 with A_i x = W_i x + b_i; `maps` holds the (W_i, b_i).

    samples [any, features]: data of the evaluator's own, to tell how large values get; without, the
    worst case counts.
    """

    def __init__(self, maps, samples: np.ndarray | None = None):
        self.maps, self.samples, self.depth = tuple(maps), samples, len(maps) - 1
        self.features, self.classes = maps[0][0].shape[1], len(maps[-1][1])

    @classmethod
    def from_torch(cls, module: nn.Module, in_shape, temperature=5.0, samples=None) -> "PolyNet":
        """Centred z / T of a module in eval mode; 1/T, centring and BatchNorm become weights.

        module: nn.Sequential of Linear, Conv2d, AvgPool2d, Flatten, BatchNorm and Square layers;
        in_shape: shape of one sample. No softmax notices that the mean over classes is gone.
        """
        if not 0 < temperature < math.inf:
            raise FHEError(f"temperature must be positive and finite, got {temperature}")
        maps = _maps(module, in_shape)
        weights, bias = (part / temperature for part in maps[-1])
        maps[-1] = (weights - weights.mean(axis=0), bias - bias.mean())
        if not all(np.isfinite(part).all() for pair in maps for part in pair):
            raise InputRefused("module: a weight is not finite")
        return cls(maps, samples)

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """The same function in clear: [samples, features] -> [samples, classes]."""
        return list(_values(self.maps, inputs))[-1]

    def quantised(self, params: Params) -> list[tuple[np.ndarray, np.ndarray, int]]:
        """[(integer weights, bias, weight bits)] such that no value wraps around the modulus."""
        if self.depth > params.depth:
            raise InputRefused(
                f"network: {self.depth} squares, at most {params.depth} are agreed on"
            )
        scale, plan, maps = params.input_bits, [], _balanced(self.maps)
        for index, square_bits in enumerate(params.square_bits[: self.depth]):
            free = params.prime_bits * (len(params.moduli) - index) - 1
            plan.append((square_bits - scale, 2.0 ** (free / 2 - square_bits)))
            scale = 2 * square_bits - params.prime_bits
        plan.append((WEIGHT_BITS, 2.0**RANGE_BITS))
        for (_, most), bound in zip(plan, _bounds(maps, params, self.samples), strict=True):
            if not bound <= most:
                raise InputRefused(
                    f"network: values of up to {bound:.3g} would wrap around the modulus; "
                    "shrink the weights or the inputs, or give samples if that is the worst case"
                )
        return [
            (_rounded(weights, bits), bias, bits)
            for (weights, bias), (bits, _) in zip(maps, plan, strict=True)
        ]


def _layers(module):
    """Leaf layers in the order of execution, or a refusal that names the first bad one."""
    if type(module) is nn.Sequential:  # a subclass may have a forward of its own, as a layer may
        return [leaf for child in module for leaf in _layers(child)]
    square, values = _is_square(module), torch.tensor([-2.0, 0.5, 3.0])
    other = not square and type(module) not in AFFINE
    refusals = {
        "must give the squares of its inputs": square and (module(values) != values**2).any(),
        f"cannot be evaluated under encryption; use {ALLOWED}, Square in Sequential": other,
        "without running statistics is no affine map": getattr(module, "running_mean", 0) is None,
    }
    for why, refused in refusals.items():
        if refused:
            raise InputRefused(f"layer {type(module).__name__} {why}")
    return [module]


def _is_square(layer) -> bool:
    return type(layer).__name__ == "Square"


@torch.no_grad()
def _maps(module, shape):
    """(W, b) of the layers before, between and after squares, from values at zero and units."""
    maps, points = [], _zero_and_units(shape)
    for layer in _layers(module):
        try:
            if _is_square(layer):
                maps.append(_affine(points))
                points = _zero_and_units(points.shape[1:])
            else:  # on the CPU, where ciphertexts live
                points = copy.deepcopy(layer).to("cpu", torch.float64).eval()(points)
        except RuntimeError as error:
            name = type(layer).__name__
            raise InputRefused(f"layer {name} does not fit its input: {error}") from None
    if points.dim() != 2:
        got = tuple(points.shape[1:])
        raise InputRefused(f"the network must end in a vector of classes, not in {got}")
    return [*maps, _affine(points)]


def _zero_and_units(shape):
    size = math.prod(shape)
    return torch.eye(size + 1, size, dtype=torch.float64).roll(1, 0).reshape(-1, *shape)


def _affine(points):
    flat = points.flatten(1).numpy()
    return (flat[1:] - flat[0]).T, flat[0].copy()


def _balanced(maps):
    """The same function with hidden units of about unit size: (c h)^2 = c^2 h^2.

    Small units would drown in the noise, large ones magnify the rounding of the next weights.
    """
    maps = list(maps)
    for index in range(len(maps) - 1):
        weights, bias = maps[index]
        size = np.sqrt((weights**2).sum(axis=1) + bias**2)
        size[size == 0] = 1
        maps[index] = weights / size[:, None], bias / size
        maps[index + 1] = maps[index + 1][0] * size**2, maps[index + 1][1]
    return maps


def _values(maps, inputs):
    """The value of each map in turn, [samples, units]."""
    hidden = np.asarray(inputs, dtype=np.float64)
    for index, (weights, bias) in enumerate(maps):
        hidden = (hidden if index == 0 else hidden**2) @ weights.T + bias
        yield hidden


def _bounds(maps, params, samples):
    """For each map, the largest value that any input can cause or, if less, SAFETY times seen ones.

    The worst case squares at every layer; what samples miss, the owner's checks catch.
    """
    worst, seen = params.input_bound, [np.inf] * len(maps)
    if samples is not None:
        seen = [SAFETY * np.abs(hidden).max() for hidden in _values(maps, samples)]
    for (weights, bias), usual in zip(maps, seen, strict=True):
        worst = (np.abs(weights).sum(axis=1) * worst + np.abs(bias)).max()
        yield min(worst, usual)
        worst = worst**2


def _rounded(weights, bits):
    """Integers closest to weights * 2^bits; a row of zeros keeps one unit: SEAL refuses zeros."""
    integers = np.rint(weights * 2.0**bits)
    for row in np.flatnonzero(~integers.any(axis=1)):
        integers[row, np.abs(weights[row]).argmax()] = 1
    return integers
