"""What is run: tables.toml and questions.toml, and in questions.py the variants that a rule makes."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from reproduction import attacks, controls
from reproduction.settings import UNCHANGED


@dataclass(frozen=True)
class Experiment:
    """A table or figure of the paper, or a question: the product of its lists."""

    title: str
    splits: tuple[str, ...]
    paper: tuple[str, ...] = ()  # tables of the paper, by the names of reproduction/paper/paper_tables.csv
    methods: tuple[str, ...] = ("standalone", "vpdl", "cycle")
    model: str = "resnet18"
    dataset: str = "cifar10"
    n: tuple[int, ...] = (5,)
    models: dict[str, tuple[str, int | None]] = field(default_factory=dict)  # profile: (model, width) of its own
    variants: dict[str, dict] = field(default_factory=lambda: {"": {}})  # file name part: what it changes


def read(file: str) -> dict[str, Experiment]:
    """The experiments of a file beside this one."""
    entries = tomllib.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))
    return {name: _experiment(**entry) for name, entry in entries.items()}


def _experiment(variants=None, **fields) -> Experiment:
    if variants:
        fields["variants"] = {"" if name == UNCHANGED else name: _changes(**given) for name, given in variants.items()}
    return Experiment(**_tuples(fields))


def _changes(flips=None, lies=None, control=None, **changes) -> dict:
    """What a variant changes, with numbers for participants and functions for their names."""
    if flips:
        changes["flips"] = {int(n): rate for n, rate in flips.items()}
    if lies:
        changes["lies"] = {int(n): getattr(attacks, lie) for n, lie in lies.items()}
    if control:
        changes["control"] = getattr(controls, control)
    return _tuples(changes)


def _tuples(fields: dict) -> dict:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
