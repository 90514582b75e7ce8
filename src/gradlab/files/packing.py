"""Tensors with a mask that keeps some of their numbers: on disk one bit for each number, and the numbers that are kept.

In place of the tensor NAME a file has NAME:mask (bits in the order of `numpy.packbits`), NAME:kept (the numbers where a
bit is 1, in order) and NAME:shape; all other numbers are 0. Without gradlab:

    dense = numpy.zeros(file["NAME:shape"])
    dense[numpy.unpackbits(file["NAME:mask"])[: dense.size].reshape(dense.shape) == 1] = file["NAME:kept"]
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from gradlab.files.reading import Damaged

Tensors = dict[str, Tensor]
_PARTS = ("mask", "kept", "shape")


def packed(tensors: Mapping[str, Tensor], masks: Mapping[str, Tensor]) -> Tensors:
    """The tensors that have a mask as these parts; one that is not 0 wherever its mask is False stays whole.

    >>> sorted(packed({"w": torch.tensor([[0.0, 3.0]])}, {"w": torch.tensor([[False, True]])}))
    ['w:kept', 'w:mask', 'w:shape']
    """
    parts: Tensors = {}
    for name, tensor in tensors.items():
        mask = masks.get(name)
        if mask is None or mask.shape != tensor.shape or tensor[~mask].any():
            parts[name] = tensor
        else:
            bits = torch.from_numpy(np.packbits(mask.numpy()))
            stored = bits, tensor[mask], torch.tensor(tensor.shape, dtype=torch.int64)
            parts |= {f"{name}:{part}": value for part, value in zip(_PARTS, stored, strict=True)}
    return parts


def unpacked(tensors: Mapping[str, Tensor], source: Path) -> tuple[Tensors, Tensors]:
    """All tensors whole, and the masks of those that had one; `source` is the file that they came from."""
    whole: Tensors = {}
    masks: Tensors = {}
    for name, tensor in tensors.items():
        base, _, part = name.rpartition(":")
        parts = [tensors[one] for one in (f"{base}:{one}" for one in _PARTS) if one in tensors]
        if part not in _PARTS or len(parts) < len(_PARTS):
            whole[name] = tensor
        elif part == "mask":
            whole[base], masks[base] = _whole(base, parts, source)
    return whole, masks


def _whole(name: str, parts: Sequence[Tensor], source: Path) -> tuple[Tensor, Tensor]:
    bits, kept, shape = parts
    sizes = shape.flatten().tolist()
    # No more memory is taken than the bits that are there ask for.
    fits = shape.dtype == torch.int64 and min(sizes, default=1) >= 0 and bits.dtype == torch.uint8
    if not fits or bits.numel() != math.ceil(math.prod(sizes) / 8):
        raise Damaged(source, f"the mask of {name} does not fit its shape")
    mask = torch.from_numpy(np.unpackbits(bits.flatten().numpy(), count=math.prod(sizes)).astype(bool)).view(sizes)
    if kept.shape != (int(mask.sum()),):
        raise Damaged(source, f"the mask of {name} keeps {int(mask.sum()):,} numbers, and there are {kept.numel():,}")
    tensor = torch.zeros(sizes, dtype=kept.dtype)
    tensor[mask] = kept
    return tensor, mask
