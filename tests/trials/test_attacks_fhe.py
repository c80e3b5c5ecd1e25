"""A few of the forged messages."""

import numpy as np

from tests.trials import attacks_fhe


def test_forged_messages_are_refused_named_or_harmless():
    counts = attacks_fhe.measure(300, 1)
    assert counts["without_key"] == counts["with_key"] == 150
    assert counts["without_key_refused"] == 150 and counts["without_key_accepted"] == 0
    assert counts["crashed"] == counts["with_key_harmful"] == 0
    fates = ("refused", "harms_its_sender_only", "bounded_numbers")
    assert sum(counts.get(f"with_key_{fate}", 0) for fate in fates) == 150
    assert len(counts["reasons"]) >= 6
    assert np.isin(["TamperedMessage", "DecryptionFailed"], list(counts["reasons"])).all()
