"""Arrays, tensors, a Dataset, a DataLoader as two tensors: inputs and labels."""

import numpy as np
import torch
from torch.utils.data import DataLoader


def samples(data, name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs of any type and shape, one a row, and labels as int64; `name` is how errors call the
    argument.

    A pair (inputs, labels) of arrays, tensors or lists; or a Dataset, or a DataLoader (its
    collate_fn is used, its order and batches are not), of such pairs. Nothing is copied that need
    not be.
    """
    if isinstance(data, DataLoader):
        collate = data.collate_fn
        batches = [collate([data.dataset[row] for row in range(len(data.dataset))])]
        inputs, labels = _pair(batches[0], name)
    elif isinstance(data, tuple | list) and len(data) == 2 and not _is_sample(data[0]):
        inputs, labels = data
    elif hasattr(data, "__getitem__") and _count(data):
        items = [_pair(data[row], name) for row in range(len(data))]
        inputs, labels = [item[0] for item in items], [item[1] for item in items]
    else:
        raise ValueError(
            f"{name} must be (inputs, labels), a Dataset or a DataLoader, got {_seen(data)}"
        )
    inputs, labels = _tensor(inputs, f"inputs of {name}"), _tensor(labels, f"labels of {name}")
    if labels.dim() != 1 or labels.is_floating_point() or labels.is_complex():
        raise ValueError(f"labels of {name} must be whole numbers in one row, got {_seen(labels)}")
    if inputs.dim() == 0 or len(inputs) != len(labels) or not len(labels):
        raise ValueError(
            f"{name} must hold one label for each input, at least one, "
            f"got {_seen(inputs)} and {_seen(labels)}"
        )
    if int(labels.min()) < 0:
        raise ValueError(f"labels of {name} must be 0 or more, got {int(labels.min())}")
    if inputs.is_floating_point() and not inputs.isfinite().all():
        raise ValueError(f"inputs of {name} must be finite")
    return inputs, labels.long()


def _count(data) -> int:
    """How many there are; none in a single number, whatever it is wrapped in."""
    return len(data) if hasattr(data, "__len__") and getattr(data, "ndim", 1) else 0


def _is_sample(first) -> bool:
    """Whether the first of two things is an (input, label): then they are samples, not columns."""
    return isinstance(first, tuple) and len(first) == 2 and np.ndim(first[1]) == 0


def _pair(item, name):
    if not isinstance(item, tuple | list) or len(item) != 2:
        raise ValueError(f"{name} must give pairs (input, label), got {_seen(item)}")
    return item


def _tensor(values, name) -> torch.Tensor:
    if torch.is_tensor(values):
        return values.detach()
    if isinstance(values, list | tuple) and len(values) and torch.is_tensor(values[0]):
        if len({tuple(value.shape) for value in values}) > 1:
            raise ValueError(f"{name} must all have one shape")
        return torch.stack([value.detach() for value in values])
    try:
        array = np.asarray(values)
        if array.dtype in (np.uint16, np.uint32, np.uint64):
            array = array.astype(np.int64)
        return torch.from_numpy(np.require(array, requirements=["C", "W"]))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be numbers of one shape, got {_seen(values)} ({error})"
        ) from None


def _seen(value) -> str:
    if torch.is_tensor(value) or isinstance(value, np.ndarray):
        return f"{value.dtype} {tuple(value.shape)}"
    return type(value).__name__ + (f" of {_count(value)}" if _count(value) else "")
