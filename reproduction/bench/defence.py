"""What the margin rule costs in time: a round with it and without, in turn.

`python -m reproduction.bench.defence` records results/bench/defence.json, which the chapter on liars shows.
"""

from dataclasses import replace

from cycle import defence
from cycle.options import Options
from cycle.play import begin, play
from cycle.rules import Rules
from reproduction import records
from reproduction.bench.recording import in_turn, write
from reproduction.bench.round import BATCH, parties
from reproduction.data import datasets

RECORD = records.RESULTS / "bench" / "defence.json"


def measure() -> dict[str, float]:
    """The ratio of times measured in this run: five participants, all answers, the CNN."""
    plain = Options(local_epochs=0, rounds=10**6, batch_size=BATCH, lr=0.01)
    device = datasets.default_device()

    def rounds(options, rules=None):
        return play(begin(parties(device), "vpdl", options, device=device), "vpdl", options, rules)

    without, counting = rounds(plain), rounds(replace(plain, bound=15.0), Rules(count=defence.by_margin()))
    took = in_turn(repeats=12, without=lambda: next(without), counting=lambda: next(counting))
    return {"defended_vs_undefended": took.counting / took.without}


if __name__ == "__main__":
    write(RECORD, "python -m reproduction.bench.defence", measure)
