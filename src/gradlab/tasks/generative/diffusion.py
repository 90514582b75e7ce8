"""Diffusion and flow matching: a network learns what of noisy data is noise, and samples are noise without it."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Ge
from jaxtyping import Bool, Float
from torch import Tensor, nn

from gradlab.data import Batch, Targets
from gradlab.errors import GradlabError, unknown
from gradlab.nn.diffusion import Level, Target, schedule
from gradlab.nn.diffusion.processes import Schedule
from gradlab.registry import Count, Fraction, Positive
from gradlab.sampling.diffusion import (
    SAMPLERS,
    Denoise,
    Guided,
    inpainted,
    log_likelihood,
    read_by,
    way_to_noise,
)
from gradlab.tasks.evaluation import device_of
from gradlab.tasks.generative.generative import Calls, Compared, Generative, Noise, Request, Samples, bits_per_dim
from gradlab.tasks.generative.quality import MOST
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.task import Figures, tasks

_GOLDEN = 0.6180339887498949  # multiples of it, less their whole parts, lie evenly in [0, 1), however many they are
_POINTS = 3  # most dimensions of data whose likelihood is told: each needs a derivative at each step
_LIKELIHOOD_STEPS = 100
_PLAIN = Request()
_REPAINTED = 5  # times that a step of inpainting is done


@tasks.register("diffusion")
@dataclass(eq=False)
class Diffusion(Generative):
    r"""What of noisy data is noise, by the squared error of what a network says of it.

    $$ x_t = \alpha_t x_0 + \sigma_t \varepsilon, \qquad \ell = \| f(x_t, t) - \text{target} \|^2, \qquad
       \text{target} = \varepsilon, \; x_0 \text{ or } v_t = \dot\alpha_t x_0 + \dot\sigma_t \varepsilon $$

    Times are spread evenly over each batch. With `schedule=flow` paths are straight, and it is flow matching. With
    `conditional` the network is told the class, but now and then it is not, so that samples can be guided: what it says
    with the class is moved further away from what it says without.
    """

    targets: Targets
    _: KW_ONLY
    schedule: Annotated[Schedule, "how noise takes over: chains of steps, SDEs in continuous time, straight paths"] = (
        "cosine"
    )
    target: Annotated[Target, "what the network says of noisy data"] = "velocity"
    steps: Annotated[Count, "of a chain: schedules linear and cosine"] = 1000
    conditional: Annotated[bool, "tell the network the class of each example"] = False
    drop_label: Annotated[Fraction, "how often the class is not told in training, for guidance"] = 0.1
    sampler: Annotated[str, "how samples are drawn: ddpm, ddim, dpm, euler or heun"] = "dpm"
    sampling_steps: Annotated[Count, "in which noise becomes a sample"] = 50
    guidance: Annotated[float, Ge(0), "how much the class counts where samples are drawn; 1 as trained"] = 1.0
    precision: Annotated[
        Literal["auto", "float32", "bf16"], "of the network where samples are drawn; auto: bf16 for pictures on a GPU"
    ] = "auto"
    clip: Annotated[Positive | None, "largest number of a sample, as the network sees it; default none"] = None
    compared: Compared = MOST

    name: ClassVar[str] = "diffusion"
    options: ClassVar[tuple[str, ...]] = ("guidance", "steps", "sampler")
    finished_figures: ClassVar[tuple[str, ...]] = ("nats", "bits_per_dim", *Generative.finished_figures)

    def __post_init__(self) -> None:
        super().__init__(self.targets)
        self.outputs = len(self.targets.classes or []) if self.conditional else 0
        self.process = schedule(self.schedule, self.steps)
        if self.schedule == "flow" and self.target == "noise":
            raise GradlabError(
                "task.target=noise does not go with task.schedule=flow: where its paths end nothing is left of the "
                "data, and they cannot be told from the noise. Take task.target=velocity."
            )
        if self.guidance != 1 and not self.conditional:
            raise GradlabError(
                f"task.guidance={self.guidance:g} guides to classes, which this model is not told: leave it out, or "
                "set task.conditional=true."
            )
        asked = Request(guidance=self.guidance if self.conditional else None, steps=self.sampling_steps)
        self.check_request(replace(asked, sampler=self.sampler))

    # What is learned

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.loss)}

    def loss(self, model: nn.Module, batch: Batch) -> Loss:
        """The squared error of the target, and how many numbers it has."""
        x = batch["inputs"]
        level, noise = self._levels(x), torch.randn_like(x)
        said = model(level.scaled(level.mixed(x, noise)), level.time.flatten(), self._told(model, batch))
        return (said.float() - level.target(self.target, x, noise)).square().sum(), x.numel()

    def _levels(self, x: Tensor) -> Level:
        """Noise for each example, at times that lie evenly in [0, 1), wherever the first may be."""
        first = torch.rand((), device=x.device)
        share = (first + _GOLDEN * torch.arange(len(x), device=x.device)) % 1
        return self.process.levels(share.reshape(-1, *[1] * (x.ndim - 1)))

    def _told(self, model: nn.Module, batch: Batch) -> Tensor | None:
        """The class of each example, or in training now and then the number that stands for none."""
        if not self.conditional:
            return None
        labels: Tensor = batch["targets"]
        if not model.training or not self.drop_label:
            return labels
        return torch.where(torch.rand(labels.shape, device=labels.device) < self.drop_label, self.outputs, labels)

    def check(self, model: nn.Module, train: Any) -> None:
        if not hasattr(model, "shape") or not _reads_three(model):
            raise GradlabError(
                "task=diffusion needs a model of noisy data, their time and perhaps their class, with a `shape` that "
                "says what one example is, such as model=unet or model=score-mlp."
            )

    # How samples are drawn

    def noise(self, model: Any, count: int) -> Noise:
        return torch.randn(count, *model.shape, device=device_of(model))

    def from_noise(self, model: Any, noise: Noise, request: Request = _PLAIN) -> Samples:
        *_, sample = self._steps(model, noise, request)
        return sample

    def trajectory(self, model: Any, count: int, request: Request = _PLAIN) -> Iterator[Samples]:
        yield from self._steps(model, self.noise(model, count), request)

    @torch.no_grad()
    def _steps(self, model: Any, noise: Noise, request: Request) -> Iterator[Samples]:
        self.check_request(request)
        levels = self.process.grid(request.steps or self.sampling_steps)
        sampler = SAMPLERS[request.sampler or self.sampler]
        yield from sampler(self._denoiser(model, noise, request), noise * levels[0].sigma, levels)

    def calls(self, shape: Sequence[int]) -> Calls:
        """Twice in each step of Heun's; with guidance, both branches are one call."""
        number = self.sampling_steps * (2 if self.sampler == "heun" else 1)
        return Calls(number, number * (2 if self.guidance != 1 else 1))

    def _denoiser(self, model: Any, noise: Noise, request: Request) -> Denoise:
        labels = self.labels(model, len(noise)) if request.labels is None else request.labels.to(noise.device)
        guidance = self.guidance if request.guidance is None else request.guidance
        picture_on_gpu = noise.is_cuda and noise.ndim == 4
        narrow = self.precision == "bf16" or (self.precision == "auto" and picture_on_gpu)
        guided = Guided(model, labels, none=self.outputs, guidance=guidance, narrow=narrow)
        return read_by(guided, self.target, self.clip)

    @torch.no_grad()
    def inpaint(
        self,
        model: Any,
        x: Float[Tensor, "samples *shape"],
        mask: Bool[Tensor, "samples *shape"],
        request: Request = _PLAIN,
    ) -> Samples:
        """Samples that are as x where the mask is true, and elsewhere what fits."""
        self.check_request(request)
        levels = self.process.grid(request.steps or self.sampling_steps)
        start = self.noise(model, len(x)) * levels[0].sigma
        sampler, denoise = SAMPLERS[request.sampler or self.sampler], self._denoiser(model, start, request)
        *_, sample = inpainted(sampler, denoise, start, levels, x, mask, repeats=_REPAINTED)
        return sample

    def check_walk(self, request: Request) -> None:
        if (request.sampler or self.sampler) == "ddpm":
            raise GradlabError(
                "The sampler ddpm draws anew in each step, so that samples do not follow from their noise. Walk "
                "between noises with --sampler ddim or dpm."
            )

    def check_request(self, request: Request) -> None:
        super().check_request(request)
        if request.guidance not in (None, 1.0) and not self.drop_label:
            raise GradlabError(
                "Guidance needs a model that was at times not told the class, and this one always was "
                "(task.drop_label=0). Leave it out."
            )
        if request.sampler is not None and request.sampler not in SAMPLERS:
            raise unknown("sampler", request.sampler, SAMPLERS)
        if request.steps is not None and self.schedule in ("linear", "cosine") and request.steps > self.steps:
            raise GradlabError(
                f"Samples can be drawn in at most as many steps as the noise has, {self.steps:,} here; "
                f"{request.steps:,} were asked for."
            )

    # How a model is judged

    def evaluate_finished(self, model: Any, split: Any) -> Figures:
        """With how improbable points of few dimensions are to the model, by the flow of the noise."""
        figures = super().evaluate_finished(model, split)
        return figures | self._surprise(model, split, lambda batch: self.log_likelihood(model, batch))

    def evaluate_baseline(self, model: Any, split: Any) -> Figures:
        """With the same of one that knows its density."""
        figures = super().evaluate_baseline(model, split)
        if not hasattr(model, "log_prob"):
            return figures
        return figures | self._surprise(model, split, lambda batch: model.log_prob(batch["inputs"]))

    def _surprise(self, model: Any, split: Any, log_p: Callable[[Batch], Tensor]) -> Figures:
        """-log p, a density in raw units as that of `task=density`."""
        shape: tuple[int, ...] = getattr(model, "shape", ())
        log_scale = self.targets.log_scale
        if len(shape) != 1 or shape[0] > _POINTS or log_scale is None:
            return {}
        nats = log_scale - torch.cat([log_p(batch) for batch in split.batches(4096)]).double().mean().item()
        return {"nats": nats, "bits_per_dim": bits_per_dim(nats, shape)}

    @property
    def signatures(self) -> dict[str, str]:
        return {"nats": "-log p(x) of a point, a density in raw units, along the flow from data to noise"}

    def log_likelihood(self, model: nn.Module, batch: Batch, steps: int = _LIKELIHOOD_STEPS) -> Tensor:
        """log p of each example of a batch, given its class where the model is told it."""
        labels = batch["targets"] if self.conditional else None

        def said(x: Tensor, level: Level) -> Tensor:
            answer: Tensor = model(level.scaled(x), x.new_full((len(x),), level.time), labels)
            return answer

        return log_likelihood(said, self.target, batch["inputs"], way_to_noise(self.process, steps))


def _reads_three(model: nn.Module) -> bool:
    """Whether a model can be called on noisy data, their times and their classes."""
    try:
        inspect.signature(model.forward).bind(None, None, None)
    except TypeError:
        return False
    return True
