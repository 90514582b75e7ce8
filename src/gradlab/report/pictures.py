"""Pictures inside the page: PNG files as data addresses."""

import base64
import io
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.markup import Html, tag

Pixels = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

_PALE = 190  # what black becomes where colours lie over a picture


def is_picture(shape: list[int]) -> bool:
    """Whether inputs of this shape are grey or coloured images, channels first."""
    return len(shape) == 3 and shape[0] in (1, 3)


def to_pixels(images: Array) -> Pixels:
    """Images of any scale, channels first, as bytes: those that are not bytes yet span black to white together."""
    if images.dtype != np.uint8:
        low, high = float(images.min()), float(images.max())
        images = ((images - low) / max(high - low, 1e-12) * 255).round().astype(np.uint8)
    return np.moveaxis(images, 1, -1)


def signed(values: Array) -> Pixels:
    """Numbers as colours: blue above zero, red below, the fainter the smaller; zero is transparent."""
    values = finite(values)
    strength = np.abs(values) / max(float(np.abs(values).max()), 1e-12)
    return np.concatenate([_colour(values), (255 * strength)[..., None]], axis=-1).astype(np.uint8)


def weight_pixels(weight: Array) -> Pixels:
    """What a unit looks for (channels, height, width): in colours where it sees colours, grey being zero."""
    if len(weight) != 3:
        return signed(weight.mean(0))
    weight = finite(weight)
    shades = 127.5 * (1 + weight / max(float(np.abs(weight).max()), 1e-12))
    return np.moveaxis(shades.round().astype(np.uint8), 0, -1)


def finite(values: Array) -> Array:
    """Zero in place of what is no number, as a broken model gives it."""
    return np.nan_to_num(values, nan=0, posinf=0, neginf=0)


def heat(values: Array, full: float, image: Pixels) -> Pixels:
    """The same over a picture, which is made grey and pale, so that the colours stand out; full from `full` on."""
    height, width = image.shape[:2]
    values = resized(values.astype(np.float32), height, width)
    strength = (np.abs(values) / max(full, 1e-12)).clip(0, 1)[..., None]
    return _mixed(_pale(image), _colour(values), strength)


def spotlight(values: Array, image: Pixels) -> Pixels:
    """A picture as it is where values are large, and grey and pale where they are small."""
    values = resized(values.astype(np.float32), *image.shape[:2])[..., None]
    return _mixed(_pale(image), image, values / max(float(values.max()), 1e-12))


def _pale(image: Pixels) -> Array:
    pale: Array = _PALE + (1 - _PALE / 255) * image.mean(-1, keepdims=True)
    return pale


def _mixed(one: Array, other: Array, share: Array) -> Pixels:
    mixed: Pixels = ((1 - share) * one + share * other).round().astype(np.uint8)
    return mixed


def resized(values: Array, height: int, width: int) -> Array:
    """Numbers (height, width) or pixels (height, width, channels) of another size, with those between interpolated."""
    from PIL import Image

    if values.shape[:2] == (height, width):
        return values
    layers = values[..., None] if values.ndim == 2 else values
    size = (width, height)
    parts = [Image.fromarray(layers[..., i]).resize(size, Image.Resampling.BILINEAR) for i in range(layers.shape[-1])]
    return np.stack([np.asarray(part) for part in parts], -1).reshape(height, width, *values.shape[2:])


def _colour(values: Array) -> Array:
    return np.where(values[..., None] > 0, [47, 109, 179], [214, 84, 66])


def address(pixels: Pixels) -> str:
    """A data address of an image (height, width, channels). The page enlarges small ones, and keeps them crisp."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def picture(pixels: Pixels, text: str, *caption: str) -> Html:
    """An image with a caption below; `text` says it in words."""
    return tag("div", tag("img", src=address(pixels), alt=text), *caption)
