"""Drawn skin lesions: small pictures that depend on a class and on a center, for where the real images are not.

They are not photographs and say nothing about medicine. What they keep of Fed-ISIC2019 is its structure: classes that
overlap and differ in outline, colour and texture, and centers whose cameras differ in colour, contrast and vignette.
Pixels come from +, -, x, / and square roots alone, which round alike everywhere, so that every machine draws the same.
"""

from pathlib import Path

import numpy as np

from cycle.checks import check_labels, check_numbers, check_whole

SIDE = 32
CHUNK = 256  # samples drawn at a time; their planes stay in the cache
SKIN = (0.82, 0.64, 0.56)
SKIN_SPREAD, SKIN_TINT = 0.05, 0.03  # of brightness, and of each colour channel
GRAIN = 18  # grey levels of noise, either way
MIDDLE_GREY = 0.6  # what contrast leaves as it is
AXIS = ((np.arange(SIDE, dtype=np.float32) + 0.5) / SIDE) * 2 - 1
X, Y = AXIS[None, None, :], AXIS[None, :, None]


def _table(name: str) -> np.ndarray:
    """Its numbers, without the names of rows and columns."""
    return np.genfromtxt(Path(__file__).with_name(name), delimiter=",", skip_header=1)[:, 1:]


LOOKS, SPREAD = np.split(_table("lesion_looks.csv"), [-1])  # a row for each class, and how much its samples differ
CAMERAS = _table("lesion_cameras.csv")  # a row for each center: gains, how much of the next channel leaks in, ...


def draw(labels: np.ndarray, centers: np.ndarray, seed: int) -> np.ndarray:
    """One picture for each sample of a class at a center: uint8, sample x 32 x 32 x RGB; depends on the seed alone."""
    check_labels(labels, "labels")
    check_labels(centers, "centers")
    check_numbers(labels, "labels", least=0, most=len(LOOKS) - 1)
    check_numbers(centers, "centers", least=0, most=len(CAMERAS) - 1, like=labels)
    check_whole(seed, "seed", 0)
    labels, centers = np.asarray(labels), np.asarray(centers)
    rng, count = np.random.default_rng(seed), labels.size
    looks = LOOKS[labels] + SPREAD * rng.standard_normal((count, LOOKS.shape[1]))
    turn = rng.standard_normal((count, 2))
    turn /= np.sqrt(turn[:, :1] ** 2 + turn[:, 1:] ** 2)
    place = rng.uniform(-0.2, 0.2, (count, 2))
    waves = np.column_stack([rng.uniform(2, 3, count), rng.uniform(0, 1, (count, 2))])  # frequency, two phases
    skin = SKIN + SKIN_SPREAD * rng.standard_normal((count, 1)) + SKIN_TINT * rng.standard_normal((count, 3))
    pictures = np.empty((count, SIDE, SIDE, 3), np.uint8)
    for start in range(0, count, CHUNK):
        rows = slice(start, start + CHUNK)
        scene = _lesions(looks[rows], turn[rows], place[rows], waves[rows], skin[rows])
        grain = rng.integers(-GRAIN, GRAIN, (*scene[0].shape, 3), dtype=np.int8, endpoint=True)
        for channel, plane in enumerate(_photograph(scene, CAMERAS[centers[rows]])):
            pictures[rows, :, :, channel] = np.clip(np.rint(255 * plane) + grain[..., channel], 0, 255)
    return pictures


def _columns(values):
    """One number for each sample, ready to meet its pixels."""
    return [column.astype(np.float32)[:, None, None] for column in values.T]


def _wave(x):
    """A triangle wave of period 1 between -1 and 1."""
    return 4 * np.abs(x - np.rint(x)) - 1


def _lesions(looks, turn, place, waves, skin):
    """Red, green and blue of a lesion on skin, as a perfect camera would see it."""
    radius, stretch, irregular, edge, network, dots, streaks, middle, *colour = _columns(looks)
    (cosine, sine), (right, down), (frequency, *phases) = _columns(turn), _columns(place), _columns(waves)
    x, y = X - right, Y - down
    u, v = cosine * x + sine * y, stretch * (cosine * y - sine * x)
    r = np.sqrt(u * u + v * v) + np.float32(1e-6)
    three = u * (u * u - 3 * v * v) / (r * r * r)  # cos(3 angle): three corners on the outline
    inside = np.clip((radius * (1 + irregular * three) - r) * edge + 0.5, 0, 1)
    first, second = (_wave(frequency * along + phase) for along, phase in zip((u, v), phases, strict=True))
    relative = r / radius
    dark = network * (first + second) + dots * np.maximum(first * second, 0)
    dark += streaks * (2 * three * three - 1) * np.clip(2 * relative - 1, 0, 1) + middle * np.clip(1 - relative, 0, 1)
    return [ground + inside * (hue - dark - ground) for hue, ground in zip(colour, _columns(skin), strict=True)]


def _photograph(scene, cameras):
    """The same through the camera of a center: channels leak into each other, contrast changes, corners darken."""
    *gains, leak, contrast, vignette = _columns(cameras)
    shade = 1 - vignette * ((X * X + Y * Y) / 2)
    return [
        gain * shade * (MIDDLE_GREY + contrast * ((1 - leak) * plane + leak * scene[(channel + 1) % 3] - MIDDLE_GREY))
        for channel, (gain, plane) in enumerate(zip(gains, scene, strict=True))
    ]
