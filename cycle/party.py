"""What one party owns and does, on its device: train an epoch, answer, score peers, be tested."""

import logging
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn
from torch.optim import Optimizer

from cycle import distillation
from cycle.checks import check, check_kind
from cycle.heard import Answers, Heard, logits_of
from cycle.options import Options
from cycle.samples import samples
from cycle.streams import SCORE, TRAIN, stream
from cycle.weights import vector

log = logging.getLogger("cycle")

GRAPH_NUMBERS = 3 * 2**19  # in one pass with a graph: 512 images of CIFAR, 13 of Fed-ISIC2019


class Party:
    """One participant: a model, data, and how it trains.

    `data`: (inputs, labels), a Dataset or a DataLoader; never changed. `test`: the same, its own
    test set. `optimizer`: a function parameters -> optimiser, or an optimiser (its rates are kept,
    the schedule multiplies them); by default SGD as in `Options`. `prepare(inputs, augment)` turns
    a batch of stored inputs into what the model takes; by default numbers of the model's type
    (bytes are scaled to [0, 1]; other integers, e.g. token ids, stay as they are). `loss(logits,
    labels)` is the own loss, by default the cross-entropy.
    """

    def __init__(
        self, model, data, *, test=None, optimizer=None, prepare=None, loss=None, name=None
    ):
        what = "an nn.Module with parameters to train"
        check_kind(model, "model", nn.Module, what)
        check(any(p.requires_grad for p in model.parameters()), "model", f"be {what}", model)
        check_kind(optimizer, "optimizer", Callable | Optimizer | None, "a function")
        check_kind(prepare, "prepare", Callable | None, "a function")
        check_kind(loss, "loss", Callable | None, "a function")
        check_kind(name, "name", str | None, "text")
        self.model, self.name = model, name
        self.inputs, self.labels = samples(data, "data")
        self.test = None if test is None else samples(test, "test")
        numbers = next(p.dtype for p in model.parameters() if p.is_floating_point())
        self.prepare = prepare or partial(as_numbers, numbers)
        self.loss = loss or F.cross_entropy
        self.wanted_optimizer = optimizer
        self.index, self.seed, self.optimizer = 0, 0, None

    def __str__(self) -> str:
        return self.name or f"P{self.index + 1}"

    @property
    def device(self) -> torch.device:
        return self.inputs.device

    @property
    def size(self) -> int:
        return len(self.labels)

    def join(self, options: Options, device: torch.device) -> "Party":
        """Make ready to train: on the device, with an optimiser."""
        self.model.to(device)
        self.inputs, self.labels = self.inputs.to(device), self.labels.to(device)
        wanted = self.wanted_optimizer or sgd(options)
        ready = isinstance(wanted, Optimizer)
        self.optimizer = wanted if ready else wanted(self.model.parameters())
        check_kind(self.optimizer, f"optimizer of {self}", Optimizer, "or make a torch optimiser")
        for group in self.optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        return self


def as_numbers(dtype: torch.dtype, inputs: torch.Tensor, augment: bool = False) -> torch.Tensor:
    """The default `prepare`: numbers of the model's type."""
    if inputs.dtype == torch.uint8:
        return inputs.to(dtype) / 255
    return inputs.to(dtype) if inputs.is_floating_point() else inputs


def sgd(options: Options) -> Callable:
    """The default `optimizer`: SGD, with Nesterov's momentum where there is any."""
    how = {"momentum": options.momentum, "nesterov": options.momentum > 0}
    how |= {"lr": options.lr, "weight_decay": options.weight_decay, "fused": True}
    return partial(torch.optim.SGD, **how)


def at_once(inputs: torch.Tensor, numbers: int) -> int:
    """How many of these inputs one pass takes: as many as have so many numbers."""
    return max(1, numbers // max(1, inputs[0].numel()))


def shuffled(party: Party, purpose: int, epoch: int) -> torch.Tensor:
    """The party's rows in the order of this purpose and epoch."""
    with stream(party.device, party.seed, purpose, party.index, epoch):
        return torch.randperm(party.size, device=party.device)


@torch.inference_mode()
def answer(model: nn.Module, inputs: torch.Tensor) -> torch.Tensor:
    """A peer's logits on somebody else's samples: in eval mode, without a graph."""
    return model(inputs)


def learn(
    party: Party, epoch: int, options: Options, heard: Heard | None = None, part=None
) -> torch.Tensor:
    """One epoch of CE + sum_k weight_k KL(student || peer_k): both mean losses, on the device.

    `part`: (rows, seed) where only these are trained on, as if they were all.
    """
    model, optimizer = party.model.train(), party.optimizer
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * options.decay(epoch)
    own, seed = part or (torch.arange(party.size, device=party.device), party.seed)
    losses, parts, one = [], [], torch.ones((), device=party.device)
    with stream(party.device, seed, TRAIN, party.index, epoch):
        order = own[torch.randperm(len(own), device=party.device)]
        batches = order.split(options.batch_size), party.labels[order].split(options.batch_size)
        for rows, labels in zip(*batches, strict=True):
            inputs = party.prepare(party.inputs[rows], options.augment)
            logits = model(inputs)
            terms = [own_loss(party, logits, labels, options)]
            if heard is not None:
                terms.append(heard.loss(logits, inputs, rows, labels, options.temperature))
            optimizer.zero_grad()
            torch.autograd.backward(terms, [one] * len(terms))  # of their sum
            if options.clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), options.clip_norm)
            optimizer.step()
            losses += [term.detach() for term in terms]
            parts.append(len(rows) / len(own))
    every = torch.stack(losses).float().view(len(parts), -1)
    means = torch.tensor(parts, device=party.device) @ every
    return F.pad(means, (0, 2 - len(means)))


def own_loss(party: Party, logits, labels, options: Options) -> torch.Tensor:
    """The cross-entropy at its temperature, or whatever the party has for it."""
    T = options.own_temperature
    return party.loss(logits if T == 1 else logits / T, labels)


def gradients(party: Party, epoch: int, options: Options, answers: dict[int, Answers]):
    """Of the own loss and of that from each peer, in eval mode on a draw of own samples."""
    model = party.model.eval()
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows = shuffled(party, SCORE, epoch)[: options.score_samples]
    own, others = 0, dict.fromkeys(answers, 0)
    for part in rows.split(at_once(party.inputs, GRAPH_NUMBERS)):
        inputs = party.prepare(party.inputs[part], False)
        logits, share = model(inputs), len(part) / len(rows)

        def gradient(loss, share=share):
            how = {"retain_graph": True, "materialize_grads": True}
            return vector(torch.autograd.grad(share * loss, parameters, **how))

        own = own + gradient(own_loss(party, logits, party.labels[part], options))
        for k, heard in answers.items():
            received = logits_of(heard(inputs, part), logits).clone()
            others[k] = others[k] + gradient(distillation.kl(logits, received, options.temperature))
    for n, found in ((party.index, own), *others.items()):
        if not found.any() or not found.isfinite().all():
            said = "epoch %d: a gradient of P%d is zero or not finite where %s scores"
            log.warning(said, epoch, n + 1, party)
    return own, others


@torch.inference_mode()
def predicted(model: nn.Module, inputs: torch.Tensor, prepare: Callable) -> torch.Tensor:
    """The class that the model tells for each input, in eval mode."""
    model.eval()
    chunk = at_once(inputs, 3 * 2**21 if inputs.is_cuda else 3 * 2**17)  # for a CPU's cache
    parts = (part.clone() for part in inputs.split(chunk))
    return torch.cat([model(prepare(part, False)).argmax(dim=1) for part in parts])


def accuracy(model: nn.Module, inputs, labels, prepare: Callable) -> float:
    """Percent that the model gets right."""
    return 100 * (predicted(model, inputs, prepare) == labels).sum().item() / len(labels)
