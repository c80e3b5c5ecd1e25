"""The networks of the paper, at any width that fits the machine. Convolutional ones are laid out channels-last."""

import functools
import itertools
import logging
import math

import torch
from torch import nn

from cycle.checks import check, check_choice, check_whole

log = logging.getLogger("cycle")


class Square(nn.Module):
    """x^2: the activation that homomorphic encryption can evaluate."""

    def forward(self, x):
        return x * x


def mlp(in_shape, num_classes, width=32, activation=nn.ReLU) -> nn.Module:
    """One hidden layer: the network of the live chapters (digits)."""
    hidden = nn.Linear(math.prod(in_shape), width)
    return nn.Sequential(nn.Flatten(), hidden, activation(), nn.Linear(width, num_classes))


def cnn(in_shape, num_classes, width=16) -> nn.Module:
    """The CNN of the fairness baselines (Xu et al., 2021): 121,182 parameters on CIFAR-10.

    Pooling before the rectifier gives the same function as after it (both are monotone) for a quarter of the work.
    """
    high, wide = (((side - 4) // 2 - 4) // 2 for side in in_shape[1:])
    check(min(high, wide) > 0, "in_shape", "be of at least 16 x 16 pixels for the cnn", tuple(in_shape))
    return nn.Sequential(
        *(nn.Conv2d(in_shape[0], width, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Conv2d(width, 2 * width, 5), nn.MaxPool2d(2), nn.ReLU()),
        *(nn.Flatten(), nn.Linear(2 * width * high * wide, 120), nn.ReLU()),
        *(nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, num_classes)),
    )


def resnet18(in_shape, num_classes, width=64) -> nn.Module:
    """ResNet-18 with the CIFAR stem (3x3, stride 1, no max-pool); width 64 is the paper's, 8-16 suits a CPU.

    Below 8 channels oneDNN 3.12 overwrites memory on CPUs without AVX-512 (backward of a 1x1 convolution, stride 2).
    """
    check(width >= 8, "width", "be at least 8 for resnet18", width)
    from reproduction.vision import torchvision

    block = torchvision.models.resnet.BasicBlock

    def stage(narrow, wide):
        if narrow == wide:
            return nn.Sequential(block(wide, wide), block(wide, wide))
        shortcut = nn.Sequential(nn.Conv2d(narrow, wide, 1, stride=2, bias=False), nn.BatchNorm2d(wide))
        return nn.Sequential(block(narrow, wide, 2, shortcut), block(wide, wide))

    stem = nn.Conv2d(in_shape[0], width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
    stages = itertools.starmap(stage, itertools.pairwise((width, width, 2 * width, 4 * width, 8 * width)))
    model = nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * width, num_classes))
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    return model


@functools.cache
def _imagenet_weights() -> dict | None:
    """EfficientNet-B0's published weights, from torchvision's cache or the internet; None, and a message, otherwise."""
    from reproduction.vision import impatient, torchvision

    weights = torchvision.models.EfficientNet_B0_Weights.IMAGENET1K_V1
    try:
        with impatient():
            return weights.get_state_dict(progress=False, check_hash=True)
    except (OSError, RuntimeError) as error:  # not reachable, or not the file that torchvision expects
        log.warning("EfficientNet-B0 starts from random weights; %s cannot be had (%s)", weights.url, error)
        return None


def efficientnet_b0(in_shape, num_classes) -> nn.Module:
    """EfficientNet-B0 with a new last layer; pretrained on ImageNet where the weights can be had, else random."""
    from reproduction.vision import torchvision

    large = in_shape[0] == 3 and min(in_shape[1:]) >= 32
    check(large, "in_shape", "be 3 colours and at least 32 x 32 pixels for efficientnet_b0", in_shape)
    model = torchvision.models.efficientnet_b0(num_classes=num_classes)
    weights = _imagenet_weights()
    if weights is not None:
        last = {name: value for name, value in model.state_dict().items() if name.startswith("classifier")}
        model.load_state_dict(weights | last)
    return model


def starting_weights(name: str) -> str:
    """What a freshly built model knows, for the record: `random` or `imagenet`."""
    return "imagenet" if name == "efficientnet_b0" and _imagenet_weights() is not None else "random"


MODELS = {
    "mlp": mlp,
    "poly_mlp": functools.partial(mlp, activation=Square),  # runs under encryption
    "cnn": cnn,
    "resnet18": resnet18,
    "efficientnet_b0": efficientnet_b0,
}


def build(name: str, in_shape: tuple[int, int, int], num_classes: int, width: int | None = None) -> nn.Module:
    """A freshly initialised model by name; in_shape is (channels, height, width of the image)."""
    check_choice(name, "model", MODELS)
    image = isinstance(in_shape, list | tuple) and len(in_shape) == 3
    check(image, "in_shape", "be channels, height and width of an image", in_shape)
    for extent in in_shape:
        check_whole(extent, "in_shape", 1, 10_000)
    check_whole(num_classes, "num_classes", 2, 100_000)
    options = {} if width is None else {"width": width}
    for value in options.values():
        check_whole(value, "width", 1, 10_000)
        check(name != "efficientnet_b0", "width", "be None for efficientnet_b0, whose size is fixed", value)
    return MODELS[name](in_shape, num_classes, **options).to(memory_format=torch.channels_last)
