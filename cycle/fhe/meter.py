"""What travelled, for every sender, receiver and round."""

from collections import Counter, defaultdict


class TrafficMeter:
    """Bytes by kind of message, for each (sender, receiver, round)."""

    def __init__(self):
        self.bytes = defaultdict(Counter)

    def sent(self, sender: int, receiver: int, round_index: int, kind: str, size: int) -> None:
        """Enter one message of `size` bytes."""
        self.bytes[sender, receiver, round_index][kind] += size

    def total_bytes(self, *kinds: str) -> int:
        """Bytes of these kinds of message, of all kinds by default."""
        return sum(
            size
            for sizes in self.bytes.values()
            for kind, size in sizes.items()
            if not kinds or kind in kinds
        )

    def messages(self, kind: str) -> int:
        """How many messages of a kind travelled."""
        return sum(kind in sizes for sizes in self.bytes.values())
