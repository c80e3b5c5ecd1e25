"""What trials compute of a record, against the rule that made it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cycle import reputation
from reproduction.judge import trials


@given(st.lists(st.floats(0, 1), min_size=1, max_size=9), st.floats(0, 0.9))
def test_fresh_scores_are_what_update_was_given(scores, alpha):
    series = [reputation.update(None, scores[0], alpha)]
    for score in scores[1:]:
        series.append(reputation.update(series[-1], score, alpha))
    assert trials.fresh_scores(series, alpha) == pytest.approx(np.array(scores))


def test_similar_is_within_15_percent_of_the_second():
    assert trials.similar(2.79, 2.45) and not trials.similar(2.45, 2.88 + 0.01)
