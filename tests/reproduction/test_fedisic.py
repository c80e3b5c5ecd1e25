"""Fed-ISIC2019: the loader on small directories in FLamby's layout, the counts, and the drawn stand-in."""

import hashlib
import shutil

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from sklearn.metrics import balanced_accuracy_score

from cycle.play import begin, play
from reproduction import catalogue, execute, models, paper, settings, subsets
from reproduction.data import datasets, fedisic, fetch, lesions

PAPER_SIZES = [(9930, 2483), (3163, 791), (2691, 672), (1807, 452), (655, 164), (351, 88)]  # train, test of each center


@pytest.fixture(scope="module")
def stand_in():
    return datasets.load("fedisic-synthetic")


@pytest.fixture
def layout(tmp_path, monkeypatch):
    """Twelve small images as FLamby leaves them: two of each center, one for training and one for the test."""
    rng = np.random.default_rng(0)
    rows = []
    images = tmp_path / "isic" / fedisic.PREPROCESSED
    images.mkdir(parents=True)
    for number in rng.permutation(12):
        center, fold = int(number) % 6, fedisic.FOLDS[int(number) // 6]
        name = f"ISIC_{number:07}" + ("_downsampled" if center == 4 else "")
        size = (300, 224) if center % 2 else (224, 260)
        colour = np.full((size[1], size[0], 3), (20 * number, 255 - 20 * number, 40), np.uint8)
        colour[: size[1] // 2, :, 2] += 10  # no photograph has one colour all over
        Image.fromarray(colour).save(images / f"{name}.jpg", quality=95)
        rows.append({"image": name, "MEL": 0.0, "target": center, "center": center, "fold": fold, "fold2": ""})
    split = pd.DataFrame(rows)
    split.to_csv(tmp_path / "isic" / "train_test_split", index=False)
    monkeypatch.setattr(fedisic, "SPLIT_HASH", fedisic.split_hash(split))
    monkeypatch.delenv(fedisic.VARIABLE, raising=False)
    return tmp_path / "isic"


@pytest.fixture
def flamby(layout, tmp_path, monkeypatch):
    """An installed FLamby that has downloaded to `layout`; the split is with it, as it is in the real one."""
    scripts = tmp_path / "site" / "flamby" / "datasets" / "fed_isic2019" / "dataset_creation_scripts"
    scripts.mkdir(parents=True)
    (tmp_path / "site" / "flamby" / "__init__.py").write_text("raise RuntimeError('must not be imported')")
    shutil.move(layout / "train_test_split", scripts / "train_test_split")
    config = scripts / "dataset_location.yaml"
    config.write_text(f"dataset_path: {layout}\ndownload_complete: true\npreprocessing_complete: true\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    return config


def check(data):
    assert data.name == "fedisic" and data.balanced and data.in_shape == (3, 200, 200) and data.num_classes == 8
    assert data.train_images.dtype == torch.uint8 and data.train_labels.tolist() == data.centers.tolist()
    for images, first in ((data.train_images, 0), (data.test_images, 6)):
        for row, picture in enumerate(images.cpu().numpy()):  # in the order of the names
            number = first + row
            assert np.abs(picture.astype(int) - (20 * number, 255 - 20 * number, 45)).max() <= 8  # JPEG


def test_real_images_by_variable(layout, monkeypatch):
    monkeypatch.setenv(fedisic.VARIABLE, str(layout))
    check(datasets.load("fedisic"))


def test_real_images_by_the_configuration_of_an_installed_flamby(flamby):
    check(datasets.load("fedisic"))


def test_real_images_by_a_configuration_file(flamby, monkeypatch):
    monkeypatch.setenv(fedisic.VARIABLE, str(flamby))
    check(datasets.load("fedisic"))


def test_the_crop_is_the_middle(layout, monkeypatch):
    monkeypatch.setenv(fedisic.VARIABLE, str(layout))
    file = layout / fedisic.PREPROCESSED / "ISIC_0000000.jpg"
    picture = np.zeros((260, 224, 3), np.uint8)
    picture[30:230, 12:212] = 200
    Image.fromarray(picture).save(file, quality=100, subsampling=0)
    assert datasets.load("fedisic").train_images[0].min() > 190


def spoil(layout, how):
    images = layout / fedisic.PREPROCESSED
    victim = images / "ISIC_0000003.jpg"
    if how == "missing":
        victim.unlink()
        (images / "ISIC_0000009.jpg").unlink()
    elif how == "cut":
        victim.write_bytes(victim.read_bytes()[:700])
    elif how == "page":
        victim.write_text("\n<!DOCTYPE html><title>Sign in</title>")
    elif how == "size":
        Image.new("RGB", (1024, 768)).save(victim)
    elif how == "black":
        Image.new("RGB", (224, 260)).save(victim)
    elif how == "raw":
        images.rename(layout / fedisic.RAW)
    elif how == "empty":
        shutil.rmtree(images)
    elif how == "split":
        (layout / "train_test_split").unlink()
    elif how == "short split":
        lines = (layout / "train_test_split").read_text().splitlines()
        (layout / "train_test_split").write_text("\n".join(lines[:-1]))
    elif how == "relabelled":
        file = layout / "train_test_split"
        pd.read_csv(file).assign(target=0).to_csv(file, index=False)
    elif how == "no table":
        (layout / "train_test_split").write_text("nothing here")


@pytest.mark.parametrize(
    "how, says",
    [
        ("missing", r"2 of 12 images are missing in .*\(2 of center 3\), for example ISIC_0000003.jpg"),
        ("cut", "ISIC_0000003.jpg is damaged"),
        ("page", "ISIC_0000003.jpg is a web page.* licence is not accepted"),
        ("size", "1024 x 768 pixels.*resize_images.py"),
        ("black", "ISIC_0000003.jpg has one colour all over"),
        ("raw", "raw images .* only; run FLamby's resize_images.py"),
        ("empty", f"no folder {fedisic.PREPROCESSED}"),
        ("split", "no split file .*copy train_test_split"),
        ("short split", "not FLamby's split: 11 rows instead of 23247"),
        ("relabelled", "not FLamby's split: .* another class"),
        ("no table", "not FLamby's split: KeyError"),
    ],
)
def test_a_bad_download_is_named_with_the_way_out(layout, how, says, monkeypatch):
    spoil(layout, how)
    monkeypatch.setenv(fedisic.VARIABLE, str(layout))
    with pytest.raises(fetch.DataError, match=says) as caught:
        datasets.load("fedisic")
    assert "challenge.isic-archive.com" in str(caught.value) and "CC-BY-NC" in str(caught.value)
    assert "fedisic-synthetic" in str(caught.value)


@pytest.mark.parametrize("key, script", [("download", "download_isic.py"), ("preprocessing", "resize_images.py")])
def test_an_unfinished_flamby_is_named(flamby, key, script):
    flamby.write_text(flamby.read_text().replace(f"{key}_complete: true", f"{key}_complete: false"))
    with pytest.raises(fetch.DataError, match=f"{key}_complete: false.*{script}"):
        datasets.load("fedisic")


def test_no_location_and_a_wrong_one(monkeypatch, tmp_path):
    monkeypatch.delenv(fedisic.VARIABLE, raising=False)
    with pytest.raises(fetch.DataError, match="CYCLE_FEDISIC is not set"):
        datasets.load("fedisic")
    monkeypatch.setenv(fedisic.VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(fetch.DataError, match="nowhere is not a directory"):
        datasets.load("fedisic")
    (tmp_path / "config.yaml").write_text("a: b")
    monkeypatch.setenv(fedisic.VARIABLE, str(tmp_path / "config.yaml"))
    with pytest.raises(fetch.DataError, match="is not FLamby's dataset_location.yaml"):
        datasets.load("fedisic")


def test_counts_are_the_published_sizes():
    sizes = list(zip(*(fedisic.counts(fold).sum(axis=1).tolist() for fold in fedisic.FOLDS), strict=True))
    assert sizes == PAPER_SIZES and sum(map(sum, sizes)) == 23_247
    with pytest.raises(ValueError, match="fold must be one of train, test"):
        fedisic.counts("validation")


def test_the_stand_in_has_the_true_counts_and_its_name_says_what_it_is(stand_in):
    assert "synthetic" in stand_in.name and stand_in.balanced
    table = np.zeros((6, 8), int)
    np.add.at(table, (stand_in.centers, stand_in.train_labels.cpu().numpy()), 1)
    assert (table == fedisic.counts("train").to_numpy()).all()
    assert torch.bincount(stand_in.test_labels).tolist() == fedisic.counts("test").sum().tolist()
    scaled = stand_in.train_images[::7].reshape(-1, 3).double().cpu() / 255
    assert np.allclose(scaled.mean(0), stand_in.mean, atol=3e-3)
    assert np.allclose(scaled.std(0), stand_in.std, atol=3e-3)


def test_pictures_depend_on_seed_class_and_center_alone():
    labels, centers = np.arange(8).repeat(2), np.tile([0, 3], 8)
    first = lesions.draw(labels, centers, 5)
    assert (first == lesions.draw(labels, centers, 5)).all() and (first != lesions.draw(labels, centers, 6)).any()
    moved = lesions.draw(labels, np.zeros_like(centers), 5)  # the same scenes, all photographed at the first center
    assert (moved[0::2] == first[0::2]).all() and all((moved[1::2] != first[1::2]).any(axis=(1, 2, 3)))


def test_every_machine_draws_the_same():
    centers, labels = (index.ravel() for index in np.indices((6, 8)))
    assert hashlib.sha256(lesions.draw(labels, centers, 0)).hexdigest().startswith("1b44df6732a040ac")


def test_cameras_differ_by_colour_and_vignette():
    centers = np.repeat(np.arange(6), 100)
    pictures = lesions.draw(np.ones_like(centers), centers, 0).reshape(6, 100, 32, 32, 3).mean(axis=1)
    corner, edge = pictures[:, 0, 0], pictures[:, 0, 16]
    darkening = 1 - corner.mean(axis=1) / edge.mean(axis=1)
    vignette = lesions.CAMERAS[:, -1]
    assert (np.argsort(darkening) == np.argsort(vignette)).all() and darkening[0] == pytest.approx(0, abs=0.02)
    tints = corner / corner.sum(axis=1, keepdims=True)
    apart = np.linalg.norm(tints[:, None] - tints[None], axis=-1)[~np.eye(6, dtype=bool)]
    assert apart.min() > 0.01


@pytest.mark.parametrize(
    "labels, centers, named",
    [([8], [0], "labels"), ([0], [6], "centers"), ([0, 1], [0], "centers"), ([], [], "labels")],
)
def test_draw_refuses(labels, centers, named):
    with pytest.raises(ValueError, match=f"{named} must"):
        lesions.draw(np.array(labels, int), np.array(centers, int), 0)


def test_the_natural_split_gives_every_center_its_own(stand_in):
    (run,) = catalogue.runs_of("fed-isic", "laptop", methods=["standalone"])
    parties, (made_by, labels) = settings.parties_of(run, stand_in), (stand_in.centers, stand_in.train_labels)
    assert run.dataset == "fedisic-synthetic" and [party.size for party in parties] == [s for s, _ in PAPER_SIZES]
    for center, party in enumerate(parties):
        rows = np.flatnonzero(made_by == center)
        assert torch.equal(party.inputs, stand_in.train_images[rows]) and torch.equal(party.labels, labels[rows])


def test_a_smaller_natural_split_keeps_the_proportions(stand_in):
    (run,) = catalogue.runs_of("fed-isic-pooled", "smoke")
    *centers, everybody = settings.parties_of(run, stand_in)
    assert sum(party.size for party in centers) == everybody.size == 2000
    exact = fedisic.counts("train").to_numpy() * 2000 / 18_597
    found = np.array([np.bincount(party.labels.cpu(), minlength=8) for party in centers])
    assert (np.bincount(everybody.labels.cpu(), minlength=8) == found.sum(axis=0)).all()
    assert np.abs(found - exact).max() <= 1


def test_natural_refuses_another_number_and_data_without_centers(digits):
    with pytest.raises(ValueError, match="n must be the number of centers, 2, got 3"):
        subsets.natural([0, 0, 1, 1], 3)
    with pytest.raises(ValueError, match="split must be"):
        settings.partition_of("natural", digits.train_labels.cpu().numpy(), 6, 0)


def test_the_experiment_is_the_appendix():
    rows = {f"{run.method} {run.variant}".strip(): run for run in catalogue.runs_of("fed-isic", "paper")}
    assert {name: run.options.topology for name, run in rows.items() if name != "standalone"} == {
        "gossip": "complete", "gossip ring": "ring", "gossip exponential": "exponential", "cycle-gossip": "complete",
    }  # fmt: skip
    printed = [paper.metric("fed-isic", name, "natural", 6, "CGS") for name in rows]
    assert printed == [None, 15.64, 14.80, 14.24, 10.94]


def test_the_paper_profile_is_the_papers():
    run = next(catalogue.runs_of("fed-isic", "paper"))
    assert (run.dataset, run.model, run.images) == ("fedisic", "efficientnet_b0", None)
    assert run.options.batch_size == 32 and run.options.epochs == 100 and run.options.augment


@pytest.fixture
def unreachable(monkeypatch):
    from reproduction.vision import torchvision

    def refuse(*_, **__):
        raise OSError("no network")

    monkeypatch.setattr(torchvision.models.EfficientNet_B0_Weights, "get_state_dict", refuse)
    models._imagenet_weights.cache_clear()
    yield
    models._imagenet_weights.cache_clear()


def test_efficientnet_without_the_internet_says_so_once(unreachable, caplog):
    first, second = (models.build("efficientnet_b0", (3, 200, 200), 8) for _ in range(2))
    assert (
        sum(parameter.numel() for parameter in first.parameters()) == 5_288_548 - 1281 * 1000 + 1281 * 8
    )  # the published one has 1,000 classes
    assert sum("random weights" in record.message for record in caplog.records) == 1
    assert models.starting_weights("efficientnet_b0") == "random"


def test_efficientnet_takes_published_weights_but_its_own_last_layer(monkeypatch):
    from reproduction.vision import torchvision

    torch.manual_seed(0)
    published = torchvision.models.efficientnet_b0().state_dict()
    monkeypatch.setattr(models, "_imagenet_weights", lambda: published)
    ours = models.build("efficientnet_b0", (3, 64, 64), 8).state_dict()
    assert ours["classifier.1.weight"].shape == (8, 1280)
    assert all(torch.equal(value, published[name]) for name, value in ours.items() if "classifier" not in name)
    assert models.starting_weights("efficientnet_b0") == "imagenet" and models.starting_weights("cnn") == "random"


@pytest.mark.parametrize("shape, width, named", [((1, 64, 64), None, "in_shape"), ((3, 64, 64), 8, "width")])
def test_efficientnet_refuses(shape, width, named):
    with pytest.raises(ValueError, match=named):
        models.build("efficientnet_b0", shape, 8, width)


def test_a_run_on_the_stand_in_is_recorded_with_balanced_accuracy(stand_in, tmp_path, monkeypatch):
    (run,) = catalogue.runs_of("fed-isic", "smoke", methods=["standalone"])
    run = settings.replace(run, images=300, options=settings.replace(run.options, local_epochs=0, rounds=1))
    few = torch.arange(0, len(stand_in.test_labels), 15, device=stand_in.test_labels.device)
    small = settings.replace(stand_in, test_images=stand_in.test_images[few], test_labels=stand_in.test_labels[few])
    monkeypatch.setattr(datasets, "load", lambda name, device: small)
    record = execute.execute(run, "fed-isic", tmp_path, progress=False)
    assert record["dataset"] == "fedisic-synthetic" and record["start"] == "random" and len(record["accuracy"]) == 6
    state = begin(settings.parties_of(run, small), "standalone", run.options, run.seed, small.train_images.device)
    (played,) = play(state, "standalone", run.options)
    for party, recorded in zip(played.participants, record["accuracy"], strict=True):
        with torch.inference_mode():
            logits = party.model.eval()(party.prepare(small.test_images, False))
        truth, predicted = small.test_labels.cpu(), logits.argmax(dim=1).cpu()
        assert recorded == pytest.approx(100 * balanced_accuracy_score(truth, predicted))
