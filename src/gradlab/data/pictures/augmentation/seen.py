"""One picture as it is seen in one epoch, by its key."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Float64, Int64
from torch import Tensor

from gradlab.data.pictures.augmentation.boxes import boxes
from gradlab.data.pictures.augmentation.colour import Factor, Units, coloured
from gradlab.data.pictures.augmentation.draws import beta, uniform
from gradlab.data.pictures.augmentation.geometry import Warp, shifted, warped
from gradlab.data.pictures.augmentation.mixing import Share, blended, pasted
from gradlab.data.pictures.augmentation.settings import Augmentation

Pictures = Float[Tensor, "rows channels height width"]
Each = Float64[Tensor, " rows"]


class Drawn(NamedTuple):
    """The numbers from 0 to 1 of an example. Each has its place, so that one setting changes nothing of the others."""

    flip: Each
    right: Each
    down: Each
    rotate: Each
    stretch_x: Each
    stretch_y: Each
    shear: Each
    crop: Each
    crop_x: Each
    crop_y: Each
    lens: Each
    brightness: Each
    contrast: Each
    saturation: Each
    cutout_y: Each
    cutout_x: Each
    mix: Each
    share: Each
    paste_y: Each
    paste_x: Each

    @classmethod
    def by(cls, keys: Int64[Tensor, " rows"]) -> "Drawn":
        return cls(*uniform(keys, len(cls._fields)).unbind())


def seen(pictures: Pictures, drawn: Drawn, flip: Each, settings: Augmentation, units: Units) -> Pictures:
    """Moved and bent, then coloured, then covered; mirrored where `flip` is below a half."""
    pictures = _moved(pictures, drawn, flip < 0.5, settings, units.black)
    if settings.colours:
        brightness = _factor(drawn.brightness, settings.brightness)
        contrast = _factor(drawn.contrast, settings.contrast)
        saturation = _factor(drawn.saturation, settings.saturation)
        pictures = coloured(pictures, brightness, contrast, saturation, units)
    if settings.cutout:
        side = torch.full_like(drawn.cutout_y, settings.cutout).long()
        height, width = pictures.shape[-2:]
        covered = boxes((height, width), side, side, torch.stack([drawn.cutout_y, drawn.cutout_x]))
        pictures = pictures.masked_fill(covered, 0)
    return pictures


def mixed(pictures: Pictures, others: Pictures, drawn: Drawn, settings: Augmentation) -> tuple[Pictures, Share]:
    """With other pictures, and the share of each that is its own. Where both kinds are asked for, half have each."""
    at = torch.stack([drawn.paste_y, drawn.paste_x])
    if not settings.cutmix:
        share = beta(drawn.share, settings.mixup)
        return blended(pictures, others, share), share
    covered, left = pasted(pictures, others, beta(drawn.share, settings.cutmix), at)
    if not settings.mixup:
        return covered, left
    share, pastes = beta(drawn.share, settings.mixup), drawn.mix < 0.5
    blend = blended(pictures, others, share)
    return torch.where(pastes[:, None, None, None], covered, blend), torch.where(pastes, left, share)


def _moved(pictures: Pictures, drawn: Drawn, mirrored: Tensor, settings: Augmentation, black: Tensor) -> Pictures:
    if not (settings.flip or settings.translate or settings.resamples):
        return pictures
    if not settings.flip:
        mirrored = torch.zeros_like(mirrored)
    choices = 2 * settings.translate + 1
    right, down = ((u * choices).long() - settings.translate for u in (drawn.right, drawn.down))
    if not settings.resamples:
        return shifted(pictures, mirrored, right, down, settings.edge, black)
    height, width = pictures.shape[-2:]
    window = settings.crop + (1 - settings.crop) * drawn.crop
    warp = Warp(
        mirrored=mirrored,
        right=right.double(),
        down=down.double(),
        degrees=_within(drawn.rotate, settings.rotate),
        stretch_x=(1 + settings.stretch) ** _within(drawn.stretch_x),
        stretch_y=(1 + settings.stretch) ** _within(drawn.stretch_y),
        shear=_within(drawn.shear, settings.shear),
        window=window,
        window_x=_within(drawn.crop_x, width / 2) * (1 - window),
        window_y=_within(drawn.crop_y, height / 2) * (1 - window),
        lens=_within(drawn.lens, settings.lens),
    )
    return warped(pictures, warp, settings.edge, black)


def _within(uniform: Each, bound: float = 1.0) -> Each:
    """From −bound to bound."""
    return (2 * uniform - 1) * bound


def _factor(uniform: Each, bound: float) -> Factor | None:
    return (1 + _within(uniform, bound)).float()[:, None, None, None] if bound else None
