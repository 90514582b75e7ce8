"""What is known of the losses: twins, peers and examples. Their laws have files of their own."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.blocks import find_block
from gradlab.scratch import losses
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, difference, same
from gradlab.verification.subject import Incomparable

REDUCTIONS = ("mean", "sum", "none")

Loss = Callable[..., Tensor]
Drawn = tuple[Loss, dict[str, Any], Tensor, Tensor]
"""A loss, its settings, a prediction and a target."""


def settled(case: Case, **settings: Any) -> Loss:
    """The function with these settings. One that lacks a setting is judged where that is fixed, or the default."""
    function = case.build(**settings)
    if isinstance(function, nn.Module):
        return function
    taken = inspect.signature(function).parameters
    anything = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in taken.values())
    known = {key: value for key, value in settings.items() if anything or key in taken}
    defaults = inspect.signature(find_block(case.subject.name)).parameters
    for key, value in settings.items():
        if key not in known and key not in case.subject.fixed and value != defaults[key].default:
            raise Incomparable(f"it does not take {key}, which the check varies; fix it with {key}=…")
    made: Loss = function(**known) if isinstance(function, type) else partial(function, **known)
    return made


def inputs(case: Case) -> tuple[Tensor, Tensor]:
    """A prediction and a target that fit the loss."""
    name = case.subject.name
    if name == "loss.cross_entropy":
        return classified(case)
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 1, 2))]
    if name == "loss.binary_cross_entropy":
        return case.tensor("logits", *shape, scale=3.0), case.positive("target", *shape, low=0.0, high=1.0)
    if name == "loss.poisson_nll":
        return case.tensor("log_rate", *shape), case.indices("target", *shape, below=6).double()
    return predicted(case, *shape)


def predicted(case: Case, *shape: int) -> tuple[Tensor, Tensor]:
    """Numbers, none of them right: at an error of 0 the absolute loss has a kink."""
    target, error = case.tensor("target", *shape), case.tensor("error", *shape, away_from=(0.0,), scale=2.0)
    return (target + error).detach().requires_grad_(), target


def classified(case: Case, *kinds: str) -> tuple[Tensor, Tensor]:
    """Logits, and the classes themselves or their probabilities."""
    kinds = kinds or ("classes", "probabilities")
    kind = case.choice("targets", kinds)
    if kind not in kinds:
        raise Incomparable(f"its targets are {kind}")
    classes = case.integer("classes", 1, 5)
    shape = [case.integer(f"size {axis}", 1, 4) for axis in range(case.integer("axes", 0, 2))]
    logits = case.tensor("logits", *shape, classes, scale=2.0)
    if kind == "classes":
        return logits, case.indices("target", *shape, below=classes)
    return logits, case.distribution("target", *shape, classes)


Settings = Callable[[Case], dict[str, Any]]
OF_NUMBERS: dict[str, tuple[Any, Settings, Any, float]] = {
    # block: its twin, how its settings are drawn, its peer in torch.nn, and what share of the peer's loss it is
    "squared": (losses.squared, lambda case: {}, nn.MSELoss, 0.5),
    "absolute": (losses.absolute_error, lambda case: {}, nn.L1Loss, 1.0),
    "huber": (losses.huber, lambda case: {"delta": case.real("delta", 0.1, 3)}, nn.HuberLoss, 1.0),
    "binary_cross_entropy": (losses.binary_cross_entropy, lambda case: {}, nn.BCEWithLogitsLoss, 1.0),
}


def _judged(name: str) -> None:
    function, settings, torchs, share = OF_NUMBERS[name]

    def drawn(case: Case) -> Drawn:
        chosen = {**settings(case), "reduction": case.choice("reduction", REDUCTIONS)}
        return settled(case, **chosen), chosen, *inputs(case)

    @twin(f"loss.{name}", function)
    def twin_check(case: Case) -> float:
        loss, chosen, prediction, target = drawn(case)
        return agreement(loss(prediction, target), partial(function, **chosen), prediction, target)

    @peer(f"loss.{name}", f"torch.nn.{torchs.__name__}")
    def peer_check(case: Case) -> float:
        loss, chosen, prediction, target = drawn(case)
        return same(loss(prediction, target), share * torchs(**chosen)(prediction, target), [prediction, target])

    example(f"loss.{name}", n=12)(lambda n: ({}, (torch.linspace(-3, 3, n), torch.linspace(1, 0, n) ** 2)))


for _name in OF_NUMBERS:
    _judged(_name)


def _cross_entropy(case: Case, *kinds: str) -> Drawn:
    chosen = {
        "label_smoothing": case.real("label_smoothing", 0, 0.5),
        "reduction": case.choice("reduction", REDUCTIONS),
    }
    return settled(case, **chosen), chosen, *classified(case, *kinds)


@twin("loss.cross_entropy", losses.cross_entropy)
def cross_entropy_of_classes(case: Case) -> float:
    loss, chosen, logits, target = _cross_entropy(case, "classes")
    return agreement(loss(logits, target), lambda z: losses.cross_entropy(z, target.numpy(), **chosen), logits)


@twin("loss.cross_entropy", losses.soft_cross_entropy)
def cross_entropy_of_probabilities(case: Case) -> float:
    loss, chosen, logits, target = _cross_entropy(case, "probabilities")
    return agreement(loss(logits, target), partial(losses.soft_cross_entropy, **chosen), logits, target)


@peer("loss.cross_entropy", "torch.nn.CrossEntropyLoss")
def torchs_cross_entropy(case: Case) -> float:
    loss, chosen, logits, target = _cross_entropy(case)
    classes = logits.shape[-1]
    rows = target.reshape(-1, classes) if target.is_floating_point() else target.reshape(-1)
    wanted = nn.CrossEntropyLoss(**chosen)(logits.reshape(-1, classes), rows)
    return same(loss(logits, target), wanted.reshape(target.shape[: logits.ndim - 1] if wanted.ndim else ()), [logits])


@peer("loss.cross_entropy", "scikit-learn log_loss")
def log_loss_of_scikit_learn(case: Case) -> float:
    from sklearn.metrics import log_loss

    rows, classes = case.integer("batch", 1, 6), case.integer("classes", 2, 5)
    logits, target = case.tensor("logits", rows, classes).detach(), case.indices("target", rows, below=classes)
    wanted = log_loss(target, logits.softmax(-1), labels=range(classes))
    got = settled(case, reduction=case.choice("reduction", ("mean",)))(logits, target)
    return difference(got, torch.tensor(wanted, dtype=torch.float64))


@peer("loss.cross_entropy", "scikit-learn LogisticRegression", tolerance=1e-6, most_cases=5)
def the_optimum_of_logistic_regression(case: Case) -> float:
    """Where scikit-learn has fitted W and b, the gradient of our loss and of its penalty, ½‖W‖², is 0."""
    from sklearn.linear_model import LogisticRegression

    features, classes = case.integer("features", 1, 4), case.integer("classes", 3, 5)
    x = case.tensor("x", 8 * classes, features).detach()
    target = torch.cat([torch.arange(classes), case.indices("target", 7 * classes, below=classes)])
    fitted = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-10, max_iter=1000).fit(x, target)
    weight, bias = (torch.tensor(w, requires_grad=True) for w in (fitted.coef_, fitted.intercept_))
    reduction = case.choice("reduction", ("mean",))
    loss = settled(case, reduction=reduction)(x @ weight.T + bias, target)
    examples = len(x) if reduction == "mean" else 1
    slopes = torch.autograd.grad(examples * loss.sum() + 0.5 * weight.square().sum(), [weight, bias])
    return max(float(s.abs().max()) for s in slopes)


@twin("loss.gaussian_nll", losses.gaussian)
def gaussian_twin(case: Case) -> float:
    loss, chosen, mean, target, std = _gaussian(case)
    return agreement(loss(mean, target, std), partial(losses.gaussian, **chosen), mean, target, std)


@peer("loss.gaussian_nll", "torch.nn.GaussianNLLLoss")
def torchs_gaussian(case: Case) -> float:
    loss, chosen, mean, target, std = _gaussian(case)
    theirs = nn.GaussianNLLLoss(full=True, **chosen)(mean, target, (std**2).expand_as(mean))
    return same(loss(mean, target, std), theirs, [mean, target, std])


def _gaussian(case: Case) -> tuple[Loss, dict[str, Any], Tensor, Tensor, Tensor]:
    chosen = {"reduction": case.choice("reduction", REDUCTIONS)}
    mean, target = inputs(case)
    std = case.positive("std", *(mean.shape if case.flag("one std for each") else (1,)))
    return settled(case, **chosen), chosen, mean, target, std


@twin("loss.poisson_nll", losses.poisson)
def poisson_twin(case: Case) -> float:
    full, reduction = case.flag("full"), case.choice("reduction", REDUCTIONS)
    log_rate, target = inputs(case)
    got = settled(case, full=full, reduction=reduction)(log_rate, target)
    return agreement(got, lambda eta: losses.poisson(eta, target.numpy(), full, reduction), log_rate)


@peer("loss.poisson_nll", "torch.nn.PoissonNLLLoss")
def torchs_poisson(case: Case) -> float:
    (log_rate, target), reduction = inputs(case), case.choice("reduction", REDUCTIONS)
    got = settled(case, full=False, reduction=reduction)(log_rate, target)
    return same(got, nn.PoissonNLLLoss(reduction=reduction)(log_rate, target), [log_rate])


@peer("loss.poisson_nll", "scipy.stats.poisson")
def scipys_poisson(case: Case) -> float:
    from scipy.stats import poisson  # type: ignore[import-untyped]

    (log_rate, target), reduction = inputs(case), case.choice("reduction", ("none",))
    got = settled(case, full=True, reduction=reduction)(log_rate, target)
    wanted = torch.as_tensor(-poisson.logpmf(target, log_rate.detach().exp()), dtype=torch.float64)
    return difference(got, {"mean": wanted.mean(), "sum": wanted.sum(), "none": wanted}[reduction])


@example("loss.cross_entropy", n=5, d=4)
def cross_entropy_example(n: int, d: int) -> Any:
    return {}, (torch.randn(n, d), torch.arange(n) % d)


@example("loss.gaussian_nll", n=12)
def gaussian_example(n: int) -> Any:
    return {}, (torch.linspace(-3, 3, n), torch.linspace(1, 0, n), torch.linspace(0.5, 2, n))


@example("loss.poisson_nll", n=12)
def poisson_example(n: int) -> Any:
    return {}, (torch.linspace(-3, 3, n), torch.arange(n) % 5 * 1.0)
