"""The benchmark of encryption, at sizes that take seconds: what it measures but time."""

import pytest
from torch import nn

from reproduction import models
from reproduction.bench import aims, fhe


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fhe, "SLOTS", 200)
        patch.setattr(fhe, "kl_term", lambda: {})
        patch.setattr(fhe, "_convolutions", lambda: {})
        patch.setattr(fhe, "memory_growth", lambda: 0.0)
        return fhe.measure()


@pytest.mark.parametrize(
    "name",
    [
        "logit_error",
        "argmax_agreement",
        "gradient_cosine",
        "bytes_per_prediction_128",
        "upload_vs_unseeded",
        "flooding_bits",
    ],
)
def test_what_no_clock_decides_meets_its_aim(measured, name):
    assert aims.aim("fhe", name).verdict(measured[name]) == "met", measured[name]


def test_the_error_that_is_reported_is_that_of_the_flood(measured):
    """2,000 normal numbers of 2^-14: the largest lies between three and six deviations."""
    assert 3 * 2.0**-14 < measured["logit_error"] < 6 * 2.0**-14


def test_the_packed_product_gives_the_divergence_of_every_sample():
    numbers = fhe.kl_term(64)
    assert numbers["kl_error"] < 1e-6 and numbers["kl_vs_naive"] > 1


def test_images_of_any_shape_are_measured():
    network = nn.Sequential(nn.Conv2d(2, 2, 2, stride=2), models.Square(), nn.Flatten(), nn.Linear(8, 10))
    milliseconds, error = fhe.random_images(network, (2, 4, 4))
    assert milliseconds > 0 and 2.0**-13 < error < 5e-4


def test_encrypted_answers_leave_no_memory_behind():
    assert fhe.memory_growth(50) < 20
