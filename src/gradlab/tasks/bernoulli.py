"""Classification of two classes by a single output."""

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.errors import GradlabError
from gradlab.tasks.classify import Classify
from gradlab.tasks.constant import Constant
from gradlab.tasks.task import tasks


@tasks.register("bernoulli")
class Bernoulli(Classify):
    r"""One class of two by one logit, as in logistic regression: the Bernoulli generalised linear model.

    $$ P(y = 1) = \mathrm{sigmoid}(z), \qquad \ell(z, y) = \log(1 + e^z) - y z $$

    The logits (0, z) are the same model, and this loss is their cross-entropy.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.classes) != 2:
            raise GradlabError(f"The task bernoulli is for two classes, got {len(self.classes)}. Use task=classify.")
        self.outputs = 1

    def class_logits(self, output: Float[Tensor, "batch 1"]) -> Float[Tensor, "batch 2"]:
        return F.pad(output, (1, 0))

    def baselines(self, train: Examples, model: nn.Module) -> dict[str, Constant]:
        """The logarithm of the odds in training."""
        return {name: Constant(two.output.diff()) for name, two in super().baselines(train, model).items()}
