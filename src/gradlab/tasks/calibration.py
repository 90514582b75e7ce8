"""Temperature scaling: one number, fitted after the training, that makes a classifier as sure as it is right."""

import math
from typing import TYPE_CHECKING, Any

import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.tasks.evaluation import predict
from gradlab.tasks.reliability import Reliability

if TYPE_CHECKING:
    from gradlab.tasks.classify import Classify

_WIDEST = math.log(20)  # T is sought from 1/20 to 20: beyond, the examples are all right, or no better than a guess


def fit_temperature(logits: Float[Tensor, "examples classes"], targets: Int64[Tensor, " examples"]) -> float:
    r"""The temperature at which these logits have the least negative log-likelihood.

    $$ T = \arg\min_T \sum_i -\log \mathrm{softmax}(z_i / T)_{y_i} $$

    It changes no prediction, only how sure it is. The sum is convex in $\beta = 1/T$, so that the sign of its slope
    $\sum_i \mathrm{E}_{c \sim \mathrm{softmax}(\beta z_i)}[z_{ic}] - z_{i y_i}$ tells on which side the minimum is.
    Guo et al. 2017, arXiv:1706.04599.
    """
    z, y = logits.double().cpu(), targets.cpu()
    own = z.gather(1, y[:, None]).sum()

    def slope(beta: float) -> float:
        return (((beta * z).softmax(1) * z).sum() - own).item()

    low, high = -_WIDEST, _WIDEST  # of log β
    for _ in range(40):  # halvings, to 1e-11
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) < 0 else (low, middle)
    fitted = math.exp(-(low + high) / 2)
    # Where 1 is the best already, the search ends beside it by rounding.
    return fitted if F.cross_entropy(z / fitted, y) < F.cross_entropy(z, y) else 1.0


def calibrate(model: nn.Module, task: "Classify", validation: Examples, test: Examples | None) -> dict[str, Any]:
    """What result.json says of it: the temperature, and what it does for a split that it was not fitted on."""
    temperature = fit_temperature(task.class_logits(predict(model, validation.inputs)), validation.targets)
    found: dict[str, Any] = {"temperature": temperature, "split": "validation"}
    if test is not None and len(test):
        logits = task.class_logits(predict(model, test.inputs))
        before, after = (Reliability.of_logits(logits, test.targets, t).ece for t in (1.0, temperature))
        found |= {"test_ece": before, "test_ece_calibrated": after}
    return found
