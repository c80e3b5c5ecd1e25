"""The figures of the evidence chapters, drawn from records: gains, reputations, radar plots, the trade-off."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib.figure import Figure

from reproduction import paper, records
from reproduction.draw import plots, tables
from reproduction.draw.plots import COLOURS, MARKERS
from reproduction.judge.compare import spread_text
from reproduction.judge.trials import scores_of
from reproduction.records import RESULTS


def gains(name: str, profile: str, methods=None, results: Path = RESULTS, combine=np.mean) -> pd.DataFrame:
    """One row for each split and method: every participant's gain, of all recorded seeds their mean or else."""
    groups: dict[tuple, list] = {}
    for run, record in records.read(name, profile, results=results):
        method = run.label
        if record["standalone"] and run.method != "standalone" and (methods is None or method in methods):
            key = (run.n, run.split, method)
            groups.setdefault(key, []).append(np.subtract(record["accuracy"], record["standalone"]))
    rows = [
        {"N": n, "split": split, "method": method, "seeds": len(found)}
        | dict(zip(plots.names(n), map(combine, np.transpose(found)), strict=True))
        for (n, split, method), found in groups.items()
    ]
    return pd.DataFrame(rows)


def gain_table(name: str, profile: str, methods=None) -> HTML:
    """The same with the deviation over seeds, and where the numbers come from."""
    frame = gains(name, profile, methods, combine=spread_text)
    return recorded(frame.drop(columns="N", errors="ignore"), name, profile)


def alone_by_size(names, profile: str, seed: int = 0, results: Path = RESULTS) -> pd.DataFrame:
    """Everybody's amount of data and accuracy alone, beside the value printed for the first of these experiments.

    Without Dirichlet splits: where classes are missing, the amount of data does not decide.
    """
    rows = {}
    for name in names:
        for run, record in records.read(name, profile, (seed,), results):
            if run.method == "standalone" and not run.split.startswith("dirichlet"):
                for who, images, accuracy in zip(plots.names(run.n), record["sizes"], record["accuracy"], strict=True):
                    rows[run.path, who] = {
                        "split": run.split,
                        "participant": who,
                        "variant": run.variant,
                        "images": images,
                        "accuracy": accuracy,
                        "printed": paper.metric(names[0], "standalone", run.split, run.n, who),
                    }
    return pd.DataFrame(rows.values())


def gain_panels(frame: pd.DataFrame, columns: int = 3) -> Figure:
    """One panel of bars for each split of a frame of `gains`."""
    splits = list(dict.fromkeys(frame["split"]))
    rows = -(-len(splits) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.1 * columns, 2.5 * rows), sharey=True, squeeze=False)
    people = [name for name in frame.columns if name.startswith("P")]
    for ax, split in zip(axes.flat, splits, strict=False):
        part = frame[frame["split"] == split].set_index("method")[people]
        plots.gain_bars(ax, {method: row.to_numpy() for method, row in part.iterrows()})
        ax.set_title(split, size=10)
        ax.get_legend().remove()
        ax.set_ylabel("gain (points)" if ax in axes[:, 0] else "")
    for ax in axes.flat[len(splits) :]:
        ax.axis("off")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=7)
    figure.set_layout_engine("constrained")
    return figure


def reputation_matrix(record: dict, calibration: int) -> np.ndarray:
    """Scores [scorer, scored] as found at a calibration (L502), and below the mean over scorers and calibrations."""
    scores = scores_of(record)
    return np.vstack([scores[calibration], np.nanmean(scores, axis=(0, 1))])


def reputation_heatmaps(record: dict, calibrations) -> Figure:
    """Heatmaps side by side; rows are scorers, columns are scored, the last row is the average."""
    figure, axes = plt.subplots(1, len(calibrations), figsize=(3.1 * len(calibrations), 3.3), squeeze=False)
    for ax, calibration in zip(axes.flat, calibrations, strict=True):
        matrix = reputation_matrix(record, calibration)
        rows = [*plots.names(len(matrix) - 1), "avg"]
        plots.heatmap(ax, matrix, f"round {record['reputation'][calibration]['round']}", rows)
    figure.tight_layout()
    return figure


def first_middle_last(record: dict) -> list[int]:
    """Three calibrations, as the paper shows them."""
    count = len(record["reputation"])
    return [0, count // 2, count - 1]


def radar(ax, accuracies: dict[str, np.ndarray]) -> None:
    """One closed line for each method around polar axes, one direction for each participant."""
    for method, values in accuracies.items():
        angles = np.linspace(0, 2 * np.pi, len(values), endpoint=False)
        look = {"color": COLOURS.get(method), "marker": MARKERS.get(method), "markersize": 4}
        ax.plot(np.append(angles, angles[0]), np.append(values, values[0]), label=method, **look)
    ax.set_xticks(angles, plots.names(len(angles)))
    ax.tick_params(labelsize=8)
    ax.legend(loc="upper left", bbox_to_anchor=(1.05, 1))


def tradeoff_points(names, profile: str, results: Path = RESULTS) -> pd.DataFrame:
    """MCG and CGS (1/N) of every split and method, mean over seeds, over several experiments with one N."""
    frame = pd.concat([tables.reports(name, profile, results) for name in names], ignore_index=True)
    if frame.empty:
        return frame
    if frame["N"].nunique() > 1:
        raise ValueError(f"names must be experiments with one number of participants, got {sorted(set(frame['N']))}")
    frame = frame[frame["method"] != "standalone"].drop_duplicates(["split", "method", "seed"])
    return frame.groupby(["split", "method"], sort=False)[["MCG", "CGS"]].mean().reset_index()


def tradeoff(ax, points: pd.DataFrame) -> None:
    """MCG against CGS: one small dot a split, a large one for a method's mean; the lower right corner is the aim."""
    for method, group in points.groupby("method", sort=False):
        look = {"color": COLOURS.get(method), "marker": MARKERS.get(method)}
        ax.scatter(group["MCG"], group["CGS"], s=18, alpha=0.6, **look)
        ax.scatter(group["MCG"].mean(), group["CGS"].mean(), s=110, edgecolor="black", label=method, **look)
    ax.set(xlabel="mean collaboration gain (points)", ylabel="spread (points)")
    ax.legend(ncols=2)


def by_option(name: str, profile: str, method: str, *options: str, results: Path = RESULTS) -> pd.DataFrame:
    """Reports of a method's variants with the values of the options that set them apart, one row a run."""
    frame = tables.reports(name, profile, results)
    rows = []
    for run, _ in records.read(name, profile, results=results) if not frame.empty else ():
        if run.method == method:
            settings = {option: getattr(run.options, option) for option in options}
            label = run.label
            rows.append({"N": run.n, "split": run.split, "method": label, "seed": run.seed} | settings)
    return pd.DataFrame(rows).merge(frame, on=["N", "split", "method", "seed"]) if rows else pd.DataFrame()


def recorded(frame: pd.DataFrame, names: str | tuple[str, ...], profile: str, seeds=None) -> HTML:
    """A table made from records, with a line for each experiment on where they come from; no table without records.

    `seeds` are those that the table shows, if not all.
    """
    table = plots.table(frame).data if len(frame) else ""
    names = (names,) if isinstance(names, str) else names
    return HTML(table + "".join(plots.provenance(name, profile, seeds).data for name in names))
