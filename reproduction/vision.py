"""torchvision, also where its compiled part cannot load.

The wheel's `_C.so` wants CUDA libraries; beside a CPU build of torch it does not load, and `import torchvision` then
dies because the operators it registers shapes for do not exist. Declaring those two operators is enough for models,
datasets and transforms. Where `_C.so` loads, nothing is done.
"""

import importlib.util
from pathlib import Path

import torch

_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def _declare_missing_operators():
    spec = importlib.util.find_spec("torchvision")
    if spec is None:
        raise ImportError("torchvision is not installed; `pip install -r requirements.txt` installs it")
    try:
        for library in Path(spec.origin).parent.glob("_C.*"):
            torch.ops.load_library(library)
    except OSError:
        fragment = torch.library.Library("torchvision", "FRAGMENT")
        for name in ("nms", "qnms"):
            fragment.define(name + _SCHEMA)
        return fragment


_fragment = _declare_missing_operators()  # kept alive: the operators vanish with it

import torchvision  # noqa: E402 (only after the operators exist)

__all__ = ["torchvision"]
