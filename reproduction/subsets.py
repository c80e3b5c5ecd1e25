"""Parts of a data set that follow from who made its samples, or that stand for the whole."""

import numpy as np

from cycle.checks import NAMES_TOO, check, check_labels, check_whole
from cycle.partition import deal


def natural(centers, n: int) -> list[np.ndarray]:
    """One participant for each center, in the order of their numbers: nothing is drawn."""
    check_labels(centers, "centers", NAMES_TOO)
    check_whole(n, "n", 2, len(centers))
    names, centers = np.unique(centers), np.asarray(centers)
    check(names.size == n, "n", f"be the number of centers, {names.size}", n)
    return [np.flatnonzero(centers == center) for center in names]


def stratified(labels, size: int, seed: int) -> np.ndarray:
    """Sorted indices of `size` samples with the class proportions of the whole."""
    check_labels(labels, "labels", NAMES_TOO)
    check_whole(size, "size", 1, len(labels))
    check_whole(seed, "seed", 0)
    labels = np.asarray(labels)
    if size == labels.size:
        return np.arange(labels.size)
    keep = size / labels.size
    fractions = np.tile([keep, 1 - keep], (np.unique(labels).size, 1))
    return deal(labels, fractions, np.random.default_rng(seed))[0]
