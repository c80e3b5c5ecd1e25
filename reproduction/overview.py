"""What `list`, `run` and `table` print: all experiments in a line each, one of them whole, ours beside the paper's.

`list` needs no pandas, and counts records instead of reading them.
"""

import json
import textwrap
from pathlib import Path

from reproduction.catalogue import EXPERIMENTS, PAPER_HOURS_PER_RUN, experiment_of, runs_of
from reproduction.progress import accuracies
from reproduction.records import recorded
from reproduction.settings import PROFILES, RECORDED, UNCHANGED, Run

WIDTH = 100
CONVENTION = "CGS in the paper's printed convention (1/N). ± is the sample deviation over seeds."


def everything(results: Path) -> str:
    """One line for each experiment: its name, what it is, what of it is recorded at each scale."""
    there = {profile: recorded(profile, results) for profile in RECORDED}
    name_width = max(map(len, EXPERIMENTS))
    what_width = WIDTH - name_width - 12 * len(RECORDED) - 2
    rows = [("experiment", "what", *RECORDED)]
    for name, experiment in EXPERIMENTS.items():
        what = textwrap.shorten(experiment.title, what_width - 1, placeholder=" ...")
        rows.append((name, what, *(_count(name, profile, there[profile]) for profile in RECORDED)))
    lines = [
        f"{name:{name_width}}  {what:{what_width}}" + "".join(f"{count:>12}" for count in counts)
        for name, what, *counts in rows
    ]
    profiles = [f"  {name:7} {profile.about}" for name, profile in PROFILES.items()]
    return "\n".join([*lines, "", "Profiles, for --profile:", *profiles, "", "More on one: list NAME"])


def _by_seed(name: str, profile: str, there: dict[str, int]) -> tuple[int, dict[int, list[str]]]:
    """How many runs a seed has, and which of them are recorded, for each seed of which any is."""
    wanted = {seed: [run.path for run in runs_of(name, profile, (seed,))] for seed in sorted({*there.values()}) or (0,)}
    found = {seed: [path for path in paths if path in there] for seed, paths in wanted.items()}
    return len(next(iter(wanted.values()))), {seed: paths for seed, paths in found.items() if paths}


def _count(name: str, profile: str, there: dict[str, int]) -> str:
    needed, found = _by_seed(name, profile, there)
    complete, runs = sum(len(paths) == needed for paths in found.values()), sum(map(len, found.values()))
    if found and complete == len(found):
        return f"{complete} seed" + "s" * (complete > 1)
    return f"{runs} of {needed * len(found)}" if runs else "-"


def one(name: str, results: Path) -> str:
    """All that can be asked of an experiment, what each profile makes of it, and what is recorded."""
    experiment = experiment_of(name)
    fields = {
        "data, model": f"{experiment.dataset}, {experiment.model}",
        "participants": ", ".join(map(str, experiment.n)),
        "--methods": ", ".join(experiment.methods),
        "--splits": ", ".join(experiment.splits),
        "--variants": ", ".join(variant or UNCHANGED for variant in experiment.variants),
        "in the paper": ", ".join(experiment.paper) or "not printed there",
    }
    fields |= {f"--profile {profile}": _scale(name, profile, results) for profile in PROFILES}
    wrap = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * 20, break_on_hyphens=False)
    lines = [wrap.fill(f"  {label:18}{text}") for label, text in fields.items()]
    return "\n".join([f"{name}: {experiment.title}", *lines, f"To run it: run {name} --profile laptop"])


def _scale(name: str, profile: str, results: Path) -> str:
    needed, found = _by_seed(name, profile, recorded(profile, results))
    said = [stand_in(name, profile), f"{needed} run" + "s" * (needed > 1) + " a seed"]
    if profile == "paper":
        hours = needed * PAPER_HOURS_PER_RUN
        said.append(f"about {hours:.0f} h a seed on one A100 (estimated from the paper, not run)")
    for seed, paths in found.items():
        hours = sum(json.loads((results / path).read_text())["seconds"] for path in paths) / 3600
        said.append(f"seed {seed}: {len(paths)} recorded, {hours:.1f} h")
    return "; ".join(said)


def stand_in(name: str, profile: str) -> str:
    """What a profile really runs: digits are not CIFAR-10, and a reader should see it before the numbers."""
    experiment, run = EXPERIMENTS[name], next(runs_of(name, profile))
    model = run.model if run.width is None else f"{run.model} of width {run.width}"
    pairs = ((run.dataset, experiment.dataset), (model, experiment.model))
    said = ", ".join(used if used == named else f"{used} in the place of {named}" for used, named in pairs)
    return said + (f", {run.images:,} images" if run.images else "")


def heading(name: str, profile: str) -> str:
    return f"{name}, profile {profile}: {stand_in(name, profile)}"


def of_experiment(name: str, profile: str) -> str:
    """All that is recorded of an experiment."""
    from reproduction.draw import tables

    return "\n".join([_shown(name, profile, tables.summary(name, profile)), tables.provenance_line(name, profile)])


def of_runs(name: str, profile: str, runs: list[Run], records: list[dict]) -> str:
    """Of these runs alone, over all seeds that are recorded; accuracies where a gain has nothing to be taken from."""
    from reproduction.draw import tables

    frame, asked = tables.summary(name, profile), [(run.n, run.split, run.label) for run in runs]
    named = frame.reindex(columns=["N", "split", "method"]).fillna({"N": EXPERIMENTS[name].n[0]})
    compared = list(named.itertuples(index=False, name=None))
    alone = [
        f"{run.split}, {run.label}, seed {run.seed}: accuracy {accuracies(record['accuracy'])}; "
        "no gains, since standalone is not recorded (--methods standalone runs it)"
        for run, row, record in zip(runs, asked, records, strict=True)
        if row not in compared
    ]
    return "\n".join([_shown(name, profile, frame[[row in asked for row in compared]]), *alone])


def _shown(name: str, profile: str, frame) -> str:
    rows = [] if frame.empty else [frame.to_string(index=False), CONVENTION]
    return "\n".join([heading(name, profile), *rows])
