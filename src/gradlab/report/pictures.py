"""Pictures inside the page: PNG files as data addresses."""

import base64
import io
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.report.markup import Html, tag

Pixels = npt.NDArray[np.uint8]
Array = npt.NDArray[Any]

_SIZE = 112  # pixels across, at least: small pictures are enlarged by a whole factor, so that they stay crisp


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
    strength = np.abs(values) / max(float(np.abs(values).max()), 1e-12)
    colour = np.where(values[..., None] > 0, [47, 109, 179], [214, 84, 66])
    return np.concatenate([colour, (255 * strength)[..., None]], axis=-1).astype(np.uint8)


def address(pixels: Pixels, size: int = _SIZE) -> str:
    """A data address of an image (height, width, channels), enlarged to about `size` pixels."""
    from PIL import Image

    image = Image.fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels)
    factor = max(1, size // max(image.size))
    file = io.BytesIO()
    enlarged = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    enlarged.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"


def picture(pixels: Pixels, text: str, *caption: str) -> Html:
    """An image with a caption below; `text` says it in words."""
    return tag("div", tag("img", src=address(pixels), alt=text), *caption)
