"""The likelihood of pictures, pixel by pixel: exact, where the pixels have a number of levels."""

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from annotated_types import Ge, Le
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Batch, Examples, Targets
from gradlab.errors import GradlabError
from gradlab.tasks.evaluation import evaluate_objectives, inference
from gradlab.tasks.generative.generative import Calls, Compared, Generative, Request, Sampler, Samples, bits_per_dim
from gradlab.tasks.generative.independent import IndependentLevels
from gradlab.tasks.generative.quality import MOST
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.task import Figures, tasks

_ROWS = 256  # pictures that are evaluated at a time: each has maps of many channels
_LOOKED_AT = 1000  # pictures whose range is asked for before a training


@tasks.register("pixelcnn")
class PixelLikelihood(Generative):
    r"""$-\log p(x)$ of pictures whose pixels are one of so many levels, in nats; per pixel and in bits beside it.

    $$ -\log p(x) = -\sum_i \log p(x_i \mid x_1, \dots, x_{i-1}) $$

    in reading order. Pixels from 0 to 1 (data.preprocess=scale) are taken to the nearest of `levels` values, evenly
    spaced: 2 for black and white, 17 for the digits of scikit-learn, 256 for most pictures. It is the likelihood of
    those levels. van den Oord et al. 2016, arXiv:1601.06759.
    """

    name: ClassVar[str] = "pixelcnn"

    def __init__(
        self,
        targets: Targets,
        *,
        levels: Annotated[int, Ge(2), Le(65536), "values of a pixel, evenly spaced from 0 to 1"] = 17,
        compared: Compared = MOST,
    ) -> None:
        super().__init__(targets)
        self.compared = compared
        self.outputs = self.levels = levels

    def check(self, model: nn.Module, train: Any) -> None:
        if not isinstance(model, Sampler):
            raise GradlabError("task=pixelcnn needs a model that draws pixel by pixel: model=pixelcnn.")
        if not isinstance(train, Examples):
            return
        looked = train.sample(_LOOKED_AT).inputs[:]
        low, high = float(looked.min()), float(looked.max())
        if low < -1e-6 or high > 1 + 1e-6:
            raise GradlabError(
                f"task=pixelcnn needs pixels from 0 to 1, and these are from {low:.3g} to {high:.3g}. "
                "Set data.preprocess=scale."
            )
        with inference(model):
            given = tuple(model(looked[:1]).shape)
        if given != (1, self.levels, *looked.shape[1:]):
            raise GradlabError(
                f"task=pixelcnn needs logits of the {self.levels} levels of each pixel, (batch, levels, channels, "
                f"height, width), and {type(model).__name__} gives {given}. Take model=pixelcnn."
            )
        if _looks_ahead(model, looked[:1]):
            raise GradlabError(
                f"{type(model).__name__} sees pixels that it should predict: changing some changes what it says of "
                "them, or of those before. Such a likelihood means nothing; take model=pixelcnn."
            )

    def objectives(self) -> Mapping[str, Objective]:
        return {"loss": Objective(loss=self.surprise)}

    def surprise(self, model: Any, batch: Batch) -> Loss:
        """The sum of -log p, and the number of pictures."""
        x = self.quantised(batch["inputs"])
        logits = model(x.to(batch["inputs"].dtype) / (self.levels - 1))
        return F.cross_entropy(logits, x, reduction="sum"), len(x)

    def quantised(self, inputs: Samples) -> Int64[Tensor, "samples *shape"]:
        """The number of each pixel's level; what is beyond the range of training belongs to the last one."""
        return (inputs * (self.levels - 1)).round().long().clamp(0, self.levels - 1)

    @property
    def figure_names(self) -> list[str]:
        return ["bits_per_dim"]

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        """The exact mean of -log p."""
        figures = evaluate_objectives(model, self, split, _ROWS)
        return {**figures, "bits_per_dim": bits_per_dim(figures["loss"], split.inputs.shape[1:])}

    def understands(self, model: nn.Module) -> bool:
        return isinstance(model, IndependentLevels)

    def baselines(self, train: Any, model: nn.Module) -> dict[str, nn.Module]:
        """Also every pixel by itself, each level as often as there in training, of which once more it was seen."""
        counts: Any = 1.0
        for batch in train.batches(_ROWS):
            counts = counts + F.one_hot(self.quantised(batch["inputs"]), self.levels).sum(dim=0)
        alone = IndependentLevels((counts / counts.sum(-1, keepdim=True)).log().movedim(-1, 0))
        return {**super().baselines(train, model), "independent pixels": alone}

    def sample(self, model: Any, count: int, request: Request = Request()) -> Samples:  # noqa: B008
        samples: Samples = model.sample(count)
        return samples

    def calls(self, shape: Sequence[int]) -> Calls:
        """One for each pixel, which computes what that pixel needs."""
        return Calls(math.prod(shape[1:]), 1)


def _looks_ahead(model: nn.Module, picture: Float[Tensor, "1 channels height width"]) -> bool:
    """Whether what is said of the first half of the pixels depends on the second."""
    half = picture[0, 0].numel() // 2
    other = picture.clone()
    other.flatten(2)[..., half:] = 1 - other.flatten(2)[..., half:]
    with inference(model):
        logits, changed = (model(x).flatten(3)[..., : half + 1] for x in (picture, other))
    return not torch.allclose(logits, changed, atol=1e-4 * float(logits.abs().max()))
