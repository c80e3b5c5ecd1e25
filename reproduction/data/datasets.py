"""Data sets as tensors that stay on the device: uint8 images, labels, and batched normalisation and augmentation."""

import tomllib
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from cycle.checks import check_choice, check_number, check_whole
from cycle.play import device_of
from reproduction.data import fetch

DIGITS_TEST_PER_CLASS = 50


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """Images are uint8, sample x row x column x channel (so that a permuted batch is channels-last for free)."""

    name: str
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    hash: str  # SHA-256 of pixels and labels
    num_classes: int
    mean: list[float]  # of each channel of the training images, scaled to [0, 1]
    std: list[float]
    full_scale: float = 255.0  # the value of a white pixel
    balanced: bool = False  # whether accuracy means balanced accuracy
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


def _fedisic(which: str):
    from reproduction.data import fedisic  # it needs pandas, which listing experiments does not

    arrays = getattr(fedisic, which)()
    return arrays, fetch.content_hash(arrays)


SCALES = tomllib.loads(Path(__file__).with_name("scales.toml").read_text(encoding="utf-8"))
DATASETS = {  # what reads the arrays and their hash; how pixels become inputs and answers an accuracy is in scales.toml
    "digits": _digits,
    "cifar10": partial(fetch.cifar, "cifar10"),
    "cifar100": partial(fetch.cifar, "cifar100"),
    "fedisic": partial(_fedisic, "real"),
    "fedisic-synthetic": partial(_fedisic, "synthetic"),
}


def load(name: str = "digits", device=None) -> Dataset:
    """The data set by name, verified, on the device (default: CUDA where there is one)."""
    check_choice(name, "dataset", DATASETS)
    device = device_of("auto" if device is None else device)
    arrays, digest = DATASETS[name]()
    tensors = {key: torch.from_numpy(np.ascontiguousarray(arrays[key])).to(device) for key in fetch.ARRAYS}
    tensors |= {key: tensors[key].long() for key in ("train_labels", "test_labels")}
    return Dataset(name=name, hash=digest, centers=arrays.get("centers"), **tensors, **SCALES[name])


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
