"""What is known of the losses."""

from collections.abc import Callable
from math import log, pi
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn import divergences
from gradlab.nn import losses as ours
from gradlab.nn.blocks import find_block
from gradlab.scratch import losses
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, conform, example, law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import Incomparable

Loss = Callable[..., Tensor]


def inputs(case: Case) -> tuple[Tensor, Tensor]:
    """A prediction and a target that fit the loss."""
    name = case.subject.name
    if name == "loss.cross_entropy":
        return classified(case)
    shape = case.sizes(4, (1, 2))
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
    # Of more axes others have the classes on the second, or take none.
    shape = [case.integer("size 0", 1, 4)] if case.subject.foreign else case.sizes(4, (0, 2))
    logits = case.tensor("logits", *shape, classes, scale=2.0)
    if kind == "classes":
        return logits, case.indices("target", *shape, below=classes)
    return logits, case.distribution("target", *shape, classes)


# Faults


def one_hot(target: Tensor, logits: Tensor) -> Tensor:
    """Classes as probabilities."""
    return target if target.shape == logits.shape else F.one_hot(target, logits.shape[-1]).to(logits)


def reduced(losses: Tensor, reduction: str) -> Tensor:
    return losses if reduction == "none" else losses.mean() if reduction == "mean" else losses.sum()


def wrong(losses: Loss) -> Loss:
    """A loss whose single losses are these."""

    def loss(*inputs: Any, reduction: str = "mean", **settings: Any) -> Tensor:
        return reduced(losses(*inputs, **settings), reduction)

    return loss


def bent(name: str, bend: Callable[[Tensor], Tensor]) -> Loss:
    """The loss, with each single loss changed."""
    return wrong(lambda *inputs, **settings: bend(find_block(name)(*inputs, reduction="none", **settings)))


def _spread_over_the_others(logits: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    y = F.one_hot(target, logits.shape[-1]).to(logits)
    smoothed = (1 - label_smoothing) * y + label_smoothing * (1 - y) / max(logits.shape[-1] - 1, 1)
    return ours.cross_entropy(logits, smoothed, reduction="none")


def _nll(weight: Callable[[Any], Any], scale: Callable[[Any], Any]) -> Loss:
    """A Gaussian likelihood with another factor of log σ, and another divisor of the squares."""
    return wrong(
        lambda m, y, s=1.0: 0.5 * log(2 * pi) + weight(torch.as_tensor(s).log()) + 0.5 * (m - y) ** 2 / scale(s)
    )


ASYMMETRIC = wrong(lambda u, y, **_: torch.where(u > y, 0.7, -0.3) * (u - y))
HUBER = bent("loss.huber", lambda losses: losses)

# Twins, peers and examples


def _loss(draw: Callable[[Case], tuple[Tensor, ...]] = inputs, **drawn: Callable[[Case], Any]) -> Draw:
    """A loss with any reduction and with settings drawn in this way, a prediction, a target and more."""

    def call(case: Case) -> Call:
        settings = {name: value(case) for name, value in drawn.items()}
        settings["reduction"] = case.choice("reduction", ("mean", "sum", "none"))
        return Call(case.build(**settings), draw(case), options=settings, settings=settings)

    return call


def _with_std(case: Case) -> tuple[Tensor, Tensor, Tensor]:
    mean, target = inputs(case)
    return mean, target, case.positive("std", *(mean.shape if case.flag("one std for each") else (1,)))


def _torchs_cross_entropy(call: Call) -> Any:
    logits, target = call.inputs
    rows = target.reshape(-1, logits.shape[-1]) if target.is_floating_point() else target.reshape(-1)
    wanted = nn.CrossEntropyLoss(**call.settings)(logits.reshape(-1, logits.shape[-1]), rows)
    return wanted.reshape(target.shape[: logits.ndim - 1] if wanted.ndim else ())


def _torchs_gaussian(call: Call) -> Any:
    mean, target, std = call.inputs
    return nn.GaussianNLLLoss(full=True, **call.settings)(mean, target, (std**2).expand_as(mean))


def _scipys_poisson(call: Call) -> Tensor:
    from scipy.stats import poisson  # type: ignore[import-untyped]

    log_rate, target = (x.detach() for x in call.inputs)
    wanted = torch.as_tensor(-poisson.logpmf(target, log_rate.exp()), dtype=torch.float64)
    return reduced(wanted, call.settings["reduction"])


def _smoothed(*kinds: str) -> Draw:
    return _loss(
        lambda case: classified(case, *kinds), label_smoothing=lambda case: case.real("label_smoothing", 0, 0.5)
    )


conform(
    "loss.squared",
    _loss(),
    twin=losses.squared,
    peer={"torch.nn.MSELoss": lambda call: 0.5 * nn.MSELoss(**call.settings)(*call.inputs)},
    fault=[ASYMMETRIC, HUBER],
)
conform("loss.absolute", _loss(), twin=losses.absolute_error, peer=nn.L1Loss, fault=[ASYMMETRIC, HUBER])
conform(
    "loss.huber",
    _loss(delta=lambda case: case.real("delta", 0.1, 3)),
    twin=losses.huber,
    peer=nn.HuberLoss,
    fault=ASYMMETRIC,
)
conform(
    "loss.binary_cross_entropy",
    _loss(),
    twin=losses.binary_cross_entropy,
    peer=nn.BCEWithLogitsLoss,
    fault=[
        wrong(lambda z, y: F.binary_cross_entropy_with_logits(2 * z, y, reduction="none")),
        wrong(lambda z, y: F.binary_cross_entropy_with_logits(z, y, pos_weight=torch.tensor(2.0), reduction="none")),
    ],
)
conform("loss.cross_entropy", _smoothed("classes"), twin=losses.cross_entropy, fault=wrong(_spread_over_the_others))
conform("loss.cross_entropy", _smoothed("probabilities"), twin=losses.soft_cross_entropy)
conform("loss.cross_entropy", _smoothed(), peer={"torch.nn.CrossEntropyLoss": _torchs_cross_entropy})
conform(
    "loss.gaussian_nll", _loss(_with_std), twin=losses.gaussian, peer={"torch.nn.GaussianNLLLoss": _torchs_gaussian}
)
conform("loss.poisson_nll", _loss(full=lambda case: case.flag("full")), twin=losses.poisson)
conform("loss.poisson_nll", _loss(), peer=nn.PoissonNLLLoss)
conform("loss.poisson_nll", _loss(full=lambda case: True), peer={"scipy.stats.poisson": _scipys_poisson})


@peer("loss.cross_entropy", "scikit-learn log_loss")
def log_loss_of_scikit_learn(case: Case) -> float:
    from sklearn.metrics import log_loss

    rows, classes = case.integer("batch", 1, 6), case.integer("classes", 2, 5)
    logits, target = case.tensor("logits", rows, classes).detach(), case.indices("target", rows, below=classes)
    wanted = log_loss(target, logits.softmax(-1), labels=range(classes), normalize=False)
    return difference(total(case)(logits, target), torch.tensor(wanted, dtype=torch.float64))


@peer("loss.cross_entropy", "scikit-learn LogisticRegression", tolerance=1e-6, most_cases=5)
def the_optimum_of_logistic_regression(case: Case) -> float:
    """Where scikit-learn has fitted W and b, the gradient of our loss and of its penalty, ½‖W‖², is 0."""
    from sklearn.linear_model import LogisticRegression

    features, classes = case.integer("features", 1, 4), case.integer("classes", 3, 5)
    x = case.tensor("x", 8 * classes, features).detach()
    target = torch.cat([torch.arange(classes), case.indices("target", 7 * classes, below=classes)])
    fitted = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-10, max_iter=1000).fit(x, target)
    weight, bias = (torch.tensor(w, requires_grad=True) for w in (fitted.coef_, fitted.intercept_))
    loss = total(case)(x @ weight.T + bias, target)
    slopes = torch.autograd.grad(loss + 0.5 * weight.square().sum(), [weight, bias])
    return max(float(s.abs().max()) for s in slopes)


example(
    *(f"loss.{name}" for name in ("squared", "absolute", "huber", "binary_cross_entropy")),
    call=lambda n: ({}, (torch.linspace(-3, 3, n), torch.linspace(1, 0, n) ** 2)),
    n=12,
)
example("loss.cross_entropy", call=lambda n, d: ({}, (torch.randn(n, d), torch.arange(n) % d)), n=5, d=4)
example(
    "loss.gaussian_nll",
    call=lambda n: ({}, (torch.linspace(-3, 3, n), torch.linspace(1, 0, n), torch.linspace(0.5, 2, n))),
    n=12,
)
example("loss.poisson_nll", call=lambda n: ({}, (torch.linspace(-3, 3, n), torch.arange(n) % 5 * 1.0)), n=12)

# Laws of all losses

OF_ERRORS = ["loss.squared", "loss.absolute", "loss.huber"]
ALL = [*OF_ERRORS, "loss.cross_entropy", "loss.binary_cross_entropy", "loss.gaussian_nll", "loss.poisson_nll"]


def total(case: Case, **settings: Any) -> Loss:
    """The sum of the losses of all examples, from the mean that a loss is by default."""
    reduction = case.choice("reduction", ("mean",))
    loss: Loss = case.build(reduction=reduction, **settings)

    def summed(prediction: Tensor, target: Tensor, *others: Any) -> Tensor:
        value = loss(prediction, target, *others)
        examples = prediction[..., 0] if case.subject.name == "loss.cross_entropy" else prediction
        return value * examples.numel() if reduction == "mean" else value.sum()

    return summed


def slope(value: Tensor, x: Tensor) -> Tensor:
    return torch.autograd.grad(value, x)[0]


def _mean_over_the_first_axis(name: str) -> Loss:
    def loss(*inputs: Any, reduction: str = "mean") -> Tensor:
        losses: Tensor = find_block(name)(*inputs, reduction="none")
        return losses.sum() / len(losses) if reduction == "mean" and losses.ndim else reduced(losses, reduction)

    return loss


def _constant_outside_of_the_sum(mean: Tensor, target: Tensor, std: Any = 1.0, *, reduction: str = "mean") -> Tensor:
    losses = ours.squared(mean / std, target / std, reduction="none")
    return 0.5 * log(2 * pi) + torch.as_tensor(std).log() + reduced(losses, reduction)


@law(
    *ALL,
    fault={name: _mean_over_the_first_axis(name) for name in ALL} | {"loss.gaussian_nll": _constant_outside_of_the_sum},
)
def the_sum_and_the_mean_are_those_of_the_single_losses(case: Case) -> float:
    """ℓ_sum = Σᵢ ℓᵢ,  ℓ_mean = ℓ_sum / n"""
    if "reduction" in case.subject.fixed:
        raise Incomparable("its reduction is fixed")
    prediction, target = inputs(case)
    single, added, mean = (case.build(reduction=r)(prediction, target) for r in ("none", "sum", "mean"))
    return difference((added, mean), (single.sum(), single.mean()))


@law(*ALL, fault={name: bent(name, torch.tanh) for name in ALL})
def the_middle_is_not_above_the_mean_of_the_ends(case: Case) -> float:
    """ℓ(½u + ½v, y) ≤ ½ℓ(u, y) + ½ℓ(v, y): convex in the prediction"""
    (u, target), loss = inputs(case), total(case)
    v = case.tensor("other prediction", *u.shape, scale=3.0)
    return excess(loss((u + v) / 2, target), (loss(u, target) + loss(v, target)) / 2)


CANONICAL: dict[str, Callable[[Tensor], Tensor]] = {  # from what is predicted to the mean of the target
    "loss.squared": lambda z: z,
    "loss.binary_cross_entropy": torch.sigmoid,
    "loss.cross_entropy": lambda z: z.softmax(-1),
    "loss.poisson_nll": torch.exp,
}


NOT_CANONICAL = {
    "loss.squared": bent("loss.squared", lambda losses: 2 * losses),
    "loss.binary_cross_entropy": wrong(lambda z, y: 0.5 * (z.sigmoid() - y) ** 2),
    "loss.cross_entropy": wrong(lambda z, y: ours.cross_entropy(z.softmax(-1), y, reduction="none")),
    "loss.poisson_nll": wrong(lambda z, y: 0.5 * (z.exp() - y) ** 2),
}


@law("loss.squared", "loss.binary_cross_entropy", id="identity-half-square-gradient", fault=NOT_CANONICAL)
@law("loss.cross_entropy", id=("ce-gradient", "identity-half-square-gradient"), fault=NOT_CANONICAL)
@law("loss.poisson_nll", fault=NOT_CANONICAL)
def the_slope_is_the_prediction_minus_the_target(case: Case) -> float:
    """∂ℓ/∂z = g⁻¹(z) - y, where g is the canonical link: identity, logit, softmax, logarithm"""
    z, target = inputs(case)
    mean = CANONICAL[case.subject.name](z)
    return difference(slope(total(case)(z, target), z), mean - one_hot(target, mean))


def _constants(case: Case) -> tuple[Loss, Tensor, list[Tensor]]:
    """The loss of one number predicted for all targets, the targets, and numbers to predict."""
    loss, (_, target) = total(case), inputs(case)
    others = case.tensor("constants", 8, scale=2.0).detach()
    return (lambda c, y: loss(c.expand_as(y), y)), target.reshape(-1).detach(), list(others)


@law("loss.squared", "loss.poisson_nll", fault=wrong(lambda z, y: (z - y).abs()))
def the_best_constant_is_the_mean(case: Case) -> float:
    """Σ ℓ(g(ȳ), yᵢ) ≤ Σ ℓ(c, yᵢ) for all c"""
    loss, target, others = _constants(case)
    mean = target.mean().clamp(min=1e-9).log() if case.subject.name == "loss.poisson_nll" else target.mean()
    return max(excess(loss(mean, target), loss(c, target)) for c in others)


@law("loss.absolute", fault=wrong(lambda z, y: 0.5 * (z - y) ** 2))
def the_best_constant_is_the_median(case: Case) -> float:
    """Σ |median - yᵢ| ≤ Σ |c - yᵢ| for all c"""
    loss, target, others = _constants(case)
    return max(excess(loss(target.median(), target), loss(c, target)) for c in others)


# Of errors


@law("loss.huber", fault=wrong(lambda u, y, delta: F.smooth_l1_loss(u, y, beta=delta, reduction="none")))
def errors_within_delta_cost_half_their_square(case: Case) -> float:
    """ℓ = ½e² for |e| ≤ δ"""
    delta, (prediction, target) = case.real("delta", 0.1, 3), inputs(case)
    inside = target + delta * torch.tanh(prediction - target)
    return difference(total(case, delta=delta)(inside, target), 0.5 * (inside - target).square().sum())


def _kinked(prediction: Tensor, target: Tensor, delta: float) -> Tensor:
    size = (prediction - target).abs()
    return torch.where(size <= delta, 0.5 * size**2, size - delta + 0.5 * delta**2)


@law("loss.huber", fault=wrong(_kinked))
def neither_value_nor_slope_jumps_at_delta(case: Case) -> float:
    """ℓ(e) → ℓ(δ) and ℓ'(e) → ℓ'(δ) as e → δ"""
    delta = case.real("delta", 0.1, 3)
    errors = [torch.tensor([delta + h], dtype=torch.float64, requires_grad=True) for h in (-1e-12, 1e-12)]
    values = [total(case, delta=delta)(e, torch.zeros_like(e)) for e in errors]
    return difference((values[0], slope(values[0], errors[0])), (values[1], slope(values[1], errors[1])))


@law("loss.huber", fault=wrong(lambda u, y, **_: 0.5 * (u - y) ** 2))
def no_error_pulls_harder_than_delta(case: Case) -> float:
    """|ℓ'(e)| ≤ δ, and = δ for |e| ≥ δ"""
    delta, (prediction, target) = case.real("delta", 0.1, 3), inputs(case)
    pull = slope(total(case, delta=delta)(prediction, target), prediction).abs()
    return difference(pull, (prediction - target).abs().clamp(max=delta))


# Of classes


def _once_for_each_class(logits: Tensor, target: Tensor) -> Tensor:
    return F.binary_cross_entropy_with_logits(logits, one_hot(target, logits), reduction="none").sum(-1)


def _mean_over_all(logits: Tensor, target: Tensor, mask: Any = None, *, reduction: str = "mean") -> Tensor:
    return reduced(ours.cross_entropy(logits, target, mask, reduction="none"), reduction)


def _relative(logits: Tensor, target: Tensor) -> Tensor:
    """The divergence from the target, without the target's entropy."""
    return F.kl_div(logits.log_softmax(-1), one_hot(target, logits), reduction="none").sum(-1)


@law("loss.cross_entropy", id="ce-logits", fault=NOT_CANONICAL)
def it_is_the_log_of_the_sum_of_exponentials_minus_the_targets_logit(case: Case) -> float:
    """ℓ(z, y) = -Σ_c y_c log softmax(z)_c = log Σ_c exp z_c - Σ_c y_c z_c"""
    logits, target = classified(case)
    y, loss = one_hot(target, logits), total(case)(logits, target)
    surprise, by_logits = -(y * logits.softmax(-1).log()).sum(), (logits.logsumexp(-1) - (y * logits).sum(-1)).sum()
    return difference((loss, loss), (surprise, by_logits))


@law("loss.cross_entropy", fault=wrong(_once_for_each_class))
def moving_all_logits_alike_changes_nothing(case: Case) -> float:
    """ℓ(z + c, y) = ℓ(z, y)"""
    (logits, target), loss, c = classified(case), total(case), case.real("c", -50, 50)
    return difference(loss(logits + c, target), loss(logits, target))


@law("loss.cross_entropy", fault=wrong(_relative))
def it_is_the_entropy_of_the_target_plus_the_divergence_from_it(case: Case) -> float:
    """ℓ(z, y) = H(y) + KL(y‖softmax(z))"""
    logits, target = classified(case, "probabilities")
    wanted = divergences.entropy(target) + divergences.kl(target, logits.softmax(-1))
    return difference(total(case)(logits, target), wanted.sum())


@law("loss.cross_entropy", fault=bent("loss.cross_entropy", torch.neg), id="sanity-initial-loss")
def equal_logits_cost_the_log_of_the_number_of_classes(case: Case) -> float:
    """ℓ(0, y) = log C: the loss of a classifier that has learned nothing"""
    logits, target = classified(case)
    examples, classes = logits[..., 0].numel(), torch.tensor(float(logits.shape[-1]), dtype=torch.float64)
    return difference(total(case)(0 * logits, target), examples * classes.log())


@law("loss.cross_entropy", fault=_mean_over_all)
def masked_examples_take_no_part(case: Case) -> float:
    """ℓ(z, y, mask) = ℓ(z[mask], y[mask])"""
    (logits, target), reduction = classified(case), case.choice("reduction", ("mean",))
    mask = case.mask("mask", *logits.shape[:-1]) if logits.ndim > 1 else torch.tensor(True)
    spoilt = torch.where(mask[..., None], logits, torch.nan)
    got = case.build(reduction=reduction, mask=mask)(spoilt, target)
    return difference(got.sum(), case.build(reduction=reduction)(logits[mask], target[mask]).sum())


@law(
    "loss.cross_entropy",
    "loss.binary_cross_entropy",
    fault={
        "loss.cross_entropy": wrong(lambda z, y: -z.softmax(-1).log().gather(-1, y[..., None]).squeeze(-1)),
        "loss.binary_cross_entropy": wrong(lambda z, y: F.binary_cross_entropy(z.sigmoid(), y, reduction="none")),
    },
)
def hopeless_logits_cost_what_they_are_far_off(case: Case) -> float:
    """ℓ = 5000 and finite slopes in float32, for a logit that is 5000 below the other"""
    if case.subject.name == "loss.cross_entropy":
        logits, target = torch.tensor([[0.0, 5000.0]]), torch.tensor([0])
    else:
        logits, target = torch.tensor([-5000.0]), torch.tensor([1.0])
    value = total(case)(logits.requires_grad_(), target)
    return float((value - 5000).abs() + (~slope(value, logits).isfinite()).sum())


# Of likelihoods


@law("loss.gaussian_nll", fault=_nll(lambda log_std: log_std, lambda std: std), id="gaussian-nll-mse")
def predictions_compare_as_their_squared_errors(case: Case) -> float:
    """ℓ(u, y) - ℓ(v, y) = (½(u - y)² - ½(v - y)²) / σ²: the best prediction is that of least squares"""
    (u, target), loss, std = inputs(case), total(case), case.positive("std")
    v = case.tensor("other prediction", *u.shape)
    wanted = ours.squared(u, target, reduction="sum") - ours.squared(v, target, reduction="sum")
    return difference(loss(u, target, std) - loss(v, target, std), wanted / std**2)


@law("loss.gaussian_nll", fault=_nll(lambda log_std: 2 * log_std, lambda std: std**2))
def the_best_std_is_the_root_of_the_mean_square_error(case: Case) -> float:
    """∂ℓ/∂σ = 0 at σ² = mean of (y - μ)²"""
    mean, target = inputs(case)
    std = (mean - target).detach().square().mean().sqrt().requires_grad_()
    return float((slope(total(case)(mean, target, std), std) * std / mean.numel()).abs())


@law("loss.gaussian_nll", fault=bent("loss.gaussian_nll", lambda losses: losses - 0.5 * log(2 * pi)))
def the_likelihood_is_a_density(case: Case) -> float:
    """∫ exp(-ℓ(μ, y)) dy = 1"""
    loss, mean, std = total(case), case.tensor("mean", 1).detach(), case.positive("std", 1).detach()
    steps = torch.linspace(-9, 9, 37, dtype=torch.float64)[:, None]
    likelihoods = torch.stack([torch.exp(-loss(mean, mean + step * std, std)) for step in steps])
    return float((likelihoods.sum() * 0.5 * std - 1).abs())


@law("loss.poisson_nll", fault=wrong(lambda z, y, full=False: F.poisson_nll_loss(z, y, full=full, reduction="none")))
def the_likelihoods_of_all_counts_sum_to_one(case: Case) -> float:
    """Σ_y exp(-ℓ(η, y)) = 1, if log y! is not left out"""
    loss, log_rate = total(case, full=True), case.real("log_rate", -2, 2)
    eta = torch.tensor([log_rate], dtype=torch.float64)
    likelihoods = torch.stack([torch.exp(-loss(eta, torch.full_like(eta, count))) for count in range(60)])
    return float((likelihoods.sum() - 1).abs())
