"""What an argument may be, told apart without the help of the checks that are tested; a call and what it accepts."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
import torch


def numbers(shape=None, least=-1e100, most=1e100, ndim=None, kinds="biuf", finite=True, also=lambda array: True):
    """Arrays of numbers, of this shape or number of dimensions (or any), for which `also` holds."""

    def allowed(x):
        try:
            array = np.asarray(x)
        except Exception:
            return False
        fits = array.dtype.kind in kinds and array.size and shape in (None, array.shape) and ndim in (None, array.ndim)
        if not fits or not finite:
            return bool(fits)
        exact = array.astype(float)
        return bool(np.isfinite(exact).all() and exact.min() >= least and exact.max() <= most and also(array))

    return allowed


def number(least=-1e100, most=1e100, above=-np.inf, below=np.inf):
    def allowed(x):
        if isinstance(x, np.ndarray) and x.shape == () and x.dtype.kind in "iuf":
            x = x.item()
        if not isinstance(x, Real) or isinstance(x, bool) or (isinstance(x, int) and abs(x) > 2**63):
            return False
        return least <= float(x) <= most and above < float(x) < below

    return allowed


def whole(least, most=np.inf):
    return lambda x: isinstance(x, int | np.integer) and not isinstance(x, bool) and least <= x <= most


def choice(*names):
    return lambda x: isinstance(x, str) and x in names


def either(value, allowed):
    return lambda x: x is value or allowed(x)


def tensor_too(allowed):
    """Tensors may have a gradient."""
    return lambda x: allowed(x.detach() if torch.is_tensor(x) else x)


def at_times(allowed, surely):
    """What is allowed, and surely does; of the rest (None) some leave a participant without samples."""
    return lambda x: allowed(x) and (surely(x) or None)


def flag(x):
    return isinstance(x, bool)


def logits(x):
    return torch.is_tensor(x) and x.is_floating_point() and x.shape == (4, 3)


def three(x):
    return torch.is_tensor(x) and not x.is_complex() and x.shape == (3,)


def links(n):
    return numbers((n, n), 0, 1, also=lambda array: np.isin(array, (0, 1)).all())


def mixing(n=None, ndim=None):
    square = numbers(None if n is None else (n, n), 0, ndim=ndim, also=lambda a: a.shape[0] == a.shape[1])
    return lambda x: square(x) and np.allclose(np.asarray(x).sum(axis=1), 1, rtol=0, atol=1e-6)


def labels(size=None, kinds="biu"):
    def allowed(x):
        try:
            array = np.asarray(x)
        except Exception:
            return False
        return array.ndim == 1 and array.size > 0 and size in (None, array.size) and array.dtype.kind in kinds

    return allowed


@dataclass
class Call:
    """A function, an argument list that is right, what each argument may be, and whether NaN may come out."""

    function: Callable
    right: dict
    allowed: dict
    nan: bool = False


def call(function, nan=False, **arguments) -> Call:
    right, allowed = ({name: pair[i] for name, pair in arguments.items()} for i in (0, 1))
    return Call(function, right, allowed, nan)


def scalar(*bounds, **more):
    """A number of Python's or NumPy's, whole ones of any size; perhaps one in an array."""
    plain = number(*bounds, **more)

    def allowed(x):
        if isinstance(x, np.ndarray | torch.Tensor):
            return allowed(x.item()) and None if np.prod(x.shape) == 1 else False
        return plain(float(x) if type(x) is int else x)

    return allowed
