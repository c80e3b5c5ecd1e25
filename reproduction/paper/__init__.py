"""Every value that the paper prints, as data: table, split, method, participant or metric, value, line."""

import re
from functools import cache
from pathlib import Path

import pandas as pd

from reproduction.catalogue import EXPERIMENTS
from reproduction.settings import split_slug

DATA = Path(__file__).parent
PRINTED = DATA / "paper_tables.csv"
LABELS = DATA / "paper_labels.csv"
METHOD_NAMES = {
    "standalone": ("SA",),
    "fedavg": ("FedAvg",),
    "cffl": ("CFFL",),
    "rffl": ("RFFL",),
    "cgsv": ("CGSV",),
    "vpdl": ("VPDL",),
    "cycle": ("CYCle", "CYCle[PDL]", "CYCle flip=0.0"),
    "gossip": ("DSGD", "Gossip-SGD (Complete)", "Gossip-SGD"),
    "gossip ring": ("Gossip-SGD (Ring)",),
    "gossip exponential": ("Gossip-SGD (Exponential)",),
    "cycle-gossip": ("CYCle[Gossip]", "CYCle"),
} | {f"cycle flip{rate}x{count}": (f"CYCle flip={rate}",) for rate in (0.2, 0.5, 1.0) for count in (1, 2)}
READINGS = r" (augmented-lr0.1.*|per-peer)$"  # variants that are another reading of what is printed
MODEL_NAMES = {"resnet18": "ResNet18", "cnn": "CNN"}
DATASET_NAMES = {"cifar10": "CIFAR-10", "cifar100": "CIFAR-100", "fedisic": "Fed-ISIC2019"}


@cache
def tables() -> pd.DataFrame:
    """One row for each printed value."""
    frame = pd.read_csv(PRINTED, dtype={"model": str, "colour": str}, keep_default_na=False)
    return frame.assign(split=frame["split"].map(split_slug), label=frame["split"])


@cache
def labels() -> pd.DataFrame:
    """Every label of a table or figure: where its counterpart stands, as an experiment, a page and a place on it."""
    return pd.read_csv(LABELS, keep_default_na=False)


def metric(experiment: str, method: str, split: str, n: int, name: str) -> float | None:
    """The printed MVA, MCG or CGS for a cell of an experiment, or None where the paper prints none."""
    spec, frame = EXPERIMENTS[experiment], tables()
    chosen = frame[
        frame["table"].isin(spec.paper)
        & frame["dataset"].eq(DATASET_NAMES.get(spec.dataset))
        & frame["model"].isin([MODEL_NAMES.get(spec.model), ""])
        & frame["split"].eq(split)
        & frame["N"].eq(n)
        & frame["method"].isin(METHOD_NAMES.get(re.sub(READINGS, "", method), ()))
        & frame["participant_or_metric"].eq(name)
    ]
    return None if chosen.empty else float(chosen["value"].iloc[0])
