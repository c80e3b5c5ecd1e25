"""What an argument may be, told apart without the help of the checks that are tested.

Each is a function of any value: True where it must be used, False where it must be refused, None where both will do.
"""

from numbers import Real

import numpy as np
import torch


def numbers(shape=None, least=-1e100, most=1e100, kinds="biuf", finite=True, also=lambda array: True):
    """Arrays of numbers, of this shape or number of dimensions (or any), for which `also` holds."""

    def allowed(x):
        try:
            array = np.asarray(x)
        except Exception:
            return False
        fits = array.dtype.kind in kinds and array.size and shape in (None, array.shape, array.ndim)
        if not fits or not finite:
            return bool(fits)
        exact = array.astype(float)
        return bool(np.isfinite(exact).all() and exact.min() >= least and exact.max() <= most and also(array))

    return allowed


def number(least=-1e100, most=1e100, above=-np.inf, below=np.inf, largest=2**63):
    def allowed(x):
        if isinstance(x, np.ndarray) and x.shape == () and x.dtype.kind in "iuf":
            x = x.item()
        if not isinstance(x, Real) or isinstance(x, bool) or (isinstance(x, int) and abs(x) > largest):
            return False
        return least <= float(x) <= most and above < float(x) < below

    return allowed


def option(least=-np.inf, most=np.inf, above=-np.inf, below=np.inf):
    """A number of any size; perhaps one in an array."""
    plain = number(least, most, above, below, np.inf)

    def allowed(x):
        if isinstance(x, np.ndarray | torch.Tensor):
            return np.prod(x.shape) == 1 and allowed(x.item()) and None
        return plain(x)

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
    """What is allowed, and surely does; of the rest some leave a participant without samples."""
    return lambda x: allowed(x) and (surely(x) or None)


def flag(x):
    return isinstance(x, bool)


def floats(shape):
    return lambda x: torch.is_tensor(x) and x.is_floating_point() and x.shape == shape


def square(least=-1e100, most=1e100):
    return numbers(2, least, most, also=lambda array: array.shape[0] == array.shape[1])


def links(n):
    return numbers((n, n), 0, 1, also=lambda array: np.isin(array, (0, 1)).all())


def mixing(shape=2):
    rows = numbers(shape, 0, also=lambda array: array.shape[0] == array.shape[1])
    return lambda x: rows(x) and np.allclose(np.asarray(x).sum(axis=1), 1, rtol=0, atol=1e-6)


def labels(shape=1, kinds="biu"):
    return numbers(shape, kinds=kinds, finite=False)
