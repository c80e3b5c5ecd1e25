"""Who answers whom this round, and the ledger of what was sent."""

from dataclasses import dataclass, field

import numpy as np

BYTES_PER_NUMBER = 4  # float32: logits, parameters and gradients alike


def draw_shares(reputation, round_index: int, period: int | None, rng: np.random.Generator) -> np.ndarray:
    """Bool [sender, receiver]: n answers k with probability reputation[n, k], its own score of k (L311).

    Every `period` rounds all answer all (the calibration); `period=None` never forces. The diagonal is False.
    One uniform number is drawn for every pair in every round, so the stream does not depend on the reputations.
    """
    reputation = np.asarray(reputation, dtype=float)
    if reputation.ndim != 2 or reputation.shape[0] != reputation.shape[1]:
        raise ValueError(f"reputation must be a square matrix, got shape {reputation.shape}")
    off_diagonal = ~np.eye(len(reputation), dtype=bool)
    scores = reputation[off_diagonal]
    if not ((scores >= 0) & (scores <= 1)).all():
        raise ValueError("reputation must lie in [0, 1] off the diagonal")
    if period is not None and period < 1:
        raise ValueError(f"period must be None or a positive number of rounds, got {period}")
    uniform = rng.random(reputation.shape)
    if period is not None and round_index % period == 0:
        return off_diagonal
    return (uniform < reputation) & off_diagonal


@dataclass
class Ledger:
    """Messages and bytes for every sender, receiver and round."""

    participants: int
    entries: list[tuple[int, int, int, int]] = field(default_factory=list)  # round, sender, receiver, bytes
    possible: int = 0  # what would have been sent if everybody always sent to everybody (gossip: whatever the graph)

    def record(self, round_index: int, shares: np.ndarray, size, possible: int | None = None) -> None:
        """Enter one round: shares[sender, receiver], `size` bytes for a message (by receiver, or [sender, receiver]).

        `possible` messages could have been sent, by default one from everybody to everybody else.
        """
        sizes = np.broadcast_to(size, shares.shape)
        for sender, receiver in np.argwhere(shares):
            self.entries.append((round_index, int(sender), int(receiver), int(sizes[sender, receiver])))
        self.possible += self.participants * (self.participants - 1) if possible is None else possible

    def matrix(self, bytes: bool = False) -> np.ndarray:
        """Messages (or bytes) by [sender, receiver], summed over the rounds."""
        total = np.zeros((self.participants, self.participants), dtype=np.int64)
        for _, sender, receiver, size in self.entries:
            total[sender, receiver] += size if bytes else 1
        return total

    @property
    def sent(self) -> int:
        return len(self.entries)
