"""Training pictures before and after their augmentation."""

import numpy as np
import torch
from torch import Tensor

from gradlab.data.pictures.augmentation import Augmented
from gradlab.data.raw import Raw
from gradlab.report.markup import Html, quiet, section, table, tag
from gradlab.report.pictures import Pixels, picture, to_pixels
from gradlab.wording import quantity

_EXAMPLES, _EPOCHS = 8, 6
_SEED = 0  # the plan's own, unless another is set


def augmentation_section(view: Augmented, raw: Raw) -> Html:
    """Some examples as they are, and as a training sees them in its first epochs."""
    rows = torch.arange(min(_EXAMPLES, len(view))) * len(view) // min(_EXAMPLES, len(view))
    plain = view.batch(rows)
    batches = [plain, *(view.for_epoch(_SEED, epoch).select(rows, rows) for epoch in range(_EPOCHS))]
    pixels = _pixels(torch.stack([batch["inputs"] for batch in batches], 1) * view.units.scale + view.units.shift, raw)
    words = [[_words(target, raw) for target in batch["targets"]] for batch in batches]
    grid = [
        [picture(image, caption, caption) for image, caption in zip(images, captions, strict=True)]
        for images, captions in zip(pixels, zip(*words, strict=True), strict=True)
    ]
    head = ["plain", *(f"epoch {epoch}" for epoch in range(_EPOCHS))]
    note = quiet(
        f"Training examples as they are, and as the first epochs of a training with train.seed={_SEED} see them."
    )
    return section("Augmentation", note, tag("figure", table(head, grid, class_="seen")))


def _pixels(images: Tensor, raw: Raw) -> list[Pixels]:
    """Pictures in raw units, a row for each example, whose plain one is the first."""
    values = images.numpy()
    if raw.inputs.dtype == np.uint8:
        values = values.clip(0, 255).round().astype(np.uint8)
    else:
        values = values.clip(values[:, 0].min(), values[:, 0].max())
    flat = to_pixels(values.reshape(-1, *values.shape[2:]))
    return list(flat.reshape(*values.shape[:2], *flat.shape[1:]))


def _words(target: Tensor, raw: Raw) -> str:
    """A class, a number, or the shares of classes."""
    if raw.classes is None:
        return quantity(float(target.ravel()[0]))
    if not target.ndim:
        return raw.classes[int(target)]
    shares = sorted(
        ((float(share), name) for share, name in zip(target, raw.classes, strict=True) if share), reverse=True
    )
    return " + ".join(f"{100 * share:.0f} % {name}" for share, name in shares) if len(shares) > 1 else shares[0][1]
