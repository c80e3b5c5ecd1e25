"""How two methods are compared, everywhere in this book: paired differences over runs, with their interval.

The rule was fixed before the runs that it judges. The unit is a run (a split and a seed). Differences are paired: two
methods count where both were run on the same participants with the same seed. A tie is a 95 % interval (t) within
half a point; a difference is one that excludes zero; all else is undecided.
"""

from pathlib import PurePath

import numpy as np
import pandas as pd
from scipy import stats

from cycle import metrics

LEVEL = 0.95
TIE = 0.5  # points
OUTCOMES = {"mean accuracy": "mva", "MCG": "mcg", "CGS": "cgs", "smallest gain": "min_gain"}


def outcomes(record: dict) -> dict[str, float]:
    """The four by which methods are compared, in points; CGS with 1/N, as printed."""
    report = metrics.fairness_report(record["standalone"], record["accuracy"], ddof=0)
    return {name: getattr(report, field) for name, field in OUTCOMES.items()}


def differences(found: list, one: str, other: str) -> pd.DataFrame:
    """One row for each run that both methods have: split, N, seed, and the first method minus the second.

    `found` is what `records.read` returns (of several experiments: their sum); methods are labels: "cycle permuted".
    """
    values: dict[str, dict] = {one: {}, other: {}}
    for run, record in found:
        if run.label in values and record["standalone"] is not None:
            values[run.label][PurePath(run.path).parent, run.seed] = run, outcomes(record)
    rows = []
    for key, (run, first) in values[one].items():
        if key in values[other]:
            second = values[other][key][1]
            named = {"dataset": run.dataset, "model": run.model, "split": run.split, "N": run.n, "seed": run.seed}
            rows.append(named | {name: first[name] - second[name] for name in OUTCOMES})
    return pd.DataFrame(rows, columns=["dataset", "model", "split", "N", "seed", *OUTCOMES])


def interval(values) -> tuple[float, float, float]:
    """Mean and the ends of its interval; of one value no ends are known (NaN)."""
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan"), float("nan")
    half = stats.t.ppf((1 + LEVEL) / 2, len(values) - 1) * stats.sem(values)
    return float(values.mean()), float(values.mean() - half), float(values.mean() + half)


def word(low: float, high: float) -> str:
    """tie, higher, lower or undecided; an interval within half a point is a tie, also where it excludes zero."""
    if -TIE <= low and high <= TIE:
        return "tie"
    return "higher" if low > 0 else "lower" if high < 0 else "undecided"


def compare(found: list, *pairs: tuple[str, str], by: tuple[str, ...] = ()) -> pd.DataFrame:
    """One row for each pair of methods and outcome: runs, mean difference (first minus second), interval, verdict.

    With `by` (columns of `differences`, as "split") also one for each of their values.
    """
    rows = []
    for one, other in pairs:
        frame = differences(found, one, other)
        for names, group in frame.groupby(list(by), sort=False) if by else [((), frame)] if len(frame) else []:
            for outcome in OUTCOMES:
                mean, low, high = interval(group[outcome])
                row = {"method": one, "minus": other} | dict(zip(by, names, strict=True)) | {"outcome": outcome}
                row |= {"runs": len(group), "difference": mean, "low": low, "high": high}
                rows.append(row | {"verdict": word(low, high)})
    return pd.DataFrame(rows)


def spread_text(values, digits: int = 2) -> str:
    """`mean ± deviation`, the mean alone for one value, `undefined` where any value is."""
    values = np.asarray(values, dtype=float)
    if not np.isfinite(values).all():
        return "undefined"
    deviation = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{deviation}"
