"""What one participant does: train an epoch, answer, score its peers, be tested. Everything stays on the device."""

import logging
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from cycle import distillation, metrics, reputation
from cycle.options import Options
from reproduction import models
from reproduction.data.datasets import Dataset, Pixels

log = logging.getLogger("cycle")

GRAPH_PIXELS = 2**19  # in one pass with a graph: 512 images of CIFAR, 13 of Fed-ISIC2019
START, TRAIN, SCORE, SHARE, _, _, WEIGH = range(7)  # purposes of a random stream; gossip has two of its own


def stream_seed(*key: int) -> int:
    """One seed for each (seed, purpose, participant, epoch): no stream depends on what others drew before."""
    return int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0] >> 1)


@contextmanager
def stream(device: torch.device, *key: int):
    """Inside, torch draws from the stream of this key; outside, its global state is as before."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed = stream_seed(*key)
        torch.default_generator.manual_seed(seed)  # torch.manual_seed visits every kind of device, each time
        if device.type == "cuda":
            with torch.cuda.device(device):  # which need not be the current one
                torch.cuda.manual_seed(seed)
        yield


@dataclass
class Participant:
    """One party: its data, its model, its optimiser."""

    index: int
    seed: int
    images: torch.Tensor  # uint8, on the device
    labels: torch.Tensor
    pixels: Pixels
    model: nn.Module
    optimizer: torch.optim.Optimizer

    @property
    def device(self) -> torch.device:
        return self.images.device

    @property
    def size(self) -> int:
        return len(self.labels)


def at_once(images: torch.Tensor, pixels: int) -> int:
    """How many of these images one pass takes: as many as have so many pixels."""
    return max(1, pixels // (images.shape[1] * images.shape[2]))


def shuffled(participant: Participant, purpose: int, epoch: int) -> torch.Tensor:
    """The participant's rows in the order of this purpose and epoch."""
    with stream(participant.device, participant.seed, purpose, participant.index, epoch):
        return torch.randperm(participant.size, device=participant.device)


@dataclass(frozen=True)
class Task:
    """Who takes part: the data set, its parts, the model, the seed; `labels` replaces flipped labels of some."""

    dataset: Dataset
    parts: list[np.ndarray]
    model: str
    seed: int
    width: int | None = None
    labels: dict[int, np.ndarray] = field(default_factory=dict)

    @property
    def n(self) -> int:
        return len(self.parts)

    def build(self) -> nn.Module:
        return models.build(self.model, self.dataset.in_shape, self.dataset.num_classes, self.width)

    def participants(self, options: Options, common_start: bool = False, only=None) -> list[Participant]:
        """Everybody, or `only` these, before the first epoch; with `common_start` all begin from the same weights."""
        return [
            self._participant(n, options, 0 if common_start else n) for n in (range(self.n) if only is None else only)
        ]

    def _participant(self, n, options, start):
        dataset, device = self.dataset, self.dataset.train_images.device
        rows = torch.from_numpy(self.parts[n]).to(device)
        labels = torch.from_numpy(self.labels[n]).to(device) if n in self.labels else dataset.train_labels[rows]
        with stream(device, self.seed, START, start):
            model = self.build().to(device)
        optimizer = torch.optim.SGD(
            model.parameters(),
            lr=options.lr,
            momentum=options.momentum,
            nesterov=options.momentum > 0,
            weight_decay=options.weight_decay,
            fused=True,
        )
        return Participant(n, self.seed, dataset.train_images[rows], labels, Pixels(dataset), model, optimizer)


@torch.inference_mode()
def answer(peer: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """A peer's logits on somebody else's samples: in eval mode, without a graph."""
    return peer(inputs)


def live(peer: nn.Module):
    """Answers (inputs, rows) -> logits computed batch by batch, as they are needed."""
    return lambda inputs, rows: answer(peer, inputs)


def stored(logits: torch.Tensor):
    """Answers (inputs, rows) -> logits looked up in one message that holds all of this round's."""
    return lambda inputs, rows: logits[rows]


def learn(participant: Participant, epoch: int, options: Options, answers=(), weights=()) -> torch.Tensor:
    """One epoch of CE + sum_k weight_k KL(student || peer_k); returns the two mean losses, on the device.

    `answers` are those of the peers heard (`live` or `stored`), `weights` their lambda_0 * lambda_(n,k). An answer that
    is not finite does not count.
    """
    model, optimizer, temperature = participant.model, participant.optimizer, options.temperature
    for group in optimizer.param_groups:
        group["lr"] = options.lr_at(epoch)
    model.train()
    weights = torch.as_tensor(weights, dtype=torch.float64, device=participant.device)
    losses = torch.zeros(2, device=participant.device)
    with stream(participant.device, participant.seed, TRAIN, participant.index, epoch):
        order = torch.randperm(participant.size, device=participant.device)
        for rows in order.split(options.batch_size):
            inputs = participant.pixels(participant.images[rows], options.augment)
            target = total_weight = 0
            for heard, weight in zip(answers, weights, strict=True):
                log_q = F.log_softmax(heard(inputs, rows) / temperature, dim=1)
                usable = log_q.isfinite().all()
                target = target + torch.where(usable, weight * log_q, 0)
                total_weight = total_weight + torch.where(usable, weight, 0)
            logits = model(inputs)
            loss = cross_entropy = F.cross_entropy(logits / options.own_temperature, participant.labels[rows])
            if answers:
                distillation_loss = distillation.weighted_kl(logits, target, total_weight, temperature)
                loss = cross_entropy + distillation_loss
                losses[1] += distillation_loss.detach() * len(rows)
            optimizer.zero_grad()
            loss.backward()
            if options.clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), options.clip_norm)
            optimizer.step()
            losses[0] += cross_entropy.detach() * len(rows)
    return losses / participant.size


def score(participant: Participant, epoch: int, options: Options, answers: dict) -> dict[int, float]:
    """Fresh scores r~ = h(s) of the peers that answered, Eqs. (shap-approx) and (hs_mapping).

    Both gradients are taken with respect to the own parameters, in eval mode, on the same draw of own samples.
    """
    model = participant.model.eval()
    parameters = list(model.parameters())
    rows = shuffled(participant, SCORE, epoch)[: options.score_samples]
    own, others, fresh = 0, dict.fromkeys(answers, 0), {}
    for part in rows.split(at_once(participant.images, GRAPH_PIXELS)):
        inputs = participant.pixels(participant.images[part])
        logits, share = model(inputs), len(part) / len(rows)

        def gradient(loss, share=share):
            return models.vector(torch.autograd.grad(share * loss, parameters, retain_graph=True))

        own = own + gradient(F.cross_entropy(logits / options.own_temperature, participant.labels[part]))
        for k, heard in answers.items():
            others[k] = others[k] + gradient(distillation.kl(logits, heard(inputs, part).clone(), options.temperature))
    for k, other in others.items():
        if not (own.any() and other.any()) or not (own.isfinite().all() and other.isfinite().all()):
            log.warning(
                "epoch %d: gradient zero or not finite where P%d scores P%d", epoch, participant.index + 1, k + 1
            )
        s = reputation.misalignment(own, other)
        fresh[k] = float(reputation.soft_clip(s, options.tau_opt, options.tau_max))
    return fresh


@torch.inference_mode()
def accuracy(
    model: nn.Module, images: torch.Tensor, labels: torch.Tensor, pixels: Pixels, balanced: bool = False
) -> float:
    """Percent of the images that the model gets right, in eval mode; `balanced`: averaged over the classes."""
    model.eval()
    chunk = at_once(images, 2**21 if images.is_cuda else 2**17)  # small chunks stay in a CPU's cache
    predicted = torch.cat([model(pixels(part)).argmax(dim=1) for part in images.split(chunk)])
    if balanced:
        return metrics.balanced_accuracy(labels.cpu().numpy(), predicted.cpu().numpy())
    return 100 * (predicted == labels).sum().item() / len(labels)
