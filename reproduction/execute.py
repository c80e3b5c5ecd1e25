"""Running, resuming and recording: one JSON a run, written once, whole, with where it came from."""

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import torch

import cycle
from cycle import store
from cycle.files import write_atomically
from cycle.methods import method_of
from cycle.party import accuracy, predicted
from cycle.play import begin, device_of, play
from cycle.ranks import Ranks
from cycle.state import Round, State
from reproduction import controls, forged, kept, models, settings, subsets
from reproduction import progress as shown
from reproduction.data import datasets
from reproduction.fields import load
from reproduction.provenance import command_of, provenance
from reproduction.records import RESULTS, WHOSE, accuracy_alone, checked
from reproduction.settings import COLLABORATION, OF_A_RUN, PROFILES, Run, judged, parties_of

OF_THE_ROUNDS = ("method", "variant", "alone_as", "control", "lies", "silent", "forced_only")
LAYOUT = 3  # of what is saved: one more whenever `State.save` or the log changes


def execute(
    run: Run, experiment: str, results: Path = RESULTS, device=None, progress: bool = True, place=(1, 1), keep=False
) -> dict:
    """The record of a run: read where it exists, else resumed or run, and written.

    With several ranks all call this; `results` is a directory that all of them see. `place` is the run's number and
    that of all runs asked for; `keep`: the trained models are saved beside the record.
    """
    path, ranks = results / run.path, Ranks.of(run.n)
    recorded = ranks.broadcast(load(path) if ranks.first and path.exists() else None)
    if recorded is not None:
        if keep and not kept.folder(run, results).exists():
            raise ValueError(f"{path} was recorded without its models: move it away to train them again")
        return checked(recorded, run, path)
    device = device_of(device or "auto")
    dataset = judged(run, datasets.load(run.dataset, device))
    parties = parties_of(run, dataset)
    rules = controls.rules_of(run, parties, results)
    state = begin(parties, run.method, run.options, run.seed, device)
    state.ranks = forged.posted(run, state)

    checkpoints, shared = checkpoints_of(run, dataset, ranks, results)
    origin = provenance(command_of(run, experiment), device, ranks.size)
    log = {"seconds": 0.0, "curve": [], "losses": [], "reputation": [], "refused": {}, "provenance": origin}
    log["start"] = models.starting_weights(run.model)
    saved = checkpoints.load() or shared and shared.load()
    if saved:
        state.restore(*[part["state"] for part in saved])
        before = saved[0]["log"]["provenance"]
        earlier = [*before.pop("earlier", []), before | {"epochs": state.epoch}]
        log = saved[0]["log"] | {"provenance": origin | {"earlier": earlier}}

    bar = shown.bar(run, state.epoch, *place, hidden=not (progress and ranks.first))
    began = time.perf_counter() - log["seconds"]
    for done in play(state, run.method, run.options, rules):
        last = state.epoch == run.options.epochs
        tested = last or state.epoch % PROFILES[run.profile].test_every == 0
        for sender, receiver in done.refused:
            pair = f"P{sender + 1} to {'the server' if receiver == run.n else f'P{receiver + 1}'}"
            log["refused"][pair] = log["refused"].get(pair, 0) + 1
        measured = ranks.gather(_measured(done, dataset, tested)) if tested or done.scored else None
        if measured:
            _enter(log, run, done.index, measured)
            bar.set_postfix_str(shown.accuracies(log["curve"][-1]["accuracy"] if log["curve"] else []), refresh=False)
        log["seconds"] = time.perf_counter() - began
        if keep and last:
            kept.keep(run, done, results)
        if shared and state.epoch == run.options.local_epochs:
            shared.save(state, log)
        checkpoints.save(state, log)
        bar.update()
    bar.close()
    if state.epoch != run.options.epochs:
        raise ValueError(f"method {run.method} must yield {run.options.epochs} rounds and count them in state.epoch")

    told = ranks.gather({state.participants[0].index: [state.ledger.entries, log["refused"]]})
    if ranks.first:
        state.ledger.entries = [tuple(entry) for entries, _ in told.values() for entry in entries]
        log["refused"] = {pair: count for _, refused in told.values() for pair, count in refused.items()}
        text = json.dumps(_record(run, experiment, state, dataset, log, results), indent=1, allow_nan=False)
        write_atomically(path, lambda file: file.write(text.encode()))
    checkpoints.remove()
    return ranks.broadcast(json.loads(path.read_text()) if ranks.first else None)


def checkpoints_of(
    run: Run, dataset, ranks: Ranks, results: Path
) -> tuple[store.Checkpoints, store.Checkpoints | None]:
    """Of a run, and of local epochs that it shares with others, in a directory that all of its ranks see."""
    device, place = dataset.train_images.device, results / ".checkpoints"
    kind = {"data": dataset.hash, "torch": torch.__version__, "device": device.type, "layout": LAYOUT}
    key, shared = json.dumps(run.settings() | kind, sort_keys=True), f"warmup-{warmup_key(run, kind)}"
    own = store.Checkpoints(place / run.path, key, ranks)
    return own, store.Checkpoints(place / shared, shared, ranks) if method_of(run.method).local_start else None


def warmup_key(run: Run, kind: dict) -> str:
    """Names what the local epochs depend on, code included: runs that share it on a machine share them bit for bit."""
    own = run.settings()
    own["options"] = {name: value for name, value in own["options"].items() if name not in COLLABORATION}
    own |= kind | dict.fromkeys(OF_THE_ROUNDS)
    own |= {
        "pixels": datasets.SCALES[run.dataset],
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
    }
    own_modules = (cycle.options, cycle.partition, cycle.party, cycle.play, cycle.samples, cycle.state, cycle.streams)
    code = [Path(module.__file__).read_text() for module in (*own_modules, datasets, models, settings, subsets)]
    return hashlib.sha256("".join([json.dumps(own, sort_keys=True), *code]).encode()).hexdigest()[:16]


def _measured(done: Round, dataset, tested: bool) -> dict[int, dict]:
    """For the record, of each participant here: accuracy by evaluation point, losses, rows of what was scored."""
    found = {}
    for row, party in enumerate(done.participants):
        one = found[party.index] = {}
        if tested:
            one["accuracy"] = {point: _percent(models[row], party, dataset) for point, models in done.models.items()}
            one["losses"] = done.losses[row].tolist()
        if done.scored:
            one["reputation"] = done.reputation[party.index].tolist()
            if done.counted is not None:
                one["counted"] = _finite(done.counted[party.index].round(4).tolist())
    return found


def _percent(model, party, dataset) -> float:
    """Accuracy on the test set; where the data ask for it, balanced: the mean over the classes."""
    if not dataset.balanced:
        return accuracy(model, dataset.test_images, dataset.test_labels, party.prepare)
    from sklearn.metrics import recall_score  # other data need not wait for it

    labels, told = dataset.test_labels.cpu().numpy(), predicted(model, dataset.test_images, party.prepare).cpu().numpy()
    return 100 * float(recall_score(labels, told, labels=np.unique(labels), average="macro", zero_division=0))


def _finite(values: list[float]) -> list[float | None]:
    """None for the others, for which JSON has no word."""
    return [value if np.isfinite(value) else None for value in values]


def _enter(log: dict, run: Run, index: int, measured: dict[int, dict]) -> None:
    """Book what was measured of a round."""
    of_all = {name: [one[name] for one in measured.values()] for name in next(iter(measured.values()))}
    if "accuracy" in of_all:
        diverged = [f"P{n + 1}" for n, one in measured.items() if not np.isfinite(one["losses"]).all()]
        if diverged and not run.lies:  # what a liar does to the others is a result
            raise FloatingPointError(
                f"{run.path}: the loss of {', '.join(diverged)} is not finite; lr {run.options.lr} may be too large"
            )
        points = {point: [one[point] for one in of_all["accuracy"]] for point in of_all["accuracy"][0]}
        more = {"points": points} if len(points) > 1 else {}
        log["curve"].append({"round": index, "accuracy": next(iter(points.values())), **more})
        log["losses"].append({"round": index, "losses": [_finite(losses) for losses in of_all["losses"]]})
    for name in ("reputation", "counted"):
        if name in of_all:
            log.setdefault(name, []).append({"round": index, "matrix": of_all[name]})


def _record(run: Run, experiment: str, state: State, dataset, log: dict, results: Path) -> dict:
    final, of_the_run = log["curve"][-1]["accuracy"], run.settings()
    logged = ("start", "reputation", "counted", "curve", "losses", "refused", "provenance")
    return {
        "experiment": experiment,
        **{name: of_the_run[name] for name in WHOSE},
        "rounds": run.options.rounds,
        "epochs": run.options.epochs,
        "images": sum(state.sizes) if run.split != "natural-pooled" else max(state.sizes),
        "sizes": state.sizes,
        "accuracy": final,
        "standalone": accuracy_alone(run, final, results),
        "messages": {"sent": state.ledger.sent, "possible": state.ledger.possible},
        "bytes": int(state.ledger.matrix(bytes=True).sum()),
        "shares": state.ledger.matrix().tolist(),
        "seconds": round(log["seconds"], 1),
        "options": of_the_run["options"] | {name: of_the_run[name] for name in OF_A_RUN},
        "data_hash": dataset.hash,
        **{name: log[name] for name in logged if name in log},
    }
