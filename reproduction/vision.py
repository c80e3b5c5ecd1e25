"""torchvision, also where its compiled part cannot load.

The wheel's `_C.so` wants CUDA libraries; beside a CPU build of torch it does not load, and `import torchvision` then
dies because the operators it registers shapes for do not exist. Declaring those two operators is enough for models,
datasets and transforms. Where `_C.so` loads, nothing is done.
"""

import contextlib
import importlib.util
import socket
from pathlib import Path

import torch

fragment = torch.library.Library("torchvision", "FRAGMENT")  # kept alive: the operators vanish with it
spec = importlib.util.find_spec("torchvision")  # nothing of this if it is not installed, which the import says
try:
    for library in Path(spec.origin).parent.glob("_C.*") if spec else ():
        torch.ops.load_library(library)
except OSError:
    for name in ("nms", "qnms"):
        fragment.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

import torchvision  # noqa: E402, F401 (only after the operators exist; others import it from here)


@contextlib.contextmanager
def impatient(seconds: float = 30):
    """Downloads of torchvision, which wait forever by themselves, give up a server that stays silent so long."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(previous)
