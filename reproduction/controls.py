"""Controls of CYCle: the same protocol with other scores, or the same scores for others; and peers who lie.

A control is (run, task, results) -> the rules that it puts in the place of the paper's.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from cycle.participants import SHARE, Task, stream_seed
from cycle.training import Rules
from reproduction.settings import Run


def rearranged(scores, scorer, round_index, rng):
    """The row's scores dealt to other peers, so that nobody keeps its own where that is possible."""
    others = np.delete(np.arange(len(scores)), scorer)
    order = rng.permutation(len(others))
    while len(others) > 1 and (order == np.arange(len(others))).any():
        order = rng.permutation(len(others))
    dealt = np.array(scores, dtype=float)
    dealt[others] = dealt[others[order]]
    return dealt


def averaged(scores, scorer, round_index, rng):
    """Everybody counts the row's mean."""
    others = np.arange(len(scores)) != scorer
    return np.where(others, np.mean(scores[others]), 0.0)


def upside_down(scores, scorer, round_index, rng):
    """The best peer gets the score of the worst, the second that of the second worst, ..."""
    others = np.delete(np.arange(len(scores)), scorer)
    order = others[np.argsort(scores[others], kind="stable")]
    turned = np.array(scores, dtype=float)
    turned[order] = turned[order[::-1]]
    return turned


def certain(scores, scorer, round_index, rng):
    """Everybody else counts one."""
    return (np.arange(len(scores)) != scorer).astype(float)


def permuted(run: Run, task: Task, results: Path) -> Rules:
    """The right scores for the wrong peers; the true ones are carried on."""
    return Rules(weigh=rearranged)


def mean(run: Run, task: Task, results: Path) -> Rules:
    """One score for all peers of a participant: their mean."""
    return Rules(weigh=averaged)


def reversed(run: Run, task: Task, results: Path) -> Rules:
    """The best peer is treated as the worst."""
    return Rules(weigh=upside_down)


def oracle(run: Run, task: Task, results: Path) -> Rules:
    """Only the participant with most data (the first of them) teaches, with full weight; nobody teaches it."""
    teacher = int(np.argmax([len(part) for part in task.parts]))

    def share(reputation, round_index, period, rng):
        shares = np.zeros(reputation.shape, dtype=bool)
        shares[teacher] = np.arange(task.n) != teacher
        return shares

    return Rules(weigh=certain, share=share)


def matched(run: Run, task: Task, results: Path) -> Rules:
    """VPDL at CYCle's volume: its mean score for everybody, its number of messages drawn at random.

    Both are taken from the record of CYCle with the same seed.
    """
    path = results / replace(run, variant=run.variant.removesuffix("matched").removesuffix("-"), control=None).path
    if not path.exists():
        raise ValueError(f"{path} must be recorded before {run.path}, which takes its volume from it")
    record = json.loads(path.read_text())
    off = ~np.eye(run.n, dtype=bool)
    score = float(np.mean([np.asarray(entry["matrix"])[off] for entry in record["reputation"]]))
    rng = np.random.default_rng(stream_seed(run.seed, SHARE))
    cells = run.options.rounds * int(off.sum())
    sent = np.zeros(cells, dtype=bool)
    sent[rng.choice(cells, record["messages"]["sent"], replace=False)] = True
    masks = np.zeros((run.options.rounds, run.n, run.n), dtype=bool)
    masks[:, off] = sent.reshape(run.options.rounds, -1)
    return Rules(
        weigh=lambda scores, scorer, round_index, rng: np.where(np.arange(run.n) != scorer, score, 0.0),
        share=lambda reputation, round_index, period, rng: masks[round_index],
    )


def constant(logits: torch.Tensor) -> torch.Tensor:
    """A liar: the first class, with certainty, whatever was asked."""
    told = torch.zeros_like(logits)
    told[:, 0] = 100.0
    return told


def rules_of(run: Run, task: Task, results: Path) -> Rules | None:
    """What a run puts in the place of the paper's rules; None where it keeps them."""
    if run.control is None and not run.lies:
        return None
    return replace(run.control(run, task, results) if run.control else Rules(), says=run.lies)
