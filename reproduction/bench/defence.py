"""What the margin rule costs in time: a round with it and without, in turn.

`python -m reproduction.bench.defence` records results/bench/defence.json, which the chapter on liars shows.
"""

from dataclasses import replace

from cycle import defence
from cycle.options import Options
from cycle.play import device_of, rounds
from reproduction import records
from reproduction.bench.recording import in_turn, write
from reproduction.bench.round import BATCH, parties

RECORD = records.RESULTS / "bench" / "defence.json"


def measure() -> dict[str, float]:
    """The ratio of times measured in this run: five participants, all answers, the CNN."""
    device, plain = device_of("auto"), Options(local_epochs=0, rounds=10**6, batch_size=BATCH, lr=0.01)
    without = rounds(parties(device), "vpdl", plain)
    counting = rounds(parties(device), "vpdl", replace(plain, bound=15.0), count=defence.by_margin())
    took = in_turn(repeats=12, without=lambda: next(without), counting=lambda: next(counting))
    return {"defended_vs_undefended": took.counting / took.without}


if __name__ == "__main__":
    write(RECORD, "python -m reproduction.bench.defence", measure)
