"""Which of the settings drawn at random is the best: the rule, fixed before the first of them was run.

Settings are ranked by the mean accuracy of CYCle's participants on held-out training images. Of the first five the
one is chosen in which nobody loses against training alone in that setting; if none, the one that loses least.
"""

from pathlib import Path

import pandas as pd

from cycle import metrics
from reproduction import records
from reproduction.experiments.questions import SETTINGS
from reproduction.records import RESULTS

FINALISTS = 5
OUTCOMES = ("accuracy", "MCG", "min gain", "losers")
OPTIONS = "lr augment rounds common_start decay_from lambda_0 temperature clip_norm warmup".split()


def ranking(profile: str = "laptop", results: Path = RESULTS) -> pd.DataFrame:
    """One row for each setting: its options and, where it is recorded, what came of it; the best first.

    A setting without accuracy was not run, or ended in a loss that is not finite, of which nothing is recorded.
    """
    found = {name: {"setting": name} | options for name, options in SETTINGS.items()}
    for run, record in records.read("search", profile, results=results):
        if run.method == "cycle":
            found[run.variant] |= {"accuracy": sum(record["accuracy"]) / run.n}
            if record["standalone"]:
                report = metrics.fairness_report(record["standalone"], record["accuracy"])
                found[run.variant] |= {"MCG": report.mcg, "min gain": report.min_gain, "losers": report.losers}
    frame = pd.DataFrame(found.values(), columns=["setting", *OUTCOMES, *OPTIONS])
    return frame.sort_values("accuracy", ascending=False, ignore_index=True)


def chosen(frame: pd.DataFrame) -> str | None:
    """The name of the setting that the rule picks of a ranking; None as long as no finalist was compared with alone."""
    finalists = frame.head(FINALISTS).dropna(subset=["min gain"])
    nobody_loses = finalists[finalists["losers"] == 0]
    if len(nobody_loses):
        return nobody_loses["setting"].iloc[0]
    return None if finalists.empty else finalists.loc[finalists["min gain"].idxmax(), "setting"]
