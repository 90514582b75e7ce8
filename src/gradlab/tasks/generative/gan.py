"""Adversarial learning: a generator is as good as the discriminator that it deceives."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import relu, softplus

from gradlab.data import Batch, Examples, Targets
from gradlab.errors import GradlabError
from gradlab.registry import NonNegative, Positive
from gradlab.tasks.generative.generative import Generative, Noise, Request, Samples
from gradlab.tasks.generative.modes import mode_figures
from gradlab.tasks.generative.wasserstein import sliced_wasserstein
from gradlab.tasks.objective import Loss, Losses, Objective
from gradlab.tasks.task import Criterion, Figures, tasks

Scores = Float[Tensor, "batch 1"]

_SAMPLES, _AT_ONCE = 2048, 512  # drawn for an evaluation, and in one go


@tasks.register("gan")
class Adversarial(Generative):
    r"""A generator G of examples and a discriminator D of them and real ones, which take turns in every step.

    $$ \ell_D = \log(1 + e^{-D(x)}) + \log(1 + e^{D(G(z))}) + \tfrac r2 |\nabla D(x)|^2, \qquad
       \ell_G = \log(1 + e^{-D(G(z))}) $$

    That is `non-saturating`. With `hinge` D has max(0, 1 - D(x)) + max(0, 1 + D(G(z))), with `wasserstein` the
    difference D(G(z)) - D(x) and a penalty on slopes between real examples and samples that are not 1; G has -D(G(z)).
    No loss tells how good samples are: an evaluation draws some. Goodfellow et al. 2014, arXiv:1406.2661; Lim & Ye
    2017, arXiv:1705.02894; Gulrajani et al. 2017, arXiv:1704.00028; Mescheder et al. 2018, arXiv:1801.04406.
    """

    name: ClassVar[str] = "gan"
    loss_floor: ClassVar[float | None] = None
    outputs = 1  # the score of an example

    def __init__(
        self,
        targets: Targets,
        *,
        loss: Annotated[Literal["non-saturating", "hinge", "wasserstein"], "what the two play for"] = "non-saturating",
        r1: Annotated[NonNegative, "weight r of the penalty on the discriminator's slope at real examples"] = 0.0,
        penalty: Annotated[NonNegative, "of wasserstein: weight of the penalty on slopes that are not 1"] = 10.0,
        generator_lr: Annotated[Positive | None, "the generator's learning rate; default train.lr"] = None,
        judged_by: Annotated[
            Literal["distance", "coverage"],
            "distance: sliced Wasserstein, between samples and examples; coverage: by the classes of a table, each "
            "taken for a mode",
        ] = "distance",
    ) -> None:
        super().__init__(targets)
        self.kind, self.r1, self.penalty = loss, r1, penalty
        self.generator_lr, self.judged_by = generator_lr, judged_by
        self.criterion = Criterion(judged_by, higher_is_better=judged_by == "coverage")
        if judged_by == "coverage" and targets.classes is None:
            raise GradlabError(
                "task.judged_by=coverage takes each class for a mode, and these examples have no classes. Leave it out."
            )

    def check(self, model: nn.Module, train: Any) -> None:
        if not all(hasattr(model, part) for part in ("generator", "discriminator", "noise")):
            raise GradlabError(
                "task=gan needs a model with a generator, a discriminator and noise, such as model=gan for plain "
                "numbers or model=conv-gan for pictures."
            )
        if self.judged_by == "coverage" and isinstance(train, Examples) and train.inputs.ndim != 2:
            raise GradlabError("task.judged_by=coverage is for points of a table, not for pictures. Leave it out.")

    # What is minimised

    def objectives(self) -> Mapping[str, Objective]:
        own = {} if self.generator_lr is None else {"lr": self.generator_lr}
        return {
            "discriminator": Objective(loss=self.detect, moves="discriminator"),
            "generator": Objective(loss=self.deceive, moves="generator", train=own),
        }

    def detect(self, model: Any, batch: Batch) -> Losses:
        """What the discriminator minimises."""
        real = batch["inputs"].detach().requires_grad_(self.r1 > 0)
        with torch.no_grad():
            fake = model.generator(model.noise(len(real)))
        score = model.discriminator(real)
        losses: dict[str, Loss] = {"discriminator": (self.mistakes(score, model.discriminator(fake)).sum(), len(real))}
        if self.r1:
            losses["r1"] = self.r1 / 2 * slopes(score, real).square().sum(), len(real)
        if self.kind == "wasserstein":
            losses["penalty"] = self.penalty * self.not_one(model, real.detach(), fake), len(real)
        return losses

    def deceive(self, model: Any, batch: Batch) -> Loss:
        """What the generator minimises. Where samples are bad, log(1 - sigmoid(D)) would be flat; this is steep."""
        score = model.discriminator(model.generator(model.noise(len(batch["inputs"]))))
        return (softplus(-score) if self.kind == "non-saturating" else -score).sum(), len(score)

    def mistakes(self, real: Scores, fake: Scores) -> Scores:
        if self.kind == "non-saturating":
            return softplus(-real) + softplus(fake)
        return relu(1 - real) + relu(1 + fake) if self.kind == "hinge" else fake - real

    def not_one(self, model: Any, real: Samples, fake: Samples) -> Float[Tensor, ""]:
        """Σ (|∇D| - 1)² somewhere between each example and a sample."""
        share = torch.rand(len(real), *[1] * (real.ndim - 1), device=real.device)
        between = torch.lerp(real, fake.to(real.dtype), share).requires_grad_()
        lengths = slopes(model.discriminator(between), between).flatten(1).norm(dim=1)
        total: Tensor = (lengths - 1).square().sum()
        return total

    # What is drawn, and how good it is

    def noise(self, model: Any, count: int) -> Noise:
        noise: Noise = model.noise(count)
        return noise

    def from_noise(self, model: Any, noise: Noise, request: Request) -> Samples:
        samples: Samples = model.generator(noise)
        return samples

    @property
    def figure_names(self) -> list[str]:
        return ["coverage", "modes", "near", "distance"] if self.judged_by == "coverage" else ["distance"]

    def higher_is_better(self, figure: str) -> bool:
        return figure in ("coverage", "modes", "near") or super().higher_is_better(figure)

    def understands(self, model: nn.Module) -> bool:
        return True

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        """How far samples are from examples of the split, of which there are as many."""
        some = split.sample(_SAMPLES)
        real, count = some.batch(slice(0, len(some))), len(some)
        drawn = torch.cat([self.sample(model, min(_AT_ONCE, count - i)) for i in range(0, count, _AT_ONCE)])
        points, drawn = real["inputs"].float(), drawn.float()
        figures = mode_figures(points, real["targets"], drawn) if self.judged_by == "coverage" else {}
        return {**figures, "distance": sliced_wasserstein(points.flatten(1), drawn.flatten(1))}


def slopes(score: Scores, at: Samples) -> Samples:
    """∇D, as something that can be learned from."""
    (slope,) = torch.autograd.grad(score.sum(), at, create_graph=True)
    return slope.float()
