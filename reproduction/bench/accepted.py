"""What each rule, data set and model accepts, argument by argument: what `bench.calls` and the property tests try."""

import networkx as nx
import numpy as np
import torch

from cycle import distillation, gossip, metrics, partition, reputation, sharing, theory
from reproduction import models
from reproduction.bench.arguments import (
    at_times,
    call,
    choice,
    either,
    flag,
    labels,
    links,
    logits,
    mixing,
    number,
    numbers,
    tensor_too,
    three,
    whole,
)
from reproduction.data import datasets, fedisic, fetch, lesions

FIVE, CLASSES, SQUARE = [50.0, 40.0, 41.0, 42.0, 43.0], np.repeat(np.arange(4), 10), np.full((3, 3), 0.5)
RING, EVEN = gossip.adjacency("ring", 3), np.full((3, 3), 1 / 3)
STUDENT, PEER = torch.arange(12.0).reshape(4, 3), torch.ones(4, 3)
SEED = 0, whole(0)
SPLIT = CLASSES, at_times(lambda x: labels(kinds="biuUS")(x) and len(x) >= 4, lambda x: len(x) >= 40)
DELTA = 1.0, at_times(number(above=0), number(0.5))
POINT = {"gamma": (0.5, numbers((), 1e-100)), "gamma_g": (1.0, numbers((), 0)),
         "gamma_peer": (0.7, either(None, numbers((), 1e-100)))}  # fmt: skip
GAMMA, GAMMA_G = {"gamma": (0.5, numbers(None, 1e-100))}, {"gamma_g": (1.0, numbers(None, 0))}
GRID = GAMMA | GAMMA_G | {"gamma_peer": (0.7, either(None, numbers(None, 1e-100)))}
KL = {"student_logits": (STUDENT, logits), "temperature": (5.0, number(1e-6, 1e6))}


def ledger(participants=3, **arguments):
    book = sharing.Ledger(participants)
    book.record(**arguments)
    return [book.matrix(), book.matrix(bytes=True), book.sent]


def splits():
    for function, more in (
        (partition.homogeneous, {}),
        (
            partition.imbalanced,
            {"kappa": (0.4, at_times(number(above=0, below=1), number(0.1, 0.9))), "m": (1, whole(1, 3))},
        ),
        (partition.dirichlet, {"delta": DELTA}),
        (partition.quantity_skew, {"delta": DELTA}),
    ):
        yield call(function, labels=SPLIT, n=(4, at_times(whole(2, 40), whole(2, 6))), **more, seed=SEED)


def on_digits(images):
    return datasets.Pixels(datasets.load("digits", "cpu"))(images)


CALLS = [
    call(metrics.gains, standalone=(FIVE, numbers((5,))), collaborative=(FIVE[::-1], numbers((5,)))),
    call(metrics.fairness_report, True, standalone=(FIVE, numbers((5,))), collaborative=(FIVE[::-1], numbers((5,))),
         ddof=(1, whole(0, 1))),
    call(metrics.pearson, True, x=(FIVE, numbers((5,))), y=(FIVE[::-1], numbers((5,)))),
    call(metrics.cantelli_bound, True, mean=(1.0, number()), spread=(1.0, number(0))),
    call(metrics.balanced_accuracy, labels=([0, 1], labels(2)), predicted=([1, 1], labels(2))),
    *splits(),
    call(partition.natural, centers=(CLASSES, lambda x: labels(kinds="biuUS")(x) and np.unique(x).size == 4),
         n=(4, whole(4, 4))),
    call(partition.stratified_subset, labels=(CLASSES, lambda x: labels(kinds="biuUS")(x) and len(x) >= 20),
         size=(20, whole(1, 40)), seed=SEED),
    call(partition.flip_labels, labels=(CLASSES, numbers(None, 0, 9, 1, "iu")), rate=(0.5, number(0, 1)),
         num_classes=(10, whole(4, 2**31)), seed=SEED, symmetric=(True, flag)),
    call(sharing.draw_shares, reputation=(SQUARE, numbers(None, 0, 1, 2, also=lambda a: a.shape[0] == a.shape[1])),
         round_index=(1, whole(0)), period=(5, either(None, whole(1))),
         rng=(np.random.default_rng(0), lambda x: isinstance(x, np.random.Generator))),
    call(ledger, round_index=(0, whole(0)), shares=(RING, links(3)), possible=(6, either(None, whole(0))),
         size=(4, lambda x: any(numbers(shape, 0, 2**53)(x) for shape in ((), (3,), (3, 3))))),
    call(reputation.cosine, grad_local=(torch.ones(3), three), grad_peer=(torch.ones(3), three)),
    call(reputation.misalignment, grad_local=(np.ones(3), tensor_too(numbers((3,), finite=False))),
         grad_peer=(np.ones(3), tensor_too(numbers((3,), finite=False)))),
    call(reputation.soft_clip, s=(0.4, tensor_too(numbers())), tau_opt=(0.25, number(below=0.75)),
         tau_max=(0.75, number(above=0.25))),
    call(reputation.update, previous=(SQUARE, either(None, tensor_too(numbers((3, 3))))), alpha=(0.5, number(0, 1)),
         fresh=(SQUARE, tensor_too(numbers((3, 3))))),
    call(reputation.alignment_softmax, alignment=(SQUARE, numbers((3, 3))), beta=(15.0, number(0)),
         neighbours=(RING, lambda x: links(3)(x) and (np.asarray(x) * (1 - np.eye(3))).any(axis=1).all())),
    call(distillation.kl, True, **KL, peer_logits=(PEER, logits)),
    call(distillation.approximate_kl, True, **KL, peer_logits=(PEER, logits)),
    call(distillation.weighted_kl, True, **KL, peer_target=(PEER, logits),
         weight=(1.0, lambda x: x.shape in ((), (1, 1), (4, 1)) if torch.is_tensor(x) else number(0, 1e9)(x))),
    call(gossip.adjacency, n=(6, whole(2, 10_000)), name=("ring", lambda x: x in gossip.TOPOLOGIES
         if isinstance(x, str) else isinstance(x, nx.Graph) and len(x) == 6)),
    call(gossip.mixing_matrix, adjacency=(RING, lambda x: any(links(n)(x) for n in range(1, 9))),
         weights=("metropolis", choice("uniform", "metropolis"))),
    call(gossip.spectral_gap, W=(EVEN, mixing(ndim=2))),
    call(gossip.masked_mixing, W=(EVEN, numbers((3, 3), 0)), shares=(RING, links(3))),
    call(gossip.reweigh, W=(EVEN, mixing(3)), alignment=(SQUARE, numbers((3, 3))), neighbours=(RING, links(3)),
         beta=(15.0, number(0)), alpha=(0.5, number(0, 1)), self_loops=(False, flag)),
    call(gossip.link_probabilities, W=(EVEN, numbers(None, 0, 1, 2, also=lambda a: a.shape[0] == a.shape[1])),
         rule=("relative", choice("weight", "relative"))),
    call(gossip.submixing, W=(EVEN, lambda x: numbers((3, 3), 0)(x) and (np.asarray(x)[:2, :2].sum(1) > 0).all()),
         present=([0, 1], numbers(None, 0, 2, 1, "iu", also=lambda a: np.unique(a).size == a.size))),
    call(lambda **arguments: list(gossip.reference(gradient=lambda i, x: x + i, **arguments)),
         x=(np.ones((3, 2)), numbers(None, ndim=2, also=lambda a: len(a) == 3)), links=(RING, links(3)),
         lr=(0.1, number(above=0)), rounds=(2, whole(1, 10**6))),
    call(theory.usefulness_fedavg, **GRID, share=(0.5, numbers(None, 1e-100, 1))),
    *(call(function, **GRID) for function in (theory.usefulness_cycle, theory.mse_cycle)),
    call(theory.outcomes, rule=(theory.CYCLE, lambda x: isinstance(x, theory.Rule)), **GRID),
    call(theory.lower_bound, **GAMMA, reach=(1.0, numbers(None, 0))),
    call(theory.printed_lower_bound, **GAMMA),
    call(theory.printed_upper_bound, **GAMMA, **GAMMA_G),
    call(theory.simulate, **POINT, runs=(10, whole(1, 10**8)), seed=SEED),
    call(datasets.load, name=("digits", choice("digits")), device=("cpu", either(None, choice("cpu")))),
    call(datasets.augment, padding=(4, whole(0, 8)), degrees=(15.0, number(0, 180)),
         batch=(torch.ones(2, 1, 8, 8), lambda x: torch.is_tensor(x) and x.is_floating_point() and x.ndim == 4)),
    call(on_digits, images=(torch.ones(2, 8, 8, 1), lambda x: torch.is_tensor(x) and x.shape[1:] == (8, 8, 1))),
    call(fetch.cifar, name=(None, lambda x: False)),
    call(fedisic.counts, fold=("train", choice("train", "test"))),
    call(fedisic.real, location=("/nowhere", lambda x: False)),
    call(lesions.draw, labels=([0, 1], numbers((2,), 0, 7, kinds="biu")), seed=SEED,
         centers=([0, 1], numbers((2,), 0, 5, kinds="biu"))),
    *(call(models.build, name=(name, choice(name)), width=(8, either(None, whole(narrow, 10_000))),
           in_shape=((1, 16, 20), at_times(lambda x: isinstance(x, list | tuple) and len(x) == 3
           and all(map(whole(1, 10_000), x)), lambda x: min(x[1:]) >= 16)),
           num_classes=(3, whole(2, 100_000))) for name, narrow in (("mlp", 1), ("cnn", 1), ("resnet18", 8))),
]  # fmt: skip
