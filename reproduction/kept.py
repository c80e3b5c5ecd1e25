"""Trained models of a run, kept beside its record on request, and filled into fresh networks to predict with."""

from pathlib import Path

from torch import nn

from cycle import store
from cycle.state import Round
from reproduction import models
from reproduction.data import datasets
from reproduction.records import RESULTS
from reproduction.settings import Run


def folder(run: Run, results: Path = RESULTS) -> Path:
    return results / f"{run.path.removesuffix('.json')}.models"


def keep(run: Run, done: Round, results: Path) -> None:
    """The models of this rank that were tested in a round, one file a participant."""
    tested = next(iter(done.models.values()))
    for party, model in zip(done.participants, tested, strict=True):
        store.save(folder(run, results) / f"party-{party.index + 1}.pt", dict(model.state_dict()))


def trained(run: Run, results: Path = RESULTS) -> list[nn.Module]:
    """The models of a run, in eval mode, one a participant in order."""
    place = folder(run, results)
    if not (place / f"party-{run.n}.pt").exists():
        raise ValueError(f"{place} holds no models of {run.n} participants: run with --keep-models to keep them")
    dataset = datasets.load(run.dataset, "cpu")
    found = [models.build(run.model, dataset.in_shape, dataset.num_classes, run.width).eval() for _ in range(run.n)]
    for n, model in enumerate(found, 1):
        model.load_state_dict(store.load(place / f"party-{n}.pt"))
    return found
