"""Known kernels on a picture of one's own."""

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gradlab.data.memory import check_memory
from gradlab.data.pictures.reader import SUFFIXES, PictureReader, Pixels, look
from gradlab.errors import GradlabError, one_line, unknown
from gradlab.files import write_file
from gradlab.nn.filters import Filter, GaussianBlur, MeanBlur, Sharpen, Sobel
from gradlab.printable import printable

KERNELS: dict[str, Callable[[], Filter]] = {
    "gaussian": GaussianBlur,
    "mean": MeanBlur,
    "sharpen": Sharpen,
    "sobel-x": partial(Sobel, "x"),
    "sobel-y": partial(Sobel, "y"),
}
_WHITE = 255
_LARGEST = 1e30  # so that sums over a kernel stay numbers in single precision
_NUMBER = 24  # bytes that one number of a picture takes, with the copies that are made of it on the way
_AS = 'Write rows of numbers, as in --kernel "[[0, 1, 0], [1, -4, 1], [0, 1, 0]]".'


@dataclass(frozen=True)
class Filtered:
    """A picture after a kernel, as it can be shown."""

    pixels: Pixels
    """(channels, height, width)"""

    absolute: bool
    """Whether these are absolute values: of a kernel that sums to 0, which answers to differences of either sign."""

    clipped: float
    """The share of numbers that were below black or beyond white."""

    def save(self, path: Path) -> None:
        """In the format that the name ends in."""
        from PIL import Image

        image = Image.fromarray(self.pixels[0] if len(self.pixels) == 1 else np.moveaxis(self.pixels, 0, -1))
        held = io.BytesIO()
        try:
            image.save(held, Image.registered_extensions()[path.suffix.lower()], quality=95)
        except Exception as error:  # each format has limits of its own, and its own way to say so
            raise GradlabError(
                f"The picture cannot be written as {path.suffix}: {one_line(error)}. Name a .png file."
            ) from None
        write_file(path, held.getvalue())


def check_name(path: Path) -> None:
    """Refuse a name without a known format."""
    if path.suffix.lower() not in SUFFIXES:
        raise GradlabError(f"{printable(path)} does not end in a format of pictures: {', '.join(sorted(SUFFIXES))}.")


def filter_picture(path: Path, kernel: Filter) -> Filtered:
    """Each channel by itself, of the picture as a viewer shows it: upright, and on white where it is transparent."""
    (height, width), grey = look(path)
    reader = PictureReader(height=height, width=width, channels=1 if grey else 3, resize="crop")
    check_memory(_NUMBER * reader.channels * height * width, f"Filtering {printable(path)}", "Make it smaller.")
    answer = kernel(torch.from_numpy(reader.load(path).copy()).float()[None])[0]
    weights = kernel.kernel.double()
    absolute = bool(weights.sum().abs() <= 1e-6 * weights.abs().sum())
    answer = (answer.abs() if absolute else answer).round()
    shown = answer.clamp(0, _WHITE)
    return Filtered(shown.to(torch.uint8).numpy(), absolute, (shown != answer).double().mean().item())


def read_kernel(text: str) -> Filter:
    """A filter by its name, or of a matrix that is written out.

    >>> read_kernel("[[0, 0.5, 0.5]]").kernel.tolist()
    [[0.0, 0.5, 0.5]]
    """
    name = text.strip().lower().replace("_", "-")
    if name in KERNELS:
        return KERNELS[name]()
    if not name.startswith("["):
        raise GradlabError(f"{unknown('kernel', text, KERNELS)} Of your own: {_AS[0].lower()}{_AS[1:]}")
    return Filter(_matrix(text))


def _matrix(text: str) -> list[list[float]]:
    try:
        rows: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise GradlabError(f"The kernel {_short(text)} cannot be read: {one_line(error)}. {_AS}") from None
    if not rows or not all(isinstance(row, list) and row for row in rows):
        raise GradlabError(f"The kernel {_short(text)} is no matrix. {_AS}")
    for value in (value for row in rows for value in row):
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= _LARGEST:
            raise GradlabError(
                f"The kernel has {_short(json.dumps(value))} in it, which is no number up to {_LARGEST:g}. {_AS}"
            )
    widths = sorted({len(row) for row in rows})
    if len(widths) > 1:
        raise GradlabError(f"The rows of the kernel have {' and '.join(map(str, widths))} numbers. Make them equal.")
    if len(rows) % 2 == 0 or widths[0] % 2 == 0:
        raise GradlabError(
            f"The kernel is {len(rows)}×{widths[0]}: it has no middle, which is put on each pixel in turn. Give it an "
            "odd number of rows and of columns; zeros may fill them."
        )
    return [[float(value) for value in row] for row in rows]


def _short(text: str) -> str:
    return printable(text, 60)
