"""Every value the paper prints against its measured counterpart: is there one, do sign, order and size agree?"""

from pathlib import Path

import numpy as np
import pandas as pd

from reproduction import paper, records
from reproduction.catalogue import EXPERIMENTS
from reproduction.judge.trials import Trial
from reproduction.paper import DATASET_NAMES, METHOD_NAMES, MODEL_NAMES
from reproduction.paper.printed_runs import GOSSIP, HONEST
from reproduction.records import RESULTS

DEVIATIONS = 2  # over seeds, that a printed value may lie from the measured mean and be said to agree


def printed() -> pd.DataFrame:
    """The printed values, without the gains and spreads of standalone training, which are zero by definition."""
    frame = paper.tables()
    zero = frame["method"].eq("SA") & frame["participant_or_metric"].isin(["MCG", "CGS"])
    return frame[~zero].reset_index(drop=True)


def network(trial: Trial) -> str:
    return f"{'slim ' if trial.run.width else ''}{trial.run.model}"


def measured(profile: str, results: Path = RESULTS) -> dict[tuple, dict[int, Trial]]:
    """(table, data set, network, split, N, method, as printed) -> seed -> trial, over all experiments of that table.

    What was run on a drawn stand-in for the data is no counterpart; of several experiments, and of the networks that
    were run for one, the first counts.
    """
    found: dict[tuple, dict[int, Trial]] = {}
    for name, experiment in EXPERIMENTS.items():
        for run, record in records.read(name, profile, results=results) if experiment.paper else ():
            trial = Trial(run, record)
            dataset, model = DATASET_NAMES.get(experiment.dataset), MODEL_NAMES.get(experiment.model)
            for method in METHOD_NAMES.get(run.label, ()):
                for table in experiment.paper if record["standalone"] and "synthetic" not in run.dataset else ():
                    seeds = found.setdefault((table, dataset, model, run.split, run.n, method), {})
                    if not seeds or network(next(iter(seeds.values()))) == network(trial):
                        seeds.setdefault(run.seed, trial)
    return found


def value(trial: Trial, measure: str, honest: int | None = None) -> float:
    """One measure of a run: MVA, MCG, CGS (1/N), rho, P1, P2, ... or the mean accuracy of the first, honest ones."""
    if measure.startswith("P"):
        return trial.record["accuracy"][int(measure[1:]) - 1]
    if measure == "avg_honest":
        return float(np.mean(trial.record["accuracy"][:honest]))
    return getattr(trial.report, {"MVA": "mva", "MCG": "mcg", "CGS": "cgs", "rho": "correlation"}[measure])


def cells(profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """One row for each printed value: measured mean, spread and seeds; whether sign, order and size agree (or None).

    Where order is judged, CYCle's printed and measured values stand beside it; `network` is the one that was run.
    """
    found, both = measured(profile, results), {}  # the printed row, and trial and value by seed
    for row in printed().itertuples():
        place, measure = (row.table, row.dataset, row.model, row.split, row.N), row.participant_or_metric
        trials = _trials(found, *place, row.method)
        values = {seed: value(trial, measure, HONEST.get(row.table)) for seed, trial in trials.items()}
        both[*place, measure, row.method] = row, trials, values
    rows = []
    for (*place, measure, method), (row, trials, values) in both.items():
        measured_values = np.array([*values.values()])
        several = len(values) > 1
        entry = {"table": row.table, "dataset": row.dataset, "setting": f"{row.label}, N = {row.N}"}
        entry |= {"network": next(map(network, trials.values()), ""), "method": method, "measure": measure}
        entry |= {"printed": row.value, "seeds": len(values)}
        entry |= {"measured": measured_values.mean() if len(values) else np.nan}
        entry |= {"spread": measured_values.std(ddof=1) if several else np.nan}
        entry |= {"sign": None, "order": None, "size": None}
        alone = both.get((*place, measure, "SA"))
        if values and measure in ("MCG", "rho"):
            entry["sign"] = agree(row.value, entry["measured"])
        elif values and measure.startswith("P") and method != "SA" and alone:
            gains = [trial.report.gains[int(measure[1:]) - 1] for trial in trials.values()]
            entry["sign"] = agree(row.value - alone[0].value, np.mean(gains))
        ours = next((both[*place, measure, name] for name in _rivals(method) if (*place, measure, name) in both), None)
        if common := values.keys() & ours[2].keys() if ours else ():
            theirs, own = (np.mean([of[seed] for seed in common]) for of in (values, ours[2]))
            entry["order"] = agree(ours[0].value - row.value, own - theirs)
            entry |= {"CYCle printed": ours[0].value, "CYCle measured": own}
        if several:
            entry["size"] = bool(abs(row.value - entry["measured"]) <= DEVIATIONS * entry["spread"])
        rows.append(entry)
    return pd.DataFrame(rows)


def _trials(found, table, dataset, model, split, n, method) -> dict[int, Trial]:
    models = [model] if model else [*MODEL_NAMES.values(), None]  # some tables do not name the network
    return next((found[key] for name in models if (key := (table, dataset, name, split, n, method)) in found), {})


def _rivals(method: str) -> tuple[str, ...]:
    """How a table calls the CYCle that stands beside a method."""
    if method == "SA" or method.startswith("CYCle"):
        return ()
    return ("CYCle[Gossip]",) if method in GOSSIP else ("CYCle[PDL]", "CYCle")


def breakdown(profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """For each table of the paper: values, those with a counterpart, and how many of the decidable ones agree.

    Below them all together, and all without those that several tables print.
    """
    frame = cells(profile, results)
    measured_first = frame.sort_values("seeds", ascending=False, kind="stable")
    once = measured_first.drop_duplicates(["dataset", "setting", "method", "measure", "printed"])
    rows = []
    for name, group in [*frame.groupby("table", sort=False), ("all", frame), ("all, repeats once", once)]:
        rows.append({"table": name, "values": len(group), "measured": int((group["seeds"] > 0).sum())})
        for agreement in ("sign", "order", "size"):
            decided = group[agreement].dropna()
            rows[-1][agreement] = f"{int(decided.sum())} of {len(decided)}" if len(decided) else ""
    return pd.DataFrame(rows)


def agree(in_print: float, ours: float) -> bool | None:
    """In sign; None where print has a tie, or ours is undefined, as the correlation with one accuracy for all is."""
    return bool(np.sign(in_print) == np.sign(ours)) if in_print and np.isfinite(ours) else None
