"""What the rules accept. A check only looks: it names the argument in a ValueError, or passes."""

from numbers import Real

import numpy as np

LARGEST = 1e100  # in size: sums and squares of it are still numbers
NAMES_TOO = "biuUS"  # kinds of labels, where classes may have names


def check_numbers(
    x, name: str, ndim=None, least=-LARGEST, most=LARGEST, size=1, like=None, finite=True
) -> None:
    """Numbers from least to most: an array, a tensor on the CPU, or nested lists of them.

    Where they need not be `finite`, any will do.
    """
    array = _array(x, name)
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be numbers, got {short(x)}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension(s), got shape {array.shape}")
    if array.size < size:
        raise ValueError(f"{name} must hold at least {size} value(s), got {array.size}")
    if like is not None and array.shape != np.shape(like):
        raise ValueError(f"{name} must have the shape {np.shape(like)}, got {array.shape}")
    values = array.astype(float)  # of fewer bits it could not be compared with LARGEST
    if finite and not (np.abs(values) <= LARGEST).all():
        raise ValueError(f"{name} must be finite, got {short(x)}")
    if finite and not ((values >= least) & (values <= most)).all():
        bounds = f"at least {least:g}" if most == LARGEST else f"in [{least:g}, {most:g}]"
        raise ValueError(f"{name} must be {bounds}, got {short(x)}")


def check_square(x, name: str, least=-LARGEST, most=LARGEST, like=None) -> None:
    """One row and one column for each participant."""
    shape = _array(x, name).shape
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {shape}")
    check_numbers(x, name, None, least, most, like=like)


def check_links(x, name: str, like=None) -> None:
    """A square matrix of yes and no, or of ones and zeros."""
    check_square(x, name, like=like)
    if not np.isin(x, (0, 1)).all():
        raise ValueError(f"{name} must be True and False, or 1 and 0, got {short(x)}")


def check_mixing(x, name: str) -> None:
    """Rows of weights: none negative, each row adds up to one."""
    check_square(x, name, least=0)
    if not np.allclose(np.sum(x, axis=1), 1, rtol=0, atol=1e-6):
        raise ValueError(f"{name} must have rows that add up to 1, got {short(np.sum(x, axis=1))}")


def check_number(x, name: str, least=-LARGEST, most=LARGEST, above=None, below=None) -> None:
    """One finite number."""
    real = isinstance(x, Real) and not isinstance(x, bool)
    real &= not isinstance(x, int) or abs(x) <= 2**63  # beyond, NumPy takes it for an object
    real |= isinstance(x, np.ndarray) and x.shape == () and x.dtype.kind in "iuf"
    value = float(x) if real else np.nan
    enough = value >= least if above is None else most >= value > above
    if not (enough and (value <= most if below is None else value < below)):
        low = f"{least:g} <=" if above is None else f"{above:g} <"
        high = f"<= {most:g}" if below is None else f"< {below:g}"
        raise ValueError(f"{name} must be a number with {low} {name} {high}, got {short(x)}")


def check_whole(x, name: str, least: int, most: int | None = None) -> None:
    """One whole number."""
    whole = isinstance(x, int | np.integer) and not isinstance(x, bool)
    if not (whole and x >= least and (most is None or x <= most)):
        bounds = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number, {bounds}, got {short(x)}")


def check_flag(x, name: str) -> None:
    """Yes or no."""
    if not isinstance(x, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {short(x)}")


def check_labels(x, name: str, kinds: str = "biu") -> None:
    """One class for each sample: whole numbers, or also names where `kinds` says so."""
    array = _array(x, name)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in kinds:
        what = "whole numbers" if kinds == "biu" else "whole numbers or names"
        got = f"{array.dtype} of shape {array.shape}"
        raise ValueError(f"{name} must be one-dimensional, one or more {what}, got {got}")


def check_choice(x, name: str, choices) -> None:
    """One of some names."""
    if not (isinstance(x, str) and x in choices):
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {short(x)}")


def check_stream(x, name: str) -> None:
    """What draws NumPy's random numbers; Python's own `random` draws others."""
    if not callable(getattr(x, "random", None)) or hasattr(x, "getrandbits"):
        raise ValueError(f"{name} must be a generator of numpy.random, got {short(x)}")


def _array(x, name):
    try:
        return np.asarray(x)
    except Exception as error:  # ragged lists, tensors on another device or with a gradient
        raise ValueError(f"{name} must be an array: {str(error).splitlines()[0]}") from None


def short(x) -> str:
    """A value in a message: one line, not all of a large array."""
    return f"{x!r:.60}".replace("\n", " ")
