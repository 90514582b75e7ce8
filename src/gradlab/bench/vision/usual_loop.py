"""The usual loop over pictures: a Dataset of PIL images, transforms in the workers of a DataLoader."""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image, ImageOps
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

Transform = Callable[[Image.Image], Tensor]
_MOST = 8  # workers


class Pictures(Dataset[tuple[Tensor, int]]):
    """Bytes (rows, height, width, channels), each picture changed when it is asked for."""

    def __init__(self, pictures: npt.NDArray[np.uint8], targets: npt.NDArray[np.int64], transform: Transform):
        self.pictures, self.targets, self.transform = pictures, targets, transform

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, row: int) -> tuple[Tensor, int]:
        return self.transform(Image.fromarray(self.pictures[row])), int(self.targets[row])


def usual_transform(side: int, padding: int, mean: Sequence[float], std: Sequence[float]) -> Transform:
    """A random crop with padding, a horizontal flip, and numbers of mean 0: torchvision's where it is installed."""
    if find_spec("torchvision") is None:
        return ByHand(side, padding, mean, std)
    from torchvision import transforms  # type: ignore[import-not-found,unused-ignore]

    moved = [transforms.RandomCrop(side, padding=padding), transforms.RandomHorizontalFlip()]
    return transforms.Compose(  # type: ignore[no-any-return,unused-ignore]
        [*moved, transforms.ToTensor(), transforms.Normalize(mean, std)]
    )


class ByHand:
    """The same with PIL alone."""

    def __init__(self, side: int, padding: int, mean: Sequence[float], std: Sequence[float]):
        self.side, self.padding = side, padding
        self.mean, self.std = (torch.tensor(values).view(-1, 1, 1) for values in (mean, std))

    def __call__(self, picture: Image.Image) -> Tensor:
        left, top = random.randint(0, 2 * self.padding), random.randint(0, 2 * self.padding)
        picture = ImageOps.expand(picture, self.padding).crop((left, top, left + self.side, top + self.side))
        if random.random() < 0.5:
            picture = ImageOps.mirror(picture)
        values = torch.from_numpy(np.array(picture)).permute(2, 0, 1).float() / 255
        return (values - self.mean) / self.std


def endless(data: Pictures, batch: int, workers: bool, place: torch.device) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches on the device, epoch after epoch."""
    count = min(_MOST, os.cpu_count() or 1) if workers else 0
    options: dict[str, Any] = {"num_workers": count, "persistent_workers": count > 0, "drop_last": True}
    loader = DataLoader(data, batch_size=batch, shuffle=True, pin_memory=place.type == "cuda", **options)
    while True:
        for inputs, targets in loader:
            yield inputs.to(place, non_blocking=True), targets.to(place, non_blocking=True)
