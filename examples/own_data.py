"""CYCle on your own models and data: three hospitals of unequal size, three different networks.

Real patients: scikit-learn's breast cancer data (569 tumours, 30 measurements each).
"""

import warnings

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

import cycle

warnings.simplefilter("error", cycle.Collapse)  # a party that collapses stops this script


def hospitals():
    """Three hospitals with 8, 20 and 100 patients, each with a network of its own; and 279 patients to test on."""
    inputs, labels = load_breast_cancer(return_X_y=True)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0)).numpy()
    inputs, labels = inputs[order], labels[order]
    city = inputs[28:128]  # publishes the mean and the spread of its measurements
    inputs = (inputs - city.mean(axis=0)) / city.std(axis=0)
    torch.manual_seed(0)
    networks = [
        nn.Linear(30, 2),  # a logistic regression
        nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 2)),
        nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2)),
    ]
    parts = (slice(0, 8), slice(8, 28), slice(28, 128))
    names = ("village", "town", "city")
    parties = [
        cycle.Party(network, (inputs[part], labels[part]), name=name)
        for network, part, name in zip(networks, parts, names, strict=True)
    ]
    return parties, (inputs[290:], labels[290:])


if __name__ == "__main__":
    parties, test = hospitals()
    result = cycle.run(parties, options=cycle.Options.recommended(batch_size=8), test=test, progress=False)
    report = result.report()
    for party, alone, together in zip(parties, result.alone, result.accuracy, strict=True):
        print(f"{party}: {alone:.1f} % alone, {together:.1f} % together")
    print(f"mean gain {report.mcg:.1f}, losers {report.losers}, {result.messages} messages")
