"""Ours beside the paper's: recorded runs summarised by split and method, with their spread over seeds."""

from pathlib import Path

import pandas as pd

from cycle.methods import method_of
from reproduction import paper, records
from reproduction.catalogue import EXPERIMENTS, OPTIONS, runs_of
from reproduction.fields import load
from reproduction.judge.compare import spread_text
from reproduction.judge.trials import runs, trials
from reproduction.records import RESULTS
from reproduction.settings import COLLABORATION, PROFILES, Run

MEASURES = ["MVA", "MCG", "CGS"]
REPORTED = ["N", "split", "method", "seed", *MEASURES, "min gain", "losers", "Pearson", "messages", "minutes"]


def reports(name: str, profile: str, results: Path = RESULTS, options=()) -> pd.DataFrame:
    """One row for each recorded run with a known standalone: its report (CGS with 1/N), messages, and these options."""
    frame = runs(trials((name,), profile, results)).rename(columns={"smallest": "min gain"})
    return frame.reindex(columns=[*REPORTED, *options])


def common_seeds(frame: pd.DataFrame) -> pd.DataFrame:
    """Of a frame of `reports`, for each N and split, the seeds that all of its methods have: what may be compared."""
    needed = frame.groupby(["N", "split"])["method"].transform("nunique")
    return frame[frame.groupby(["N", "split", "seed"])["method"].transform("nunique") == needed]


def summary(name: str, profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """Ours (mean and, from two seeds on, sample deviation over seeds) beside the paper's printed values."""
    frame = reports(name, profile, results)
    if frame.empty:
        return frame
    rows = []
    for (n, split, method), group in frame.groupby(["N", "split", "method"], sort=False):
        row = {"N": n, "split": split, "method": method, "seeds": len(group)}
        for measure in MEASURES:
            row[measure] = spread_text(group[measure], 2)
            row[f"paper {measure}"] = _printed(name, profile, method, split, n, measure)
        row["min gain"] = spread_text(group["min gain"], 2)
        row["losers"] = f"{group['losers'].mean():.1f}"
        row["messages"] = "" if group["messages"].isna().all() else f"{100 * group['messages'].mean():.0f} %"
        rows.append(row)
    summed = pd.DataFrame(rows)
    unprinted = [column for column in summed if column.startswith("paper ") and (summed[column] == "").all()]
    return summed.drop(columns=unprinted + (["N"] if len(EXPERIMENTS[name].n) == 1 else []))


def _printed(name: str, profile: str, method: str, split: str, n: int, what: str) -> str:
    """The paper's value, if the profile runs on the paper's data: digits and drawn pictures stand in for them."""
    dataset = EXPERIMENTS[name].dataset
    same = PROFILES[profile].data.get(dataset, (dataset, None))[0] == dataset
    value = paper.metric(name, method, split, n, what) if same else None
    return "" if value is None else f"{value:.2f}"


def participants(name: str, profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """Everybody's final accuracy: ours (mean and, from two seeds on, deviation over seeds) above the paper's."""
    groups: dict[tuple, list] = {}
    for run, record in records.read(name, profile, results=results):
        groups.setdefault((run.n, run.split, run.label), []).append(record["accuracy"])
    rows = []
    for (n, split, method), found in groups.items():
        row = {"split": split, "method": method, "of": f"ours, {len(found)} seed" + "s" * (len(found) > 1)}
        names = [f"P{index + 1}" for index in range(n)]
        theirs = {who: _printed(name, profile, method, split, n, who) for who in names}
        rows.append(row | {who: spread_text(values, 2) for who, *values in zip(names, *found, strict=True)})
        if all(theirs.values()):
            rows.append(row | {"of": "paper"} | theirs)
    return pd.DataFrame(rows)


def across_processors(name: str, profile: str, results: Path = RESULTS) -> list[Run]:
    """The runs whose participants' accuracy alone was recorded on another processor: gains carry the noise of both."""
    found = []
    for run, record in records.read(name, profile, results=results):
        alone = results / run.alone().path
        if alone.exists() and not _on_one_processor(run, record, load(alone)):
            found.append(run)
    return found


def _on_one_processor(run: Run, record: dict, alone: dict) -> bool:
    """Whether two records round alike: seen in the local epochs that they share, where these were tested.

    Elsewhere the names of the processors must do, which are the same for some that do not round alike.
    """
    own = OPTIONS - set(COLLABORATION)  # what local epochs depend on
    alike = all(getattr(run.options, name) == getattr(run.alone().options, name) for name in own)
    if method_of(run.method).local_start and alike:
        together, apart = (
            {point["round"] + one["options"]["local_epochs"] + 1: point["accuracy"] for point in one["curve"]}
            for one in (record, alone)
        )
        shared = [epoch for epoch in together if epoch in apart and epoch <= run.options.local_epochs]
        if shared:
            honest = [n for n in range(run.n) if n not in run.flips]
            return all(together[epoch][n] == apart[epoch][n] for epoch in shared for n in honest)
    return record["provenance"]["hardware"] == alone["provenance"]["hardware"]


def provenance_line(name: str, profile: str, results: Path = RESULTS) -> str:
    """What the numbers came from: profile, seeds, hardware, dates, commits, command."""
    read = records.read(name, profile, results=results)
    if not read:
        return f"not run; to run it: python -m cycle run {name} --profile {profile}"
    found = [record for _, record in read]
    origins = [one for record in found for one in (record["provenance"], *record["provenance"].get("earlier", ()))]
    hardware, dates, commits = (sorted({one[key] for one in origins}) for key in ("hardware", "date", "commit"))
    seeds = sorted({record["seed"] for record in found})
    needed = len(seeds) * len(list(runs_of(name, profile)))
    waiting = sum(record["standalone"] is None for record in found)
    missing = f" ({waiting} of them in no table until its standalone run is recorded)" if waiting else ""
    drawn = " on a synthetic stand-in" if read[0][0].dataset.endswith("synthetic") else ""
    short = ", ".join(commit[:8] + "-dirty" * commit.endswith("-dirty") for commit in commits)
    return (
        f"profile {profile}{drawn}, {len(seeds)} seed(s), {len(found)} of {needed} runs{missing} on "
        f"{' and '.join(hardware)}, {dates[0][:10]} to {dates[-1][:10]}, commit {short}; "
        f"python -m cycle run {name} --profile {profile} --seed {','.join(map(str, seeds))}"
    )
