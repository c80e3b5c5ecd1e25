"""Arrays, tensors, a Dataset, a DataLoader as two tensors: inputs and labels."""

import numpy as np
import torch
from torch.utils.data import DataLoader

from cycle.checks import check, short


def samples(data, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of any type and shape, one a row, and labels as int64; errors call them by `name`.

    A pair (inputs, labels) of arrays, tensors or lists; or a Dataset, or a DataLoader (its
    collate_fn is used, its order and batches are not), of such pairs. Nothing is copied that need
    not be.
    """
    if isinstance(data, DataLoader):
        every = [data.dataset[row] for row in range(len(data.dataset))]
        inputs, labels = _pair(data.collate_fn(every), name)
    elif isinstance(data, tuple | list) and len(data) == 2 and not _is_sample(data[0]):
        inputs, labels = data
    else:
        some = hasattr(data, "__getitem__") and getattr(data, "ndim", 1) and len(data)
        check(some, name, "be (inputs, labels), a Dataset or a DataLoader", data)
        inputs, labels = zip(*(_pair(data[row], name) for row in range(len(data))), strict=True)
    inputs = _tensor(inputs, f"inputs of {name}", "be numbers of one shape")
    labels = _tensor(labels, f"labels of {name}", "be numbers: number your classes 0, 1, ...")
    whole = labels.dim() == 1 and not (labels.is_floating_point() or labels.is_complex())
    check(whole, f"labels of {name}", "be whole numbers in one row", labels)
    shapes = tuple(inputs.shape), tuple(labels.shape)
    fits = inputs.dim() > 0 and len(inputs) == len(labels) > 0
    check(fits, name, "hold one label for each input, at least one", shapes)
    check(labels.min() >= 0, f"labels of {name}", "be 0 or more", int(labels.min()))
    finite = not inputs.is_floating_point() or inputs.isfinite().all()
    check(finite, f"inputs of {name}", "be finite", inputs)
    return inputs, labels.long()


def _is_sample(first) -> bool:
    """Whether the first of two things is an (input, label): then they are samples, not columns."""
    return isinstance(first, tuple) and len(first) == 2 and np.ndim(first[1]) == 0


def _pair(item, name):
    pair = isinstance(item, tuple | list) and len(item) == 2
    check(pair, name, "give pairs (input, label)", item)
    return item


def _tensor(values, name, must) -> torch.Tensor:
    if torch.is_tensor(values):
        return values.detach()
    try:
        if isinstance(values, list | tuple) and len(values) and torch.is_tensor(values[0]):
            return torch.stack([value.detach() for value in values])
        array = np.asarray(values)
        if array.dtype in (np.uint16, np.uint32, np.uint64):
            array = array.astype(np.int64)
        return torch.from_numpy(np.require(array, requirements=["C", "W"]))
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        what = f"{name} must {must}, got {short(values)} ({error})"
        raise ValueError(what) from None
