"""How fast a round is: against a loop shaped like the published trainer, and against the bare passes it must make.

`python -m reproduction.bench.round` records results/bench/round.json, which the chapter on growth shows.
"""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

from cycle import distillation, gossip, private
from cycle.answers import Here
from cycle.options import Options
from cycle.party import Heard, Party, answer, learn
from cycle.play import begin, device_of, rounds
from cycle.rules import Rules
from cycle.state import frozen
from cycle.weights import assign
from reproduction import models, records
from reproduction.bench.recording import in_turn, write
from reproduction.data import datasets

SAMPLES, PARTICIPANTS, BATCH = 640, 5, 128
HELD = 10_000  # images that a participant of the paper holds: what is scored, 512 of them, is a smaller part of a round
RECORD = records.RESULTS / "bench" / "round.json"


def parties(device) -> list[Party]:
    """Five participants with random pixels, which cost what those of CIFAR-10 do."""
    shape = (PARTICIPANTS * SAMPLES, 32, 32, 3)
    images = torch.randint(0, 256, shape, dtype=torch.uint8, device=device)
    labels = torch.randint(0, 10, (len(images),), device=device)
    looks = {"mean": [0.5] * 3, "std": [0.25] * 3, "full_scale": 255.0}
    dataset = replace(datasets.load("digits", device), train_images=images, **looks)
    pixels, parts = datasets.Pixels(dataset), zip(images.split(SAMPLES), labels.split(SAMPLES), strict=True)
    return [Party(models.build("cnn", dataset.in_shape, 10), own, prepare=pixels) for own in parts]


def _loader(images, labels, options: Options) -> DataLoader:
    """Item by item, as loops usually are fed."""
    items = [(image.contiguous(), int(label)) for image, label in zip(images, labels, strict=True)]
    return DataLoader(items, options.batch_size, shuffle=True)


def _epoch(model, batches, options: Options, device, peers=(), graph=True, layout=torch.contiguous_format) -> None:
    """A local epoch as plain loops write it, with one KL for each peer."""
    optimizer = torch.optim.SGD(model.parameters(), options.lr, 0.9, nesterov=True, weight_decay=5e-4)
    for inputs, labels in batches:
        inputs, labels = inputs.to(device, memory_format=layout), labels.to(device)
        logits = model(inputs)
        loss = F.cross_entropy(logits, labels)
        for peer in peers:
            with torch.set_grad_enabled(graph):
                told = peer(inputs)
            loss = loss + options.lambda_0 / 4 * distillation.kl(logits, told.detach(), options.temperature)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()


def published_shape(people, options: Options, item_wise=True, graph=True, layout=torch.contiguous_format):
    """A round as CaPriDe's trainer makes it: item-wise loader, every peer forwarded with a graph, one KL a peer.

    What follows the options takes its habits away one by one, to see what each costs.
    """
    everybody = [copy.deepcopy(person.model).to(memory_format=layout) for person in people]
    for n, person in enumerate(people):
        if item_wise:
            images = [person.prepare(person.inputs[i : i + 1])[0] for i in range(person.size)]
            batches = _loader(images, person.labels, options)
        else:
            order = torch.randperm(person.size, device=person.device).split(options.batch_size)
            batches = ((person.prepare(person.inputs[rows]), person.labels[rows]) for rows in order)
        peers = everybody[:n] + everybody[n + 1 :]
        _epoch(everybody[n], batches, options, person.device, peers, graph, layout)


def plain_loader(people, options: Options) -> None:
    """A FedAvg round as a plain loop: an item-wise DataLoader for each participant, then the mean of all models."""
    everybody = [copy.deepcopy(person.model) for person in people]
    for model, person in zip(everybody, people, strict=True):
        _epoch(model, _loader(person.prepare(person.inputs), person.labels, options), options, person.device)
    for tensors in zip(*(model.parameters() for model in everybody), strict=True):
        assign(tensors, [torch.stack(tensors).detach().mean(dim=0)] * len(tensors))


def bare_passes(people, options: Options, answering: np.ndarray) -> Callable:
    """The same forward and backward passes on batches prepared beforehand, and nothing else: what no loop can avoid."""
    peers, prepared = frozen(people), [person.prepare(person.inputs).split(options.batch_size) for person in people]

    def passes():
        for n, person in enumerate(people):
            for inputs, labels in zip(prepared[n], person.labels.split(options.batch_size), strict=True):
                for k in np.flatnonzero(answering[:, n]):
                    answer(peers[k], inputs)
                F.cross_entropy(person.model(inputs), labels).backward()

    return passes


def bare_scoring(people, options: Options) -> Callable:
    """The passes that scores cannot do without: one forward, the peers' answers, a backward for each and one's own."""
    peers, prepared = frozen(people), [person.prepare(person.inputs[: options.score_samples]) for person in people]

    def passes():
        for n, person in enumerate(people):
            logits, parameters = person.model.eval()(prepared[n]), list(person.model.parameters())
            for k in range(len(people)):
                if k != n:
                    answer(peers[k], prepared[n])
                torch.autograd.grad(logits.sum(), parameters, retain_graph=True)

    return passes


class Operations(TorchDispatchMode):
    """Counts what is dispatched and computes; views and autograd's bookkeeping move no number."""

    FREE = ("view", "detach", "aten.t.", "expand", "select", "unsqueeze", "permute", "profiler", "transpose", "flatten")

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        self.count += not any(name in str(function) for name in self.FREE)
        return function(*arguments, **(options or {}))


def operations(people, peers: int, options: Options) -> int:
    """Of one training step with so many peers: what a second batch adds to an epoch of one."""
    answers = [lambda inputs, rows, model=model: answer(model, inputs) for model in frozen(people[1 : 1 + peers])]
    weights, counted = torch.ones(peers, dtype=torch.float64, device=people[0].device), []
    for batches in (1, 2):
        rows = torch.arange(batches * options.batch_size, device=people[0].device)
        with Operations() as seen:
            learn(people[0], 0, options, Heard(answers, weights) if peers else None, part=(rows, 0))
        counted.append(seen.count)
    return counted[1] - counted[0]


def measure() -> dict[str, float]:
    """Ratios of times measured in this run, N = 5, the CNN, batch 128, no augmentation.

    Rounds are of 640 images each; scoring, every 5 rounds on 512 samples, is counted as beside HELD images.
    """
    options = Options(local_epochs=0, rounds=10**6, batch_size=BATCH, lr=0.01)
    device = device_of("auto")
    everybody = ~np.eye(PARTICIPANTS, dtype=bool)
    half = gossip.adjacency("ring", PARTICIPANTS)  # half of the answers are sent: each trusts its two neighbours fully
    vpdl, server = (rounds(parties(device), method, options) for method in ("vpdl", "fedavg"))
    cycle = rounds(parties(device), "vpdl", options, share=lambda *_: half.copy())
    state = begin(parties(device), "cycle", options)
    people, channel = state.participants, Here(state)
    channel.open(0, 0, everybody, True)

    took = in_turn(
        vpdl=lambda: next(vpdl),
        learning=lambda: next(cycle),
        bare=bare_passes(people, options, everybody),
        bare_half=bare_passes(people, options, half),
        scores=lambda: private.scores(state, options, Rules(), channel, everybody),
        bare_scores=bare_scoring(people, options),
        published=lambda: published_shape(people, options),
        resident=lambda: published_shape(people, options, item_wise=False),
        no_graph=lambda: published_shape(people, options, item_wise=False, graph=False),
        last=lambda: published_shape(people, options, item_wise=False, graph=False, layout=torch.channels_last),
        fedavg=lambda: next(server),
        loader=lambda: plain_loader(people, options),
    )
    part = SAMPLES / HELD / options.period  # of a calibration, that falls on a round
    cycle_round = took.learning + took.scores * part
    return {
        "vpdl_vs_published": took.vpdl / took.published,
        "cycle_vs_published": cycle_round / took.published,
        "round_vs_bare_compute": took.vpdl / took.bare,
        "cycle_round_vs_bare_compute": cycle_round / (took.bare_half + took.bare_scores * part),
        "reputation_overhead": took.scores * part / cycle_round,
        "saved_by_resident_data": (took.published - took.resident) / took.published,
        "saved_by_no_graph": (took.resident - took.no_graph) / took.published,
        "saved_by_layout": (took.no_graph - took.last) / took.published,
        "saved_by_one_kl_and_fused_step": (took.last - took.vpdl) / took.published,
        "answers_sent": float(half.mean() * PARTICIPANTS / (PARTICIPANTS - 1)),
        "fedavg_vs_loader": took.fedavg / took.loader,
        "ops_per_step": operations(people, PARTICIPANTS - 1, options),
        "ops_per_step_alone": operations(people, 0, options),
    }


if __name__ == "__main__":
    write(RECORD, "python -m reproduction.bench.round", measure)
