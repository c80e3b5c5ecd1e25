"""Reading what was recorded: one JSON a run."""

import json
import re
from pathlib import Path

from reproduction.catalogue import runs_of
from reproduction.data.fetch import PICTURES
from reproduction.fields import load
from reproduction.provenance import results_folder
from reproduction.settings import PROFILES, Run

WHOSE = ("profile", "dataset", "model", "width", "method", "variant", "split", "n", "seed")  # fields that name a run
RESULTS = results_folder()


def checked(record: dict, run: Run, path: Path) -> dict:
    """The record, if it is of this run and made with its options (those that it names: older ones know fewer).

    One called `paper` must have all images of CIFAR, all epochs and its whole curve as well.
    """
    settings = json.loads(json.dumps(run.settings()))
    expected = settings | settings["options"]
    named = {name: record[name] for name in WHOSE if name in record} | record["options"]
    other = {name: value for name, value in named.items() if expected.get(name, value) != value}
    if other:
        there, here = (", ".join(f"{name}={of[name]}" for name in other) for of in (other, expected))
        raise ValueError(f"{path} was recorded with {there}, this run has {here}: move the file away to run it anew")
    if run.profile == "paper":
        epochs, every = run.options.epochs, PROFILES["paper"].test_every
        tested = [point["round"] + run.options.local_epochs + 1 for point in record["curve"]]
        images = PICTURES[0] if run.dataset.startswith("cifar") else record["images"]
        whole = sorted({*range(every, epochs + 1, every), epochs})
        if (record["images"], record["epochs"], tested) != (images, epochs, whole):
            raise ValueError(
                f"{path} is called `paper` but has {record['images']} images of {images}, {record['epochs']} epochs "
                f"of {epochs} and {len(tested)} points of a curve of {len(whole)}: move the file away"
            )
    return record


def accuracy_alone(run: Run, accuracy: list[float], results: Path) -> list[float] | None:
    """B_n: a run's own accuracy where everybody trains alone on clean labels, else that of the run in which they do."""
    if run.method == "standalone" and not run.flips:
        return accuracy
    alone = results / run.alone().path
    return load(alone)["accuracy"] if alone.exists() else None


def recorded(profile: str, results: Path = RESULTS) -> dict[str, int]:
    """The seed of each run that is recorded at a profile, by its path below `results`."""
    paths = (path.relative_to(results).as_posix() for path in (results / profile).rglob("*.json"))
    return {path: int(seed[1]) for path in paths if (seed := re.search(r"\.seed(\d+)\.json$", path))}


def read(name: str, profile: str, seeds=None, results: Path = RESULTS) -> list[tuple[Run, dict]]:
    """The runs of an experiment that are recorded, of these seeds or of all, with their records.

    Their participants' accuracy alone is that of the standalone record as it is now, which may have come later or been
    made again (None: not recorded yet).
    """
    found = []
    for run in runs_of(name, profile, sorted({*recorded(profile, results).values()}) if seeds is None else seeds):
        path = results / run.path
        if path.exists():
            record = checked(load(path), run, path)
            record["standalone"] = accuracy_alone(run, record["accuracy"], results) or record["standalone"]
            found.append((run, record))
    return found
