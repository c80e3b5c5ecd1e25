"""How the training set is split among participants, and how a free rider's labels are flipped."""

import numpy as np

DIRICHLET_ATTEMPTS = 100


def _labels(labels, n):
    labels = np.asarray(labels)
    if labels.ndim != 1:
        raise ValueError(f"labels must be one-dimensional, got shape {labels.shape}")
    if not (isinstance(n, (int, np.integer)) and n >= 2):
        raise ValueError(f"n must be a whole number of at least 2 participants, got {n}")
    if n > labels.size:
        raise ValueError(f"n must not exceed the number of samples ({labels.size}), got {n}")
    return labels


def _deal(labels, fractions, rng):
    """Split every class by its row of fractions [class, participant]; remainders go to the largest fractional parts.

    A participant's whole share is what largest-remainder rounding of the running total gives, class after class, so
    that over all classes it is off by less than one sample from its exact share.
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


def _refuse_empty(parts, what):
    if any(part.size == 0 for part in parts):
        raise ValueError(f"{what} leaves a participant without samples; use fewer participants or another split")
    return parts


def homogeneous(labels, n: int, seed: int) -> list[np.ndarray]:
    """Everyone gets the same number of samples of every class."""
    labels = _labels(labels, n)
    fractions = np.full((np.unique(labels).size, n), 1 / n)
    return _refuse_empty(_deal(labels, fractions, np.random.default_rng(seed)), "a homogeneous split")


def imbalanced(labels, n: int, kappa: float, m: int, seed: int) -> list[np.ndarray]:
    """The first m participants get a fraction kappa of each class each, the others share the rest equally."""
    labels = _labels(labels, n)
    if not (isinstance(m, (int, np.integer)) and 1 <= m < n):
        raise ValueError(f"m must be a whole number from 1 to n - 1 = {n - 1}, got {m}")
    if not 0 < kappa or not kappa * m < 1:
        raise ValueError(f"kappa must be positive with kappa * m below 1 (the others need data), got {kappa} * {m}")
    share = np.array([kappa] * m + [(1 - kappa * m) / (n - m)] * (n - m))
    fractions = np.tile(share, (np.unique(labels).size, 1))
    return _refuse_empty(_deal(labels, fractions, np.random.default_rng(seed)), f"imbalanced ({kappa}, {m})")


def _dirichlet_until_filled(labels, n, draw_fractions, delta, seed):
    labels = _labels(labels, n)
    if not 0 < delta < np.inf:
        raise ValueError(f"delta must be positive and finite, got {delta}")
    rng = np.random.default_rng(seed)
    for _ in range(DIRICHLET_ATTEMPTS):
        parts = _deal(labels, draw_fractions(rng, np.unique(labels).size), rng)
        if all(part.size for part in parts):
            return parts
    raise ValueError(
        f"delta={delta} left a participant empty in {DIRICHLET_ATTEMPTS} draws; use a larger delta or a smaller n"
    )


def dirichlet(labels, n: int, delta: float, seed: int) -> list[np.ndarray]:
    """Per class, p ~ Dirichlet_n(delta): both sizes and class mixtures differ."""
    return _dirichlet_until_filled(
        labels, n, lambda rng, classes: rng.dirichlet(np.full(n, delta), size=classes), delta, seed
    )


def quantity_skew(labels, n: int, delta: float, seed: int) -> list[np.ndarray]:
    """One p ~ Dirichlet_n(delta) for all classes: the paper's literal sentence (L363), which its tables refute."""
    return _dirichlet_until_filled(
        labels, n, lambda rng, classes: np.tile(rng.dirichlet(np.full(n, delta)), (classes, 1)), delta, seed
    )


def natural(centers, n: int) -> list[np.ndarray]:
    """One participant for each center, in the order of their numbers: nothing is drawn."""
    centers = _labels(centers, n)
    if np.unique(centers).size != n:
        raise ValueError(f"n must be the number of centers, {np.unique(centers).size}, got {n}")
    return [np.flatnonzero(centers == center) for center in np.unique(centers)]


def stratified_subset(labels, size: int, seed: int) -> np.ndarray:
    """Sorted indices of `size` samples with the class proportions of the whole."""
    labels = np.asarray(labels)
    if not 0 < size <= labels.size:
        raise ValueError(f"size must be from 1 to the number of samples ({labels.size}), got {size}")
    if size == labels.size:
        return np.arange(labels.size)
    keep = size / labels.size
    fractions = np.tile([keep, 1 - keep], (np.unique(labels).size, 1))
    return _deal(labels, fractions, np.random.default_rng(seed))[0]


def flip_labels(labels, rate: float, num_classes: int, seed: int, symmetric: bool = False) -> np.ndarray:
    """Replace a fraction `rate` of the labels: by the next class, or by a random other one (`symmetric`)."""
    labels = np.asarray(labels)
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be in [0, 1], got {rate}")
    if not (num_classes >= 2 and labels.size and 0 <= labels.min() and labels.max() < num_classes):
        raise ValueError(f"num_classes must be at least 2 and exceed every label, got {num_classes}")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(labels.size)[: round(rate * labels.size)]
    shift = rng.integers(1, num_classes, chosen.size) if symmetric else 1
    flipped = labels.copy()
    flipped[chosen] = (labels[chosen] + shift) % num_classes
    return flipped
