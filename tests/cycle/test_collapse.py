"""Who collapses is named, once and with what to do; who learns is not warned of."""

import re
import warnings

import numpy as np
import pytest
from test_front import blobs, group, linear, run
from torch import nn

import cycle
from cycle.collapse import Collapse


def test_who_collapses_is_named_with_what_to_do():
    """Two who have all labels wrong teach Basel with full weight, and far too much of it."""
    honest, wrong = blobs(40, 0), [(inputs, 1 - labels) for inputs, labels in (blobs(40, 1), blobs(40, 2))]
    parties = [
        cycle.Party(linear(), data, name=name)
        for data, name in zip([honest, *wrong], ["Basel", None, None], strict=True)
    ]
    options = cycle.Options(local_epochs=5, rounds=5, batch_size=16, lr=0.005, lambda_0=100.0)
    with pytest.warns(Collapse) as said:
        result = run(parties, "vpdl", options, test=blobs(60, 9))
    (text,) = [str(one.message) for one in said]  # said once, in the first of several such rounds
    assert re.match(
        r"round 1: Basel collapses: its accuracy fell from 98 % alone to \d %; try a tenth of lambda_0", text
    )
    assert [row["collapsed"] for row in result.history] == [[]] * 6 + [["Basel"]] * 4


def test_who_collapses_before_it_heard_anybody_is_not_told_of_lambda():
    noise = [cycle.Party(linear(), (blobs(40, n)[0], np.arange(40) // 20)) for n in range(2)]
    what = "round -1: P2 collapses: its own loss is .*, that of guessing 0.7; scale the inputs, or take a smaller lr"
    with pytest.warns(Collapse, match=what):
        run(noise, options=cycle.Options(local_epochs=2, rounds=1, lr=1e6))


def test_who_learns_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", Collapse)
        run(group(), test=blobs(40, 9))


def test_two_parties_do_not_collapse_with_what_is_recommended(digits):
    """Digits, the case that the paper's setting breaks: everybody ends near or above its accuracy alone."""
    images, labels = digits.train_images.flatten(1).float() / 16, digits.train_labels
    parties = [
        cycle.Party(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)), (images[part], labels[part]))
        for part in (slice(0, 200), slice(200, 400))
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error", Collapse)
        result = run(
            parties, options=cycle.Options.recommended(), test=(digits.test_images.flatten(1) / 16, digits.test_labels)
        )
    assert result.report().gains.min() > -5
