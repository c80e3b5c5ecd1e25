"""Running, resuming and recording: one JSON a run, written once, whole, with where it came from."""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import torch
from tqdm.auto import tqdm

from cycle import datasets, distillation, models, participants, partition, runs, training
from cycle.experiments import runs_of
from cycle.files import write_atomically
from cycle.methods import METHODS, play
from cycle.participants import accuracy
from cycle.ranks import Ranks
from cycle.runs import PROFILES, Run, task_of

RESULTS = Path(__file__).resolve().parent.parent / "results"
SAVING_SHARE = 0.1  # of the time, at most, goes into saving how to go on: a mounted drive is slow, a model large


def _output_of(*command) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=RESULTS.parent, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def hardware(device: torch.device) -> str:
    """The name of the processor that does the work."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return f"{line.split(':')[1].strip()}, {torch.get_num_threads()} thread(s)"
    return f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} thread(s)"


def _command(run: Run, experiment: str) -> str:
    """As it was typed; for a run that a notebook asked for, the one that makes the same."""
    if Path(sys.argv[0]).parts[-2:] == ("cycle", "__main__.py"):
        return " ".join(["python -m cycle", *sys.argv[1:]])
    chosen = f"--profile {run.profile} --seed {run.seed} --methods {run.method} --splits {run.split}"
    return f"python -m cycle run {experiment} {chosen}"


def provenance(command: str, device: torch.device, ranks: int = 1) -> dict:
    """Commit, command, versions, hardware, date."""
    commit = _output_of("git", "rev-parse", "HEAD") or "unknown"
    if _output_of("git", "status", "--porcelain", "--", "cycle"):
        commit += "-dirty"
    return {
        "commit": commit,
        "command": command,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "hardware": hardware(device) + (f", {ranks} ranks" if ranks > 1 else ""),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def warmup_key(run: Run, data_hash: str, device: torch.device) -> str:
    """Names what the local epochs depend on, code included: runs that share it on a machine share them bit for bit."""
    alone = run.alone().settings()
    alone["options"].pop("rounds")
    alone |= {"flips": run.settings()["flips"], "data": data_hash, "torch": torch.__version__, "device": device.type}
    code = [
        Path(module.__file__).read_text() for module in (datasets, distillation, models, participants, partition, runs)
    ]
    return hashlib.sha256("".join([json.dumps(alone, sort_keys=True), *code]).encode()).hexdigest()[:16]


def _saved(paths, key: str) -> list[dict]:
    """The parts of the latest epoch that was saved whole: one for each rank, the first rank's first."""
    parts = [torch.load(path, map_location="cpu", weights_only=False) for path in paths if path.exists()]
    sets = {}
    for part in parts:
        if part["key"] == key:
            sets.setdefault((part["state"]["epoch"], part["ranks"]), {})[part["rank"]] = part
    whole = [epoch_and_ranks for epoch_and_ranks, found in sets.items() if len(found) == epoch_and_ranks[1]]
    return [part for _, part in sorted(sets[max(whole)].items())] if whole else []


def execute(run: Run, experiment: str, results: Path = RESULTS, device=None, progress: bool = True) -> dict:
    """The record of a run: read where it exists, else resumed or run, and written.

    With several ranks all call this; `results` is a directory that all of them see.
    """
    path, ranks = results / run.path, Ranks.of(run.n)
    recorded = ranks.agreed(json.loads(path.read_text()) if ranks.first and path.exists() else None)
    if recorded:
        return recorded
    device = torch.device(device) if device else datasets.default_device()
    dataset = datasets.load(run.dataset, device)
    task = task_of(run, dataset)
    state = training.start(task, run.options, METHODS[run.method].common_start)

    kind = {"data": dataset.hash, "torch": torch.__version__, "device": device.type}
    settings = json.dumps(run.settings() | kind, sort_keys=True)
    place = results / ".checkpoints" / run.path
    checkpoint, previous = (Path(f"{place}.{ranks.rank}{ending}") for ending in (".pt", ".previous.pt"))
    warmup = results / ".checkpoints" / f"warmup-{warmup_key(run, dataset.hash, device)}.pt"
    shares_warmup = METHODS[run.method].local_start and run.options.local_epochs > 0
    origin = provenance(_command(run, experiment), device, ranks.size)
    log = {"seconds": 0.0, "curve": [], "losses": [], "reputation": [], "provenance": origin}
    saved = _saved(place.parent.glob(f"{place.name}.*.pt"), settings)
    if not saved and shares_warmup:
        saved = _saved([warmup], warmup.name)
    ranks.wait()  # until all have read what the first to go on replaces
    if saved:
        state.restore(*[part["state"] for part in saved])
        before = saved[0]["log"]["provenance"]
        earlier = [*before.pop("earlier", []), before | {"epochs": state.epoch}]
        log = saved[0]["log"] | {"provenance": origin | {"earlier": earlier}}

    name = run.path.removesuffix(".json")
    quiet = 1.0 if sys.stderr.isatty() else 60.0
    hidden = not (progress and ranks.first)
    bar = tqdm(total=run.options.epochs, initial=state.epoch, desc=name, disable=hidden, mininterval=quiet)
    began, next_save = time.perf_counter() - log["seconds"], 0.0
    for done in play(run.method, task, run.options, state):
        tested = state.epoch % PROFILES[run.profile].test_every == 0 or state.epoch == run.options.epochs
        measured = ranks.collect(_measured(done, dataset, tested)) if tested or done.scored else None
        if measured and tested:
            values = list(measured.values())
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
        warmed_up = state.epoch == run.options.local_epochs
        if ranks.agreed(warmed_up or time.perf_counter() >= next_save):
            start = time.perf_counter()
            content = {"key": settings, "rank": ranks.rank, "ranks": ranks.size, "state": state.save(), "log": log}
            if checkpoint.exists() and ranks.size > 1:
                os.replace(checkpoint, previous)
            write_atomically(checkpoint, lambda file, content=content: torch.save(content, file))
            if shares_warmup and ranks.size == 1 and warmed_up and not warmup.exists():
                content = content | {"key": warmup.name}
                write_atomically(warmup, lambda file, content=content: torch.save(content, file))
            ranks.wait()  # so that no two ranks are more than one save apart
            next_save = time.perf_counter() + (time.perf_counter() - start) * (1 / SAVING_SHARE - 1)
        bar.update()
    bar.close()

    entries = ranks.collect({ranks.rank: state.ledger.entries})
    if ranks.first:
        state.ledger.entries = [entry for part in entries.values() for entry in part]
        text = json.dumps(_record(run, experiment, task, state, log, results), indent=1)
        write_atomically(path, lambda file: file.write(text.encode()))
    ranks.wait()
    if ranks.first:
        for left in place.parent.glob(f"{place.name}.*.pt"):
            left.unlink(missing_ok=True)
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


def _record(run, experiment, task, state, log, results) -> dict:
    alone = results / run.alone().path
    final = log["curve"][-1]["accuracy"]
    own = final if run.method == "standalone" and not run.flips else None
    if own is None and alone.exists():
        own = json.loads(alone.read_text())["accuracy"]
    return {
        "experiment": experiment,
        "profile": run.profile,
        "dataset": run.dataset,
        "model": run.model,
        "width": run.width,
        "start": models.starting_weights(run.model),
        "method": run.method,
        "variant": run.variant,
        "split": run.split,
        "n": run.n,
        "seed": run.seed,
        "rounds": run.options.rounds,
        "epochs": run.options.epochs,
        "images": int(sum(len(part) for part in task.parts)),
        "sizes": [len(part) for part in task.parts],
        "accuracy": final,
        "standalone": own,
        "messages": {"sent": state.ledger.sent, "possible": state.ledger.possible},
        "bytes": int(state.ledger.matrix(bytes=True).sum()),
        "shares": state.ledger.matrix().tolist(),
        "reputation": log["reputation"],
        "curve": log["curve"],
        "losses": log["losses"],
        "seconds": round(log["seconds"], 1),
        "options": asdict(run.options) | {"flips": run.settings()["flips"]},
        "data_hash": task.dataset.hash,
        "provenance": log["provenance"],
    }


def read(name: str, profile: str, seeds=None, results: Path = RESULTS) -> list[tuple[Run, dict]]:
    """The runs of an experiment that are recorded, of these seeds or of all, with their records.

    Where a run was recorded before its participants' accuracy alone was, that is filled in (None: still not recorded).
    """
    if seeds is None:
        endings = (re.search(r"\.seed(\d+)\.json$", path.name) for path in (results / profile).rglob("*.json"))
        seeds = sorted({int(ending[1]) for ending in endings if ending})
    found = []
    for run in runs_of(name, profile, seeds):
        path, alone = results / run.path, results / run.alone().path
        if path.exists():
            record = json.loads(path.read_text())
            if record["standalone"] is None and alone.exists():
                record["standalone"] = json.loads(alone.read_text())["accuracy"]
            found.append((run, record))
    return found
