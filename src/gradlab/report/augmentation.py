"""Training pictures before and after their augmentation, by each setting alone and by all of them."""

from dataclasses import fields, replace

import numpy as np
import torch
from torch import Tensor

from gradlab.data.pictures.augmentation import Augmentation, Augmented
from gradlab.data.raw import Raw
from gradlab.markup import Html, quiet, section, table, tag
from gradlab.report.pictures import Pixels, picture, to_pixels
from gradlab.wording import as_typed, quantity

_EXAMPLES, _EPOCHS, _FEW = 8, 6, 3
_SEED = 0  # the plan's own, unless another is set


def augmentation_section(view: Augmented, raw: Raw, seed: int = _SEED) -> Html:
    """Some examples as they are, by each setting alone, and as a training sees them in its first epochs."""
    rows = torch.arange(min(_EXAMPLES, len(view))) * len(view) // min(_EXAMPLES, len(view))
    alone = {name: replace(view, settings=one).for_epoch(seed, 0) for name, one in _alone(view.settings).items()}
    epochs = {f"epoch {epoch}": view.for_epoch(seed, epoch) for epoch in range(_FEW if alone else _EPOCHS)}
    batches = [view.batch(rows), *(each.select(rows, rows) for each in (alone | epochs).values())]
    pixels = _pixels(torch.stack([batch["inputs"] for batch in batches], 1) * view.units.scale + view.units.shift, raw)
    words = [[_words(target, raw) for target in batch["targets"]] for batch in batches]
    grid = [
        [picture(image, caption, caption) for image, caption in zip(images, captions, strict=True)]
        for images, captions in zip(pixels, zip(*words, strict=True), strict=True)
    ]
    by_each = ", by each setting alone" if alone else ""
    note = f"Training examples as they are{by_each}, and as the first epochs with train.seed={seed} see them."
    body = table(["plain", *alone, *epochs], grid, class_="seen")
    return section("Augmentation", quiet(note), tag("figure", body))


def _alone(settings: Augmentation) -> dict[str, Augmentation]:
    """Each setting that changes something by itself; none where there is but one."""
    plain = Augmentation(edge=settings.edge)
    values = {field.name: getattr(settings, field.name) for field in fields(settings)}
    used = {name: value for name, value in values.items() if value != getattr(plain, name)}
    alone = {f"{name}={as_typed(value)}": replace(plain, **{name: value}) for name, value in used.items()}
    return alone if len(alone) > 1 else {}


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
