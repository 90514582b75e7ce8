"""What `fit` takes for data: arrays, dictionaries of them, Datasets, DataLoaders, and any iterable of batches."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from gradlab.data import Batch, Examples, Stream
from gradlab.data.batch import as_batch
from gradlab.data.iterables import Batches, Iterated
from gradlab.data.raw import check_finite
from gradlab.data.splits import hold_out
from gradlab.data.views import ItemExamples
from gradlab.errors import GradlabError
from gradlab.training.plan import Plan

Split = Examples | Stream


def read_data(data: Any, plan: Plan, device: torch.device) -> Split:
    """The training data as a split on the device."""
    if isinstance(data, Examples | Stream):
        return data.to(device)
    if isinstance(data, tuple):
        return _pair(data).to(device)
    if isinstance(data, Mapping):
        return Examples.by_name({str(name): _tensor(values) for name, values in data.items()}).to(device)
    if _is_dataset(data):
        return ItemExamples.over(data).to(device)
    if isinstance(data, Iterable) and not isinstance(data, Tensor | np.ndarray | str):
        return Iterated(data, plan.seed, plan.steps, device)
    raise GradlabError(
        f"Data must be (X, y), a dictionary of arrays, a Dataset, a DataLoader or an iterable of batches, got "
        f"{type(data).__name__}."
    )


def _is_dataset(data: Any) -> bool:
    """A torch Dataset whose items have numbers."""
    from torch.utils.data import Dataset, IterableDataset

    return isinstance(data, Dataset) and not isinstance(data, IterableDataset)


def read_validation(
    train: Split, validation: Any, plan: Plan, device: torch.device, *, stratify: bool
) -> tuple[Split, Any]:
    """What is left to train on, and what is held out: a share of it, or data of their own."""
    if not isinstance(validation, (int, float)):
        return train, _held(validation, device)
    if not 0 <= validation < 1:
        raise GradlabError(f"validation={validation} must be a share of the data from 0 up to, but not, 1.")
    if validation == 0:
        return train, None
    if not isinstance(train, Examples):
        raise GradlabError(
            "A share can be held out of arrays and Datasets alone. Give data of their own: validation=LOADER"
        )
    labels = train.targets.cpu().numpy() if stratify and "targets" in train.parts else None
    kept, held = hold_out(np.arange(len(train)), validation, plan.seed, labels)
    return (train.subset(kept), train.subset(held)) if len(held) else (train, None)


def _held(validation: Any, device: torch.device) -> Any:
    if isinstance(validation, Examples):
        return validation.to(device)
    if isinstance(validation, tuple):
        return _pair(validation).to(device)
    if isinstance(validation, Mapping):
        return Examples.by_name({str(name): _tensor(values) for name, values in validation.items()}).to(device)
    return ItemExamples.over(validation).to(device) if _is_dataset(validation) else Batches(validation, device)


def first_batch(train: Split) -> Batch | None:
    """One example, or the first batch of an iterable; of a stream of one's own nothing is read before its time."""
    if isinstance(train, Examples):
        return train.batch(slice(0, 1))
    return train.peek()


def targets_of(train: Split, some: Tensor) -> Tensor:
    """All targets, where they are at hand, or else some."""
    return train.parts.get("targets", some) if isinstance(train, Examples) else some


def _pair(data: tuple[Any, ...]) -> Examples:
    """Inputs and targets, and perhaps weights, as tensors, checked."""
    if not 1 <= len(data) <= 3:
        raise GradlabError(f"A tuple of data is (X, y), or (X, y, weights), got {len(data)} parts.")
    parts = as_batch(tuple(_tensor(values) for values in data))
    shapes = [tuple(part.shape) for part in parts.values()]
    if any(not shape or not shape[0] for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        raise GradlabError(f"X and y must hold the same number of examples, got shapes {', '.join(map(str, shapes))}.")
    for name, part in parts.items():
        check_finite(part.cpu().numpy(), ["target"] if name == "targets" else [])
    if "targets" in parts and not parts["targets"].is_floating_point():
        parts["targets"] = parts["targets"].long()
    return Examples.by_name(parts)


def _tensor(values: npt.ArrayLike | Tensor) -> Tensor:
    if not isinstance(values, Tensor):
        array = np.array(values)  # a copy, which torch may own
        if array.dtype.kind not in "biuf":
            raise GradlabError(f"X and y must hold numbers, got an array of type {array.dtype}.")
        values = torch.from_numpy(array)
    return values.detach().float() if values.dtype == torch.float64 else values.detach()
