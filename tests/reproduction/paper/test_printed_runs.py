"""What the printed mean and spread of the gains leave possible."""

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from reproduction import paper
from reproduction.paper import printed_runs


@given(st.lists(st.floats(-20, 20), min_size=2, max_size=12))
def test_no_gain_lies_below_mean_minus_spread_times_root(gains):
    gains = np.array(gains)
    printed = {
        "table": "t",
        "dataset": "CIFAR-10",
        "model": "",
        "label": "",
        "split": "s",
        "N": len(gains),
        "method": "m",
    }
    values = [
        printed | {"participant_or_metric": k, "value": v} for k, v in (("MCG", gains.mean()), ("CGS", gains.std()))
    ]
    (least,) = printed_runs.smallest_gains(pd.DataFrame(values))["smallest possible gain"]
    assert gains.min() >= least - 1e-9


def test_smallest_gain_is_attained_by_one_participant_against_the_rest():
    for row in printed_runs.smallest_gains(paper.tables()).itertuples():
        n = int(row.run.rsplit(" ", 1)[1])
        gains = np.full(n, row.MCG + row.CGS / np.sqrt(n - 1))
        gains[0] = row._6
        assert np.isclose(gains.mean(), row.MCG) and np.isclose(gains.std(), row.CGS)
        assert (row.verdict == "nobody loses") == (gains.min() >= 0)


def test_cycle_in_a_table_of_gossip_is_cycle_on_gossip():
    gains = printed_runs.smallest_gains(paper.tables())
    on_gossip = gains["table"].isin(printed_runs.GOSSIP_TABLES)
    assert on_gossip.any() and "CYCle" not in set(gains.loc[on_gossip, "method"])
    assert "CYCle" in set(gains.loc[~on_gossip, "method"])
