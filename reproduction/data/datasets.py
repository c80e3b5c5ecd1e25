"""Data sets as tensors that stay on the device: uint8 images, labels, and batched normalisation and augmentation."""

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F

from cycle.checks import check_choice, check_number, check_whole, short
from reproduction.data import fetch

DIGITS_TEST_PER_CLASS = 50


@dataclass(frozen=True)
class Dataset:
    """Images are uint8, sample x row x column x channel (so that a permuted batch is channels-last for free)."""

    name: str
    train_images: torch.Tensor
    train_labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    num_classes: int
    mean: tuple[float, ...]  # of each channel of the training images, scaled to [0, 1]
    std: tuple[float, ...]
    full_scale: float  # the value of a white pixel
    hash: str  # SHA-256 of pixels and labels
    centers: np.ndarray | None = None  # who made each training image, where the data come from several places
    balanced: bool = False  # whether accuracy means balanced accuracy

    @property
    def in_shape(self) -> tuple[int, int, int]:
        _, height, width, channels = self.train_images.shape
        return channels, height, width

    def to(self, device) -> "Dataset":
        tensors = {key: getattr(self, key).to(device) for key in fetch.ARRAYS}
        return replace(self, **tensors)


def _dataset(name, arrays, num_classes, mean, std, full_scale, digest):
    tensors = {key: torch.from_numpy(np.ascontiguousarray(arrays[key])) for key in fetch.ARRAYS}
    for key in ("train_labels", "test_labels"):
        tensors[key] = tensors[key].long()
    return Dataset(name, *tensors.values(), num_classes, mean, std, full_scale, digest)


def _digits():
    """scikit-learn's 1,797 real 8x8 digits: 50 of each class for the test, the other 1,297 for training."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    images, labels = images.reshape(-1, 8, 8, 1).astype(np.uint8), labels.astype(np.uint8)
    order = np.random.default_rng(0).permutation(labels.size)
    test = np.sort(np.concatenate([order[labels[order] == digit][:DIGITS_TEST_PER_CLASS] for digit in range(10)]))
    train = np.setdiff1d(order, test)
    arrays = dict(zip(fetch.ARRAYS, (images[train], labels[train], images[test], labels[test]), strict=True))
    scaled = arrays["train_images"] / 16
    return _dataset(
        "digits", arrays, 10, (float(scaled.mean()),), (float(scaled.std()),), 16.0, fetch.content_hash(arrays)
    )


def _cifar10():
    arrays, digest = fetch.cifar("cifar10")
    mean, std = (0.49139968, 0.48215841, 0.44653091), (0.24703223, 0.24348513, 0.26158784)
    return _dataset("cifar10", arrays, 10, mean, std, 255.0, digest)


def _cifar100():
    arrays, digest = fetch.cifar("cifar100")
    levels = np.arange(256) / 255
    counts = [np.bincount(arrays["train_images"][..., channel].ravel(), minlength=256) for channel in range(3)]
    mean = tuple(np.average(levels, weights=count) for count in counts)
    std = tuple(np.sqrt(np.average((levels - m) ** 2, weights=count)) for m, count in zip(mean, counts, strict=True))
    return _dataset("cifar100", arrays, 100, mean, std, 255.0, digest)


def _fedisic(location=None):
    """The real skin lesions, with ImageNet's mean and deviation, which the pretrained EfficientNet expects."""
    from reproduction.data import fedisic

    arrays, centers = fedisic.real(location)
    mean, std = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    plain = _dataset("fedisic", arrays, len(fedisic.CLASSES), mean, std, 255.0, fetch.content_hash(arrays))
    return replace(plain, centers=centers, balanced=True)


def _fedisic_synthetic():
    """Drawn pictures in the true numbers of Fed-ISIC2019: a stand-in, called synthetic wherever it appears."""
    from reproduction.data import fedisic  # it needs pandas, which listing experiments does not

    arrays, centers = fedisic.synthetic()
    mean, std = (0.6405, 0.4995, 0.4576), (0.2149, 0.1652, 0.1582)
    plain = _dataset("fedisic-synthetic", arrays, len(fedisic.CLASSES), mean, std, 255.0, fetch.content_hash(arrays))
    return replace(plain, centers=centers, balanced=True)


DATASETS = {
    "digits": _digits,
    "cifar10": _cifar10,
    "cifar100": _cifar100,
    "fedisic": _fedisic,
    "fedisic-synthetic": _fedisic_synthetic,
}


def load(name: str = "digits", device=None, location=None) -> Dataset:
    """The data set by name, verified, on the device (default: CUDA where there is one).

    `location` is where the images of `fedisic` lie; by default the variable CYCLE_FEDISIC, else FLamby's own setting.
    """
    check_choice(name, "dataset", DATASETS)
    device = _known(default_device() if device is None else device)
    if location is not None and name != "fedisic":
        raise ValueError(f"location is for the data set fedisic only, got {location!r} with {name}")
    loaded = DATASETS[name]() if location is None else DATASETS[name](location)
    return loaded.to(device)


def _known(device) -> torch.device:
    try:
        return torch.empty(0, device=device).device
    except (
        RuntimeError,
        TypeError,
        ValueError,
        OverflowError,
        AssertionError,
    ) as error:  # what torch raises of other names, or without CUDA
        raise ValueError(f"device must be cpu, cuda, cuda:1, ..., got {short(device)} ({short(str(error))})") from None


def default_device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


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
    theta = torch.stack(
        [
            torch.stack([flip * cosine, -flip * sine * (height / width), flip * right * (2 / width)], dim=1),
            torch.stack([sine * (width / height), cosine, down * (2 / height)], dim=1),
        ],
        dim=1,
    )
    grid = F.affine_grid(theta, list(batch.shape), align_corners=False)
    return F.grid_sample(batch, grid, mode="nearest", padding_mode="zeros", align_corners=False)
