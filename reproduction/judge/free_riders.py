"""Those who flip labels or refuse to answer: tables of how they are scored and what they gain."""

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction.judge.evidence import pairs
from reproduction.judge.trials import Trial, runs, scores_of


def honest(trial: Trial) -> list[int]:
    return [n for n in range(trial.run.n) if n not in trial.run.flips]


def mean_score(trial: Trial, scorers: list[int], scored: list[int], calibration: int = -1) -> float:
    """What these think of those (nobody of itself), on average, at one calibration (-1: the last)."""
    return np.nanmean(trial.scores(calibration)[np.ix_(scorers, scored)])


def flips(found: list[Trial]) -> pd.DataFrame:
    """CYCle's runs in which somebody flips labels, each beside the one with clean labels."""
    both = pairs(found).query("kind == 'cycle' and kind_other == 'cycle' and flippers > 0 and flippers_other == 0")
    cells = [_flipped(row.trial, row.trial_other) for row in both.itertuples()]
    return both.join(pd.DataFrame(cells, index=both.index)).assign(case=_cases(both))


def flips_on_own_labels(found: list[Trial]) -> pd.DataFrame:
    """The same runs, each beside the one in which everybody trains alone on the labels at hand."""
    alike = "kind == 'cycle' and kind_other == 'standalone' and flippers > 0 and variant == variant_other"
    both = pairs(found).query(alike)
    ahead = [_honest_ahead(row.trial, row.trial_other.record["accuracy"]) for row in both.itertuples()]
    return both.assign(case=_cases(both), honest_ahead=ahead)


def _cases(both) -> pd.Series:
    return both["place"] + ", " + both["flippers"].astype(str) + " flip " + both["rate"].astype(str)


def _flipped(trial: Trial, clean: Trial) -> dict:
    """Scores that the honest give to those who flip and to each other, and gains of the honest."""
    who, liars, row = honest(trial), list(trial.run.flips), {}
    for when, calibration in (("at_first", 0), ("at_last", -1)):
        theirs, own = ([mean_score(trial, who, [n], calibration) for n in scored] for scored in (liars, who))
        before = [mean_score(clean, who, [n], calibration) for n in liars]
        row |= {f"highest_flipper_{when}": max(theirs), f"lowest_honest_{when}": min(own)}
        row |= {f"most_above_clean_{when}": max(np.subtract(theirs, before))}
    gains = trial.report.gains
    return row | {
        "highest_score_at_last": trial.scores(-1)[np.ix_(who, liars)].max(),
        "honest_in_their_eyes": mean_score(trial, liars, who),
        "honest_count": len(who),
        "honest_smallest": min(gains[who]),
        "honest_lost": clean.report.gains[who].mean() - gains[who].mean(),
        "honest_ahead": _honest_ahead(trial, trial.record["standalone"]),
    }


def _honest_ahead(trial: Trial, alone) -> float:
    """How much more the honest gain at least than any who flips."""
    gains = metrics.gains(alone, trial.record["accuracy"])
    return min(gains[honest(trial)]) - max(gains[list(trial.run.flips)])


def rate_steps(found: list[Trial]) -> pd.DataFrame:
    """The flippers' mean score, over all calibrations, at each flip rate and at the next, from 0 on."""
    rows = []
    for place, variants in runs(found).query("kind == 'cycle'").groupby("place", sort=False):
        for count in (1, 2):
            flipped = variants[variants["flippers"] == count].sort_values("rate")
            clean = variants[variants["variant"] == ""].head(len(flipped))
            who = [list(trial.run.flips) for trial in flipped["trial"]][:1]
            steps = [(row.rate, _standing(row.trial, who[0])) for row in pd.concat([clean, flipped]).itertuples()]
            for (low, score), (high, score_next) in zip(steps, steps[1:], strict=False):
                case = f"{place}, {count} flip, {low} to {high}"
                rows.append({"case": case, "score": score, "score_next": score_next})
    return pd.DataFrame(rows)


def _standing(trial: Trial, who: list[int]) -> float:
    return np.nanmean(scores_of(trial.record), axis=1)[:, who].mean()


def refusals(found: list[Trial]) -> pd.DataFrame:
    """CYCle's runs in which somebody refuses to answer, and what that costs it, beside the plain one."""
    both = pairs(found).query("kind == 'cycle' and method_other == 'cycle'")
    who = [(*row.trial.run.silent, *row.trial.run.forced_only) for row in both.itertuples()]
    both = both.assign(who=[n[0] if n else -1 for n in who]).query("who >= 0")
    ends = [
        [trial.record["accuracy"][n] for trial in (own, other)]
        for own, other, n in both[["trial", "trial_other", "who"]].to_numpy()
    ]
    return both.assign(case=both["place"] + ", " + both["variant"], costs=[other - own for own, other in ends])
