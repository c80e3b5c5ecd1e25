"""Who answers whom this round, and the ledger of what was sent."""

from dataclasses import dataclass, field

import numpy as np

from cycle.checks import check, check_links, check_numbers, check_square, check_stream, check_whole

BYTES_PER_NUMBER = 4  # float32: logits, parameters and gradients alike


def draw_shares(
    reputation, round_index: int, period: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Bool [sender, receiver]: n answers k with probability reputation[n, k], its score of k.

    Every `period` rounds all answer all (the calibration); `period=None` never forces. The diagonal
    is False. One uniform number is drawn for every pair in every round, so the stream does not
    depend on the reputations.
    """
    check_square(reputation, "reputation", 0, 1)
    check_whole(round_index, "round_index", 0)
    if period is not None:
        check_whole(period, "period", 1)
    check_stream(rng, "rng")
    reputation = np.asarray(reputation, dtype=float)
    off_diagonal = ~np.eye(len(reputation), dtype=bool)
    uniform = rng.random(reputation.shape)
    if period is not None and round_index % period == 0:
        return off_diagonal
    return (uniform < reputation) & off_diagonal


@dataclass
class Ledger:
    """Messages and bytes for every sender, receiver and round."""

    participants: int
    entries: list[tuple] = field(default_factory=list)  # round, sender, receiver, bytes
    possible: int = 0  # had everybody always sent to everybody (gossip: whatever the graph)

    def record(self, round_index: int, shares, size, possible: int | None = None) -> None:
        """Enter one round: `size` bytes a message (or by receiver, or [sender, receiver]).

        `possible` messages could have been sent, by default one from everybody to everybody else.
        """
        check_whole(round_index, "round_index", 0)
        check_links(shares, "shares", like=np.eye(self.participants))
        check_numbers(size, "size", least=0, most=2**53)
        fits = np.shape(size) in ((), (self.participants,), np.shape(shares))
        check(fits, "size", "be one number, one a receiver or a square", size)
        if possible is not None:
            check_whole(possible, "possible", 0)
        sizes, everybody = np.broadcast_to(size, np.shape(shares)), self.participants
        for pair in np.argwhere(shares).tolist():
            self.entries.append((round_index, *pair, int(sizes[*pair])))
        self.possible += everybody * (everybody - 1) if possible is None else possible

    def matrix(self, bytes: bool = False) -> np.ndarray:
        """Messages (or bytes) by [sender, receiver], summed over the rounds."""
        total = np.zeros((self.participants, self.participants), dtype=np.int64)
        for _, sender, receiver, size in self.entries:
            total[sender, receiver] += size if bytes else 1
        return total

    @property
    def sent(self) -> int:
        return len(self.entries)
