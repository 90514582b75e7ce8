"""Samples in one picture: a grid of pictures, or points in the plane."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gradlab.report.charts import PALETTE
from gradlab.report.pictures import Array, Pixels, to_pixels

if TYPE_CHECKING:
    from gradlab.run import Run

_SEEN = 48  # pixels of a side from which on a picture is seen well
_GAP, _GREY = 2, 127
_SIDE, _MARGIN = 640, 30
_FRAME = 80  # milliseconds


def shades(run: "Run", raw: Array) -> Pixels:
    """Pictures in raw units as bytes: from black to white of the data, where it is known what white is there."""
    white = (run.data.get("reader") or {}).get("white", 255 if run.data.get("reader") else None)
    if white is None:
        return to_pixels(np.asarray(raw, np.float64))
    share = (np.asarray(raw, np.float64) / white).clip(0, 1)
    return to_pixels((255 * share).round().astype(np.uint8))


def grid(pictures: Pixels, columns: int) -> Pixels:
    """Pictures (n, height, width, channels) row by row, small ones enlarged, with a grey line between."""
    count, height, width, channels = pictures.shape
    factor = max(1, math.ceil(_SEEN / max(height, width)))
    large = pictures.repeat(factor, 1).repeat(factor, 2)
    rows = math.ceil(count / columns)
    height, width = height * factor + _GAP, width * factor + _GAP
    sheet = np.full((rows * height - _GAP, columns * width - _GAP, channels), _GREY, np.uint8)
    for number, picture in enumerate(large):
        top, left = number // columns * height, number % columns * width
        sheet[top : top + height - _GAP, left : left + width - _GAP] = picture
    return sheet


def columns_for(count: int) -> int:
    """Of a grid that is about as wide as high."""
    return math.ceil(math.sqrt(count))


def scatter(
    points: Array,
    labels: npt.NDArray[Any] | None = None,
    names: Sequence[str] = ("", ""),
    ends: tuple[Array, Array] | None = None,
    steps: int = 1,
) -> Pixels:
    """Points in the plane, coloured by class, in a frame that says where they are; `ends` are its corners.

    Of ways, so many `steps` of each lie one after the other: they are joined, and the last is a larger point.
    """
    from PIL import Image, ImageDraw

    low, high = ends or (points.min(0), points.max(0))
    span = np.maximum(high - low, 1e-9)
    image = Image.new("RGB", (_SIDE, _SIDE), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((_MARGIN, _MARGIN, _SIDE - _MARGIN, _SIDE - _MARGIN), outline="#999999")
    inner = _SIDE - 2 * _MARGIN - 12
    places = _MARGIN + 6 + inner * (points - low) / span
    for row, (x, y) in enumerate(places.tolist()):
        colour = PALETTE[0 if labels is None else int(labels[row]) % len(PALETTE)]
        radius = 2
        if steps > 1 and row % steps:
            before = places[row - 1]
            draw.line((before[0], _SIDE - before[1], x, _SIDE - y), fill=colour)
            radius = 5 if row % steps == steps - 1 else 2
        draw.ellipse((x - radius, _SIDE - y - radius, x + radius, _SIDE - y + radius), fill=colour)
    draw.text((_MARGIN, _SIDE - _MARGIN + 6), f"{names[0]} {low[0]:.3g} … {high[0]:.3g}".strip(), fill="#555555")
    draw.text((_MARGIN, 8), f"{names[1]} {low[1]:.3g} … {high[1]:.3g}".strip(), fill="#555555")
    return np.asarray(image)


def save_pictures(path: Path, frames: Sequence[Pixels]) -> None:
    """Write a PNG of one picture, or a GIF of several, which stays at its last frame a while."""
    from PIL import Image

    images = [Image.fromarray(frame[..., 0] if frame.shape[-1] == 1 else frame) for frame in frames]
    if len(images) == 1:
        images[0].save(path, "PNG", optimize=True)
        return
    times = [_FRAME] * (len(images) - 1) + [25 * _FRAME]
    images[0].save(path, "GIF", save_all=True, append_images=images[1:], duration=times, loop=0)


def save_animation(path: Path, frames: Sequence[Pixels]) -> None:
    """Write a GIF of frames, however many."""
    from PIL import Image

    first, *rest = (Image.fromarray(frame) for frame in frames)
    first.save(path, "GIF", save_all=True, append_images=rest, duration=_FRAME, loop=0)


def text_picture(text: str, cell: int = 20) -> Pixels:
    """Text as a picture, each sign in a cell of its own."""
    from PIL import Image, ImageDraw, ImageFont

    rows = text.split("\n")
    picture = Image.new("RGB", (cell * max(map(len, rows)), 2 * cell * len(rows)), "white")
    drawing, font = ImageDraw.Draw(picture), ImageFont.load_default(size=cell)
    for y, row in enumerate(rows):
        for x, sign in enumerate(row):
            drawing.text(((x + 0.5) * cell, (2 * y + 1) * cell), sign, "black", font, anchor="mm")
    return np.asarray(picture)


def class_counts(classes: Sequence[str], labels: npt.NDArray[Any]) -> Mapping[str, int]:
    """How many samples each class has."""
    counts = np.bincount(labels, minlength=len(classes)).tolist()
    return {name: count for name, count in zip(classes, counts, strict=True) if count}
