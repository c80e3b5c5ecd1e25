"""Models that are kept predict after a reload as well as the record says; none are kept unasked."""

import pytest

from cycle.party import accuracy
from reproduction import execute, kept
from reproduction.data.datasets import Pixels


@pytest.mark.parametrize("method", ["cycle", "fedavg"])
def test_kept_models_have_the_recorded_accuracies(small_run, tmp_path, digits, method):
    run = small_run(method)
    record = execute.execute(run, "test", tmp_path, "cpu", progress=False, keep=True)
    found = kept.trained(run, tmp_path)
    test = digits.test_images, digits.test_labels, Pixels(digits)
    assert [accuracy(model, *test) for model in found] == record["accuracy"]


def test_models_that_were_not_kept_are_asked_for_in_words(small_run, tmp_path):
    run = small_run("standalone")
    execute.execute(run, "test", tmp_path, "cpu", progress=False)
    assert not kept.folder(run, tmp_path).exists()
    with pytest.raises(ValueError, match="run with --keep-models"):
        kept.trained(run, tmp_path)
    with pytest.raises(ValueError, match="was recorded without its models: move it away"):
        execute.execute(run, "test", tmp_path, "cpu", progress=False, keep=True)
