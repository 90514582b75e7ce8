"""Variational autoencoders: codes, and what is decoded of them, by a bound of the likelihood."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Protocol, runtime_checkable

import torch
from annotated_types import Ge, Gt
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Batch, Examples, Targets
from gradlab.data.batch import sent
from gradlab.errors import GradlabError
from gradlab.nn.latent import draw, importance_weighted, kl_each, log_ratio, wide
from gradlab.registry import Count
from gradlab.tasks.evaluation import device_of, inference, sums_over
from gradlab.tasks.generative.estimators import spread_of_elbo, standard_error
from gradlab.tasks.generative.generative import Generative, Noise, Request, Sampler, Samples, bits_per_dim
from gradlab.tasks.generative.importance import NUMBERS, log_likelihood
from gradlab.tasks.generative.independent import IndependentGaussians, IndependentPixels
from gradlab.tasks.generative.likelihoods import BernoulliPixels, GaussianNumbers
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.task import Figures, tasks
from gradlab.wording import counted

_ROWS = 4096  # examples at a time
_IMPORTANCE_ROWS = 256  # the same where each has many draws


@runtime_checkable
class Autoencoder(Protocol):
    """What the task asks of a model."""

    latent: int
    shape: tuple[int, ...]

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]: ...

    def decode(self, z: Tensor) -> Tensor: ...


@runtime_checkable
class Density(Protocol):
    """A model whose likelihood is known: a baseline."""

    def log_likelihood(self, x: Tensor) -> Tensor: ...


@tasks.register("vae")
@dataclass(eq=False)
class VariationalAutoencoder(Generative):
    r"""Codes from which examples can be decoded, close to the prior that samples are drawn from.

    $$ \log p(x) \geq \mathbb{E}_{q(z \mid x)} \left[ \log p(x \mid z) \right]
       - \mathrm{KL}\left( q(z \mid x) \Vert p(z) \right) $$

    The right side is the ELBO (evidence lower bound), in nats; what is minimised is its negative, the reconstruction
    and the KL, which are logged apart. `bound=iwae` takes the mean of several weights before the logarithm, which is
    closer to log p(x). A finished model is judged by -log p(x) itself (`nll`), by importance sampling.
    """

    targets: Targets
    _: KW_ONLY
    decoder: Annotated[
        Literal["bernoulli", "gaussian"], "what the numbers of an example are: 0 or 1, or with normal noise"
    ] = "bernoulli"
    scale: Annotated[float | None, Gt(0), "standard deviation of that noise; default learned, one for all numbers"] = (
        None
    )
    bound: Annotated[Literal["elbo", "iwae"], "what is maximised: the ELBO, or the importance-weighted bound"] = "elbo"
    samples: Annotated[Count, "codes that are drawn for each example"] = 1
    estimator: Annotated[
        Literal["closed-form", "monte-carlo"], "of the KL in the ELBO: as a formula, or by the codes that are drawn"
    ] = "closed-form"
    beta: Annotated[float, Ge(0), "what the KL counts in training; above 1, codes say less"] = 1.0
    free_bits: Annotated[float, Ge(0), "nats that each number of a code may say without cost, in training"] = 0.0
    importance_samples: Annotated[Count, "codes for each example by which a finished model is judged"] = 200

    name: ClassVar[str] = "vae"
    finished_figures: ClassVar[tuple[str, ...]] = ("nll", *Generative.finished_figures)
    loss_floor: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        super().__init__(self.targets)
        if self.decoder == "bernoulli" and self.scale is not None:
            raise GradlabError("task.scale is for task.decoder=gaussian: pixels that are 0 or 1 have none.")
        if self.bound == "iwae" and (self.beta != 1.0 or self.free_bits):
            knob = "free_bits" if self.free_bits else "beta"
            raise GradlabError(
                f"task.{knob} changes the KL, which task.bound=iwae does not have. Leave out one of them."
            )
        if self.free_bits and self.estimator == "monte-carlo":
            raise GradlabError(
                "task.free_bits needs each KL as a number that is not negative: task.estimator=closed-form."
            )
        self.likelihood = BernoulliPixels() if self.decoder == "bernoulli" else GaussianNumbers(self.scale)
        self.has_pixel_noise = self.decoder == "gaussian"
        # What the decoder says of each number of an example: its mean, and perhaps a scale.
        self.outputs = 2 if self.decoder == "gaussian" and self.scale is None else 1

    @property
    def trains_by_its_loss(self) -> bool:
        return self.beta == 1.0 and not self.free_bits

    @property
    def _by_formula(self) -> bool:
        """Whether the KL is; the importance-weighted bound has its weights by the codes."""
        return self.bound == "elbo" and self.estimator == "closed-form"

    @property
    def figure_names(self) -> list[str]:
        return ["elbo", "bits_per_dim"]

    def higher_is_better(self, figure: str) -> bool:
        return figure == "elbo" or super().higher_is_better(figure)

    # What is minimised.

    def objectives(self) -> Mapping[str, Objective]:
        return {"bound": Objective(loss=partial(self._losses, beta=self.beta, free_bits=self.free_bits))}

    def forward(self, model: nn.Module, batch: Batch) -> Any:
        _check_autoencoder(model)
        return super().forward(model, batch)

    def _losses(self, model: Any, batch: Batch, beta: float = 1.0, free_bits: float = 0.0) -> dict[str, Loss]:
        """The parts of the negative bound: they add up to it."""
        x = batch["inputs"]
        mean, log_variance = map(wide, model.encode(x))
        codes = draw(mean, log_variance, self.samples)
        log_probability = self.likelihood.log_prob(model, x.flatten(1), model.decode(codes.z))
        parts = {"reconstruction": -log_probability.sum() / self.samples}
        if self._by_formula:
            each = kl_each(mean, log_variance)
            parts["kl"] = beta * (each.clamp(min=free_bits) if free_bits else each).sum()
        else:
            ratio = log_ratio(codes, log_variance)
            parts["kl"] = beta * ratio.sum() / self.samples
        if self.bound == "iwae":
            weights = log_probability - ratio
            parts["gain"] = weights.sum() / self.samples - importance_weighted(weights).sum()
        return {name: (part, len(x)) for name, part in parts.items()}

    # How a split is judged.

    def evaluate(self, model: Any, split: Any) -> Figures:
        """The bound and its parts, and the ELBO, as a mean over examples."""
        rows = max(1, min(_ROWS, NUMBERS // (self.samples * _numbers(split))))
        losses = {name: total / count for name, (total, count) in sums_over(model, split, self._parts, rows).items()}
        loss = sum(losses.values())
        elbo = -losses["reconstruction"] - losses["kl"]
        exact = {"nll": loss} if isinstance(model, Density) else {}
        bits = bits_per_dim(-elbo, split.inputs.shape[1:])
        return {"loss": loss, **losses, "elbo": elbo, "bits_per_dim": bits, **exact}

    def _parts(self, model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
        if isinstance(model, Density):
            x: Tensor = batch["inputs"]
            yield "reconstruction", (-model.log_likelihood(x).sum(), len(x))
            yield "kl", (x.new_zeros(()), len(x))
        else:
            yield from self._losses(model, batch).items()

    def evaluate_finished(self, model: Any, split: Any) -> Figures:
        """With -log p(x) in nats, and the standard errors: of these examples, and of the draws alone."""
        figures = self.evaluate(model, split)
        if isinstance(model, Density):
            return figures
        sums = sums_over(model, split, self._surprises, _IMPORTANCE_ROWS)
        nll, square, variance = (sums[name][0] / sums[name][1] for name in ("nll", "square", "variance"))
        count = sums["nll"][1]
        errors = {"nll_error": standard_error(nll, square, count), "nll_draws_error": math.sqrt(variance / count)}
        spread = spread_of_elbo(model, self.likelihood, split, samples=self.samples, by_formula=self._by_formula)
        return figures | spread | {"nll": nll, **errors}

    def _surprises(self, model: nn.Module, batch: Batch) -> Iterator[tuple[str, Loss]]:
        found = log_likelihood(model, self.likelihood, batch["inputs"], self.importance_samples)
        for name, each in {"nll": -found.value, "square": found.value**2, "variance": found.variance}.items():
            yield name, (each.sum(), len(each))

    @property
    def signatures(self) -> dict[str, str]:
        units = "pixels that are 0 or 1" if self.decoder == "bernoulli" else "densities of preprocessed numbers"
        draws = f"{self.importance_samples:,} codes of the encoder for each example"
        return {
            "nll": f"-log p(x) in nats, of {units}, by importance sampling with {draws}; nll_error is the standard "
            "error of the mean over examples, nll_draws_error the part of it that comes of the codes",
            "elbo": f"nats, of {units}, with {counted(self.samples, 'code')} drawn for each example; elbo_error is the "
            "standard error of the mean over examples, elbo_variance_closed the mean variance of the estimate by one "
            "code with the KL as a formula, elbo_variance_drawn with the KL by that code",
        }

    def understands(self, model: nn.Module) -> bool:
        return isinstance(model, Density)

    def baselines(self, train: Any, model: nn.Module) -> dict[str, nn.Module]:
        """Also every number by itself; no more certain than the decoder is."""
        if not isinstance(train, Examples):
            return {}
        drawn = dict(super().baselines(train, model))
        if self.decoder == "bernoulli":
            return {**drawn, "independent pixels": IndependentPixels.fitted(train)}
        likelihood = self.likelihood
        assert isinstance(likelihood, GaussianNumbers)
        least = math.exp(float(likelihood.log_scale(model)))
        return {**drawn, "independent Gaussians": IndependentGaussians.fitted(train, least)}

    def check(self, model: nn.Module, train: Any) -> None:
        _check_autoencoder(model)
        if self.outputs == 2 and getattr(model, "log_scale", None) is None:
            raise GradlabError("This model has no log_scale that could be learned. Set task.scale=0.1, or another one.")
        if self.decoder != "bernoulli" or not isinstance(train, Examples):
            return
        some = train.sample(_ROWS).inputs[:]
        low, high = float(some.min()), float(some.max())
        if low < 0 or high > 1:
            raise GradlabError(
                f"task.decoder=bernoulli is for numbers between 0 and 1, but these reach from {low:.3g} to {high:.3g}. "
                "Set data.preprocess=scale, or task.decoder=gaussian."
            )

    # How a trained model is used.

    def noise(self, model: Any, count: int) -> Noise:
        return torch.randn(count, model.latent, device=device_of(model))

    def from_noise(self, model: Any, noise: Noise, request: Request) -> Samples:
        """The means of what is decoded: for black and white pixels, how probable white is."""
        return self.likelihood.mean(model.decode(noise)).view(len(noise), *model.shape)

    def sample(self, model: Any, count: int, request: Request = Request()) -> Samples:  # noqa: B008
        """Codes from the prior, and examples from p(x | z): pixels are black or white, not how probable white is.

        Numbers with normal noise can be left at their means.
        """
        if isinstance(model, Sampler):
            return model.sample(count)
        if self.has_pixel_noise and not request.pixel_noise:
            return self.from_noise(model, self.noise(model, count), request)
        return self.likelihood.draw(model, model.decode(self.noise(model, count))).view(count, *model.shape)

    def encode(self, model: Any, inputs: Any) -> Float[Tensor, "rows z"]:
        """The mean of the code of every example."""
        return _mapped(model, inputs, lambda x: model.encode(x)[0])

    def reconstruct(self, model: Any, inputs: Any) -> Samples:
        """What is decoded of that mean."""
        return _mapped(model, inputs, lambda x: self.from_noise(model, model.encode(x)[0], Request()))


def _check_autoencoder(model: nn.Module) -> None:
    if not isinstance(model, Autoencoder):
        raise GradlabError("task=vae needs a model that can encode and decode. Take model=vae.")


def _mapped(model: nn.Module, inputs: Any, function: Callable[[Tensor], Tensor]) -> Tensor:
    parts = (inputs[start : start + _ROWS] for start in range(0, max(1, len(inputs)), _ROWS))
    with inference(model):
        return torch.cat([function(sent(part, device_of(model))).to(part.device) for part in parts])


def _numbers(split: Any) -> int:
    """Of one example."""
    return math.prod(split.inputs.shape[1:])
