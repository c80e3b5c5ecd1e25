"""The front door: train together, keep what happened, compare with training alone, save, load."""

import copy
import hashlib
import json
import logging
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm.auto import tqdm

from cycle import collapse, metrics, store
from cycle.checks import check_flag
from cycle.files import write_atomically
from cycle.options import Options
from cycle.party import Party, accuracy
from cycle.play import begin, check_parties, play, rules_for
from cycle.samples import samples
from cycle.state import Round, State

log = logging.getLogger("cycle")


@dataclass
class Result:
    """What came of a run; the models are in `parties`."""

    parties: list[Party]
    method: str
    options: Options
    seed: int
    # one row a round: losses, accuracies, who was refused
    history: list[dict] = field(default_factory=list)
    reputation: np.ndarray | None = None  # [scorer, scored], last calibration
    shares: np.ndarray | None = None  # messages by [sender, receiver]
    messages: int = 0
    bytes: int = 0
    # the weights before the first epoch
    starts: list[dict] = field(default_factory=list, repr=False)
    test: tuple | None = field(default=None, repr=False)
    # accuracies of the same parties alone, once `report` has trained them
    alone: list[float] | None = None

    @property
    def accuracy(self) -> list[float] | None:
        """Percent, of each party, at the end."""
        return self.history[-1]["accuracy"] if self.history else None

    def report(self) -> metrics.FairnessReport:
        """Against the same parties alone with the same seed and epochs: trained once, on demand."""
        if self.accuracy is None:
            raise ValueError(
                "test must be given to run, or to every party, before there can be a report"
            )
        if self.alone is None:
            log.warning("report: training the same %d parties alone, once", len(self.parties))
            twins = [
                _twin(party, weights)
                for party, weights in zip(self.parties, self.starts, strict=True)
            ]
            alone = run(
                twins, "standalone", self.options, seed=self.seed, test=self.test, progress=False
            )
            self.alone = alone.accuracy
        return metrics.fairness_report(self.alone, self.accuracy)

    def save(self, directory) -> Path:
        """record.json, and a file of weights a party (with several ranks: those trained here)."""
        place = Path(directory)
        for party in (party for party in self.parties if party.optimizer):
            store.save(place / f"party-{party.index + 1}.pt", dict(party.model.state_dict()))
        text = json.dumps(self._record(), indent=1)
        write_atomically(place / "record.json", lambda file: file.write(text.encode()))
        return place

    def _record(self) -> dict:
        matrices = {
            name: None if (m := getattr(self, name)) is None else m.tolist()
            for name in ("reputation", "shares")
        }
        plain = {
            name: getattr(self, name)
            for name in ("method", "seed", "history", "messages", "bytes", "alone")
        }
        return {
            "options": asdict(self.options),
            "names": [str(p) for p in self.parties],
            **plain,
            **matrices,
        }


def load(directory, models: list[nn.Module]) -> dict:
    """The record of a saved result; its weights are filled into your modules, one a party."""
    place = Path(directory)
    try:
        record = json.loads((place / "record.json").read_text(encoding="utf-8"))
        names = record["names"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"directory must hold a saved result, {place} does not ({error})"
        ) from None
    if len(models) != len(names):
        raise ValueError(f"models must be one for each of {len(names)} parties, got {len(models)}")
    for n, model in enumerate(models):
        weights = store.load(place / f"party-{n + 1}.pt")
        try:
            model.load_state_dict(weights)
        except (RuntimeError, AttributeError) as error:
            raise ValueError(
                f"models: that of {names[n]} has another architecture ({error})"
            ) from None
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
    chosen = rules_for(method, options, rules)
    options = Options.recommended() if options is None else options
    test = None if test is None else samples(test, "test")
    check_parties(parties)
    check_flag(progress, "progress")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be a function of a Round, got {type(callback).__name__}")
    if not isinstance(resume, str | os.PathLike | None):
        raise ValueError(f"resume must be a directory, got {type(resume).__name__}")
    starts = [copy.deepcopy(party.model.state_dict()) for party in parties]
    state = begin(parties, method, options, seed, device)
    name = method if isinstance(method, str) else method.__name__
    result = Result(state.everyone, name, options, seed, starts=starts, test=test)
    checkpoints = resume and store.Checkpoints(
        Path(resume) / name,
        _key(state, name, options, vars(chosen)),
        state.ranks,
        options.local_epochs,
    )
    if checkpoints and (saved := checkpoints.load()):
        state.restore(*[part["state"] for part in saved])
        result.history = saved[0]["log"]["history"]
    with tqdm(total=options.epochs, initial=state.epoch, desc=name, disable=not progress) as bar:
        for done in play(state, method, options, chosen):
            result.history.append(_row(done, test))
            collapse.warn(state, result.history)
            if done.reputation is not None:
                result.reputation = done.reputation
            if callback:
                callback(done)
            if checkpoints:
                checkpoints.save(state, {"history": result.history})
            bar.set_postfix_str(
                " ".join(f"{value:.0f}" for value in result.accuracy or ()), refresh=False
            )
            bar.update()
    if checkpoints:
        checkpoints.remove()
    result.shares, result.messages = state.ledger.matrix(), state.ledger.sent
    result.bytes = int(state.ledger.matrix(bytes=True).sum())
    return result


def _row(done: Round, test) -> dict:
    """What is remembered of a round."""
    models = next(iter(done.models.values()))
    sets = [party.test if test is None else test for party in done.participants]
    accuracies = None
    if all(one is not None for one in sets):
        accuracies = [
            accuracy(model, inputs.to(party.device), labels.to(party.device), party.prepare)
            for model, party, (inputs, labels) in zip(models, done.participants, sets, strict=True)
        ]
    refused = {f"{sender} to {receiver}": why for (sender, receiver), why in done.refused.items()}
    return {
        "round": done.index,
        "losses": done.losses.tolist(),
        "accuracy": accuracies,
        "refused": refused,
    }


def _twin(party: Party, weights: dict) -> Party:
    """The same party before its first epoch, with weights and an optimiser of its own."""
    model, optimizer = copy.deepcopy((party.model, party.wanted_optimizer))
    model.load_state_dict(weights)
    if isinstance(optimizer, torch.optim.Optimizer):
        optimizer.state.clear()
    data = (party.inputs, party.labels)
    return Party(
        model,
        data,
        test=party.test,
        optimizer=optimizer,
        prepare=party.prepare,
        loss=party.loss,
        name=party.name,
    )


def _key(state: State, method: str, options: Options, rules: dict[str, Callable]) -> str:
    """Names what the numbers of a run depend on, as far as it can be seen."""
    seen = hashlib.sha256()
    for party in state.everyone:
        for tensor in (party.inputs, party.labels, *party.model.state_dict().values()):
            seen.update(repr((tensor.dtype, tuple(tensor.shape))).encode())
            seen.update(
                tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
                if tensor.dim()
                else b""
            )
    named = {
        name: getattr(rule, "__qualname__", type(rule).__name__) for name, rule in rules.items()
    }
    settings = [
        method,
        sorted(named.items()),
        asdict(options),
        state.seed,
        torch.__version__,
        state.device.type,
        seen.hexdigest(),
    ]
    return json.dumps(settings)
