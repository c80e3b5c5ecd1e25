"""What the rules accept. A check only looks: it names the argument in a ValueError, or passes."""

import numpy as np

LARGEST = 1e100  # in size: sums and squares of it are still numbers
NAMES_TOO = "biuUS"  # kinds of labels, where classes may have names


def check(holds, name: str, must: str, got) -> None:
    """What all the others say: `name` must ..., got ..."""
    if not holds:
        raise ValueError(f"{name} must {must}, got {short(got)}")


def check_kind(x, name: str, kinds, what: str) -> None:
    """Of a type, or of one of several."""
    if not isinstance(x, kinds):
        raise ValueError(f"{name} must be {what}, got {type(x).__name__}")


def check_numbers(
    x, name: str, ndim=None, least=-LARGEST, most=LARGEST, size=1, like=None, finite=True
) -> None:
    """Numbers from least to most: an array, a tensor on the CPU, or nested lists of them.

    Where they need not be `finite`, any will do.
    """
    array = _array(x, name)
    check(array.dtype.kind in "biuf", name, "be numbers", x)
    check(ndim in (None, array.ndim), name, f"have {ndim} dimension(s)", array.shape)
    check(array.size >= size, name, f"hold at least {size} value(s)", array.size)
    if like is not None:
        check(array.shape == np.shape(like), name, f"have the shape {np.shape(like)}", array.shape)
    if finite:
        values = array.astype(float)  # of fewer bits it could not be compared with LARGEST
        check((np.abs(values) <= LARGEST).all(), name, "be finite", x)
        bounds = f"at least {least:g}" if most == LARGEST else f"in [{least:g}, {most:g}]"
        check(((values >= least) & (values <= most)).all(), name, f"be {bounds}", x)


def check_square(x, name: str, least=-LARGEST, most=LARGEST, like=None) -> None:
    """One row and one column for each participant."""
    shape = _array(x, name).shape
    check(len(shape) == 2 and shape[0] == shape[1], name, "be a square matrix", shape)
    check_numbers(x, name, None, least, most, like=like)


def check_links(x, name: str, like=None) -> None:
    """A square matrix of yes and no, or of ones and zeros."""
    check_square(x, name, like=like)
    check(np.isin(x, (0, 1)).all(), name, "be True and False, or 1 and 0", x)


def check_mixing(x, name: str) -> None:
    """Rows of weights: none negative, each row adds up to one."""
    check_square(x, name, least=0)
    sums = np.sum(x, axis=1)
    check(np.allclose(sums, 1, rtol=0, atol=1e-6), name, "have rows that add up to 1", sums)


def check_number(x, name: str, least=-LARGEST, most=LARGEST, above=None, below=None) -> None:
    array = _array(x, name)
    value = float(array) if array.shape == () and array.dtype.kind in "iuf" else np.nan
    enough = value >= least if above is None else value > above
    little = value <= most if below is None else value < below
    if not (enough and little):
        low = f"{least:g} <=" if above is None else f"{above:g} <"
        high = f"<= {most:g}" if below is None else f"< {below:g}"
        raise ValueError(f"{name} must be a number with {low} {name} {high}, got {short(x)}")


def check_whole(x, name: str, least: int, most: float = np.inf) -> None:
    whole = isinstance(x, int | np.integer) and not isinstance(x, bool)
    bounds = f"at least {least}" if most == np.inf else f"from {least} to {most}"
    check(whole and least <= x <= most, name, f"be a whole number, {bounds}", x)


def check_flag(x, name: str) -> None:
    check(isinstance(x, bool | np.bool_), name, "be True or False", x)


def check_labels(x, name: str, kinds: str = "biu") -> None:
    """One class for each sample: whole numbers, or also names where `kinds` says so."""
    array, names = _array(x, name), " or names" if kinds == NAMES_TOO else ""
    fine = array.ndim == 1 and array.size and array.dtype.kind in kinds
    check(fine, name, f"be one-dimensional, one or more whole numbers{names}", x)


def check_choice(x, name: str, choices) -> None:
    check(isinstance(x, str) and x in choices, name, f"be one of {', '.join(choices)}", x)


def check_stream(x, name: str) -> None:
    """What draws NumPy's random numbers; Python's own `random` draws others."""
    draws = callable(getattr(x, "random", None)) and not hasattr(x, "getrandbits")
    check(draws, name, "be a generator of numpy.random", x)


def _array(x, name):
    try:
        return np.asarray(x)
    except Exception as error:  # ragged lists, tensors on another device or with a gradient
        raise ValueError(f"{name} must be an array: {str(error).splitlines()[0]}") from None


def short(x) -> str:
    """A value in a message: one line, not all of a large array, after its type and shape."""
    kind = f"{x.dtype} {tuple(x.shape)} " if getattr(x, "ndim", 0) and hasattr(x, "dtype") else ""
    return kind + f"{x!r:.60}".replace("\n", " ")
