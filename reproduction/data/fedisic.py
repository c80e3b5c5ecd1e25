"""Fed-ISIC2019: eight kinds of skin lesion from six centers. Real images in FLamby's layout, or a drawn stand-in."""

import hashlib
import importlib.util
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import yaml
from PIL import Image
from tqdm.auto import tqdm

from cycle.checks import check_choice
from reproduction.data import lesions
from reproduction.data.fetch import DataError

CENTERS = ("BCN", "ViDIR MoleMax", "ViDIR modern", "Rosendahl", "MSK", "Vienna dias")
FOLDS = ("train", "test")
COUNTS = pd.read_csv(Path(__file__).with_name("fed_isic2019_counts.csv"), index_col=["fold", "center"])
CLASSES = tuple(COUNTS)
LICENCE = Path(__file__).with_name("fed_isic2019.txt").read_text(encoding="utf-8").rstrip()  # and how to get them
VARIABLE = "CYCLE_FEDISIC"
RAW, PREPROCESSED = "ISIC_2019_Training_Input", "ISIC_2019_Training_Input_preprocessed"
SCRIPTS = Path("datasets", "fed_isic2019", "dataset_creation_scripts")  # of FLamby, where its split is
SPLIT_NAMES = ("train_test_split", "train_test_split.csv", "fed_isic2019_split.csv")
SHORTER_SIDE, CROP = 224, 200
# Of FLamby's split, see `split_hash`. The file itself is not kept here: it repeats the ground truth of the images,
# which is under their licence, and whoever has the preprocessed images has FLamby, which carries it.
SPLIT_HASH = "3994b5642454f639062c8726e514cfaa59b854fbcdba2125d266e5f6c5e758ce"


def counts(fold: str) -> pd.DataFrame:
    """How many images of each class (columns) each center (rows) has in a fold, `train` or `test`."""
    check_choice(fold, "fold", FOLDS)
    return COUNTS.loc[fold]


def synthetic() -> dict[str, np.ndarray]:
    """Drawn pictures in the true numbers by center, class and fold; `centers` are those of the training images."""
    arrays, made_by = {}, {}
    for seed, fold in enumerate(FOLDS):
        table = counts(fold).to_numpy()
        made_by[fold], labels = (np.repeat(index.ravel(), table.ravel()) for index in np.indices(table.shape))
        arrays[f"{fold}_images"] = lesions.draw(labels, made_by[fold], seed)
        arrays[f"{fold}_labels"] = labels.astype(np.uint8)
    return arrays | {"centers": made_by["train"]}


def real() -> dict[str, np.ndarray]:
    """The real images, 200 x 200 from the middle, verified against FLamby's split; `centers` of the training images.

    The variable CYCLE_FEDISIC names their directory or FLamby's dataset_location.yaml, else an installed FLamby is
    asked. DataError says what is missing and where the licence is.
    """
    directory, split_file = _places()
    split = _read_split(split_file)
    folder = directory / PREPROCESSED
    if not folder.is_dir() and (directory / RAW).is_dir():
        raise _problem(f"{directory} has the raw images ({RAW}) only; run FLamby's resize_images.py.")
    if not folder.is_dir():
        raise _problem(f"there is no folder {PREPROCESSED} in {directory}.")
    missing = split[~(split["image"] + ".jpg").isin(os.listdir(folder))]
    if len(missing):
        by_center = missing["center"].value_counts(sort=False)
        of = ", ".join(f"{count} of center {center}" for center, count in by_center.items())
        raise _problem(
            f"{len(missing)} of {len(split)} images are missing in {folder} ({of}), "
            f"for example {missing['image'].iloc[0]}.jpg; the download or resize_images.py has not finished."
        )
    arrays = {"centers": split.loc[split["fold"] == "train", "center"].to_numpy()}
    for fold, rows in split.groupby("fold"):
        arrays[f"{fold}_images"] = images = np.empty((len(rows), CROP, CROP, 3), np.uint8)
        arrays[f"{fold}_labels"] = rows["target"].to_numpy(np.uint8)
        with ThreadPoolExecutor() as pool:  # the decoder runs outside Python's lock
            pictures = pool.map(_read_image, [folder / f"{name}.jpg" for name in rows["image"]])
            for row, picture in enumerate(tqdm(pictures, f"Fed-ISIC2019 {fold}", len(rows), leave=False)):
                images[row] = picture
    return arrays


def split_hash(split: pd.DataFrame) -> str:
    """SHA-256 over image, class, center and fold of every row, in the order of the images."""
    rows = split.sort_values("image")[["image", "target", "center", "fold"]]
    return hashlib.sha256(rows.to_csv(index=False, header=False, lineterminator="\n").encode()).hexdigest()


def _problem(text: str) -> DataError:
    return DataError(f"Fed-ISIC2019: {text}\n{LICENCE}")


def _places() -> tuple[Path, Path]:
    """The directory of the images and the split file; an installed FLamby is asked without importing it."""
    flamby = importlib.util.find_spec("flamby")
    scripts = [Path(where) / SCRIPTS for where in (flamby and flamby.submodule_search_locations) or ()]
    installed = [config for folder in scripts if (config := folder / "dataset_location.yaml").exists()]
    asked = os.environ.get(VARIABLE) or next(iter(installed), None)
    if asked is None:
        raise _problem(f"{VARIABLE} is not set, and no installed FLamby has downloaded it.")
    directory, beside = Path(asked).expanduser(), []
    if directory.is_file():
        directory, beside = _configured(directory), [directory.parent]
    if not directory.is_dir():
        raise _problem(f"{directory} is not a directory.")
    folders = [directory, *beside, *scripts]
    for file in (folder / name for folder in folders for name in SPLIT_NAMES):
        if file.is_file():
            return directory, file
    raise _problem(
        f"no split file ({', '.join(SPLIT_NAMES)}) in {' or '.join(map(str, folders))}; "
        "copy train_test_split from FLamby's dataset_creation_scripts into the first."
    )


def _configured(file: Path) -> Path:
    """The directory that FLamby's configuration names; refused where it says that something is unfinished."""
    try:
        config = yaml.safe_load(file.read_text())
        directory = Path(config["dataset_path"])
    except (yaml.YAMLError, UnicodeDecodeError, TypeError, KeyError) as error:
        raise _problem(f"{file} is not FLamby's dataset_location.yaml (no dataset_path).") from error
    for key, script in (("download_complete", "download_isic.py"), ("preprocessing_complete", "resize_images.py")):
        if not config.get(key):
            raise _problem(f"{file} says {key}: false; FLamby's {script} has not finished.")
    return directory


def _read_split(file: Path) -> pd.DataFrame:
    try:
        split = pd.read_csv(file).sort_values("image", ignore_index=True)
        found = split_hash(split)
    except (ValueError, KeyError) as error:  # not text, not a table, or without the columns
        raise _problem(f"{file} is not FLamby's split: {type(error).__name__}: {error}.") from error
    if found != SPLIT_HASH:
        rows = f"{len(split)} rows instead of {COUNTS.to_numpy().sum()}"
        raise _problem(f"{file} is not FLamby's split: {rows}, or images with another class, center or fold.")
    return split


def _read_image(file: Path) -> np.ndarray:
    try:
        with Image.open(file) as image:
            wide, high = image.size
            left, top = (wide - CROP) // 2, (high - CROP) // 2
            picture = np.asarray(image.convert("RGB").crop((left, top, left + CROP, top + CROP)))
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:  # what Pillow raises of damaged files
        if file.read_bytes()[:256].lstrip().startswith(b"<"):
            raise _problem(f"{file} is a web page, which servers send while a licence is not accepted.") from error
        raise _problem(f"{file} is damaged ({error}); fetch and preprocess it again.") from error
    if min(wide, high) not in (SHORTER_SIDE - 1, SHORTER_SIDE):  # FLamby rounds down
        side = f"FLamby's resize_images.py makes the shorter side {SHORTER_SIDE}"
        raise _problem(f"{file} has {wide} x {high} pixels; {side}.")
    if (picture == picture[0, 0]).all():
        raise _problem(f"{file} has one colour all over; fetch and preprocess it again.")
    return picture
