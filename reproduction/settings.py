"""One run: everything that decides its numbers, at which scale, and the participants that come of it."""

import re
import tomllib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from inspect import signature
from pathlib import Path

import numpy as np
import torch

from cycle import partition
from cycle.options import Options
from cycle.party import Party
from cycle.streams import START, stream
from reproduction import models, subsets
from reproduction.data.datasets import Dataset, Pixels

COLLABORATION = """
    rounds temperature lambda_0 normalisation alpha tau_opt tau_max period score_samples epochs_per_round bound privacy
    topology beta local_steps link_rule alignment self_loops mix_buffers participation
""".split()  # options that the local epochs do not depend on
# Options that change training alone: where a variant has its own run alone, they hold there too.
ALONE_TOO = "lr lr_every decay_from warmup clip_norm common_start own_temperature".split()
OF_A_RUN = ("flips", "silent", "forced_only", "control", "lies", "judged_on")  # recorded beside the options
LEARNED_FROM = (0, 1, 2)  # seeds whose images nothing is chosen on
HELD_OUT = 10_000  # images at most
UNCHANGED = "unchanged"  # what the variant without a name is called on the command line


@dataclass(frozen=True)
class Run:
    """Everything that decides a run's numbers."""

    profile: str
    dataset: str
    model: str
    method: str
    split: str
    n: int
    seed: int
    images: int | None  # training images used; None: all
    options: Options
    width: int | None = None
    flips: dict[int, float] = field(default_factory=dict)  # participant: rate of flipped labels
    variant: str = ""  # what sets this run apart within its experiment, for its file name
    alone_as: str = ""  # the variant in which the same participants trained alone, if that changed too
    silent: tuple[int, ...] = ()  # participants who never answer anybody, not even when forced
    forced_only: tuple[int, ...] = ()  # participants who answer at calibrations only
    control: Callable | None = None  # (run, parties, results) -> rules in the place of the paper's
    lies: dict[int, Callable] = field(default_factory=dict)  # hostile participant: what it makes of its answers
    judged_on: str = "test"  # or "held-out": training images that no recorded run learns from

    @property
    def path(self) -> str:
        """Where the record lies below results/: one directory for each setting, one file for each method and seed."""
        model = self.model if self.width is None else f"{self.model}-w{self.width}"
        method = f"{self.method}+{self.variant}" if self.variant else self.method
        return f"{self.profile}/{self.dataset}-{model}-n{self.n}/{self.split}/{method}.seed{self.seed}.json"

    @property
    def label(self) -> str:
        """The method, and what sets this run apart, as tables and figures name it."""
        return f"{self.method} {self.variant}".strip()

    def settings(self) -> dict:
        """All of it as plain values, for the record."""
        named = {
            "flips": {str(n): rate for n, rate in self.flips.items()},
            "control": self.control.__name__ if self.control else "",
            "lies": {str(n): lie.__name__ for n, lie in self.lies.items()},
        }
        return {**asdict(self), **named}

    def alone(self) -> "Run":
        """The standalone run that gives the same participants their B_n (on clean labels, of the same images)."""
        profile = PROFILES[self.profile]
        own = {"augment": self.options.augment}
        if self.alone_as:
            own |= {name: getattr(self.options, name) for name in ALONE_TOO}
        plain = replace(profile.options, **profile.changes.get(self.model, {}) | own)
        if self.alone_as:
            plain = replace(plain, rounds=self.options.epochs - plain.local_epochs)
        honest = {"flips": {}, "silent": (), "forced_only": (), "control": None, "lies": {}}
        return replace(self, method="standalone", variant=self.alone_as, options=plain, **honest)


@dataclass(frozen=True)
class Profile:
    """One scale: data, model and schedule that replace the paper's."""

    about: str
    options: Options
    data: dict[str, tuple[str, int | None]]  # data set: (data set, training images)
    models: dict[str, tuple[str, int | None]]  # model: (model, width)
    changes: dict[str, dict]  # model: options that it needs otherwise
    test_every: int = 5  # epochs between two points of the recorded curve


def _profile(options: dict, data: dict, models: dict, **rest) -> Profile:
    data, models = ({name: (*used, None)[:2] for name, used in pairs.items()} for pairs in (data, models))
    return Profile(options=Options(**options), data=data, models=models, **rest)


_TOLD = tomllib.loads(Path(__file__).with_name("profiles.toml").read_text(encoding="utf-8"))
PROFILES = {name: _profile(**told) for name, told in _TOLD.items()}
RECORDED = ("laptop", "paper")  # the profiles whose runs are kept and judged; chapters run `smoke` live


def split_slug(printed: str) -> str:
    """The paper's 'Imbalanced (0.6, 1)' as this project writes it: imbalanced-0.6-1."""
    return "-".join(re.findall(r"[a-z]+|[0-9.]+", printed.lower()))


def partition_of(split: str, labels: np.ndarray, n: int, seed: int, centers=None) -> list[np.ndarray]:
    """The index arrays of a split by its name; `centers` says who made each sample, for the natural split."""
    kind, *numbers = split.split("-")
    asked = {name: list(signature(rule).parameters)[2:-1] for name, rule in partition.SPLITS.items()}
    try:
        if len(numbers) == len(asked.get(kind, ())) and kind in asked:
            return partition.SPLITS[kind](labels, n, *(int(x) if x.isdecimal() else float(x) for x in numbers), seed)
        if split == "natural" and centers is not None:
            return subsets.natural(centers, n)
        if split == "natural-pooled" and centers is not None:  # the last participant holds everything, for comparison
            return [*subsets.natural(centers, n - 1), np.arange(labels.size)]
    except ValueError as error:
        raise ValueError(f"split {split}: {error}") from error
    known = ", ".join("-".join([name, *map(str.upper, numbers)]) for name, numbers in asked.items())
    raise ValueError(f"split must be {known} or, where the data have centers, natural, got {split!r}")


def judged(run: Run, dataset: Dataset) -> Dataset:
    """The data set with the images that a run is tested on: its test images, or training images that nobody uses."""
    if run.judged_on == "test":
        return dataset
    labels = dataset.train_labels.cpu().numpy()
    used = [subsets.stratified(labels, run.images or labels.size, seed) for seed in LEARNED_FROM]
    left = np.setdiff1d(np.arange(labels.size), np.concatenate(used))
    if left.size < dataset.num_classes:
        raise ValueError(f"judged_on must be 'test' where all images are learned from, got {run.judged_on!r}")
    chosen = left[subsets.stratified(labels[left], min(HELD_OUT, left.size), 0)]
    rows = torch.from_numpy(chosen).to(dataset.train_labels.device)
    return replace(dataset, test_images=dataset.train_images[rows], test_labels=dataset.train_labels[rows])


def parties_of(run: Run, dataset: Dataset) -> list[Party]:
    """The participants of a run: its images, its split, its flipped labels, each with a model of its own.

    All who flip do so at the same places of their parts if these are equally large; what is flipped at a low rate is
    flipped at a higher one too.
    """
    labels, centers = dataset.train_labels.cpu().numpy(), dataset.centers
    strata = labels if centers is None else labels + dataset.num_classes * centers
    chosen = subsets.stratified(strata, run.images or labels.size, run.seed)
    centers = None if centers is None else centers[chosen]
    parts = [chosen[part] for part in partition_of(run.split, labels[chosen], run.n, run.seed, centers)]
    prepare, test, parties = Pixels(dataset), (dataset.test_images, dataset.test_labels), []
    for n, part in enumerate(parts):
        own, rows = dataset.train_labels[part], torch.from_numpy(part)
        if n in run.flips:
            flipped = partition.flip_labels(labels[part], run.flips[n], dataset.num_classes, run.seed)
            own = torch.from_numpy(flipped)
        with stream(torch.device("cpu"), run.seed, START, n):
            model = models.build(run.model, dataset.in_shape, dataset.num_classes, run.width)
        parties.append(Party(model, (dataset.train_images[rows], own), test=test, prepare=prepare))
    return parties
