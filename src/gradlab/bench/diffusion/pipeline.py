"""A network of ours in a pipeline of diffusers, as one writes it. Importing this imports diffusers."""

from typing import NamedTuple

import torch
from diffusers import DiffusionPipeline, DPMSolverMultistepScheduler
from torch import Tensor, nn


class Output(NamedTuple):
    """What pipelines expect of a network."""

    sample: Tensor


class Network(nn.Module):
    """Ours, with the arguments of theirs: numbers of steps in place of times."""

    def __init__(self, ours: nn.Module, chain: int, dtype: torch.dtype):
        super().__init__()
        self.ours, self.chain = ours.to(dtype), chain
        # Sines of the time are in float32, also where weights are not; theirs are cast at this place too.
        ours.get_submodule("condition.first").register_forward_pre_hook(lambda _, inputs: (inputs[0].to(dtype),))

    def forward(self, sample: Tensor, timestep: Tensor, class_labels: Tensor) -> Output:
        return Output(self.ours(sample, ((timestep + 1) / self.chain).expand(len(sample)), class_labels))


class Pipeline(DiffusionPipeline):  # type: ignore[misc]
    """Noise that a scheduler makes samples of, step by step."""

    def __init__(self, unet: Network, scheduler: DPMSolverMultistepScheduler):
        super().__init__()
        self.register_modules(unet=unet, scheduler=scheduler)

    @torch.no_grad()
    def __call__(self, labels: Tensor, none: int, steps: int, guidance: float) -> Tensor:
        weight = next(self.unet.parameters())
        shape = len(labels), *self.unet.ours.shape
        image = torch.randn(shape, device=weight.device).to(weight.dtype)  # the same noise in each type
        self.scheduler.set_timesteps(steps, device=weight.device)
        twice = guidance != 1
        classes = torch.cat([labels, torch.full_like(labels, none)]) if twice else labels
        for time in self.progress_bar(self.scheduler.timesteps):
            said = self.unet(torch.cat([image, image]) if twice else image, time, class_labels=classes).sample
            if twice:
                of_class, of_none = said.chunk(2)
                said = of_none + guidance * (of_class - of_none)
            image = self.scheduler.step(said, time, image).prev_sample
        drawn: Tensor = image
        return drawn


def pipeline(model: nn.Module, chain: int, dtype: torch.dtype) -> Pipeline:
    """With the schedule, the target and the steps of `Diffusion` by default, without a bar of its progress."""
    scheduler = DPMSolverMultistepScheduler(
        num_train_timesteps=chain,
        beta_schedule="squaredcos_cap_v2",
        prediction_type="v_prediction",
        timestep_spacing="trailing",
    )
    pipe = Pipeline(Network(model, chain, dtype), scheduler)
    pipe.set_progress_bar_config(disable=True)
    return pipe
