"""Reconstruction: what autoencoders learn."""

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Batch, Examples, Targets
from gradlab.errors import GradlabError
from gradlab.models.generative.pca import LARGEST, PCA, pca_gaussian
from gradlab.registry import Fraction, NonNegative, Positive
from gradlab.tasks.constant import Constant
from gradlab.tasks.evaluation import device_of, evaluate_supervised, predict
from gradlab.tasks.metrics import Metric, errors, rmse, viewed
from gradlab.tasks.objective import Loss, Losses, Objective
from gradlab.tasks.task import Figures, Task, tasks

_SURE = 1e-3  # probabilities of a pixel that a baseline stays away from, and from 1

Inputs = Float[Tensor, "batch *shape"]


@tasks.register("reconstruct")
@dataclass(eq=False)
class Reconstruct(Task):
    r"""An example again from its code, by squared error or, of pixels between 0 and 1, by cross-entropy.

    $$ \ell = \frac{1}{d} \Vert \hat x - x \Vert^2 \qquad \text{or} \qquad
       \ell = -\frac{1}{d} \sum_j \left( x_j \log \hat x_j + (1 - x_j) \log (1 - \hat x_j) \right), \qquad
       \hat x = g(f(\tilde x)) $$

    In training x̃ is x with `noise` and without what is masked, so that a code must tell what belongs together
    (Vincent et al. 2008, doi:10.1145/1390156.1390294), and `sparsity` times the sum of |f(x̃)| is added. Evaluation
    has x̃ = x and no such term. With cross-entropy the model gives logits. Figures are in units of the prepared inputs.

    A plain autoencoder says nothing of which codes there are, and so draws no examples: `predict` gives codes.
    """

    targets: Targets | None = None
    _: KW_ONLY
    error: Annotated[Literal["squared", "bernoulli"], "squared error, or cross-entropy of pixels in [0, 1]"] = "squared"
    noise: Annotated[NonNegative, "standard deviation of what is added to training inputs; the targets are clean"] = 0.0
    mask: Annotated[Fraction, "share of the numbers of a training input that are set to 0"] = 0.0
    sparsity: Annotated[NonNegative, "how much the sum of the sizes of a code's numbers counts"] = 0.0
    peak: Annotated[Positive | None, "the largest pixel less the smallest, as the model sees them; tells psnr"] = None

    use: ClassVar[str] = "predict"
    sections: ClassVar[tuple[str, ...]] = ("reconstructions",)

    def __post_init__(self) -> None:
        metrics = {"rmse": rmse()}
        if self.peak is not None:
            metrics["psnr"] = _psnr(self.peak)
        self.metrics: Mapping[str, Metric] = viewed(metrics, self.shown)

    @property
    def trains_by_its_loss(self) -> bool:
        return not (self.noise or self.mask or self.sparsity)

    def objectives(self) -> Mapping[str, Objective]:
        return {"reconstruction": Objective(loss=self._minimised)}

    def _minimised(self, model: Any, batch: Batch) -> Losses:
        x = batch["inputs"]
        disturbed = self.disturbed(x)
        if not self.sparsity:
            return self.loss(model(disturbed), x)
        code = _coding(model).encode(disturbed)
        sizes = self.sparsity * code.abs().sum()
        return {"reconstruction": self.loss(model.decode(code), x), "sparsity": (sizes, len(x))}

    def disturbed(self, x: Inputs) -> Inputs:
        """Inputs as training sees them."""
        if self.noise:
            x = x + self.noise * torch.randn_like(x)
        return x * (torch.rand_like(x) >= self.mask) if self.mask else x

    def loss(self, output: Inputs, target: Inputs) -> Loss:
        """The sum of the errors of all numbers, and how many they are."""
        error = F.mse_loss if self.error == "squared" else F.binary_cross_entropy_with_logits
        return error(output, target, reduction="sum"), target.numel()

    def shown(self, output: Inputs) -> Inputs:
        """What a model gives, as an example."""
        return output if self.error == "squared" else output.sigmoid()

    def forward(self, model: nn.Module, batch: Batch) -> Inputs:
        output: Tensor = model(batch["inputs"])
        return output

    def output_shape(self, batch: Batch) -> tuple[int, ...]:
        return tuple(batch["inputs"].shape[1:])

    def check(self, model: nn.Module, train: Any) -> None:
        """Refuse pixels that are no probabilities, where these are asked for."""
        if self.error == "squared" or not isinstance(train, Examples):
            return
        some = train.sample(4096).inputs[:]
        if some.min() < 0 or some.max() > 1:
            raise GradlabError(
                f"task.error=bernoulli is for inputs between 0 and 1, and these are {some.min():.3g} to "
                f"{some.max():.3g}. Set data.preprocess=scale, or task.error=squared."
            )

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        # Inputs are their own targets. Only here, since training pictures may be augmented, and targets would not be.
        alike: Any = self
        return evaluate_supervised(model, alike, split.but(targets=split.inputs, **_unweighted(split)))

    def constant_loss(self, train: Any, model: nn.Module, some: Any) -> float:
        """The loss of the mean of all examples."""
        with torch.no_grad():
            total, count = self.loss(self._mean(train)(some.inputs[:]), some.inputs[:])
        return total.item() / float(count)

    def baselines(self, train: Any, model: Any) -> Mapping[str, nn.Module]:
        baselines: dict[str, nn.Module] = {"training mean": self._mean(train)}
        dims, size = _dims(model, train), math.prod(train.inputs.shape[1:])
        if dims is not None and dims < size <= LARGEST and not isinstance(model, PCA):
            baselines[f"PCA, {dims} numbers"] = self._giving(pca_gaussian(train.inputs, dims=dims))
        return baselines

    def _mean(self, train: Any) -> nn.Module:
        rows = range(0, len(train), 4096)
        total = sum((train.inputs[start : start + 4096].sum(0, dtype=torch.float64) for start in rows), torch.zeros(()))
        return self._giving(Constant((total / len(train)).float()))

    def _giving(self, model: nn.Module) -> nn.Module:
        """A model of examples, as one that gives what the loss takes."""
        return model if self.error == "squared" else nn.Sequential(model, _Logits())

    # What the trained model is used for.

    def encode(self, model: Any, inputs: Any) -> Float[Tensor, "batch dims"]:
        """The codes of prepared inputs."""
        return predict(_Half(_coding(model), "encode"), inputs)

    def from_codes(self, model: Any, codes: Any) -> Inputs:
        """The examples of codes."""
        return self.shown(predict(_Half(_coding(model), "decode"), codes))

    def reconstruct(self, model: nn.Module, inputs: Any) -> Inputs:
        """What a model makes of prepared inputs, as such."""
        return self.shown(predict(model, inputs))

    def answers(self, model: nn.Module, inputs: Any, temperature: float = 1.0) -> list[dict[str, Any]]:
        """The code of each example."""
        return self.decode(self.encode(model, inputs))


class _Half(nn.Module):
    """A model of which one half is called: encode or decode."""

    def __init__(self, model: Any, method: str):
        super().__init__()
        self.model = model
        self.method: str = method

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = getattr(self.model, self.method)(x)
        return answer


class _Logits(nn.Module):
    """Probabilities as logits."""

    def forward(self, x: Inputs) -> Inputs:
        return torch.logit(x.clamp(_SURE, 1 - _SURE))


def _coding(model: Any) -> Any:
    if not hasattr(model, "encode") or not hasattr(model, "decode"):
        raise GradlabError(
            "The model has no codes: it needs the methods encode and decode. Take model=autoencoder, "
            "model=conv-autoencoder or model=pca."
        )
    return model


def _dims(model: Any, train: Any) -> int | None:
    """How many numbers the code of an example has."""
    if not hasattr(model, "encode"):
        return None
    code = predict(_Half(model, "encode"), train.inputs[:1].to(device_of(model)))
    return code[0].numel()


def _unweighted(split: Any) -> dict[str, Any]:
    return {"weights": torch.ones_like(split.weights)} if split.weights is not None else {}


def _psnr(peak: float) -> Metric:
    r"""$20 \log_{10} (p / \mathrm{rmse})$: the peak signal-to-noise ratio in decibels."""

    def value(total: Float[Tensor, "5"]) -> float:
        mean = float(total[0] / total[4])
        return 10 * math.log10(peak**2 / mean) if mean > 0 else math.inf

    return Metric(errors, value, higher_is_better=True)
