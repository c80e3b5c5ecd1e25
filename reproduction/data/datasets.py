"""Data sets as tensors that stay on the device: uint8 images, labels, and batched normalisation and augmentation."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F

from cycle.checks import check_choice, check_number, check_whole
from cycle.play import device_of
from reproduction.data import fetch

DIGITS_TEST_PER_CLASS = 50


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How pixels become inputs, labels outputs, and answers an accuracy."""

    num_classes: int
    mean: tuple[float, ...]  # of each channel of the training images, scaled to [0, 1]
    std: tuple[float, ...]
    full_scale: float = 255.0  # the value of a white pixel
    balanced: bool = False  # whether accuracy means balanced accuracy


@dataclass(frozen=True, kw_only=True)
class Dataset(Scale):
    """Images are uint8, sample x row x column x channel (so that a permuted batch is channels-last for free)."""

    name: str
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    hash: str  # SHA-256 of pixels and labels
    centers: np.ndarray | None = None  # who made each training image, where the data come from several places

    @property
    def in_shape(self) -> tuple[int, int, int]:
        _, height, width, channels = self.train_images.shape
        return channels, height, width


def _digits():
    """scikit-learn's 1,797 real 8x8 digits: 50 of each class for the test, the other 1,297 for training."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images, labels = images.reshape(-1, 8, 8, 1).astype(np.uint8), labels.astype(np.uint8)
    order = np.random.default_rng(0).permutation(labels.size)
    test = np.sort(np.concatenate([order[labels[order] == digit][:DIGITS_TEST_PER_CLASS] for digit in range(10)]))
    train = np.setdiff1d(order, test)
    arrays = dict(zip(fetch.ARRAYS, (images[train], labels[train], images[test], labels[test]), strict=True))
    return arrays, fetch.content_hash(arrays)


def _fedisic(drawn: bool):
    from reproduction.data import fedisic  # it needs pandas, which listing experiments does not

    arrays = fedisic.synthetic() if drawn else fedisic.real()
    return arrays, fetch.content_hash(arrays)


IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}  # what the pretrained EfficientNet expects
CIFAR10 = {"mean": (0.49139968, 0.48215841, 0.44653091), "std": (0.24703223, 0.24348513, 0.26158784)}
CIFAR100 = {
    "mean": (0.5070751592371323, 0.48654887331495095, 0.4409178433670343),
    "std": (0.2673342858792401, 0.2564384629170883, 0.27615047132568404),
}
DRAWN = {"mean": (0.6405, 0.4995, 0.4576), "std": (0.2149, 0.1652, 0.1582)}
DATASETS = {  # what reads the arrays and their hash, and their scale
    "digits": (_digits, Scale(num_classes=10, mean=(0.30503836979568233,), std=(0.3761196363829386,), full_scale=16.0)),
    "cifar10": (partial(fetch.cifar, "cifar10"), Scale(num_classes=10, **CIFAR10)),
    "cifar100": (partial(fetch.cifar, "cifar100"), Scale(num_classes=100, **CIFAR100)),
    "fedisic": (partial(_fedisic, False), Scale(num_classes=8, balanced=True, **IMAGENET)),
    "fedisic-synthetic": (partial(_fedisic, True), Scale(num_classes=8, balanced=True, **DRAWN)),
}


def load(name: str = "digits", device=None) -> Dataset:
    """The data set by name, verified, on the device (default: CUDA where there is one)."""
    check_choice(name, "dataset", DATASETS)
    device = device_of("auto" if device is None else device)
    read, scale = DATASETS[name]
    arrays, digest = read()
    tensors = {key: torch.from_numpy(np.ascontiguousarray(arrays[key])).to(device) for key in fetch.ARRAYS}
    tensors |= {key: tensors[key].long() for key in ("train_labels", "test_labels")}
    return Dataset(name=name, hash=digest, centers=arrays.get("centers"), **tensors, **vars(scale))


class Pixels:
    """Turns uint8 images of one data set into normalised float batches on their device."""

    def __init__(self, dataset: Dataset):
        device, self.shape = dataset.train_images.device, dataset.train_images.shape[1:]
        height, width, _ = self.shape
        mean, std = (torch.tensor(v, dtype=torch.float32, device=device) for v in (dataset.mean, dataset.std))
        # One factor for each pixel of an image, so that a batch is normalised in long rows and not three by three.
        self.scale = (1 / (dataset.full_scale * std)).repeat(height * width)
        self.shift = (mean / std).repeat(height * width)

    def __call__(self, images: torch.Tensor, augmented: bool = False) -> torch.Tensor:
        """uint8 N x H x W x C to normalised float N x C x H x W (channels-last in memory); images stay as they are."""
        if not torch.is_tensor(images) or images.shape[1:] != self.shape or not len(images):
            got = tuple(images.shape) if torch.is_tensor(images) else type(images).__name__
            raise ValueError(f"images must be a tensor of N x {' x '.join(map(str, self.shape))}, got {got}")
        batch = images.to(torch.float32, copy=True)  # `.float()` would give float images themselves, to be altered
        if augmented:
            batch = augment(batch.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        batch = batch.reshape(len(images), -1).mul_(self.scale).sub_(self.shift)
        return batch.view(images.shape).permute(0, 3, 1, 2)


def augment(batch: torch.Tensor, padding: int = 4, degrees: float = 15.0) -> torch.Tensor:
    """Random crop with padding, horizontal flip and rotation of every image, as one batched nearest resampling."""
    if not (torch.is_tensor(batch) and batch.ndim == 4 and batch.is_floating_point() and batch.numel()):
        raise ValueError("batch must be a floating-point tensor, images x channels x rows x columns")
    check_whole(padding, "padding", 0, max(batch.shape[-2:]))
    check_number(degrees, "degrees", 0, 180)
    count, device = len(batch), batch.device
    height, width = batch.shape[-2:]
    angle = (torch.rand(count, device=device) * 2 - 1) * (degrees * torch.pi / 180)
    flip = torch.randint(0, 2, (count,), device=device) * 2 - 1
    right, down = (torch.randint(-padding, padding + 1, (count,), device=device) for _ in range(2))
    sine, cosine = angle.sin(), angle.cos()
    across = torch.stack([flip * cosine, -flip * sine * (height / width), flip * right * (2 / width)], dim=1)
    along = torch.stack([sine * (width / height), cosine, down * (2 / height)], dim=1)
    grid = F.affine_grid(torch.stack([across, along], dim=1), list(batch.shape), align_corners=False)
    return F.grid_sample(batch, grid, mode="nearest", padding_mode="zeros", align_corners=False)
