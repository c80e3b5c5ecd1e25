"""Which runs an experiment needs, at which scale. A run is named by its settings."""

import difflib
import itertools
from collections.abc import Iterator
from dataclasses import fields, replace

from cycle.methods import method_of
from cycle.options import Options
from reproduction import baselines  # noqa: F401 (registers its methods)
from reproduction.experiments import Experiment, read
from reproduction.experiments.questions import VARIANTS
from reproduction.settings import OF_A_RUN, PROFILES, UNCHANGED, Run

OPTIONS = {field.name for field in fields(Options)}
PAPER_HOURS_PER_RUN = 1.35  # on one A100, the paper's own figure (appendix F)
EXPERIMENTS = read("tables.toml") | read("questions.toml")
EXPERIMENTS |= {name: replace(EXPERIMENTS[name], variants=variants) for name, variants in VARIANTS.items()}
FIVE_SPLITS = EXPERIMENTS["cifar10-cnn"].splits
SERVER = ("fedavg", "cffl", "rffl", "cgsv")
READINGS = EXPERIMENTS["gossip-readings"].variants


def experiment_of(name: str) -> Experiment:
    """By its name; who asks for another is told what is spelled like it."""
    if name not in EXPERIMENTS:
        near = " or ".join(difflib.get_close_matches(name, EXPERIMENTS, n=3))
        hint = f"did you mean {near}?" if near else "`list` names them"
        raise ValueError(f"experiment must be one of this book, got {name!r}: {hint}")
    return EXPERIMENTS[name]


def _chosen(asked, known, what):
    if asked is None:
        return known
    asked = [asked] if isinstance(asked, str) else asked
    unknown = [name for name in asked if name not in known]
    if unknown:
        raise ValueError(f"{what} must be among {', '.join(known)}, got {', '.join(unknown)}")
    return tuple(name for name in known if name in asked)


def runs_of(name: str, profile: str = "smoke", seeds=(0,), methods=None, splits=None, variants=None) -> Iterator[Run]:
    """All runs of an experiment at a profile; standalone first, since every gain needs it.

    The variant without a name is asked for as `unchanged`.
    """
    experiment = experiment_of(name)
    if profile not in PROFILES:
        raise ValueError(f"profile must be one of {', '.join(PROFILES)}, got {profile!r}")
    scale = PROFILES[profile]
    model, width = experiment.models.get(profile) or scale.models.get(experiment.model, (experiment.model, None))
    dataset, images = scale.data.get(experiment.dataset, (experiment.dataset, None))
    augmented = dataset != "digits" and (model in ("resnet18", "efficientnet_b0") or dataset == "cifar100")
    named = {variant or UNCHANGED: variant for variant in experiment.variants}
    splits = _chosen(splits, experiment.splits, "splits")
    methods = _chosen(methods, experiment.methods, "methods")
    variants = _chosen(variants, tuple(named), "variants")
    for n, split, seed, method, chosen in itertools.product(experiment.n, splits, seeds, methods, variants):
        variant = named[chosen]
        changes = experiment.variants[variant]
        if method not in changes.get("methods", experiment.methods):
            continue
        changed = {key: value for key, value in changes.items() if key in OPTIONS}
        options = replace(scale.options, **{"augment": augmented} | scale.changes.get(model, {}) | changed)
        if not changes.get("local_start", method_of(method).local_start):
            options = replace(options, local_epochs=0, rounds=options.epochs)
        own = {key: changes[key] for key in OF_A_RUN if key in changes} | {"alone_as": changes.get("alone", "")}
        run = Run(profile, dataset, model, method, split, n, seed, images, options, width, variant=variant, **own)
        if method == "standalone":
            changes_too = run.flips or method in changes.get("methods", ())
            if variant and not changes_too:
                continue
            if run.alone_as or not changes_too:
                run = run.alone()  # without what its variant changes of the collaboration
        yield run


def with_privacy(runs: list[Run], privacy: str) -> list[Run]:
    """The same runs with their answers in clear or encrypted; standalone, which sends nothing, stays as it is."""
    clear = sorted({run.method for run in runs if not method_of(run.method).answers} - {"standalone"})
    if clear and privacy == "fhe":
        raise ValueError(f"--privacy must be plain for {', '.join(clear)}: leave them out with --methods")
    changed = {}
    for run in runs:
        if method_of(run.method).answers:
            parts = [part for part in run.variant.split("+") if part not in ("", "fhe")] + ["fhe"] * (privacy == "fhe")
            run = replace(run, options=replace(run.options, privacy=privacy), variant="+".join(parts))
        changed[run.path] = run
    return list(changed.values())
