"""Densities that a model tells: mixtures, Gaussians, flows."""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn

from gradlab.data import Batch, Targets
from gradlab.errors import GradlabError
from gradlab.models.generative.pca import LARGEST, PCA, pca_gaussian
from gradlab.tasks.generative.generative import Generative, Request, Sampler, Samples, bits_per_dim
from gradlab.tasks.objective import Loss, Objective
from gradlab.tasks.task import Figures, tasks


@tasks.register("density")
class Density(Generative):
    r"""How surprising examples are to a model with `log_prob(x)`.

    $$ \ell = -\log p(x_\mathrm{raw}) = -\log p(x) + \sum_j \log s_j $$

    s are the scales by which the preprocessing has divided: so the figures are of densities in raw units, and the same
    whatever `data.preprocess` is. `nats` are of a whole example, `bits_per_dim` of one of its numbers. A density has no
    unit-free zero, and may be as large as it likes: compare figures of the same data alone. Pictures of whole numbers
    lie on a grid, where a density can grow without bound: take bits per dimension of such data with care.
    """

    name: ClassVar[str] = "density"
    loss_floor: ClassVar[float | None] = None

    def __init__(self, targets: Targets):
        super().__init__(targets)
        if targets.log_scale is None:
            raise GradlabError(
                "task=density measures densities in raw units, which it does not do through a logarithm: leave out "
                "data.log."
            )
        self.log_scale = targets.log_scale

    @property
    def figure_names(self) -> list[str]:
        return ["nats", "bits_per_dim"]

    def objectives(self) -> Mapping[str, Objective]:
        return {"nats": Objective(loss=self.nats)}

    def nats(self, model: Any, batch: Batch) -> Loss:
        """The sum over a batch, and how many examples there are."""
        if not hasattr(model, "log_prob"):
            raise GradlabError(
                "task=density needs a model that tells how likely an example is, by a method log_prob(x): take "
                "model=gaussian-mixture or model=pca."
            )
        x = batch["inputs"]
        return len(x) * self.log_scale - model.log_prob(x).sum(), len(x)

    def evaluate(self, model: nn.Module, split: Any) -> Figures:
        figures = super().evaluate(model, split)
        return figures | {"bits_per_dim": bits_per_dim(figures["nats"], split.inputs.shape[1:])}

    def baselines(self, train: Any, model: nn.Module) -> Mapping[str, nn.Module]:
        size = math.prod(train.inputs.shape[1:])
        if isinstance(model, PCA) or size > LARGEST:
            return {}
        if train.inputs.ndim == 2:
            return {"one Gaussian": pca_gaussian(train.inputs, dims=size)}
        return {"PCA + Gaussian": pca_gaussian(train.inputs)}

    def understands(self, model: nn.Module) -> bool:
        return True

    def sample(self, model: Any, count: int, request: Request = Request()) -> Samples:  # noqa: B008
        if not isinstance(model, Sampler):
            raise GradlabError("This model tells how likely examples are, but draws none: it has no method sample.")
        return model.sample(count)
