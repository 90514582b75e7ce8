"""What `fit` takes for data: arrays, dictionaries of them, Datasets, DataLoaders, and any iterable of batches."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gradlab.data import Batch, Examples, Stream
from gradlab.data.batch import NAMES
from gradlab.data.iterables import Batches, Iterated
from gradlab.data.raw import check_finite
from gradlab.data.splits import hold_out
from gradlab.data.views import ItemExamples
from gradlab.errors import GradlabError, one_line
from gradlab.registry import shortly
from gradlab.training.plan import Plan

Split = Examples | Stream

_SAMPLE = 8  # examples on which losses and metrics are tried


def read_data(data: Any, plan: Plan, device: torch.device) -> Split:
    """The training data as a split on the device."""
    if isinstance(data, Stream):
        return data.to(device)
    train = _examples(data, "data", device)
    if train is None:
        return Iterated(data, plan.seed, plan.steps, device)
    if not len(train):
        raise GradlabError("There is nothing to learn from: the data have no examples.")
    return train


def read_validation(
    train: Split, validation: Any, plan: Plan, device: torch.device, *, stratify: bool
) -> tuple[Split, Any]:
    """The data to train on, and those to evaluate on: a share of the same, or separate ones."""
    if validation is None:
        return train, None
    if not isinstance(validation, (int, float)):
        held = _examples(validation, "validation", device)
        return train, Batches(validation, device) if held is None else held
    if not 0 <= validation < 1:
        raise GradlabError(f"validation={validation} must be a share of the data from 0 up to, but not, 1.")
    if validation == 0:
        return train, None
    if not isinstance(train, Examples):
        raise GradlabError(
            "A share can be held out of arrays and Datasets alone. Give separate data: validation=LOADER"
        )
    labels = train.targets.cpu().numpy() if stratify and "targets" in train.parts else None
    kept, held_out = hold_out(np.arange(len(train)), validation, plan.seed, labels)
    return (train.subset(kept), train.subset(held_out)) if len(held_out) else (train, None)


def _examples(data: Any, name: str, device: torch.device) -> Examples | None:
    """Data that can be read in any order; None for a stream or an iterable, and a message for everything else."""
    if isinstance(data, Examples):
        return data.to(device)
    if isinstance(data, tuple):
        return _from_tuple(data).to(device)
    if isinstance(data, Mapping):
        parts = {str(key): _tensor(values, repr(key)) for key, values in data.items()}
        return Examples.by_name(_with_class_indices(parts)).to(device)
    if _is_dataset(data):
        return ItemExamples.over(data).to(device)
    if not isinstance(data, Iterable) or isinstance(data, Tensor | np.ndarray | str | bytes | torch.nn.Module):
        raise GradlabError(
            f"{name} must be (X, y), a dictionary of arrays, a Dataset, a DataLoader or an iterable of batches, got "
            f"{type(data).__name__}."
        )
    return None


def _is_dataset(data: Any) -> bool:
    """A torch Dataset whose items have numbers."""
    from torch.utils.data import Dataset, IterableDataset

    if not isinstance(data, Dataset) or isinstance(data, IterableDataset):
        return False
    if not hasattr(data, "__len__"):
        raise GradlabError(f"The Dataset {type(data).__name__} has no length: give it `__len__`.")
    return True


def first_batch(split: Any) -> Batch | None:
    """A few examples, or the first batch of an iterable; of a stream of another kind nothing is read early."""
    if isinstance(split, Examples):
        return split.sample(_SAMPLE).batch(slice(None))
    return split.peek()  # type: ignore[no-any-return]


def all_targets(split: Any, batch: Batch) -> Any:
    """All targets, where they are in memory, or else those of a batch."""
    return split.parts.get("targets", batch["targets"]) if isinstance(split, Examples) else batch["targets"]


def _from_tuple(data: tuple[Any, ...]) -> Examples:
    """Inputs and targets, and perhaps weights, as tensors, checked."""
    if not 1 <= len(data) <= 3:
        raise GradlabError(f"A tuple of data is (X, y), or (X, y, weights), got {len(data)} parts.")
    parts = {name: _tensor(values, name) for name, values in zip(NAMES, data, strict=False)}
    shapes = [tuple(part.shape) for part in parts.values()]
    if any(not shape or not shape[0] for shape in shapes) or len({shape[0] for shape in shapes}) > 1:
        raise GradlabError(f"X and y must hold the same number of examples, got shapes {', '.join(map(str, shapes))}.")
    for name, part in parts.items():
        values = part.float() if part.is_floating_point() else part
        check_finite(values.cpu().numpy(), ["target"] if name == "targets" else [])
    if "weights" in parts:
        parts["weights"] = _checked_weights(parts["weights"])
    return Examples.by_name(_with_class_indices(parts))


def _with_class_indices(parts: dict[str, Tensor]) -> dict[str, Tensor]:
    """Integer targets of supervised learning in the type that losses of classes take."""
    targets = parts.get("targets")
    if targets is None or "inputs" not in parts or targets.is_floating_point() or targets.is_complex():
        return parts
    return {**parts, "targets": targets.long()}


def _checked_weights(weights: Tensor) -> Tensor:
    if weights.ndim != 1 or weights.is_complex() or bool((weights < 0).any()):
        raise GradlabError(f"weights must be a number of 0 or more for each example, got {shortly(weights)}.")
    return weights.float()


def _tensor(values: Any, name: str) -> Tensor:
    """Numbers as a tensor of their own, floats in single precision."""
    tensor = values.detach() if isinstance(values, Tensor) else _from_array(values, name)
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_meta:
        kind = "is on the device meta, without values" if tensor.is_meta else "is not dense: give X.to_dense()"
        raise GradlabError(f"The part {name} of the data {kind}.")
    if tensor.is_inference():  # from which no gradient could be computed
        tensor = tensor.clone()
    return tensor.float() if tensor.dtype == torch.float64 else tensor


def _from_array(values: Any, name: str) -> Tensor:
    if hasattr(values, "toarray"):
        raise GradlabError(f"The part {name} of the data is a sparse matrix: give X.toarray().")
    if isinstance(values, torch.utils.data.Dataset):  # whose items may have no end
        raise GradlabError(f"The part {name} of the data is a Dataset: give it as the data.")
    try:
        array = np.array(values)  # a copy, which torch may own
        if array.dtype.kind in "biufc":
            return torch.from_numpy(array)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise GradlabError(f"The part {name} of the data is no array of numbers: {one_line(error)}.") from None
    raise GradlabError(f"X and y must hold numbers, but {name} is an array of type {array.dtype}: {shortly(values)}.")
