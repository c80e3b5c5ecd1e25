"""Running, resuming and recording: one JSON a run, written once, whole, with where it came from."""

import json
import re
import sys
import time
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from tqdm.auto import tqdm

from cycle import training
from cycle.files import write_atomically
from cycle.methods import METHODS, play
from cycle.participants import accuracy
from cycle.ranks import Ranks
from reproduction import controls, models
from reproduction.catalogue import runs_of
from reproduction.checkpoints import Checkpoints
from reproduction.data import datasets
from reproduction.data.fetch import PICTURES
from reproduction.fields import load
from reproduction.provenance import command_of, provenance, results_folder
from reproduction.settings import PROFILES, Run, judged, task_of

WHOSE = ("profile", "dataset", "model", "width", "method", "variant", "split", "n", "seed")  # fields that name a run
OF_A_RUN = ("flips", "control", "lies", "judged_on")  # settings that are recorded beside the options
RESULTS = results_folder()


def execute(run: Run, experiment: str, results: Path = RESULTS, device=None, progress: bool = True) -> dict:
    """The record of a run: read where it exists, else resumed or run, and written.

    With several ranks all call this; `results` is a directory that all of them see.
    """
    path, ranks = results / run.path, Ranks.of(run.n)
    recorded = ranks.agreed(load(path) if ranks.first and path.exists() else None)
    if recorded is not None:
        return _checked(recorded, run, path)
    device = torch.device(device) if device else datasets.default_device()
    dataset = judged(run, datasets.load(run.dataset, device))
    task = task_of(run, dataset)
    state = training.start(task, run.options, METHODS[run.method].common_start)

    checkpoints = Checkpoints(run, dataset, ranks, results)
    origin = provenance(command_of(run, experiment), device, ranks.size)
    log = {"seconds": 0.0, "curve": [], "losses": [], "reputation": [], "provenance": origin}
    log["start"] = models.starting_weights(run.model)
    saved = checkpoints.load()
    if saved:
        state.restore(*[part["state"] for part in saved])
        before = saved[0]["log"]["provenance"]
        earlier = [*before.pop("earlier", []), before | {"epochs": state.epoch}]
        log = saved[0]["log"] | {"provenance": origin | {"earlier": earlier}}

    name = run.path.removesuffix(".json")
    quiet = 1.0 if sys.stderr.isatty() else 60.0
    hidden = not (progress and ranks.first)
    bar = tqdm(total=run.options.epochs, initial=state.epoch, desc=name, disable=hidden, mininterval=quiet)
    began = time.perf_counter() - log["seconds"]
    for done in play(run.method, task, run.options, state, controls.rules_of(run, task, results)):
        tested = state.epoch % PROFILES[run.profile].test_every == 0 or state.epoch == run.options.epochs
        measured = ranks.collect(_measured(done, dataset, tested)) if tested or done.scored else None
        if measured and tested:
            values = list(measured.values())
            diverged = [f"P{n + 1}" for n, one in measured.items() if not np.isfinite(one["losses"]).all()]
            if diverged:
                lr = run.options.lr
                raise FloatingPointError(
                    f"{run.path}: the loss of {', '.join(diverged)} is not finite; lr {lr} may be too large"
                )
            points = {point: [one["accuracy"][point] for one in values] for point in values[0]["accuracy"]}
            first = next(iter(points.values()))
            more = {"points": points} if len(points) > 1 else {}
            log["curve"].append({"round": done.index, "accuracy": first, **more})
            log["losses"].append({"round": done.index, "losses": [one["losses"] for one in values]})
            bar.set_postfix_str("accuracy " + " ".join(f"{value:.1f}" for value in first), refresh=False)
        if measured and done.scored:
            matrix = [one["reputation"] for one in measured.values()]
            log["reputation"].append({"round": done.index, "matrix": matrix})
        log["seconds"] = time.perf_counter() - began
        checkpoints.save(state, log)
        bar.update()
    bar.close()
    if state.epoch != run.options.epochs:
        raise ValueError(f"method {run.method} must yield {run.options.epochs} rounds and count them in state.epoch")

    entries = ranks.collect({ranks.rank: state.ledger.entries})
    if ranks.first:
        state.ledger.entries = [entry for part in entries.values() for entry in part]
        text = json.dumps(_record(run, experiment, task, state, log, results), indent=1, allow_nan=False)
        write_atomically(path, lambda file: file.write(text.encode()))
    checkpoints.remove()
    return ranks.agreed(json.loads(path.read_text()) if ranks.first else None)


def _measured(done: training.Round, dataset, tested: bool) -> dict[int, dict]:
    """For the record, of each participant here: accuracy by evaluation point, losses, its row of the reputation."""
    found = {}
    for row, participant in enumerate(done.participants):
        one = {"losses": done.losses[row].tolist()}
        if tested:
            test = dataset.test_images, dataset.test_labels, participant.pixels, dataset.balanced
            one["accuracy"] = {point: accuracy(models[row], *test) for point, models in done.models.items()}
        if done.scored:
            one["reputation"] = done.reputation[participant.index].tolist()
        found[participant.index] = one
    return found


def _checked(record: dict, run: Run, path: Path) -> dict:
    """The record, if it is of this run and made with its options (those that it names: older ones know fewer).

    One called `paper` must have all images of CIFAR, all epochs and its whole curve, up to its accuracy, as well.
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
        tested = [point["round"] + run.options.local_epochs + 1 for point in record.get("curve", ())]
        images = PICTURES[0] if run.dataset.startswith("cifar") else record.get("images")
        whole = sorted({*range(every, epochs + 1, every), epochs})
        full = tested == whole and all(len(point["accuracy"]) == run.n for point in record["curve"])
        full = full and record["accuracy"] == record["curve"][-1]["accuracy"]
        if record.get("images") != images or record.get("epochs") != epochs or not full:
            raise ValueError(
                f"{path} is called `paper` but has {record.get('images')} images of {images}, {record.get('epochs')} "
                f"epochs of {epochs} and {len(tested)} points of a curve of {len(whole)}: move the file away"
            )
    return record


def _record(run, experiment, task, state, log, results) -> dict:
    final = log["curve"][-1]["accuracy"]
    return {
        "experiment": experiment,
        "profile": run.profile,
        "dataset": run.dataset,
        "model": run.model,
        "width": run.width,
        "start": log["start"],
        "method": run.method,
        "variant": run.variant,
        "split": run.split,
        "n": run.n,
        "seed": run.seed,
        "rounds": run.options.rounds,
        "epochs": run.options.epochs,
        "images": len(np.unique(np.concatenate(task.parts))),
        "sizes": [len(part) for part in task.parts],
        "accuracy": final,
        "standalone": _accuracy_alone(run, final, results),
        "messages": {"sent": state.ledger.sent, "possible": state.ledger.possible},
        "bytes": int(state.ledger.matrix(bytes=True).sum()),
        "shares": state.ledger.matrix().tolist(),
        "reputation": log["reputation"],
        "curve": log["curve"],
        "losses": log["losses"],
        "seconds": round(log["seconds"], 1),
        "options": asdict(run.options) | {name: run.settings()[name] for name in OF_A_RUN},
        "data_hash": task.dataset.hash,
        "provenance": log["provenance"],
    }


def _accuracy_alone(run: Run, accuracy: list[float], results: Path) -> list[float] | None:
    """B_n: a run's own accuracy where everybody trains alone on clean labels, else that of the run in which they do."""
    if run.method == "standalone" and not run.flips:
        return accuracy
    alone = results / run.alone().path
    return load(alone)["accuracy"] if alone.exists() else None


def read(name: str, profile: str, seeds=None, results: Path = RESULTS) -> list[tuple[Run, dict]]:
    """The runs of an experiment that are recorded, of these seeds or of all, with their records.

    Their participants' accuracy alone is that of the standalone record as it is now, which may have come later or been
    made again (None: not recorded yet).
    """
    if seeds is None:
        endings = (re.search(r"\.seed(\d+)\.json$", path.name) for path in (results / profile).rglob("*.json"))
        seeds = sorted({int(ending[1]) for ending in endings if ending})
    found = []
    for run in runs_of(name, profile, seeds):
        path = results / run.path
        if path.exists():
            record = _checked(load(path), run, path)
            record["standalone"] = _accuracy_alone(run, record["accuracy"], results) or record["standalone"]
            found.append((run, record))
    return found
