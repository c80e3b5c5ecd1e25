import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cycle import sharing


@given(st.integers(2, 8), st.integers(0, 20), st.integers(1, 6), st.integers(0, 99))
def test_shares_are_bools_without_diagonal_and_forced_at_calibrations(n, round_index, period, seed):
    rng = np.random.default_rng(seed)
    reputation = rng.random((n, n))
    shares = sharing.draw_shares(reputation, round_index, period, rng)
    assert shares.dtype == bool and not shares.diagonal().any()
    if round_index % period == 0:
        assert shares.sum() == n * (n - 1)


def test_certain_reputations_decide():
    reputation = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], dtype=float)
    for seed in range(50):
        shares = sharing.draw_shares(reputation, 1, 5, np.random.default_rng(seed))
        assert np.array_equal(shares, reputation.astype(bool))


def test_the_senders_own_score_is_the_probability():
    reputation = np.array([[0, 0.2], [0.7, 0]])
    rng = np.random.default_rng(0)
    drawn = np.mean([sharing.draw_shares(reputation, 1, None, rng) for _ in range(20_000)], axis=0)
    assert np.abs(drawn - reputation).max() < 4 * np.sqrt(0.25 / 20_000)  # [sender, receiver], not transposed


@given(st.integers(1, 6), st.integers(0, 99))
def test_one_number_is_drawn_for_each_pair(n, seed):
    reputation = np.random.default_rng(seed + 1).random((n, n))
    expected = np.random.default_rng(seed).random((n, n)) < reputation
    np.fill_diagonal(expected, False)
    assert np.array_equal(sharing.draw_shares(reputation, 1, None, np.random.default_rng(seed)), expected)


def test_period_none_never_forces():
    assert not sharing.draw_shares(np.zeros((3, 3)), 0, None, np.random.default_rng(0)).any()


def test_the_stream_does_not_depend_on_the_reputations():
    ends = []
    for reputation in (np.zeros((4, 4)), np.ones((4, 4))):
        rng = np.random.default_rng(3)
        sharing.draw_shares(reputation, 0, 5, rng)
        sharing.draw_shares(reputation, 1, 5, rng)
        ends.append(rng.random())
    assert ends[0] == ends[1]


def test_ledger_counts_messages_and_bytes():
    ledger = sharing.Ledger(3)
    ledger.record(0, ~np.eye(3, dtype=bool), [10, 20, 30])
    ledger.record(1, np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool), [10, 20, 30])
    assert ledger.sent == 7 and ledger.possible == 12
    assert ledger.matrix().tolist() == [[0, 2, 1], [1, 0, 1], [1, 1, 0]]
    assert ledger.matrix(bytes=True).tolist() == [[0, 40, 30], [10, 0, 30], [10, 20, 0]]
    assert (1, 0, 1, 20) in ledger.entries


def test_what_was_possible_can_be_told_and_sizes_may_differ_by_pair():
    ledger = sharing.Ledger(2)
    ledger.record(3, [[0, 1], [1, 0]], [[0, 5], [7, 0]], possible=1)
    ledger.record(4, [[0, 1], [0, 0]], 0, possible=0)
    assert ledger.possible == 1 and ledger.sent == 3
    assert ledger.entries == [(3, 0, 1, 5), (3, 1, 0, 7), (4, 0, 1, 0)]
    assert ledger.matrix(bytes=True).tolist() == [[0, 5], [7, 0]] and ledger.matrix().dtype == np.int64
    with pytest.raises(ValueError, match=r"shares must have the shape \(2, 2\)"):
        ledger.record(0, np.zeros((3, 3)), 1)
    with pytest.raises(ValueError, match="size must be one number"):
        ledger.record(0, np.zeros((2, 2)), [1, 2, 3])
    with pytest.raises(ValueError, match="size must be in"):
        ledger.record(0, np.zeros((2, 2)), 2**53 + 2)


@pytest.mark.parametrize(
    "reputation, period, named",
    [(np.ones((2, 3)), 5, "reputation"), (np.full((2, 2), 1.5), 5, "reputation"), (np.ones((2, 2)), 0, "period")],
)
def test_refuses(reputation, period, named):
    with pytest.raises(ValueError, match=named):
        sharing.draw_shares(reputation, 1, period, np.random.default_rng(0))


def test_a_message_has_at_most_as_many_bytes_as_a_double_counts():
    ledger = sharing.Ledger(2)
    ledger.record(0, ~np.eye(2, dtype=bool), 2**53)
    assert ledger.matrix(bytes=True).tolist() == [[0, 2**53], [2**53, 0]]
    with pytest.raises(ValueError, match="size must be in"):
        ledger.record(0, ~np.eye(2, dtype=bool), 2**54)
