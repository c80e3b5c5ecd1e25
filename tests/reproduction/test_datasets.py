import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torchvision.transforms.v2 import functional as reference

from reproduction.data import datasets, fetch


def test_digits_are_scikit_learns(digits):
    assert len(digits.train_labels) == 1297 and digits.in_shape == (1, 8, 8)
    assert torch.bincount(digits.test_labels).tolist() == [50] * 10
    images, labels = load_digits(return_X_y=True)
    ours = torch.cat([digits.train_images, digits.test_images]).flatten(1).numpy()
    truth = torch.cat([digits.train_labels, digits.test_labels]).numpy()
    rows = {tuple(row): label for row, label in zip(images.astype(int), labels, strict=True)}
    assert sorted(map(tuple, ours.tolist())) == sorted(map(tuple, images.astype(int).tolist()))
    assert all(rows[tuple(row)] == label for row, label in zip(ours.tolist(), truth, strict=True))


def test_pixels_are_normalised(digits):
    batch = datasets.Pixels(digits)(digits.train_images)
    assert batch.shape == (1297, 1, 8, 8)
    assert batch.mean().item() == pytest.approx(0, abs=1e-5) and batch.std().item() == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("augmented", [False, True])
@pytest.mark.parametrize("kind", [torch.uint8, torch.float32, torch.float64])
def test_stored_images_are_never_changed(digits, kind, augmented):
    """Whatever their type: float images were normalised in place once, and again at every test."""
    stored = digits.train_images[:20].to(kind)
    before, pixels = stored.clone(), datasets.Pixels(digits)
    torch.manual_seed(0)
    first = pixels(stored, augmented)
    torch.manual_seed(0)
    assert torch.equal(stored, before) and torch.equal(pixels(stored, augmented), first)
    torch.manual_seed(0)
    assert first.dtype == torch.float32 and torch.equal(first, pixels(digits.train_images[:20], augmented))


def test_augmentation_without_rotation_is_torchvisions_crop_and_flip():
    batch = torch.rand(64, 3, 32, 32)
    torch.manual_seed(0)
    moved = datasets.augment(batch, degrees=0)
    seen = set()
    for image, result in zip(batch, moved, strict=True):
        padded = reference.pad(image, [4])
        crops = {
            (down, right, flip): (lambda crop, flip=flip: reference.horizontal_flip(crop) if flip else crop)(
                reference.crop(padded, down, right, 32, 32)
            )
            for down in range(9)
            for right in range(9)
            for flip in (False, True)
        }
        (found,) = [key for key, crop in crops.items() if torch.equal(crop, result)]
        seen.add(found)
    assert len(seen) > 40 and len({flip for *_, flip in seen}) == 2


def test_augmentation_rotates_by_at_most_the_given_angle():
    torch.manual_seed(0)
    picture = torch.zeros(200, 1, 33, 33)
    picture[:, :, 16, 26] = picture[:, :, 16, 25] = picture[:, :, 16, 27] = 1  # a mark ten pixels right of the middle
    turned = datasets.augment(picture, padding=0, degrees=15)
    heights = []
    for image in turned:
        rows, _ = np.nonzero(image[0].numpy())
        heights.extend(rows - 16)
    assert max(heights) <= 3 and min(heights) >= -3 and {-2, 2} <= set(heights)


def test_load_refuses_unknown_names():
    with pytest.raises(ValueError, match="dataset must be one of digits"):
        datasets.load("mnist")


HERE = (fetch.data_directory() / "cifar10.npz").exists()


@pytest.mark.skipif(not HERE, reason="CIFAR-10 is not on this machine: python -m cycle data cifar10")
def test_cifar10_is_verified_and_has_the_known_statistics():
    data = datasets.load("cifar10", "cpu")
    assert data.hash == fetch.HASHES["cifar10"]
    # the official row order, as its published beginnings
    assert data.train_labels[:10].tolist() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]
    assert data.test_labels[:10].tolist() == [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
    assert torch.bincount(data.train_labels).tolist() == [5000] * 10
    scaled = data.train_images.reshape(-1, 3).double() / 255
    assert np.allclose(scaled.mean(0), data.mean, atol=1e-6) and np.allclose(
        scaled.std(0, unbiased=False), data.std, atol=1e-6
    )


def test_scales_are_those_of_the_training_images(digits, monkeypatch):
    scaled = digits.train_images.numpy() / 16
    assert digits.mean == pytest.approx([scaled.mean()]) and digits.std == pytest.approx([scaled.std()])
    pixels = np.zeros((4, 32, 32, 3), dtype=np.uint8)
    arrays = dict.fromkeys(fetch.ARRAYS, np.arange(4)) | {"train_images": pixels, "test_images": pixels}
    monkeypatch.setitem(datasets.DATASETS, "cifar100", lambda: (arrays, "digest"))
    found = datasets.load("cifar100", "cpu")
    assert np.multiply(found.mean, 255 * 50_000 * 32 * 32) == pytest.approx(fetch.SUMS["cifar100"], rel=1e-14)
    assert (found.num_classes, found.full_scale, found.hash, found.centers) == (100, 255, "digest", None)
