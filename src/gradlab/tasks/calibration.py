"""Temperature scaling: one number, fitted after the training, that makes a classifier as sure as it is right."""

import math
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.data import Examples
from gradlab.tasks.evaluation import predict
from gradlab.tasks.reliability import Reliability

if TYPE_CHECKING:
    from gradlab.tasks.classify import Classify

_WIDEST = math.log(20)  # T is sought from 1/20 to 20: beyond, the examples are no better than a guess
# What an example of unknown class counts beside the others. On drawn splits of 20 to 200 examples, of models that are
# right, too sure or not sure enough, a third loses least: a whole one, or a prior for T = 1, spoils more or mends less.
_UNKNOWN = 1 / 3
_FOLDS = 5  # in which the validation split is divided to see whether a temperature helps


def fit_temperature(logits: Float[Tensor, "examples classes"], targets: Int64[Tensor, " examples"]) -> float:
    r"""The temperature at which these logits, and an example of unknown class, have the least loss.

    $$ T = \arg\min_T \sum_i \Big[ -\log p_{i y_i} - \frac{u}{nC} \sum_c \log p_{ic} \Big],
       \qquad p_i = \mathrm{softmax}(z_i / T) $$

    The second term, of weight u = 1/3, is that example, like a mean one and of any class: without it, a split of which
    all predictions are right asks for probabilities of 1, and one mistake in other data then costs any loss.
    It changes no prediction, only how sure it is. The sum is convex in $\beta = 1/T$, so that the sign of its slope
    $\sum_i (1 + \tfrac un) \mathrm{E}_{c \sim \mathrm{softmax}(\beta z_i)}[z_{ic}] - z_{i y_i} - \tfrac un \bar z_i$
    tells on which side the minimum is. Guo et al. 2017, arXiv:1706.04599.
    """
    z, y = logits.double().cpu(), targets.cpu()
    more = _UNKNOWN / len(y)
    own = z.gather(1, y[:, None]).sum() + more * z.mean(1).sum()

    def slope(beta: float) -> float:
        return ((1 + more) * ((beta * z).softmax(1) * z).sum() - own).item()

    def loss(temperature: float) -> float:
        log_p = (z / temperature).log_softmax(1)
        return (F.nll_loss(log_p, y) - more * log_p.mean()).item()

    low, high = -_WIDEST, _WIDEST  # of log β
    for _ in range(40):  # halvings, to 1e-11
        middle = (low + high) / 2
        low, high = (middle, high) if slope(math.exp(middle)) < 0 else (low, middle)
    fitted = math.exp(-(low + high) / 2)
    # Where 1 is the best already, the search ends beside it by rounding.
    return fitted if loss(fitted) < loss(1.0) else 1.0


def held_out_losses(
    logits: Float[Tensor, "examples classes"], targets: Int64[Tensor, " examples"]
) -> tuple[float, float]:
    """The mean loss of these examples as they are, and each at the temperature fitted on the folds it is not in."""
    z, y = logits.double().cpu(), targets.cpu()
    fold = torch.arange(len(y)) % _FOLDS
    calm = torch.empty_like(z)
    for number in range(_FOLDS):
        here = fold == number
        calm[here] = z[here] / fit_temperature(z[~here], y[~here])
    return F.cross_entropy(z, y).item(), F.cross_entropy(calm, y).item()


def calibrate(model: nn.Module, task: "Classify", validation: Examples, test: Examples | None) -> dict[str, Any]:
    """What result.json says of it: the temperature, and what it does for a split that it was not fitted on.

    A temperature that does not help on parts of the validation split that it was not fitted on is refused.
    """
    model = task.at_test(model)
    logits, targets = task.class_logits(predict(model, validation.inputs)), validation.targets
    result: dict[str, Any] = {"temperature": 1.0, "split": "validation"}
    if len(targets) < 2 * _FOLDS:
        result["refused"] = f"the validation split has fewer than {2 * _FOLDS} examples"
    else:
        before, after = held_out_losses(logits, targets)
        result |= {"held_out_loss": before, "held_out_loss_calibrated": after}
        if after < before:
            result["temperature"] = fit_temperature(logits, targets)
        else:
            result["refused"] = (
                f"on held-out fifths of the validation split a fitted one does not lower the loss "
                f"({before:.4g} without, {after:.4g} with it)"
            )
    if test is not None and len(test):
        logits = task.class_logits(predict(model, test.inputs))
        before, after = (Reliability.of_logits(logits, test.targets, t).ece for t in (1.0, result["temperature"]))
        result |= {"test_ece": before, "test_ece_calibrated": after}
    return result
