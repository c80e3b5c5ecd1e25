"""Whatever people have becomes two tensors: compared with the same numbers stacked by NumPy."""

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset

from cycle.samples import samples

ROWS, LABELS = np.arange(24.0, dtype=np.float32).reshape(6, 4), np.array([0, 1, 2, 0, 1, 2])


class Items(Dataset):
    """A data set that knows one sample at a time, as torchvision's do."""

    def __init__(self, as_tensor=True):
        self.as_tensor = as_tensor

    def __len__(self):
        return len(LABELS)

    def __getitem__(self, row):
        return (torch.from_numpy(ROWS[row]) if self.as_tensor else ROWS[row]), int(LABELS[row])


def doubled(items):
    """A collate_fn of somebody's own."""
    return torch.stack([2 * item[0] for item in items]), torch.tensor([item[1] for item in items])


@pytest.mark.parametrize(
    "data",
    [
        (ROWS, LABELS),
        [ROWS, LABELS],
        (torch.from_numpy(ROWS), torch.from_numpy(LABELS)),
        (list(ROWS), LABELS.tolist()),
        (ROWS.tolist(), list(LABELS)),
        ([torch.from_numpy(row) for row in ROWS], [torch.tensor(label) for label in LABELS]),
        TensorDataset(torch.from_numpy(ROWS), torch.from_numpy(LABELS)),
        Items(),
        Items(as_tensor=False),
        [(row, label) for row, label in zip(ROWS, LABELS, strict=True)],
        DataLoader(Items(), batch_size=4, shuffle=True),
        DataLoader(Items(), batch_size=4, drop_last=True),
    ],
    ids=["arrays", "list of two", "tensors", "list of arrays", "lists", "lists of tensors", "TensorDataset", "Dataset",
         "Dataset of arrays", "list of pairs", "DataLoader", "DataLoader that drops"],
)  # fmt: skip
def test_all_forms_mean_the_same_samples_in_their_order(data):
    inputs, labels = samples(data, "data")
    assert inputs.to(torch.float32).tolist() == ROWS.tolist() and labels.tolist() == LABELS.tolist()
    assert labels.dtype == torch.int64


def test_the_collate_fn_of_a_loader_is_used():
    inputs, labels = samples(DataLoader(Items(), batch_size=4, collate_fn=doubled), "data")
    assert inputs.tolist() == (2 * ROWS).tolist() and labels.tolist() == LABELS.tolist()


def test_two_samples_are_not_two_columns():
    inputs, labels = samples([(ROWS[0], 1), (ROWS[1], 0)], "data")
    assert inputs.tolist() == ROWS[:2].tolist() and labels.tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_labels_may_be_any_integers(kind):
    labels = np.array([0, 1, 1, 0, 1, 0]).astype(kind)
    assert samples((ROWS, labels), "data")[1].tolist() == labels.astype(int).tolist()


@pytest.mark.parametrize("kind", ["uint8", "float16", "float64", "int32", "int64"])
def test_inputs_keep_their_type_and_shape(kind):
    stored = np.arange(6 * 3 * 5 * 2).reshape(6, 3, 5, 2).astype(kind)
    inputs, _ = samples((stored, LABELS), "data")
    assert inputs.shape == (6, 3, 5, 2) and inputs.dtype == torch.from_numpy(stored).dtype


@pytest.mark.filterwarnings("error")
def test_arrays_that_are_read_only_or_run_backwards_are_taken():
    """As pandas and memory maps give them."""
    fixed = ROWS.copy()
    fixed.flags.writeable = False
    assert samples((fixed, LABELS), "data")[0].tolist() == ROWS.tolist()
    assert samples((ROWS[::-1], LABELS[::-1]), "data")[0].tolist() == ROWS[::-1].tolist()


def test_nothing_is_copied_that_need_not_be():
    stored = torch.randn(6, 4, requires_grad=True)
    inputs, labels = samples((stored, torch.from_numpy(LABELS)), "data")
    assert inputs.data_ptr() == stored.data_ptr() and not inputs.requires_grad
    assert np.shares_memory(samples((ROWS, LABELS), "data")[0].numpy(), ROWS)


@pytest.mark.parametrize(
    "data, said",
    [
        (None, "data must be .inputs, labels., a Dataset or a DataLoader, got None"),
        (7, "data must be"),
        ([], r"data must be .* got \[\]"),
        ((ROWS, LABELS[:5]), r"data must hold one label for each input, at least one, got \(\(6, 4\), \(5,\)\)"),
        ((ROWS[:0], LABELS[:0]), "data must hold one label for each input"),
        ((ROWS, LABELS / 2), "labels of data must be whole numbers in one row, got torch.float64 .6,."),
        ((ROWS, np.eye(6)), "labels of data must be whole numbers in one row"),
        ((ROWS, LABELS[:, None]), "labels of data must be whole numbers in one row, got torch.int64 .6, 1."),
        ((ROWS, -LABELS), "labels of data must be 0 or more, got -2"),
        ((np.where(ROWS == 5, np.nan, ROWS), LABELS), "inputs of data must be finite"),
        ((np.where(ROWS == 5, np.inf, ROWS), LABELS), "inputs of data must be finite"),
        ((list("abcdef"), LABELS), "inputs of data must be numbers of one shape"),
        ((ROWS, list("abcabc")), "labels of data must be numbers: number your classes 0, 1, ..., got"),
        (([[1], [2, 3]] * 3, LABELS), "inputs of data must be numbers of one shape"),
        (
            ([torch.ones(2), torch.ones(3)] * 3, LABELS),
            r"inputs of data must be numbers of one shape, got \[.*\[2\] at entry 0 and \[3\] at entry 1",
        ),
        ([(1, 2, 3), (4, 5, 6), (7, 8, 9)], "data must give pairs .input, label., got .1, 2, 3."),
        ((5.0, 3), "labels of data must be whole numbers in one row"),
    ],
    ids=range(17),
)
def test_what_is_no_data_is_named(data, said):
    with pytest.raises(ValueError, match=said):
        samples(data, "data")


def test_the_argument_is_called_as_the_caller_calls_it():
    with pytest.raises(ValueError, match="^labels of test must be 0 or more"):
        samples((ROWS, LABELS - 1), "test")
