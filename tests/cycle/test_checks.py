"""What passes and what is named, for each check by itself."""

import random

import numpy as np
import pytest
import torch

from cycle import checks


@pytest.mark.parametrize(
    "check, good, bad",
    [
        (
            lambda x: checks.check_numbers(x, "x", ndim=1, least=0, most=1, size=2),
            [[0, 1], (0.5, 0.5, 0.5), np.ones(3, np.float32), np.array([True, False]), torch.ones(2)],
            [[0.5], [0.5, 1.5], [-0.1, 0], [[0, 1]], ["0", "1"], [None, 1], [0, np.nan], [1j, 0], [[1], [1, 2]], None],
        ),
        (
            lambda x: checks.check_numbers(x, "x"),
            [0, [[1.0]], -1e100, 1e100, np.float32(3e38)],
            [np.inf, [np.nan], 2e100, [], np.array([np.inf], np.float32), torch.ones(1, requires_grad=True), 10**400],
        ),
        (lambda x: checks.check_numbers(x, "x", finite=False), [np.nan, [np.inf], 1e300], ["nan", [], [None]]),
        (lambda x: checks.check_numbers(x, "x", like=np.ones((1, 2))), [[[1, 2]]], [[1, 2], [[1], [2]]]),
        (
            lambda x: checks.check_square(x, "x", 0, 1),
            [[[0.5]], np.eye(3)],
            [np.ones((2, 3)), [1.0], np.ones((0, 0)), 2 * np.eye(2), -np.eye(2), np.ones((2, 2, 2)), "x"],
        ),
        (lambda x: checks.check_links(x, "x"), [np.eye(2, dtype=bool), [[0, 1], [1, 0]]], [[[0.5]], [[2]], [[1, 0]]]),
        (
            lambda x: checks.check_mixing(x, "x"),
            [np.eye(2), [[0.3, 0.7], [1, 0]]],
            [9 * np.eye(2), [[0.5, 0.4], [0, 1]], [[1.5, -0.5], [0, 1]]],
        ),
        (
            lambda x: checks.check_number(x, "x", 0, 1),
            [0, 1, 0.5, np.float32(0.5), np.array(0.5), np.int8(1)],
            [-0.1, 1.1, True, "0.5", None, [0.5], np.nan, np.array([0.5]), np.array("0.5"), 1j],
        ),
        (lambda x: checks.check_number(x, "x", above=0, below=1), [0.5], [0, 1, -1, 2, np.nan]),
        (lambda x: checks.check_whole(x, "x", 2, 4), [2, 4, np.int64(3)], [1, 5, 3.0, True, "3", None, np.nan]),
        (lambda x: checks.check_whole(x, "x", 0), [0, 10**30], [-1, 0.0]),
        (
            lambda x: checks.check_labels(x, "x"),
            [[0, 1], np.array([3], np.uint8), torch.tensor([-1]), [True]],
            [[], [0.0], ["cat"], [[0]], 0, [0, np.nan], None],
        ),
        (lambda x: checks.check_labels(x, "x", checks.NAMES_TOO), [["cat", "dog"], [0]], [[0.5], [None], ["a", None]]),
        (lambda x: checks.check_choice(x, "x", ("a", "b")), ["a"], ["c", None, [], 1, ["a"]]),
        (
            lambda x: checks.check_stream(x, "x"),
            [np.random.default_rng(0), np.random.RandomState(0)],
            [None, 0, random, random.Random(0)],
        ),
    ],
)
def test_what_passes_and_what_is_named_in_one_line(check, good, bad):
    for value in good:
        assert check(value) is None
    for value in bad:
        with pytest.raises(ValueError, match="^x must ") as found:
            check(value)
        assert "\n" not in str(found.value) and len(str(found.value)) < 250, value
