"""How the training set is split among participants, and how a free rider's labels are flipped."""

from functools import partial

import numpy as np

from cycle.checks import NAMES_TOO, check, check_flag, check_labels, check_number, check_whole

DIRICHLET_ATTEMPTS = 100


def check_split(labels, n, seed):
    check_labels(labels, "labels", NAMES_TOO)
    check_whole(n, "n", 2, len(labels))
    check_whole(seed, "seed", 0)


def deal(labels, fractions, rng):
    """Split every class by its row of fractions [class, participant]; remainders by largest part.

    A participant's whole share is what largest-remainder rounding of the running total gives, class
    after class, so that over all classes it is off by hardly more than a sample from its exact one.
    """
    parts = [[] for _ in range(fractions.shape[1])]
    owed = np.zeros(fractions.shape[1])
    for row, label in enumerate(np.unique(labels)):
        members = rng.permutation(np.flatnonzero(labels == label))
        exact = fractions[row] * members.size
        counts = np.floor(exact).astype(int)
        owed += exact - counts
        for participant in np.argsort(-owed, kind="stable")[: members.size - counts.sum()]:
            counts[participant] += 1
            owed[participant] -= 1
        for participant, chunk in enumerate(np.split(members, np.cumsum(counts)[:-1])):
            parts[participant].append(chunk)
    return [np.sort(np.concatenate(part)) for part in parts]


def homogeneous(labels, n: int, seed: int) -> list[np.ndarray]:
    """Everyone gets the same number of samples of every class."""
    check_split(labels, n, seed)
    return _dealt(labels, [1 / n] * n, seed, "a homogeneous split")


def imbalanced(labels, n: int, kappa: float, m: int, seed: int) -> list[np.ndarray]:
    """The first m participants get a fraction kappa of each class each, the others the rest."""
    check_split(labels, n, seed)
    check_whole(m, "m", 1, n - 1)
    check_number(kappa, "kappa", above=0, below=1 / m)  # the others need data
    shares = [kappa] * m + [(1 - kappa * m) / (n - m)] * (n - m)
    return _dealt(labels, shares, seed, f"imbalanced with kappa={kappa}, m={m}")


def _dealt(labels, shares, seed, what):
    """Of every class the same shares."""
    labels = np.asarray(labels)
    fractions = np.tile(shares, (np.unique(labels).size, 1))
    parts = deal(labels, fractions, np.random.default_rng(seed))
    if not all(part.size for part in parts):
        cure = "use fewer participants or another split"
        raise ValueError(f"{what} leaves a participant without samples; {cure}")
    return parts


def dirichlet(labels, n: int, delta: float, seed: int) -> list[np.ndarray]:
    """Per class, p ~ Dirichlet_n(delta): both sizes and class mixtures differ."""
    return _drawn(labels, n, delta, seed, lambda p, classes: p(size=classes))


def quantity_skew(labels, n: int, delta: float, seed: int) -> list[np.ndarray]:
    """One p ~ Dirichlet_n(delta) for all classes: the paper's words (L363); its tables differ."""
    return _drawn(labels, n, delta, seed, lambda p, classes: np.tile(p(), (classes, 1)))


def _drawn(labels, n, delta, seed, fractions):
    """Until nobody is empty."""
    check_split(labels, n, seed)
    check_number(delta, "delta", above=0)
    labels, rng = np.asarray(labels), np.random.default_rng(seed)
    p = partial(rng.dirichlet, np.full(n, delta))
    for _ in range(DIRICHLET_ATTEMPTS):
        parts = deal(labels, fractions(p, np.unique(labels).size), rng)
        if all(part.size for part in parts):
            return parts
    tried, cure = f"in {DIRICHLET_ATTEMPTS} draws", "use a larger delta or a smaller n"
    raise ValueError(f"delta={delta} left a participant empty {tried}; {cure}")


SPLITS = {  # by the first word of a split's name; its numbers follow, as in imbalanced-0.6-1
    "homogeneous": homogeneous,
    "dirichlet": dirichlet,
    "quantity": quantity_skew,
    "imbalanced": imbalanced,
}


def flip_labels(
    labels, rate: float, num_classes: int, seed: int, symmetric: bool = False
) -> np.ndarray:
    """Replace a fraction `rate` of the labels by the next class (`symmetric`: a random other)."""
    check_labels(labels, "labels", "iu")
    check_number(rate, "rate", 0, 1)
    check_whole(num_classes, "num_classes", 2, 2**31)
    check_whole(seed, "seed", 0)
    check_flag(symmetric, "symmetric")
    labels = np.asarray(labels)
    last, kind = num_classes - 1, labels.dtype
    known = 0 <= labels.min() and labels.max() <= last
    check(known, "labels", f"be from 0 to num_classes - 1 = {last}", labels)
    fits = last <= np.iinfo(kind).max
    check(fits, "num_classes", f"fit the type of labels, {kind}", num_classes)
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(labels.size)[: round(rate * labels.size)]
    shift = rng.integers(1, num_classes, chosen.size) if symmetric else 1
    flipped = labels.copy()
    flipped[chosen] = (labels[chosen].astype(np.int64) + shift) % num_classes
    return flipped
