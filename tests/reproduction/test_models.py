import pytest
import torch
from torch import nn

from reproduction import models
from reproduction.vision import torchvision

CIFAR = (3, 32, 32)


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_the_cnn_of_the_baselines_has_the_published_size():
    assert size(models.build("cnn", CIFAR, 10)) == 121_182


def test_pooling_before_the_rectifier_is_the_published_function():
    torch.manual_seed(0)
    model, x = models.build("cnn", CIFAR, 10), torch.randn(4, *CIFAR)
    order = list(model)
    order[1], order[2], order[4], order[5] = order[2], order[1], order[5], order[4]
    assert torch.equal(model(x), nn.Sequential(*order)(x))


def test_resnet18_is_torchvisions_with_the_cifar_stem():
    torch.manual_seed(0)
    ours = models.build("resnet18", CIFAR, 10).eval()
    theirs = torchvision.models.resnet18(num_classes=10)
    theirs.conv1, theirs.maxpool = nn.Conv2d(3, 64, 3, padding=1, bias=False), nn.Identity()
    weights = dict(zip(theirs.state_dict(), ours.state_dict().values(), strict=True))
    theirs.load_state_dict(weights)
    x = torch.randn(2, *CIFAR)
    assert torch.allclose(ours(x), theirs.eval()(x), atol=1e-5)


def test_width_makes_it_slim():
    slim = size(models.build("resnet18", CIFAR, 10, width=8))
    assert slim < size(models.build("resnet18", CIFAR, 10)) / 50


def test_a_width_that_corrupts_memory_on_some_processors_is_refused():
    with pytest.raises(ValueError, match="width must be at least 8"):
        models.build("resnet18", CIFAR, 10, width=4)


def test_poly_mlp_squares():
    model = models.build("poly_mlp", (1, 8, 8), 10, width=4)
    x = torch.randn(3, 1, 8, 8)
    hidden = x.flatten(1) @ model[1].weight.T + model[1].bias
    assert torch.allclose(model(x), hidden**2 @ model[3].weight.T + model[3].bias, atol=1e-6)


@pytest.mark.parametrize("name, shape, named", [("vgg", CIFAR, "model must be one of"), ("cnn", (1, 8, 8), "in_shape")])
def test_refuses(name, shape, named):
    with pytest.raises(ValueError, match=named):
        models.build(name, shape, 10)


def test_resnet18_starts_as_he_et_al_say():
    torch.manual_seed(0)
    for layer in models.build("resnet18", CIFAR, 10, width=32).modules():
        if isinstance(layer, nn.Conv2d):
            fan_out = layer.out_channels * layer.kernel_size[0] ** 2
            assert layer.weight.std().item() == pytest.approx((2 / fan_out) ** 0.5, rel=0.1)
