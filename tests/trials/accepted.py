"""What each public function accepts: arguments are read from its signature, most mean the same wherever they are."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import networkx as nx
import numpy as np
import torch
from torch import nn

import cycle
from cycle import distillation, gossip, metrics, partition, reputation, sharing, theory
from reproduction import estimators, models, subsets
from reproduction.data import datasets, fedisic, fetch, lesions
from tests.trials.allowed import (
    at_times,
    choice,
    either,
    flag,
    floats,
    labels,
    links,
    mixing,
    number,
    numbers,
    option,
    square,
    tensor_too,
    whole,
)

FIVE, CLASSES, SQUARE = [50.0, 40.0, 41.0, 42.0, 43.0], np.repeat(np.arange(4), 10), np.full((3, 3), 0.5)
RING, EVEN = gossip.adjacency("ring", 3), np.full((3, 3), 1 / 3)
DATA = np.ones((4, 2), np.float32), [0, 1, 0, 1]
NAMED = labels(kinds="biuUS")
SPLIT = CLASSES, at_times(lambda x: NAMED(x) and len(x) >= 4, lambda x: len(x) >= 40)
GRID, POINT = numbers(None, 1e-100), numbers((), 1e-100)
VECTOR = np.ones(3), tensor_too(numbers((3,), finite=False))
TENSOR = torch.ones(3), lambda x: torch.is_tensor(x) and not x.is_complex() and x.shape == (3,)
NEVER, PERHAPS = lambda x: False, lambda x: None


def linked(x):
    """Everybody of three has a neighbour."""
    return links(3)(x) and (np.asarray(x) * (1 - np.eye(3))).any(axis=1).all()


def picture(x):
    """(channels, height, width), which the CNN takes from 16 on."""
    return isinstance(x, list | tuple) and len(x) == 3 and all(map(whole(1, 10_000), x))


def weight(x):
    return x.shape in ((), (1, 1), (4, 1)) if torch.is_tensor(x) else number(0, 1e9)(x)


def graph(x):
    return x in gossip.TOPOLOGIES if isinstance(x, str) else isinstance(x, nx.Graph) and len(x) == 6


def heard_by_two(x):
    return numbers((3, 3), 0)(x) and (np.asarray(x)[:2, :2].sum(axis=1) > 0).all()


ARGUMENTS = {  # by name: a value that is right, and what it may be
    "adjacency": (RING, lambda x: any(links(n)(x) for n in range(1, 9))),
    "alignment": (SQUARE, numbers((3, 3))),
    "alpha": (0.5, number(0, 1)),
    "beta": (15.0, number(0)),
    "collaborative": (FIVE[::-1], numbers((5,))),
    "ddof": (1, whole(0, 1)),
    "degrees": (15.0, number(0, 180)),
    "delta": (1.0, at_times(number(above=0), number(0.5))),
    "device": ("cpu", either(None, choice("cpu"))),
    "fold": ("train", choice("train", "test")),
    "fresh": (SQUARE, tensor_too(numbers((3, 3)))),
    "gamma": (0.5, GRID),
    "gamma_g": (1.0, numbers(None, 0)),
    "gamma_peer": (0.7, either(None, GRID)),
    "in_shape": ((1, 16, 20), at_times(picture, lambda x: min(x[1:]) >= 16)),
    "kappa": (0.4, at_times(number(above=0, below=1), number(0.1, 0.9))),
    "labels": SPLIT,
    "links": (RING, links(3)),
    "lr": (0.1, number(above=0)),
    "m": (1, whole(1, 3)),
    "mean": (1.0, number()),
    "n": (4, at_times(whole(2, 40), whole(2, 6))),
    "neighbours": (RING, links(3)),
    "num_classes": (10, whole(4, 2**31)),
    "padding": (4, whole(0, 8)),
    "peer_logits": (torch.ones(4, 3), floats((4, 3))),
    "peer_target": (torch.ones(4, 3), floats((4, 3))),
    "period": (5, either(None, whole(1))),
    "possible": (6, either(None, whole(0))),
    "predicted": ([1, 1], labels((2,))),
    "previous": (SQUARE, either(None, tensor_too(numbers((3, 3))))),
    "rate": (0.5, number(0, 1)),
    "reach": (1.0, numbers(None, 0)),
    "reputation": (SQUARE, square(0, 1)),
    "rng": (np.random.default_rng(0), lambda x: isinstance(x, np.random.Generator)),
    "round_index": (1, whole(0)),
    "rounds": (2, whole(1, 10**6)),
    "rule": (theory.CYCLE, lambda x: isinstance(x, theory.Rule)),
    "runs": (10, whole(1, 10**8)),
    "s": (0.4, tensor_too(numbers())),
    "seed": (0, whole(0)),
    "self_loops": (False, flag),
    "share": (0.5, numbers(None, 1e-100, 1)),
    "shares": (RING, links(3)),
    "spread": (1.0, number(0)),
    "standalone": (FIVE, numbers((5,))),
    "student_logits": (torch.arange(12.0).reshape(4, 3), floats((4, 3))),
    "symmetric": (True, flag),
    "tau_max": (0.75, number(above=0.25)),
    "tau_opt": (0.25, number(below=0.75)),
    "temperature": (5.0, number(1e-6, 1e6)),
    "W": (EVEN, mixing()),
    "weights": ("metropolis", choice("uniform", "metropolis")),
    "width": (8, either(None, whole(1, 10_000))),
    "x": (FIVE, numbers((5,))),
    "y": (FIVE[::-1], numbers((5,))),
}
COUNT, POSITIVE, NOT_NEGATIVE = whole(0), option(above=0, below=np.inf), option(0, below=np.inf)
OPTIONS = {
    **dict.fromkeys(("local_epochs", "warmup", "local_steps", "rounds"), COUNT),
    **dict.fromkeys(("batch_size", "lr_every", "period", "score_samples", "epochs_per_round"), whole(1)),
    **dict.fromkeys(("lr", "lr_decay", "temperature", "own_temperature"), POSITIVE),
    **dict.fromkeys(("clip_norm", "bound"), either(None, POSITIVE)),
    **dict.fromkeys(("weight_decay", "lambda_0", "beta"), NOT_NEGATIVE),
    **dict.fromkeys(("momentum", "alpha"), option(0, below=1)),
    **dict.fromkeys(("common_start", "augment", "self_loops", "mix_buffers"), flag),
    "participation": option(most=1, above=0),
    "tau_opt": option(above=-np.inf, below=0.75),
    "tau_max": option(above=0.25, below=np.inf),
    "decay_from": choice("start", "rounds"),
    "normalisation": choice("mean", "per_peer"),
    "privacy": choice("plain", "fhe"),
    "link_rule": choice("weight", "relative"),
    "alignment": choice("gradients", "updates"),
    "topology": lambda x: isinstance(x, str),
}
PARTY = {
    "model": (nn.Linear(2, 2), lambda x: isinstance(x, nn.Module)),
    "data": (DATA, PERHAPS),
    **dict.fromkeys(("optimizer", "prepare", "loss", "parties"), (None, either(None, NEVER))),
    "name": (None, either(None, lambda x: isinstance(x, str))),
    "method": ("vpdl", choice("cycle", "vpdl")),
    "options": (cycle.Options(local_epochs=0, rounds=1), either(None, lambda x: isinstance(x, cycle.Options))),
    "test": (None, PERHAPS),
    "device": ("cpu", choice("cpu", "auto")),
    "callback": (None, lambda x: x is None or callable(x)),
    "progress": (False, flag),
}


def door(model, data, optimizer, prepare, loss, name, parties, method, options, seed, test, device, callback, progress):
    """One round of two parties, of which one is made of these arguments."""
    one = cycle.Party(model, data, optimizer=optimizer, prepare=prepare, loss=loss, name=name)
    parties = [one, cycle.Party(nn.Linear(2, 2), DATA)] if parties is None else parties
    more = {"seed": seed, "test": test, "device": device, "callback": callback, "progress": progress}
    return cycle.run(parties, method, options, **more).shares


def ledger(round_index, shares, size, possible):
    book = sharing.Ledger(3)
    book.record(round_index, shares, size, possible)
    return [book.matrix(), book.matrix(bytes=True), book.sent]


def on_digits(images):
    return datasets.Pixels(datasets.load("digits", "cpu"))(images)


@dataclass
class Call:
    """A function, an argument list that is right, what each argument may be, and whether NaN may come out."""

    function: Callable
    right: dict
    allowed: dict
    nan: bool = False


def call(function, nan=False, **own) -> Call:
    """`own` arguments mean something else here than in ARGUMENTS; where they are None, they are left out."""
    told = ARGUMENTS | own
    names = [name for name in inspect.signature(function).parameters if told[name]]
    return Call(function, *({name: told[name][i] for name in names} for i in (0, 1)), nan)


def network(name, narrowest):
    width = 8, either(None, whole(narrowest, 10_000))
    return call(models.build, name=(name, choice(name)), width=width, num_classes=(3, whole(2, 100_000)))


SCALARS = {"gamma": (0.5, POINT), "gamma_g": (1.0, numbers((), 0)), "gamma_peer": (0.7, either(None, POINT))}
BATCH = torch.ones(2, 1, 8, 8), lambda x: torch.is_tensor(x) and x.is_floating_point() and x.ndim == 4
PIXELS = torch.ones(2, 8, 8, 1), lambda x: torch.is_tensor(x) and x.shape[1:] == (8, 8, 1)
FEW = {"labels": ([0, 1], numbers((2,), 0, 7, "biu")), "centers": ([0, 1], numbers((2,), 0, 5, "biu"))}
ROWS = [0, 1], numbers(1, 0, 2, "iu", also=lambda array: np.unique(array).size == array.size)
CALLS = [
    call(metrics.gains),
    *(call(function, True) for function in (metrics.fairness_report, metrics.pearson, metrics.cantelli_bound)),
    *map(call, (partition.homogeneous, partition.imbalanced, partition.dirichlet, partition.quantity_skew)),
    call(subsets.natural, centers=(CLASSES, lambda x: NAMED(x) and np.unique(x).size == 4), n=(4, whole(4, 4))),
    call(subsets.stratified, labels=(CLASSES, lambda x: NAMED(x) and len(x) >= 20), size=(20, whole(1, 40))),
    call(partition.flip_labels, labels=(CLASSES, numbers(1, 0, 9, "iu"))),
    call(sharing.draw_shares),
    call(ledger, size=(4, lambda x: any(numbers(shape, 0, 2**53)(x) for shape in ((), (3,), (3, 3))))),
    call(reputation.cosine, grad_local=TENSOR, grad_peer=TENSOR),
    call(reputation.misalignment, grad_local=VECTOR, grad_peer=VECTOR),
    *map(call, (reputation.soft_clip, reputation.update)),
    call(reputation.alignment_softmax, neighbours=(RING, linked)),
    *(call(function, True) for function in (distillation.kl, distillation.approximate_kl)),
    call(distillation.weighted_kl, True, weight=(1.0, weight)),
    call(gossip.adjacency, n=(6, whole(2, 10_000)), name=("ring", graph)),
    *map(call, (gossip.mixing_matrix, gossip.spectral_gap)),
    call(gossip.masked_mixing, W=(EVEN, numbers((3, 3), 0))),
    call(gossip.reweigh, W=(EVEN, mixing((3, 3)))),
    call(gossip.link_probabilities, W=(EVEN, square(0, 1)), rule=("relative", choice("weight", "relative"))),
    call(gossip.submixing, W=(EVEN, heard_by_two), present=ROWS),
    *map(call, (theory.usefulness_fedavg, theory.usefulness_cycle, theory.mse_cycle, theory.outcomes)),
    *map(call, (theory.lower_bound, estimators.printed_lower_bound, estimators.printed_upper_bound)),
    call(theory.simulate, **SCALARS),
    call(datasets.load, name=("digits", choice("digits"))),
    call(datasets.augment, batch=BATCH),
    call(on_digits, images=PIXELS),
    call(fetch.cifar, name=(None, NEVER)),
    call(fedisic.counts),
    call(lesions.draw, **FEW),
    *map(network, ("mlp", "cnn", "resnet18"), (1, 1, 8)),
    call(cycle.Options, **{name: (getattr(cycle.Options(), name), allowed) for name, allowed in OPTIONS.items()}),
    call(door, **PARTY),
]
