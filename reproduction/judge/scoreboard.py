"""Every value the paper prints against its measured counterpart: is there one, do sign, order and size agree?"""

from pathlib import Path

import numpy as np
import pandas as pd

from cycle import metrics
from reproduction import paper, records
from reproduction.catalogue import EXPERIMENTS
from reproduction.paper import DATASET_NAMES, METHOD_NAMES, MODEL_NAMES
from reproduction.paper.audit import GOSSIP, HONEST
from reproduction.records import RESULTS

DEVIATIONS = 2  # over seeds, that a printed value may lie from the measured mean and be said to agree
CELL = ["table", "dataset", "model", "split", "N", "participant_or_metric"]


def printed() -> pd.DataFrame:
    """The printed values, without the gains and spreads of standalone training, which are zero by definition."""
    frame = paper.tables()
    zero = frame["method"].eq("SA") & frame["participant_or_metric"].isin(["MCG", "CGS"])
    return frame[~zero].reset_index(drop=True)


def measured(profile: str, results: Path = RESULTS) -> dict[tuple, dict[int, dict]]:
    """(table, data set, network, split, N, method, as printed) -> seed -> record, over all experiments of that table.

    Each record names the `network` that was run.
    What was run on a drawn stand-in for the data is no counterpart; of several experiments the first counts.
    """
    found: dict[tuple, dict[int, dict]] = {}
    networks: dict[tuple, str] = {}  # which network came first
    for name, experiment in EXPERIMENTS.items():
        for run, record in records.read(name, profile, results=results) if experiment.paper else ():
            dataset, model = DATASET_NAMES.get(experiment.dataset), MODEL_NAMES.get(experiment.model)
            for printed_name in METHOD_NAMES.get(run.label, ()):
                for table in experiment.paper if record["standalone"] and "synthetic" not in run.dataset else ():
                    key = (table, dataset, model, run.split, run.n, printed_name)
                    network = f"{'slim ' if run.width else ''}{run.model}"
                    if networks.setdefault(key, network) == network:
                        found.setdefault(key, {}).setdefault(run.seed, record | {"network": network})
    return found


def value(record: dict, measure: str) -> float:
    """One measure of a record: MVA, MCG, CGS (1/N), rho, P1, P2, ... or the mean accuracy of the "first 4"."""
    if measure.startswith("P"):
        return record["accuracy"][int(measure[1:]) - 1]
    if measure.startswith("first"):
        return float(np.mean(record["accuracy"][: int(measure.split()[1])]))
    report = metrics.fairness_report(record["standalone"], record["accuracy"], ddof=0)
    return {"MVA": report.mva, "MCG": report.mcg, "CGS": report.cgs, "rho": report.correlation}[measure]


def cells(profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """One row for each printed value: measured mean, spread and seeds; whether sign, order and size agree (or None).

    Where order is judged, CYCle's printed and measured values stand beside it; `network` is the one that was run.
    """
    frame, found = printed(), measured(profile, results)
    lines = {
        (*key, method): number for *key, method, number in frame[[*CELL, "method", "value"]].itertuples(index=False)
    }
    rows = []
    for row in frame.itertuples():
        place = (row.table, row.dataset, row.model, row.split, row.N)
        measure, seeds = row.participant_or_metric, _seeds(found, place, row.method)
        taken = f"first {HONEST[row.table]}" if measure == "avg_honest" else measure
        values = np.array([value(record, taken) for record in seeds.values()])
        several = len(values) > 1
        entry = {"table": row.table, "dataset": row.dataset, "setting": f"{row.label}, N = {row.N}"}
        entry |= {"network": next((record["network"] for record in seeds.values()), "")}
        entry |= {"method": row.method, "measure": measure, "printed": row.value, "seeds": len(values)}
        entry |= {"measured": values.mean() if len(values) else np.nan}
        entry |= {"spread": values.std(ddof=1) if several else np.nan}
        entry |= {"sign": None, "order": None, "size": None}
        if len(values):
            entry["sign"] = _sign(row, lines.get((*place, measure, "SA")), seeds)
            entry |= _order(row, place, lines, found, seeds)
        if several:
            entry["size"] = bool(abs(row.value - entry["measured"]) <= DEVIATIONS * entry["spread"])
        rows.append(entry)
    return pd.DataFrame(rows)


def breakdown(profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """For each table of the paper: values, those with a counterpart, and how many of the decidable ones agree.

    Below them all together, and all without those that several tables print.
    """
    frame = cells(profile, results)
    measured_first = frame.sort_values("seeds", ascending=False, kind="stable")
    once = measured_first.drop_duplicates(["dataset", "setting", "method", "measure", "printed"])
    groups = [*frame.groupby("table", sort=False), ("all", frame), ("all, repeats once", once)]
    return pd.DataFrame([{"table": name} | _counts(group) for name, group in groups])


def _counts(group) -> dict:
    counted = {"values": len(group), "measured": int((group["seeds"] > 0).sum())}
    for agreement in ("sign", "order", "size"):
        decided = group[agreement].dropna()
        counted[agreement] = f"{int(decided.sum())} of {len(decided)}" if len(decided) else ""
    return counted


def _seeds(found, place, method) -> dict[int, dict]:
    table, dataset, model, split, n = place
    models = [model] if model else [*MODEL_NAMES.values(), None]  # some tables do not name the network
    return next((found[key] for name in models if (key := (table, dataset, name, split, n, method)) in found), {})


def _sign(row, alone, seeds) -> bool | None:
    """Of a mean gain, a correlation or a participant's gain; None where there is no sign to compare."""
    measure = row.participant_or_metric
    if measure in ("MCG", "rho"):
        return _agree(row.value, np.mean([value(record, measure) for record in seeds.values()]))
    if measure.startswith("P") and row.method != "SA" and alone is not None:
        who = int(measure[1:]) - 1
        gain = np.mean([record["accuracy"][who] - record["standalone"][who] for record in seeds.values()])
        return _agree(row.value - alone, gain)
    return None


def _order(row, place, lines, found, seeds) -> dict:
    """Whether CYCle stands on the same side of this method as in print, and where, over the seeds of both."""
    measure = row.participant_or_metric
    ours = next((name for name in _rivals(row) if (*place, measure, name) in lines), None)
    other = _seeds(found, place, ours) if ours else {}
    common = seeds.keys() & other.keys()
    if not common or row.method == "SA":
        return {}
    theirs, own = (np.mean([value(by_seed[seed], measure) for seed in common]) for by_seed in (seeds, other))
    in_print = lines[*place, measure, ours]
    return {"order": _agree(in_print - row.value, own - theirs), "CYCle printed": in_print, "CYCle measured": own}


def _agree(in_print: float, ours: float) -> bool | None:
    """In sign; None where print has a tie, or ours is undefined, as the correlation with one accuracy for all is."""
    return bool(np.sign(in_print) == np.sign(ours)) if in_print and np.isfinite(ours) else None


def _rivals(row):
    """CYCle's names in the same pipeline, none for CYCle itself."""
    if row.method.startswith("CYCle"):
        return ()
    return ("CYCle[Gossip]",) if row.method in GOSSIP else ("CYCle[PDL]", "CYCle")
