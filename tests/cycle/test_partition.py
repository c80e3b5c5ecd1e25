import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cycle import partition

many_labels = st.builds(
    lambda seed, size, classes: np.random.default_rng(seed).integers(0, classes, size),
    st.integers(0, 10_000),
    st.integers(60, 400),
    st.integers(2, 10),
)
participants = st.integers(2, 8)
seeds = st.integers(0, 10_000)


def check(parts, labels, again):
    joined = np.concatenate(parts)
    assert np.array_equal(np.sort(joined), np.arange(labels.size))  # disjoint and complete
    assert all(part.size for part in parts)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))  # the seed alone decides


def class_counts(parts, labels):
    return np.array([[np.sum(labels[part] == c) for c in np.unique(labels)] for part in parts])


@given(many_labels, participants, seeds)
def test_homogeneous(labels, n, seed):
    parts = partition.homogeneous(labels, n, seed)
    check(parts, labels, partition.homogeneous(labels, n, seed))
    counts = class_counts(parts, labels)
    assert (np.ptp(counts, axis=0) <= 1).all()
    assert np.ptp([part.size for part in parts]) <= 1


@given(many_labels, participants, st.data(), seeds)
def test_imbalanced(labels, n, data, seed):
    m = data.draw(st.integers(1, n - 1))
    kappa = data.draw(st.floats(0.05, 0.8 / m))
    parts = partition.imbalanced(labels, n, kappa, m, seed)
    check(parts, labels, partition.imbalanced(labels, n, kappa, m, seed))
    share = np.array([kappa] * m + [(1 - kappa * m) / (n - m)] * (n - m))
    assert np.abs(class_counts(parts, labels) - np.outer(share, np.bincount(labels)[np.unique(labels)])).max() < 2
    assert np.abs([part.size for part in parts] - share * labels.size).max() <= 1.5


@given(many_labels, participants, st.floats(0.3, 20), seeds)
def test_dirichlet_and_quantity_skew(labels, n, delta, seed):
    for split in (partition.dirichlet, partition.quantity_skew):
        check(split(labels, n, delta, seed), labels, split(labels, n, delta, seed))


def test_dirichlet_has_the_moments_of_its_distribution():
    labels = np.repeat(np.arange(10), 1000)
    fractions = np.concatenate(
        [class_counts(partition.dirichlet(labels, 4, 0.5, seed), labels).T / 1000 for seed in range(300)]
    )
    concentration = 4 * 0.5
    variance = 0.25 * 0.75 / (concentration + 1)
    assert fractions.mean() == pytest.approx(0.25)
    assert fractions.var() == pytest.approx(variance, rel=0.06)


def test_quantity_skew_keeps_the_class_mixture():
    labels = np.repeat(np.arange(10), 1000)
    counts = class_counts(partition.quantity_skew(labels, 5, 0.5, 0), labels)
    assert (np.ptp(counts, axis=1) <= 1).all()


def test_other_seeds_give_other_splits():
    labels = np.repeat(np.arange(10), 20)
    assert not np.array_equal(partition.homogeneous(labels, 4, 0)[0], partition.homogeneous(labels, 4, 1)[0])


FEW = np.array([0, 1, 2, 0, 1, 2, 0, 1, 0, 1, 0, 0])


@pytest.mark.parametrize(
    "split, numbers, parts",
    [
        ("homogeneous", (), [[4, 6, 8, 9], [1, 2, 10, 11], [0, 3, 5, 7]]),
        ("imbalanced", (0.5, 1), [[2, 4, 6, 8, 9, 11], [0, 1, 10], [3, 5, 7]]),
        ("dirichlet", (1.0,), [[5, 6, 8], [0, 3, 9, 10, 11], [1, 2, 4, 7]]),
        ("quantity", (1.0,), [[5, 8, 9], [1, 2, 3, 4, 6, 10], [0, 7, 11]]),
    ],
)
def test_splits_stay_what_recorded_runs_had(split, numbers, parts):
    """Drawn once: another order of draws or of remainders would give every recorded run other data."""
    names = np.array(["cat", "dog", "emu"])[FEW]
    for labels in (FEW, names):
        assert [part.tolist() for part in partition.SPLITS[split](labels, 3, *numbers, 0)] == parts


def test_what_is_drawn_stays_what_recorded_runs_had():
    assert partition.flip_labels(FEW, 0.5, 4, 0).tolist() == [0, 1, 3, 0, 2, 3, 0, 2, 0, 2, 0, 1]
    assert partition.flip_labels(FEW, 0.5, 4, 0, symmetric=True).tolist() == [0, 1, 1, 0, 2, 0, 0, 0, 0, 2, 0, 3]


def test_a_draw_that_leaves_somebody_empty_is_drawn_again():
    """A hundred times at most, each with new fractions."""
    drawn = []

    def fractions(draw, classes):
        drawn.append(classes)
        share = [0.5, 0.5] if len(drawn) == 7 else [1.0, 0.0]
        return np.tile(share, (classes, 1))

    parts = partition._drawn(FEW, 2, 1.0, 0, fractions)
    assert drawn == [3] * 7 and [part.size for part in parts] == [6, 6]
    with pytest.raises(ValueError, match="delta=1.0 left a participant empty in 100 draws; use a larger delta"):
        partition._drawn(FEW, 2, 1.0, 0, lambda draw, classes: np.tile([1.0, 0.0], (classes, 1)))


def test_bounds_of_arguments():
    """The last value that is taken, and the first that is not, by its name."""
    one = [part.tolist() for part in partition.homogeneous(FEW, 12, 0)]
    assert sorted(one) == [[i] for i in range(12)]
    assert partition.flip_labels([0, 1], 1.0, 2, 0).tolist() == [1, 0]
    assert partition.flip_labels([0, 1], 0.0, 2**31, 0).tolist() == [0, 1]
    assert partition.flip_labels(np.array([127], np.int8), 0.0, 128, 0).tolist() == [127]
    assert len(partition.imbalanced(FEW, 3, 0.4, 2, 0)) == 3
    wrong = {
        "labels must be one-dimensional": [
            lambda: partition.homogeneous(FEW[None], 2, 0),
            lambda: partition.flip_labels(FEW[None], 0.5, 4, 0),
            lambda: partition.flip_labels(["cat"], 0.5, 4, 0),
        ],
        "n must be a whole number, from 2 to 12": [lambda: partition.dirichlet(FEW, 13, 1.0, 0)],
        "seed must be a whole number, at least 0": [
            lambda: partition.homogeneous(FEW, 2, -1),
            lambda: partition.flip_labels(FEW, 0.5, 4, -1),
        ],
        "m must be a whole number, from 1 to 2": [
            lambda: partition.imbalanced(FEW, 3, 0.1, 0, 0),
            lambda: partition.imbalanced(FEW, 3, 0.1, 3, 0),
        ],
        "kappa must be a number with 0 < kappa < 0.5": [
            lambda: partition.imbalanced(FEW, 3, 0.5, 2, 0),
            lambda: partition.imbalanced(FEW, 3, 0, 2, 0),
        ],
        "delta must be a number with 0 < delta": [lambda: partition.quantity_skew(FEW, 3, 0, 0)],
        "rate must be a number with 0 <= rate <= 1": [
            lambda: partition.flip_labels(FEW, -0.1, 4, 0),
            lambda: partition.flip_labels(FEW, 1.1, 4, 0),
        ],
        "num_classes must be a whole number, from 2 to 2147483648": [
            lambda: partition.flip_labels([0, 0], 0.5, 1, 0),
            lambda: partition.flip_labels(FEW, 0.5, 2**31 + 1, 0),
        ],
        "symmetric must be True or False": [lambda: partition.flip_labels(FEW, 0.5, 4, 0, 1)],
    }
    for named, calls in wrong.items():
        for call in calls:
            with pytest.raises(ValueError, match=f"^{named}"):
                call()


def test_symmetric_flips_hit_every_other_class_alike():
    labels = np.full(9000, 3)
    flipped = partition.flip_labels(labels, 1, 10, 0, symmetric=True)
    counts = np.bincount(flipped, minlength=10)
    assert counts[3] == 0 and np.abs(np.delete(counts, 3) - 1000).max() < 5 * np.sqrt(1000)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int64])
def test_flipped_labels_keep_their_type_up_to_its_largest_number(kind):
    largest = min(np.iinfo(kind).max, 1000)
    labels = np.full(20, largest, kind)
    flipped = partition.flip_labels(labels, 1, largest + 1, 0)
    assert flipped.dtype == kind and not flipped.any() and (labels == largest).all()
    with pytest.raises(ValueError, match="num_classes must fit"):
        partition.flip_labels(np.zeros(4, np.uint8), 1, 257, 0)


@given(many_labels, st.floats(0, 1), st.booleans(), seeds)
def test_flip_labels(labels, rate, symmetric, seed):
    classes = labels.max() + 2
    flipped = partition.flip_labels(labels, rate, classes, seed, symmetric)
    changed = flipped != labels
    assert changed.sum() == round(rate * labels.size)
    assert flipped.min() >= 0 and flipped.max() < classes
    if not symmetric:
        assert np.array_equal(flipped[changed], (labels[changed] + 1) % classes)


LABELS = np.repeat(np.arange(10), 5)


@pytest.mark.parametrize(
    "call, named",
    [
        (lambda: partition.homogeneous(LABELS, 51, 0), "n must be a whole number, from 2 to 50, got 51"),
        (lambda: partition.homogeneous(LABELS, 1, 0), "n must be a whole number, from 2"),
        (lambda: partition.homogeneous(LABELS.reshape(5, 10), 2, 0), "labels"),
        (lambda: partition.imbalanced(LABELS, 5, 0.6, 2, 0), "kappa must be"),
        (lambda: partition.imbalanced(LABELS, 5, 0.5, 2, 0), "kappa must be"),
        (lambda: partition.imbalanced(LABELS, 5, -0.1, 1, 0), "kappa must be"),
        (lambda: partition.imbalanced(LABELS, 5, 0.1, 5, 0), "m must"),
        (lambda: partition.imbalanced(LABELS, 40, 0.9, 1, 0), "without samples"),
        (lambda: partition.dirichlet(LABELS, 5, 0, 0), "delta"),
        (lambda: partition.dirichlet(LABELS, 45, 0.01, 0), "delta"),
        (lambda: partition.quantity_skew(LABELS, 5, -1, 0), "delta"),
        (lambda: partition.flip_labels(LABELS, 1.2, 10, 0), "rate"),
        (lambda: partition.flip_labels(LABELS, 0.2, 5, 0), "num_classes - 1 = 4"),
        (lambda: partition.flip_labels(LABELS, 0.2, 9, 0), "labels must be from 0 to num_classes - 1 = 8"),
        (lambda: partition.flip_labels(LABELS - 1, 0.2, 10, 0), "labels must be from 0 to num_classes - 1 = 9"),
        (lambda: partition.flip_labels(LABELS, 0.2, 2**31 + 1, 0), "num_classes must be a whole number"),
    ],
)
def test_refuses(call, named):
    with pytest.raises(ValueError, match=named):
        call()
