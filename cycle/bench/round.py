"""How fast a round is: against a loop shaped like the published trainer, and against the bare passes it must make."""

import copy
import time
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F

from cycle import datasets, distillation, fetch, participants, training
from cycle.options import Options
from cycle.participants import Task

SAMPLES, PARTICIPANTS, BATCH = 1280, 5, 128


def _task(device):
    """Five participants with equal parts of CIFAR-10 where it is cached, of random pixels elsewhere (same cost)."""
    if fetch.cached("cifar10"):
        dataset = datasets.load("cifar10", device)
    else:
        digits = datasets.load("digits", device)
        shape = (PARTICIPANTS * SAMPLES, 32, 32, 3)
        images = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
        labels = torch.randint(0, 10, (len(images),), device=device)
        dataset = replace(
            digits, train_images=images, train_labels=labels, mean=(0.5,) * 3, std=(0.25,) * 3, full_scale=255.0
        )
    parts = [np.arange(n * SAMPLES, (n + 1) * SAMPLES) for n in range(PARTICIPANTS)]
    return Task(dataset, parts, "cnn", seed=0)


def published_shape(
    people, options: Options, graph: bool = True, item_wise: bool = True, layout=torch.contiguous_format
):
    """A round as CaPriDe's trainer makes it: item-wise loader, every peer forwarded with a graph, one KL a peer.

    The two flags take its habits away one by one, to see what each costs.
    """
    everybody = [copy.deepcopy(person.model).to(memory_format=layout) for person in people]
    optimizers = [torch.optim.SGD(m.parameters(), options.lr, 0.9, nesterov=True, weight_decay=5e-4) for m in everybody]
    for n, person in enumerate(people):
        if item_wise:
            items = [
                (person.pixels(person.images[i : i + 1])[0].contiguous(), int(person.labels[i]))
                for i in range(person.size)
            ]
            loader = torch.utils.data.DataLoader(items, options.batch_size, shuffle=True)
        else:
            order = torch.randperm(person.size, device=person.device).split(options.batch_size)
            loader = ((person.pixels(person.images[rows]), person.labels[rows]) for rows in order)
        for inputs, labels in loader:
            inputs, labels = inputs.to(person.device, memory_format=layout), labels.to(person.device)
            logits = everybody[n](inputs)
            loss = F.cross_entropy(logits, labels)
            for k, peer in enumerate(everybody):
                if k != n:
                    with torch.set_grad_enabled(graph):
                        answer = peer(inputs)
                    loss = loss + options.lambda_0 / 4 * distillation.kl(logits, answer.detach(), options.temperature)
            optimizers[n].zero_grad()
            loss.backward()
            optimizers[n].step()
            loss.item()


def bare_passes(people, options: Options, answers: float):
    """The forward and backward passes of a round and nothing else; `answers` peers are forwarded for each batch."""
    for person in people:
        inputs = person.pixels(person.images[: options.batch_size])
        labels, peer = person.labels[: options.batch_size], copy.deepcopy(person.model).eval()
        batches = person.size // options.batch_size
        for _ in range(batches):
            F.cross_entropy(person.model(inputs), labels).backward()
        for _ in range(round(batches * answers)):
            participants.answer(peer, inputs)


def _seconds(function, repeats=3) -> float:
    function()
    best = []
    for _ in range(repeats):
        began = time.perf_counter()
        function()
        best.append(time.perf_counter() - began)
    return min(best)


def measure() -> dict[str, float]:
    """Ratios of times measured in this run, one thread, N = 5, the CNN, batch 128, no augmentation."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        return _measure()
    finally:
        torch.set_num_threads(threads)


def _measure():
    options = Options(local_epochs=0, rounds=10**6, batch_size=BATCH, lr=0.01)
    task = _task(datasets.default_device())
    people = task.participants(options)

    vpdl = training.vpdl(task, options, training.start(task, options))
    vpdl_round = _seconds(lambda: next(vpdl))

    half = (np.arange(5)[:, None] + np.arange(5)[None, :]) % 2 == 0  # half of the answers are sent
    np.fill_diagonal(half, False)
    state = training.start(task, options)
    peers = [copy.deepcopy(person.model).eval() for person in state.participants]

    def cycle_round():
        for n, person in enumerate(state.participants):
            heard = np.flatnonzero(half[:, n])
            participants.learn(person, 0, options, [peers[k] for k in heard], [1.0] * len(heard))

    def scoring():
        training.calibrated(state, 0, options, ~np.eye(5, dtype=bool), peers)

    sent = half.sum() / 5
    learning, scoring_time = _seconds(cycle_round), _seconds(scoring)
    per_round = scoring_time * (SAMPLES / 10_000) / options.period  # the paper's participants hold 10,000 images
    whole_cycle = learning + scoring_time / options.period

    published = _seconds(lambda: published_shape(people, options))
    without_items = _seconds(lambda: published_shape(people, options, item_wise=False))
    without_graph = _seconds(lambda: published_shape(people, options, item_wise=False, graph=False))
    return {
        "vpdl_vs_published": vpdl_round / published,
        "cycle_vs_published": whole_cycle / published,
        "round_vs_bare_compute": vpdl_round / _seconds(lambda: bare_passes(people, options, 4)),
        "cycle_round_vs_bare_compute": learning / _seconds(lambda: bare_passes(people, options, sent)),
        "reputation_overhead": per_round / (learning + per_round),
        "reputation_overhead_small_parts": scoring_time / options.period / whole_cycle,
        "saved_by_resident_data": (published - without_items) / published,
        "saved_by_no_graph": (without_items - without_graph) / published,
        "saved_by_layout_and_one_kl": (without_graph - vpdl_round) / published,
        "answers_sent": float(half.sum() / 20),
    }
