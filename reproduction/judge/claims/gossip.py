"""What the paper's tables of gossip show (traits) and its sentences say, asked of pairs: CYCle, the complete graph."""

import numpy as np

from reproduction import paper
from reproduction.judge.claim import Claim
from reproduction.judge.readings import limits, paired
from reproduction.judge.trials import everybody_gains, similar

TWOFOLD = 2  # gains "of the same size": neither is more than this many times the other
UNIFORM = 0.1  # accuracies are "uniform": their spread is at most this fraction of the spread alone
EXPERIMENTS = ("participants-gossip", "participants-gossip-cifar100")


def skewed(trial):
    """The paper prints correlations for skewed splits only; among equals they are noise, of two pairs +1 or -1."""
    return trial.split != "homogeneous" and trial.run.n > 2


def more_than_two(trial):
    """L479 and L480 are about 5 and 10; with one neighbour the softmax is 1, so two say nothing about CYCle."""
    return trial.run.n > 2


def place(trial):
    return paper.DATASET_NAMES.get(trial.run.dataset), trial.split, trial.run.n


def negative(one, other):
    correlation = other.report.correlation
    return correlation < 0 if np.isfinite(correlation) else None


def uniform(one, other):
    return np.std(other.record["accuracy"]) <= UNIFORM * np.std(other.record["standalone"])


def strong(one, other):
    return one.report.correlation >= limits()["Pearson"]


def as_large(one, other):
    return 1 / TWOFOLD <= other.report.mcg / limits()["MCG"][place(one)] <= TWOFOLD


def clearly_fairer(one, other):
    return one.report.cgs < other.report.cgs and not similar(one.report.cgs, other.report.cgs)


TRAITS = (  # of the printed tables
    Claim(1429, "[the complete graph has a correlation]", "the complete graph has a correlation",
          paired(lambda one, other: np.isfinite(other.report.correlation), skewed), name="corr. defined"),
    Claim(1429, "[-0.46, -0.73, on Fed-ISIC2019 -0.26]", "it is below zero (-0.46, -0.73, on Fed-ISIC2019 -0.26)",
          paired(negative, skewed), name="corr. negative"),
    Claim(1430, "[0.94, 0.82]", "CYCle's correlation is no lower than the lowest in print",
          paired(strong, skewed), name="CYCle corr. high"),
    Claim(464, "[MCG of both]", "the two MCG are no further apart than in print on CIFAR for N = 5, 10 and 20",
          paired(lambda one, other: abs(one.report.mcg / other.report.mcg - 1) <= limits()["MCG apart"],
                 more_than_two), name="MCG alike"),
    Claim(465, "[CGS of both]", "CYCle's CGS is nowhere above the complete graph's",
          paired(lambda one, other: one.report.cgs <= other.report.cgs), name="CGS not above"),
    Claim(464, "[MCG of DSGD]", f"the complete graph's MCG, within a factor of {TWOFOLD}",
          paired(as_large, lambda trial: place(trial) in limits()["MCG"]), name="MCG of that size"),
)  # fmt: skip
CLAIMS = (
    Claim(479, "we consistently achieve a positive collaboration gain for all",
          "N = 5, 10: nobody ends below its accuracy alone",
          paired(lambda one, other: everybody_gains(one), more_than_two), EXPERIMENTS, name="every gain positive"),
    Claim(480, "CYCle significantly reduces CGS",
          "N = 5, 10: CGS more than 15 % below the complete graph's",
          paired(clearly_fairer, more_than_two), EXPERIMENTS, name="CGS reduced"),
    Claim(480, "without compromising MCG",
          "N = 5, 10: MCG no further below the complete graph's than the printed ones at most are",
          paired(lambda one, other: one.report.mcg >= other.report.mcg - limits()["MCG given up"], more_than_two),
          EXPERIMENTS, name="MCG kept"),
)  # fmt: skip
ELSEWHERE = (  # printed of other data, asked of every reading
    Claim(1183, "all participants converge to a uniform final performance [complete graph]",
          f"complete graph: spread of accuracy at most {UNIFORM:.0%} of the spread alone", paired(uniform, skewed),
          name="uniform"),
    Claim(1422, "Gossip-SGD shows a negative correlation", "complete graph: Pearson (B, A) below 0",
          paired(negative, skewed), name="corr. negative"),
    Claim(1422, "the strong positive correlation [...] under CYCle",
          "CYCle's correlation is no lower than the lowest in print", paired(strong, skewed), name="CYCle corr. high"),
)  # fmt: skip
