"""Public functions with arguments that they cannot use: each call is refused by name or gives the right value.

`python -m tests.trials.calls` tries 500 of them, tells each that was neither, and records the counts.
"""

import contextlib
import copy
import io
import os
import re
import sys
import warnings
from collections import Counter

import networkx as nx
import numpy as np
import torch

from reproduction.data import fedisic, fetch
from tests.trials import recorded
from tests.trials.accepted import CALLS, Call

NUMBERS = [True, -1, 0, 1, 2.5, 1e300, -1e300, 1e-300, 10**30, 1j, np.nan, np.inf, -np.inf, np.float32(np.nan)]
OTHERS = [None, "", "text", "0.5", b"bytes", {}, set(), object(), print, range(2), nx.Graph()]
LISTS = [[], [[]], [np.nan], [np.inf, 1.0], [1.0], ["a", "b"], [None, None], [[1, 2], [3]], [[0.5]]]
ARRAYS = [
    *(np.zeros(0), np.zeros((0, 3)), np.zeros((2, 3)), np.ones((3, 1)), np.zeros((3, 3)), np.full((3, 3), np.nan)),
    *(np.full((3, 3), 9.0), -np.eye(3), 9 * np.eye(3), np.ones((3, 3), complex), np.full(5, np.nan), np.full(5, 1e300)),
    *(
        np.array(list("12345")),
        np.array([None] * 5),
        np.array(np.nan),
        np.arange(40) + 0.5,
        np.r_[np.zeros(39), np.nan],
    ),
    *(np.zeros((2, 20), int), np.arange(3)[::-1]),
]
TENSORS = [
    *(torch.zeros(0), torch.zeros(0, 3), torch.ones(3, dtype=torch.complex64), torch.ones(3, requires_grad=True)),
    *(torch.full((4, 3), np.nan), torch.ones(1, 3), torch.ones(4, 3, dtype=torch.int64), torch.ones(5, 3)),
    *(torch.tensor(np.nan), torch.ones(2, 8, 8, 3)),
]
NONSENSE = [*NUMBERS, *OTHERS, *LISTS, *ARRAYS, *TENSORS]
CALLED = ("model", "dataset")  # what an argument `name` is called in messages


def judged(made: Call, name: str, value) -> str:
    """What became of a call: `refused` or `used` as it should, else what went wrong."""
    arguments = copy.deepcopy(made.right) | {name: value}
    before = {key: repr(part) for key, part in arguments.items() if key != "rng"}
    should = made.allowed[name](value)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):  # `print` is an argument too
            warnings.simplefilter("ignore")
            result = made.function(**arguments)
    except ValueError as error:
        text = str(error)
        named = any(re.search(rf"\b{key}\b", text) for key in [*arguments, *CALLED])
        told = named and ("\n" not in text or isinstance(error, fetch.DataError))  # which says how to get the data
        return "refused though right" if should else "refused" if told else f"unnamed: {text:.80}"
    except Exception as error:
        return f"raw {type(error).__name__}: {error!s:.80}"
    if {key: repr(part) for key, part in arguments.items() if key != "rng"} != before:
        return "arguments changed"
    if should is False:
        return "used in silence"
    return "used" if made.nan or _finite(result) else "used, and gave NaN"


def _finite(result) -> bool:
    if isinstance(result, dict):
        return all(map(_finite, result.values()))
    if isinstance(result, list | tuple):
        return all(map(_finite, result))
    if torch.is_tensor(result):
        result = result.detach().numpy()
    try:
        return bool(np.isfinite(np.asarray(result, dtype=float)).all())
    except (TypeError, ValueError):  # no numbers: a model, a table, a data set
        return True


def measure(calls: int = 500, seed: int = 0) -> dict:
    """calls tried; refused by name; used with the right value; failed: neither (each is told on the way)."""
    os.environ.pop(fedisic.VARIABLE, None)
    rng = np.random.default_rng(seed)
    everything = [(made, name, value) for made in CALLS for name in made.right for value in NONSENSE]
    found = Counter()
    for index in rng.permutation(len(everything))[:calls]:
        made, name, value = everything[index]
        outcome = judged(made, name, value)
        if outcome not in ("refused", "used"):
            shown = f"{value!r:.60}".replace("\n", "")
            print(f"{made.function.__name__}({name}={shown}): {outcome}", file=sys.stderr)
        found[outcome if outcome in ("refused", "used") else "failed"] += 1
    return {"calls": found.total(), **{key: found[key] for key in ("refused", "used", "failed")}}


if __name__ == "__main__":
    recorded("calls", measure)
