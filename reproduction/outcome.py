"""What `run` and `table` end with: ours beside the paper's, of what was asked for, and where it is from."""

import pandas as pd

from reproduction import overview
from reproduction.catalogue import EXPERIMENTS
from reproduction.draw import tables
from reproduction.progress import accuracies
from reproduction.settings import Run

CONVENTION = "CGS in the paper's printed convention (1/N). ± is the sample deviation over seeds."


def of_experiment(name: str, profile: str) -> str:
    """All that is recorded of an experiment."""
    return "\n".join([_shown(name, profile, tables.summary(name, profile)), tables.provenance_line(name, profile)])


def of_runs(name: str, profile: str, runs: list[Run], records: list[dict]) -> str:
    """Of these runs alone, over all seeds that are recorded; accuracies where a gain has nothing to be taken from."""
    frame, compared = tables.summary(name, profile), []
    asked = [(run.n, run.split, run.label) for run in runs]
    if not frame.empty:
        sizes = frame["N"] if "N" in frame else [EXPERIMENTS[name].n[0]] * len(frame)
        compared = list(zip(sizes, frame["split"], frame["method"], strict=True))
        frame = frame[[row in asked for row in compared]]
    alone = [
        f"{run.split}, {run.label}, seed {run.seed}: accuracy {accuracies(record['accuracy'])}; "
        "no gains, since standalone is not recorded (--methods standalone runs it)"
        for run, row, record in zip(runs, asked, records, strict=True)
        if row not in compared
    ]
    return "\n".join([_shown(name, profile, frame), *alone])


def _shown(name: str, profile: str, frame: pd.DataFrame) -> str:
    rows = [] if frame.empty else [frame.to_string(index=False), CONVENTION]
    return "\n".join([overview.heading(name, profile), *rows])
