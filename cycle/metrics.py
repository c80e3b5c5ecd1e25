"""How much collaboration gave each participant, and how evenly."""

import warnings
from dataclasses import dataclass

import numpy as np

from cycle.checks import check_number, check_numbers, check_whole


@dataclass(frozen=True)
class FairnessReport:
    """The figures by which the book judges one run; accuracies and gains in percentage points."""

    gains: np.ndarray  # G_n = A_n - B_n
    mva: float  # mean accuracy after collaboration
    mcg: float  # mean collaboration gain
    cgs: float  # spread of the gains
    min_gain: float  # the gain of whoever gained least
    losers: int  # how many gained less than nothing
    correlation: float  # Pearson of (B, A), which the paper argues against; NaN: a side is constant
    correlation_p: float  # its two-sided p-value
    gain_correlation: float  # Pearson of (B, G)
    cantelli_bound: float  # bound on P(G <= 0); NaN unless MCG > 0


def gains(standalone, collaborative) -> np.ndarray:
    """G_n = A_n - B_n: accuracy with collaboration minus accuracy alone."""
    check_numbers(standalone, "standalone", ndim=1, size=2)
    check_numbers(collaborative, "collaborative", ndim=1, size=2, like=standalone)
    before, after = np.asarray(standalone, dtype=float), np.asarray(collaborative, dtype=float)
    return after - before


def pearson(x, y) -> tuple[float, float]:
    """Pearson correlation and two-sided p-value; NaN: a side is constant (or p of two points)."""
    from scipy import stats  # a second to import, which nothing else in cycle waits for

    check_numbers(x, "x", ndim=1, size=2)
    check_numbers(y, "y", ndim=1, size=2, like=x)
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of nearly constant input: the value is still defined
        result = stats.pearsonr(x, y)
    return float(result.statistic), float("nan") if x.size == 2 else float(result.pvalue)


def cantelli_bound(mean: float, spread: float) -> float:
    """One-sided Chebyshev: P(G <= 0) <= nu^2 / (nu^2 + mu^2), defined for mu > 0 only."""
    check_number(mean, "mean")
    check_number(spread, "spread", least=0)
    return float((spread / np.hypot(spread, mean)) ** 2) if mean > 0 else float("nan")


def fairness_report(standalone, collaborative, ddof: int = 1) -> FairnessReport:
    """All measures at once; ddof=1 is the paper's Eq. of CGS (1/(N-1)), ddof=0 its tables (1/N)."""
    check_whole(ddof, "ddof", 0, 1)
    gain = gains(standalone, collaborative)
    mean, spread = float(gain.mean()), float(gain.std(ddof=ddof))
    correlation, p_value = pearson(standalone, collaborative)
    return FairnessReport(
        gains=gain,
        mva=float(np.mean(collaborative)),
        mcg=mean,
        cgs=spread,
        min_gain=float(gain.min()),
        losers=int((gain < 0).sum()),
        correlation=correlation,
        correlation_p=p_value,
        gain_correlation=pearson(standalone, gain)[0],
        cantelli_bound=cantelli_bound(mean, spread),
    )
