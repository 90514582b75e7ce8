"""A diffusion network, and samples of it by gradlab or by a pipeline. Importing this imports torch."""

import time
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from gradlab.bench.device import device_name, versions, wait
from gradlab.data import Targets
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.specs import Picture
from gradlab.tasks.generative import Diffusion, Request

Draw = Callable[[float], Tensor]
"""Samples with this guidance, from noise of torch's own generator."""

_CLASSES = 10
_SIDE = 28
_SPREAD = 0.02  # of weights that start at 0
_COMPARED = 4  # samples that are returned in full


class DiffusionWork:
    """Which network, where, how many samples, and in how many steps."""

    def __init__(self, width: int, multiples: list[int], blocks: int, batch: int, steps: int, device: str):
        self.batch, self.place = batch, torch.device(device)
        network = Part("unet", {"width": width, "multiples": multiples, "blocks": blocks})
        self.model = _with_weights(network).to(self.place).eval()
        targets = Targets(classes=[str(i) for i in range(_CLASSES)], counts=[1] * _CLASSES)
        self.task = Diffusion(targets, conditional=True, sampler="dpm", sampling_steps=steps)
        self.labels = torch.arange(batch, device=self.place) % _CLASSES

    @property
    def about(self) -> dict[str, str]:
        return {"device": device_name(self.place), "versions": versions("diffusers")}

    def by_gradlab(self) -> Draw:
        """As `gradlab generate` draws."""
        return lambda guidance: self.task.sample(self.model, self.batch, Request(labels=self.labels, guidance=guidance))

    def by_diffusers(self, precision: Literal["float32", "bf16", "autocast"]) -> Draw:
        """As a pipeline does; `bf16` has its weights in that, too."""
        from gradlab.bench.diffusion.pipeline import pipeline

        pipe = pipeline(self.model, self.task.steps, torch.bfloat16 if precision == "bf16" else torch.float32)

        def draw(guidance: float) -> Tensor:
            with torch.autocast(self.place.type, torch.bfloat16, enabled=precision == "autocast"):
                samples: Tensor = pipe(self.labels, _CLASSES, self.task.sampling_steps, guidance)
            return samples

        return draw

    def answer(self, draw: Draw, guidance: float) -> dict[str, Any]:
        """Samples that are drawn once, and how long that took."""
        torch.manual_seed(1)
        wait(self.place)
        began = time.perf_counter()
        samples = draw(guidance)
        wait(self.place)
        seconds = time.perf_counter() - began
        return {
            "seconds": seconds,
            "samples": len(samples),
            "parameters": sum(weight.numel() for weight in self.model.parameters()),
            "numbers": samples[:_COMPARED].float().flatten().tolist(),
        }


def _with_weights(network: Part) -> nn.Module:
    """Of a seed, also in place of those that start at 0, which would make it the same for every input."""
    torch.manual_seed(0)
    model = build_model(network, Picture(1, _SIDE, _SIDE), _CLASSES)
    for weight in model.parameters():
        if not weight.any():
            nn.init.normal_(weight, std=_SPREAD)
    return model
