"""The front door: train together, keep what happened, compare with training alone, save, load."""

import copy
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm.auto import tqdm

from cycle import __version__, collapse, metrics, store
from cycle.checks import check, check_flag, check_kind
from cycle.files import write_atomically
from cycle.options import Options
from cycle.party import Party, accuracy
from cycle.play import begin, check_parties, chosen_for, play
from cycle.ranks import Ranks
from cycle.samples import samples
from cycle.state import Round, State, row_of

SAVED = "method seed history reputation shares messages bytes alone".split()
log = logging.getLogger("cycle")


@dataclass
class Result:
    """What came of a run, the same on every rank; the models are in `parties`."""

    parties: list[Party]
    method: str
    options: Options
    seed: int
    history: list[dict] = field(default_factory=list)  # by round: losses, accuracy, refused ...
    reputation: np.ndarray | None = None  # [scorer, scored], last calibration
    shares: np.ndarray | None = None  # messages by [sender, receiver]
    messages: int = 0
    bytes: int = 0
    twins: list[Party] = field(default_factory=list)  # as before the first epoch
    test: tuple | None = None
    alone: list[float] | None = None  # accuracy of the same parties alone, made by `report`

    def __repr__(self) -> str:
        """A line a party: its accuracy at the end, and how many answers it sent."""
        sent = [0] * len(self.parties) if self.shares is None else self.shares.sum(axis=1)
        percents = self.accuracy or [np.nan] * len(sent)
        rows = zip(map(str, self.parties), percents, sent, strict=True)
        lines = [f"{name:<12}{percent:6.1f} %{many:8d} sent" for name, percent, many in rows]
        return "\n".join([f"{self.method}: {len(self.history)} epochs", *lines])

    @property
    def accuracy(self) -> list[float] | None:
        """Percent, of each party, at the end."""
        return self.history[-1]["accuracy"] if self.history else None

    def report(self) -> metrics.FairnessReport:
        """Against the same parties alone with the same seed and epochs: trained once, on demand."""
        if self.accuracy is None:
            raise ValueError("test must be given to run, or to every party, before a report")
        if self.alone is None:
            log.warning("report: training the same %d parties alone, once", len(self.parties))
            how = {"seed": self.seed, "test": self.test, "progress": False}
            self.alone = run(self.twins, "standalone", self.options, **how).accuracy
        return metrics.fairness_report(self.alone, self.accuracy)

    def save(self, directory) -> Path:
        """record.json, and a file of weights a party (with several ranks: those trained here)."""
        place = Path(directory)
        for party in (party for party in self.parties if party.optimizer):
            store.save(place / f"party-{party.index + 1}.pt", dict(party.model.state_dict()))
        record = {"options": asdict(self.options), "names": [str(party) for party in self.parties]}
        record |= {name: getattr(self, name) for name in SAVED}
        text = json.dumps(record, indent=1, default=np.ndarray.tolist)
        write_atomically(place / "record.json", lambda file: file.write(text.encode()))
        return place


def load(directory, models: list[nn.Module]) -> dict:
    """The record of a saved result; its weights are filled into your modules, one a party."""
    place = Path(directory)
    try:
        record = json.loads((place / "record.json").read_text(encoding="utf-8"))
        names = record["names"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        what = f"directory must hold a saved result, {place} does not ({error})"
        raise ValueError(what) from None
    fit = len(models) == len(names)
    check(fit, "models", f"be one for each of {len(names)} parties", len(models))
    for n, (name, model) in enumerate(zip(names, models, strict=True), 1):
        weights = store.load(place / f"party-{n}.pt")
        try:
            model.load_state_dict(weights)
        except (RuntimeError, AttributeError) as error:
            what = f"models: that of {name} has another architecture ({error})"
            raise ValueError(what) from None
    return record


def run(
    parties: list[Party],
    method: str | Callable = "cycle",
    options: Options | None = None,
    *,
    seed: int = 0,
    test=None,
    device: str | torch.device = "auto",
    callback: Callable[[Round], None] | None = None,
    resume=None,
    progress: bool = True,
    **rules: Callable,
) -> Result:
    """Train the parties together, in place; a second run goes on from where their models are.

    `options=None` is `Options.recommended()` with `Rules.recommended()`, which bound what a hostile
    party can do; with `Options()`, the paper's setting, its rules hold. `rules`: your own score,
    weigh, share, count or combine (see `Rules`). `test`: a common test set, else each party's own,
    else none. `resume`: a directory; the same call then goes on where it was cut. `callback` is
    given each `Round`.

    How large `lambda_0` should be: what counts is lambda_0 / T^2, the pull of all peers beside the
    own loss. Small groups collapse where it is above 1; where a `Collapse` is warned of, divide
    lambda_0 by ten.
    """
    check_flag(progress, "progress")
    check_kind(callback, "callback", Callable | None, "a function of a Round")
    check_kind(resume, "resume", str | os.PathLike | None, "a directory")
    check_parties(parties)
    options, chosen = chosen_for(method, options, rules)
    test = None if test is None else samples(test, "test")
    twins = list(map(_twin, parties))
    state = begin(parties, method, options, seed, device)
    name = method if isinstance(method, str) else method.__name__
    result = Result(state.everyone, name, options, seed, twins=twins, test=test)
    if resume:
        key = _key(twins, name, options, vars(chosen), state)
        checkpoints = store.Checkpoints(Path(resume) / name, key, state.ranks)
        if saved := checkpoints.load():
            state.restore(*[part["state"] for part in saved])
            result.history = saved[0]["log"]["history"]
    left = play(state, method, options, chosen)
    bar = tqdm(left, name, options.epochs, initial=state.epoch, disable=not progress)
    for done in bar:
        _enter(result, done, state.ranks)
        collapse.warn(state, result.history)
        if callback:
            callback(done)
        if resume:
            checkpoints.save(state, {"history": result.history})
        shown = " ".join(f"{value:.0f}" for value in result.accuracy or ())
        bar.set_postfix_str(shown, refresh=False)
    if resume:
        checkpoints.remove()
    sent = [state.ledger.matrix().tolist(), state.ledger.matrix(bytes=True).tolist()]
    result.shares, size = np.sum(_together(state.ranks, {state.ranks.here[0]: sent}), axis=0)
    result.messages, result.bytes = int(result.shares.sum()), int(size.sum())
    return result


def _together(ranks: Ranks, known: dict[int, object]) -> list:
    """What each rank knows of its parties: on all of them, in the order of parties."""
    return ranks.broadcast(list((ranks.gather(known) or {}).values()))


def _enter(result: Result, done: Round, ranks: Ranks) -> None:
    """A round into the history; each rank tests its own parties."""
    models, found = next(iter(done.models.values())), {}
    for party, model, losses in zip(done.participants, models, done.losses.tolist(), strict=True):
        n, data = party.index, [part.to(party.device) for part in result.test or party.test or ()]
        percent = accuracy(model, *data, party.prepare) if data else None
        refused = [(f"{k} to {n}", why) for (k, to), why in done.refused.items() if to == n]
        found[n] = losses, percent, row_of(done.reputation, n), refused
    losses, percents, rows, refused = map(list, zip(*_together(ranks, found), strict=True))
    percents = None if None in percents else percents
    row = {"round": done.index, "losses": losses, "accuracy": percents}
    result.history.append(row | {"refused": dict(chain.from_iterable(refused))})
    if done.reputation is not None:
        result.reputation = np.array(rows)


def _twin(party: Party) -> Party:
    """The same party with a model and an optimiser of its own."""
    twin = copy.copy(party)
    twin.model, twin.wanted_optimizer = copy.deepcopy((party.model, party.wanted_optimizer))
    return twin


def _key(parties: list[Party], method: str, options: Options, rules: dict, state: State) -> str:
    """Names what the numbers of a run depend on, as far as it can be seen."""
    seen = hashlib.sha256()
    for party in parties:
        for tensor in (party.inputs, party.labels, *party.model.state_dict().values()):
            seen.update(f"{tensor.dtype} {tuple(tensor.shape)}".encode())
            seen.update(tensor.detach().cpu().reshape(-1).view(torch.uint8).numpy())
    named = {n: getattr(rule, "__qualname__", str(type(rule))) for n, rule in sorted(rules.items())}
    versions = __version__, torch.__version__, state.device.type
    return json.dumps([method, named, asdict(options), state.seed, *versions, seen.hexdigest()])
