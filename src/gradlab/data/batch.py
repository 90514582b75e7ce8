"""A batch: tensors by name, for as many examples in each."""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from gradlab.errors import GradlabError
from gradlab.nn.graphs.batch import Graphs

NAMES = ("inputs", "targets", "weights")

Batch = dict[str, Any]
"""Tensors by name, the first axis of each being the examples. A value may be a tuple, list or dictionary of tensors.
A tensor without axes, or what is no tensor, goes with all examples. `Graphs` are rows of examples too.

Supervised learning has `inputs`, `targets` and, where examples count differently, `weights`.
"""


def as_batch(value: Any) -> Batch:
    """What a DataLoader gives, by names: a dictionary as it is, a tensor as inputs, a pair as inputs and targets.

    >>> list(as_batch((torch.zeros(2, 3), torch.zeros(2)))), list(as_batch(torch.zeros(2, 3)))
    (['inputs', 'targets'], ['inputs'])
    """
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Tensor):
        return {"inputs": value}
    if isinstance(value, (tuple, list)) and 1 <= len(value) <= len(NAMES):
        return dict(zip(NAMES, value, strict=False))
    raise GradlabError(
        f"A batch must be a dictionary of tensors, a tensor, or (inputs, targets), got {type(value).__name__}. Give a "
        "dictionary, whose names your objective knows."
    )


def tensors(batch: Batch) -> list[Tensor]:
    """All tensors of a batch, in their order."""
    return [leaf for leaf in pytree.tree_leaves(batch) if isinstance(leaf, Tensor)]


def size(batch: Batch) -> int:
    """How many examples it has; refused where its tensors do not agree.

    >>> size({"inputs": torch.zeros(3, 2), "targets": torch.zeros(3)})
    3
    """
    lengths = {len(tensor) for tensor in tensors(batch) if tensor.ndim}
    if len(lengths) != 1:
        shapes = describe_shapes(batch) or "no tensor at all"
        raise GradlabError(f"The parts of a batch must hold the same number of examples, got {shapes}.")
    return lengths.pop()


def key(batch: Batch) -> tuple[Any, ...]:
    """What two batches must have in common for the same captured step: names, shapes and types of all tensors."""
    leaves, structure = pytree.tree_flatten(batch)
    return structure, *((t.shape, t.dtype) if isinstance(t, Tensor) else t for t in leaves)


def parted(batch: Batch, parts: int) -> Iterator[Batch]:
    """The batch cut into so many parts of nearly the same size; what is not of single examples is in each."""
    leaves, structure = pytree.tree_flatten(batch)
    cut = (leaf.tensor_split(parts) if _has_rows(leaf) else [leaf] * parts for leaf in leaves)
    return (pytree.tree_unflatten(part, structure) for part in zip(*cut, strict=True))


def _has_rows(leaf: Any) -> bool:
    """Whether it is of single examples: a tensor with axes, or graphs."""
    return bool(leaf.ndim) if isinstance(leaf, Tensor) else isinstance(leaf, Graphs)


def moved(batch: Any, device: torch.device) -> Any:
    """The same on a device."""
    return pytree.tree_map(lambda leaf: _leaf_on_device(leaf, device), batch)


def _leaf_on_device(leaf: Any, device: torch.device) -> Any:
    if isinstance(leaf, Tensor) and leaf.is_inference() and not torch.is_inference_mode_enabled():
        leaf = leaf.clone()  # no gradient can be computed from a tensor of torch.inference_mode()
    if isinstance(leaf, Tensor) and leaf.is_meta and device.type != "meta":
        raise GradlabError("A batch has a tensor on the device meta, without values.")
    return leaf.to(device) if isinstance(leaf, (Tensor, Graphs)) else leaf


def sent(tensor: Tensor, device: torch.device) -> Tensor:
    """The same on a device, to which the host does not wait for it to get: pinned memory is fetched by the device."""
    if not tensor.is_cpu or device.type in ("cpu", "mps"):
        return tensor.to(device)
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)


def copied(batch: Batch) -> Batch:
    """The same in memory of its own."""
    same: Batch = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, batch)
    return same


def describe_shapes(batch: Batch) -> str:
    """The names, shapes and types of its parts.

    >>> describe_shapes({"inputs": torch.zeros(3, 2), "length": 2})
    'inputs (3, 2) float32, length 2'
    """
    return ", ".join(f"{name} {_leaf_shapes(value)}" for name, value in batch.items())


def _leaf_shapes(value: Any) -> str:
    some = [leaf for leaf in pytree.tree_leaves(value) if isinstance(leaf, Tensor)]
    return " and ".join(f"{tuple(t.shape)} {str(t.dtype).removeprefix('torch.')}" for t in some) or repr(value)
