"""The networks of the paper, at any width that fits the machine. Convolutional ones are laid out channels-last."""

import torch
from torch import nn


class Square(nn.Module):
    """x^2: the activation that homomorphic encryption can evaluate."""

    def forward(self, x):
        return x * x


def _mlp(in_shape, num_classes, hidden, activation):
    features = in_shape[0] * in_shape[1] * in_shape[2]
    return nn.Sequential(nn.Flatten(), nn.Linear(features, hidden), activation, nn.Linear(hidden, num_classes))


def mlp(in_shape, num_classes, width=32) -> nn.Module:
    """One hidden layer: the network of the live chapters (digits)."""
    return _mlp(in_shape, num_classes, width, nn.ReLU())


def poly_mlp(in_shape, num_classes, width=32) -> nn.Module:
    """The same with squares, which runs under encryption."""
    return _mlp(in_shape, num_classes, width, Square())


def cnn(in_shape, num_classes, width=16) -> nn.Module:
    """The CNN of the fairness baselines (Xu et al., 2021): 121,182 parameters on CIFAR-10.

    Pooling before the rectifier gives the same function as after it (both are monotone) for a quarter of the work.
    """
    side = ((in_shape[1] - 4) // 2 - 4) // 2
    if side < 1:
        raise ValueError(f"in_shape: the cnn needs images of at least 16 x 16 pixels, got {tuple(in_shape)}")
    return nn.Sequential(
        nn.Conv2d(in_shape[0], width, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Conv2d(width, 2 * width, 5),
        nn.MaxPool2d(2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * width * side * side, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, num_classes),
    )


def resnet18(in_shape, num_classes, width=64) -> nn.Module:
    """ResNet-18 with the CIFAR stem (3x3, stride 1, no max-pool); width 64 is the paper's, 8-16 suits a CPU."""
    from cycle.vision import torchvision

    BasicBlock = torchvision.models.resnet.BasicBlock

    def stage(wide_in, wide_out, stride):
        shortcut = None
        if stride != 1 or wide_in != wide_out:
            shortcut = nn.Sequential(nn.Conv2d(wide_in, wide_out, 1, stride, bias=False), nn.BatchNorm2d(wide_out))
        return nn.Sequential(BasicBlock(wide_in, wide_out, stride, shortcut), BasicBlock(wide_out, wide_out))

    model = nn.Sequential()
    model.append(nn.Conv2d(in_shape[0], width, 3, padding=1, bias=False))
    model.append(nn.BatchNorm2d(width))
    model.append(nn.ReLU())
    for depth in range(4):
        wide_in = width * 2 ** max(depth - 1, 0)
        model.append(stage(wide_in, width * 2**depth, 1 if depth == 0 else 2))
    model.append(nn.AdaptiveAvgPool2d(1))
    model.append(nn.Flatten())
    model.append(nn.Linear(8 * width, num_classes))
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return model


MODELS = {"mlp": mlp, "poly_mlp": poly_mlp, "cnn": cnn, "resnet18": resnet18}


def build(name: str, in_shape: tuple[int, int, int], num_classes: int, width: int | None = None) -> nn.Module:
    """A freshly initialised model by name; in_shape is (channels, height, width of the image)."""
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {name!r}")
    options = {} if width is None else {"width": width}
    return MODELS[name](in_shape, num_classes, **options).to(memory_format=torch.channels_last)


def parameter_count(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
