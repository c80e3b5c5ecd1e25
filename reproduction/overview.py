"""What `list` prints: all experiments in a line each, or one of them whole. Records are counted, not read."""

import json
import re
import textwrap
from pathlib import Path

from reproduction.catalogue import EXPERIMENTS, PAPER_HOURS_PER_RUN, runs_of
from reproduction.settings import PROFILES, RECORDED, UNCHANGED

WIDTH = 100
SEED = re.compile(r"\.seed(\d+)\.json$")


def everything(results: Path) -> str:
    """One line for each experiment: its name, what it is, what of it is recorded at each scale."""
    there = {profile: recorded(profile, results) for profile in RECORDED}
    name_width = max(map(len, EXPERIMENTS))
    what_width = WIDTH - name_width - 12 * len(RECORDED) - 2
    lines = [f"{'experiment':{name_width}}  {'what':{what_width}}" + "".join(f"{p:>12}" for p in RECORDED)]
    for name, experiment in EXPERIMENTS.items():
        what = textwrap.shorten(experiment.title, what_width - 1, placeholder=" ...")
        counts = "".join(f"{_count(name, profile, there[profile]):>12}" for profile in RECORDED)
        lines.append(f"{name:{name_width}}  {what:{what_width}}{counts}")
    profiles = [f"  {name:7} {profile.about}" for name, profile in PROFILES.items()]
    return "\n".join([*lines, "", "Profiles, for --profile:", *profiles, "", "More on one: list NAME"])


def recorded(profile: str, results: Path) -> set[str]:
    """Paths below `results` of what is recorded at a profile."""
    return {path.relative_to(results).as_posix() for path in (results / profile).rglob("*.json")}


def _seeds(there: set[str]) -> list[int]:
    return sorted({int(ending[1]) for ending in map(SEED.search, there) if ending})


def _by_seed(name: str, profile: str, there: set[str]) -> tuple[int, dict[int, list[str]]]:
    """How many runs a seed has, and which of them are recorded, for each seed of which any is."""
    wanted = {seed: [run.path for run in runs_of(name, profile, (seed,))] for seed in _seeds(there) or (0,)}
    found = {seed: [path for path in paths if path in there] for seed, paths in wanted.items()}
    return len(next(iter(wanted.values()))), {seed: paths for seed, paths in found.items() if paths}


def _count(name: str, profile: str, there: set[str]) -> str:
    needed, found = _by_seed(name, profile, there)
    complete = sum(len(paths) == needed for paths in found.values())
    if found and complete == len(found):
        return f"{complete} seed" + "s" * (complete > 1)
    runs = sum(map(len, found.values()))
    return f"{runs} of {needed * len(found)}" if runs else "-"


def one(name: str, results: Path) -> str:
    """All that can be asked of an experiment, what each profile makes of it, and what is recorded."""
    experiment = EXPERIMENTS[name]
    variants = [variant or UNCHANGED for variant in experiment.variants]
    fields = {
        "data, model": f"{experiment.dataset}, {experiment.model}",
        "participants": ", ".join(map(str, experiment.n)),
        "--methods": ", ".join(experiment.methods),
        "--splits": ", ".join(experiment.splits),
        "--variants": ", ".join(variants),
        "in the paper": ", ".join(experiment.paper) or "not printed there",
    }
    fields |= {f"--profile {profile}": _scale(name, profile, results) for profile in PROFILES}
    lines = [f"{name}: {experiment.title}"]
    for label, text in fields.items():
        indent = " " * 20
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=f"  {label:18}", subsequent_indent=indent, break_on_hyphens=False
        )
    return "\n".join([*lines, f"To run it: run {name} --profile laptop"])


def _scale(name: str, profile: str, results: Path) -> str:
    there = recorded(profile, results)
    needed, found = _by_seed(name, profile, there)
    said = [stand_in(name, profile), f"{needed} run" + "s" * (needed > 1) + " a seed"]
    if profile == "paper":
        said.append(
            f"about {needed * PAPER_HOURS_PER_RUN:.0f} h a seed on one A100 (estimated from the paper, not run)"
        )
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
