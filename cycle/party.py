"""What one party owns and does, on its device: train an epoch, answer, score peers, be tested."""

import logging
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn

from cycle import distillation, metrics, reputation
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
        self,
        model: nn.Module,
        data,
        *,
        test=None,
        optimizer=None,
        prepare=None,
        loss=None,
        name=None,
    ):
        if not isinstance(model, nn.Module) or not any(p.requires_grad for p in model.parameters()):
            raise ValueError(
                f"model must be an nn.Module with parameters to train, got {type(model).__name__}"
            )
        for what, function in (("optimizer", optimizer), ("prepare", prepare), ("loss", loss)):
            fine = callable(function) or (
                what == "optimizer" and isinstance(function, torch.optim.Optimizer)
            )
            if function is not None and not fine:
                raise ValueError(f"{what} must be a function, got {type(function).__name__}")
        if not isinstance(name, str | None):
            raise ValueError(f"name must be text, got {type(name).__name__}")
        self.model, self.name = model, name
        self.inputs, self.labels = samples(data, "data")
        self.test = None if test is None else samples(test, "test")
        self.prepare = prepare or _Numbers(next(model.parameters()).dtype)
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
        wanted = self.wanted_optimizer or _sgd(options)
        self.optimizer = (
            wanted if isinstance(wanted, torch.optim.Optimizer) else wanted(self.model.parameters())
        )
        if not isinstance(self.optimizer, torch.optim.Optimizer):
            got = type(self.optimizer).__name__
            raise ValueError(f"optimizer of {self} must give a torch optimiser, got {got}")
        for group in self.optimizer.param_groups:
            group.setdefault("initial_lr", group["lr"])
        return self


class _Numbers:
    """Inputs as numbers of the model's type."""

    def __init__(self, dtype: torch.dtype):
        self.dtype = dtype if dtype.is_floating_point else torch.float32

    def __call__(self, inputs: torch.Tensor, augment: bool = False) -> torch.Tensor:
        if inputs.dtype == torch.uint8:
            return inputs.to(self.dtype) / 255
        return inputs.to(self.dtype) if inputs.is_floating_point() else inputs


def _sgd(options: Options):
    return lambda parameters: torch.optim.SGD(
        parameters,
        lr=options.lr,
        momentum=options.momentum,
        nesterov=options.momentum > 0,
        weight_decay=options.weight_decay,
        fused=True,
    )


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
    """One epoch of CE + sum_k weight_k KL(student || peer_k); returns the two mean losses, on the
    device.

    `part` is (rows, seed) where only some rows are trained on, as if they were all, with a stream
    of their own.
    """
    model, optimizer = party.model.train(), party.optimizer
    for group in optimizer.param_groups:
        group["lr"] = group["initial_lr"] * options.decay(epoch)
    own, seed = (None, party.seed) if part is None else part
    size = party.size if own is None else len(own)
    losses, parts, one = [], [], torch.ones((), device=party.device)
    with stream(party.device, seed, TRAIN, party.index, epoch):
        order = torch.randperm(size, device=party.device)
        order = order if own is None else own[order]
        batches = order.split(options.batch_size), party.labels[order].split(options.batch_size)
        for rows, labels in zip(*batches, strict=True):
            inputs = party.prepare(party.inputs[rows], options.augment)
            logits = model(inputs)
            terms = [party.loss(_tempered(logits, options.own_temperature), labels)]
            if heard is not None:
                terms.append(heard.loss(logits, inputs, rows, labels, options.temperature))
            optimizer.zero_grad()
            torch.autograd.backward(terms, [one] * len(terms))  # of their sum
            if options.clip_norm is not None:
                nn.utils.clip_grad_norm_(model.parameters(), options.clip_norm)
            optimizer.step()
            losses += [term.detach() for term in terms]
            parts.append(len(rows) / size)
    every = torch.stack(losses).float().view(len(parts), -1)
    means = torch.tensor(parts, device=party.device) @ every
    return F.pad(means, (0, 2 - len(means)))


def _tempered(logits: torch.Tensor, temperature: float) -> torch.Tensor:
    return logits if temperature == 1 else logits / temperature


def gradients(party: Party, epoch: int, options: Options, answers: dict[int, Answers]):
    """Of the own loss and of the distillation loss from each peer that answered, at the own
    parameters.

    All in eval mode on the same draw of `score_samples` own samples.
    """
    model = party.model.eval()
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows = shuffled(party, SCORE, epoch)[: options.score_samples]
    own, others = 0, dict.fromkeys(answers, 0)
    for part in rows.split(at_once(party.inputs, GRAPH_NUMBERS)):
        inputs = party.prepare(party.inputs[part], False)
        logits, share = model(inputs), len(part) / len(rows)

        def gradient(loss, share=share):
            found = torch.autograd.grad(
                share * loss, parameters, retain_graph=True, materialize_grads=True
            )
            return vector(found)

        own = own + gradient(
            party.loss(_tempered(logits, options.own_temperature), party.labels[part])
        )
        for k, heard in answers.items():
            received = logits_of(heard(inputs, part), logits).clone()
            others[k] = others[k] + gradient(distillation.kl(logits, received, options.temperature))
    for name, found in {
        str(party): own,
        **{f"P{k + 1}": other for k, other in others.items()},
    }.items():
        if not found.any() or not found.isfinite().all():
            log.warning(
                "epoch %d: a gradient of %s is zero or not finite where %s scores",
                epoch,
                name,
                party,
            )
    return own, others


def score(
    party: Party, epoch: int, options: Options, answers: dict[int, Answers], rule
) -> dict[int, float]:
    """Fresh scores r~ of the peers that answered, each rule(own gradient, peer's gradient)."""
    own, others = gradients(party, epoch, options, answers)
    return {k: rule(own, other) for k, other in others.items()}


def papers_score(options: Options) -> Callable:
    """r~ = h(s), Eqs. (shap-approx), (hs_mapping): the soft clip of the misalignment."""

    def rule(own_gradient, peer_gradient) -> float:
        s = reputation.misalignment(own_gradient, peer_gradient)
        return float(reputation.soft_clip(s, options.tau_opt, options.tau_max))

    return rule


@torch.inference_mode()
def accuracy(model: nn.Module, inputs, labels, prepare: Callable, balanced: bool = False) -> float:
    """Percent that the model gets right, in eval mode; `balanced`: averaged over the classes."""
    model.eval()
    chunk = at_once(inputs, 3 * 2**21 if inputs.is_cuda else 3 * 2**17)  # for a CPU's cache
    predicted = torch.cat(
        [model(prepare(part.clone(), False)).argmax(dim=1) for part in inputs.split(chunk)]
    )
    if balanced:
        return metrics.balanced_accuracy(labels.cpu().numpy(), predicted.cpu().numpy())
    return 100 * (predicted == labels).sum().item() / len(labels)
