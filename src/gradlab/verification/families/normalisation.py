"""What is known of normalisation over vectors, groups and batches."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.nn.normalisation import BatchNorm
from gradlab.scratch import normalisation
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law, tied
from gradlab.verification.comparing import array, difference, excess, gradients
from gradlab.verification.subject import Incomparable

Settings = dict[str, Any]

ROUNDING = torch.finfo(torch.float64).eps


def _eps(case: Case) -> float:
    eps: float | None = case.real("eps", 0.01, 1)  # large enough to matter
    return ROUNDING if eps is None else eps


def _vectors(case: Case, fewest: int = 1, axes: tuple[int, int] = (0, 2)) -> tuple[Tensor, Settings]:
    """Vectors of features, no two of them equal, behind up to two axes; and settings that fit them."""
    batch, size = case.sizes(3, axes, "batch"), case.integer("normalized_shape", fewest, 5)
    features: tuple[int, ...] = (size,) if isinstance(size, int) else tuple(size)  # a module of torch.nn has a tuple
    if len(features) > 1:
        raise Incomparable("this is about features on one axis")
    x = case.distinct("x", *batch, *features)
    if "eps" in case.subject.drawn_as:  # which may be so small that 0 has no slope
        x = (x.detach() + 0.05).requires_grad_()
    return x, {"normalized_shape": size, "eps": _eps(case)}


def _several_axes(case: Case) -> tuple[Tensor, Settings]:
    """As `torch.nn` has it, the features may be on several axes, and the gain may be missing."""
    several = not case.subject.foreign  # whose features may be on the last axis alone, whatever it calls them
    shape: Any = case.choice("normalized_shape", (2, (3,), (2, 3), (1, 2, 2)) if several else (2, 3))
    sizes = (shape,) if isinstance(shape, int) else shape
    away = (0.0,) if case.subject.foreign else ()  # of 0 and a very small ε there is no slope
    x = case.tensor("x", case.integer("batch", 1, 3), *sizes, away_from=away, scale=2.0)
    return x, {"normalized_shape": shape, "elementwise_affine": case.flag("elementwise_affine")}


def _channels(case: Case) -> tuple[Tensor, Settings]:
    """Examples of channels and places, and settings that fit them."""
    groups = case.integer("num_groups", 1, 3)
    fewest = groups if case.place.is_exact else 2 * groups  # of one number nothing is left but what was rounded
    channels = case.integer("num_channels", fewest, 6, multiple_of=groups)
    x = case.tensor("x", case.integer("batch", 2, 3), channels, *case.sizes(3, (0, 2), count="places"), scale=2.0)
    return x, {"num_groups": groups, "num_channels": channels, "eps": case.real("eps", 0.01, 1)}


def _batch(case: Case) -> tuple[Tensor, Settings]:
    """Two examples or more, and settings that fit them, with an ε that is large enough to matter."""
    features, examples = case.integer("num_features", 1, 4), case.integer("batch", 2, 5)
    x = case.tensor("x", examples, features, *case.sizes(3, (0, 2), count="places"), scale=2.0)
    return x, {"num_features": features, "eps": case.real("eps", 0.01, 1)}


def _rows(x: Tensor) -> Tensor:
    """A row for each feature, with its values at all examples and places."""
    return x.transpose(0, 1).flatten(1)


STATISTICS = (
    ("running_mean", "moving_mean", "mean", "ema_mean", "mean_ema", "moving_avg", "run_mean"),
    ("running_var", "moving_var", "moving_variance", "var", "variance", "running_variance", "ema_var", "run_var"),
)
"""What others call them."""


def _buffers(block: nn.Module) -> list[Tensor]:
    """The running statistics as they are now: a call may have put other tensors in their place."""
    own = dict(block.named_buffers())
    found = [next((own[name] for name in names if name in own), None) for names in STATISTICS]
    if missing := [names[0] for names, buffer in zip(STATISTICS, found, strict=True) if buffer is None]:
        raise Incomparable(f"it has no buffer {', '.join(missing)}; its own are {', '.join(own) or 'none'}")
    return [buffer for buffer in found if buffer is not None]


def _running(case: Case, block: nn.Module) -> list[Tensor]:
    """The running statistics of a block, set at random."""
    mean, variance = _buffers(block)
    mean.copy_(case.tensor("running mean", *mean.shape).detach())
    variance.copy_(case.positive("running variance", *variance.shape).detach())
    return [mean.flatten(), variance.flatten()]


# Twins, peers and examples


def _call(
    draw: Callable[[Case], tuple[Tensor, Settings]], *weights: str, options: Sequence[str] = ("eps",), **more: Any
) -> Draw:
    """A block with these weights, or all that it has, and with more settings."""

    def call(case: Case) -> Call:
        x, settings = draw(case)
        settings |= {name: choose(case) for name, choose in more.items()}
        block = case.build(**settings)
        parameters = case.weights(block, *weights) if weights else case.all_weights(block)
        return Call(block, (x,), parameters, {name: settings[name] for name in options}, settings)

    return call


def _has_bias(case: Case) -> bool:
    bias: Any = case.flag("bias")  # of a module that is built already, the attribute is the bias itself
    return not (bias is None or bias is False)


def _or_none(case: Case) -> float | None:
    """None for the ε of the type, which few but torch have."""
    return case.choice("eps", (0.1,) if case.subject.foreign else (0.1, None))


conform("norm.layer", _call(_vectors, "weight", "bias"), twin=normalisation.layer_norm)
conform("norm.layer", _call(_several_axes, eps=_eps, bias=_has_bias), peer=nn.LayerNorm)
conform("norm.rms", _call(_vectors, "weight"), twin=normalisation.rms_norm)
conform("norm.rms", _call(_several_axes, eps=_or_none), peer=nn.RMSNorm)
conform(
    "norm.group",
    _call(_channels, "weight", "bias", options=("num_groups", "eps")),
    twin=normalisation.group_norm,
    twin_call=lambda x, gain, shift, num_groups, eps: normalisation.group_norm(x, num_groups, gain, shift, eps),
)
conform("norm.group", _call(_channels, affine=lambda case: case.flag("affine")), peer=nn.GroupNorm)
conform("norm.batch", _call(_batch, "weight", "bias"), twin=normalisation.batch_norm)


def _at_test(case: Case) -> Call:
    x, settings = _batch(case)
    block = case.build(**settings).eval()
    mean, variance = map(array, _running(case, block))
    options = {"mean": mean, "variance": variance, "eps": settings["eps"]}
    return Call(block, (x,), case.weights(block, "weight", "bias"), options)


def _statistics(case: Case) -> Call:
    (x, settings), momentum = _batch(case), case.real("momentum", 0, 1)
    if momentum is None:
        raise Incomparable("it is about a momentum, and has none: its mean is over all batches")
    block = case.build(**settings, momentum=momentum).train()
    running = _running(case, block)
    options = dict(zip(("mean", "variance"), (array(values.clone()) for values in running), strict=True))
    block(x.detach())
    return Call(
        lambda x: [buffer.flatten() for buffer in _buffers(block)], (x,), options={**options, "momentum": momentum}
    )


def _steps(block: nn.Module, x: Tensor) -> list[Tensor]:
    """What a block gives at two steps of training, and then at test time."""
    return [block(x), block(x), block.eval()(x)]


def _batches(case: Case) -> Call:
    momenta = (0.1, 1.0) if case.subject.foreign else (0.1, None, 1.0)
    momentum, affine = (lambda case: case.choice("momentum", momenta)), (lambda case: case.flag("affine"))
    call = _call(_batch, affine=affine, momentum=momentum)(case)
    block: Any = call.block
    return replace(call, block=partial(_steps, block))


def _torchs_batches(call: Call) -> list[Tensor]:
    kind: Any = nn.BatchNorm2d if call.inputs[0].ndim == 4 else nn.BatchNorm1d
    return _steps(tied(kind(**call.settings), call.weights), call.inputs[0])


conform("norm.batch", _at_test, twin=normalisation.batch_norm_at_test)
conform(
    "norm.batch",
    _statistics,
    twin=normalisation.running_statistics,
    fault=lambda momentum, **settings: BatchNorm(**settings, momentum=1 - momentum),  # as in Keras
)
conform(
    "norm.batch",
    _batches,
    peer={"torch.nn.BatchNorm1d and 2d": _torchs_batches},
    fault=lambda momentum, **settings: BatchNorm(**settings),
)


example("norm.layer", "norm.rms", call=lambda n, d: ({"normalized_shape": d}, (torch.randn(n, d),)), n=6, d=4)
example("norm.batch", call=lambda n, d: ({"num_features": d}, (torch.randn(n, d),)), n=6, d=4)
example(
    "norm.group",
    call=lambda n, d, g: ({"num_groups": g, "num_channels": d // 4}, (torch.randn(n, d // 4, 2, 2),)),
    n=3,
    d=24,
    g=2,
)

# Laws of vectors


def _mean_square(x: Tensor) -> Tensor:
    return x.square().mean(-1, True)


def _mean(x: Tensor) -> Tensor:
    return x.mean(-1, True)


def over(centre: Callable[[Tensor], Any], square: Callable[[Tensor], Tensor]) -> Fault:
    """The formula with another centre and another size."""

    def forward(self: Any, x: Tensor) -> Any:
        moved = x - centre(x)
        return self.weight * moved / (square(moved) + self.eps).sqrt() + getattr(self, "bias", 0.0)

    return Fault(forward=forward)


def _invariance(case: Case, centred: bool, shift: float) -> float:
    """By how much f(a x + b) - f(x) is more than ε explains.

    The two differ by 1/√(1 + ε/s²) against 1/√(1 + ε/(a s)²), and no entry is larger than √d root mean squares.
    """
    x, settings = _vectors(case, fewest=2)
    eps, a = case.choice("eps", (1e-8, 1e-5)) or ROUNDING, case.real("a", 0.1, 10)
    block = case.build(**{**settings, "eps": eps})
    size = _mean_square(x - _mean(x) if centred else x)
    allowed = case.weight(block).abs() * x.shape[-1] ** 0.5 * eps / (2 * min(1, a**2) * size)
    return excess((block(a * x + shift) - block(x)).abs(), allowed)


@law("norm.layer", fault=over(lambda x: 0, _mean_square))
def moving_and_stretching_the_features_changes_nothing(case: Case) -> float:
    """f(a x + b) → f(x) for a > 0 as ε → 0"""
    return _invariance(case, True, case.real("b", -10, 10))


@law("norm.rms", fault=over(lambda x: 0, lambda x: x.abs().mean(-1, True)))
def stretching_the_features_changes_nothing(case: Case) -> float:
    """f(a x) → f(x) for a > 0 as ε → 0"""
    return _invariance(case, False, 0.0)


@law("norm.layer", fault=over(_mean, lambda x: x.square().sum(-1, True) / (x.shape[-1] - 1)))
def each_vector_has_mean_0_and_a_variance_below_1(case: Case) -> float:
    """γ = 1, β = 0  ⟹  mean f(x) = 0,  Var f(x) = σ² / (σ² + ε)"""
    x, settings = _vectors(case, fewest=2)
    block, variance = case.build(**settings), x.var(-1, correction=0)
    case.set(block, weight=1.0, bias=0.0)
    y, wanted = block(x), variance / (variance + settings["eps"])
    return max(difference(y.mean(-1), torch.zeros_like(wanted)), difference(y.var(-1, correction=0), wanted))


@law("norm.rms", fault=over(lambda x: 0, lambda x: x.square().sum(-1, True)))
def each_vector_has_a_mean_square_below_1(case: Case) -> float:
    """γ = 1  ⟹  mean f(x)² = s / (s + ε) with s = mean x²"""
    x, settings = _vectors(case, fewest=2)
    block, square = case.build(**settings), _mean_square(x)
    case.set(block, weight=1.0)
    return difference(_mean_square(block(x)), square / (square + settings["eps"]))


@law("norm.rms", fault=over(lambda x: 0, lambda x: x.var(-1, keepdim=True)))
def of_a_centred_vector_it_is_layer_norm(case: Case) -> float:
    """mean x = 0  ⟹  f(x) = LayerNorm(x) without its shift"""
    x, settings = _vectors(case, fewest=2)
    x, block = (x - _mean(x)).detach(), case.build(**settings)
    return difference(block(x), case.weight(block) * F.layer_norm(x, x.shape[-1:], eps=settings["eps"]))


@law("norm.layer", "norm.rms", fault=over(lambda x: x.mean(0, True), _mean_square))
def vectors_do_not_meet_in_training_or_at_test_time(case: Case) -> float:
    """f(x)ᵢ = f(xᵢ)"""
    x, settings = _vectors(case, fewest=2, axes=(1, 1))
    block = case.build(**settings)
    alone = torch.stack([block(vector) for vector in x])
    return difference((block.train()(x), block.eval()(x)), (alone, alone))


# Laws of groups

over_the_batch = Fault(forward=lambda self, x: F.batch_norm(x, None, None, self.weight, self.bias, True, eps=self.eps))


def _interleaved(self: Any, x: Tensor) -> Any:
    """Takes channels that are far apart for one group, and not neighbours."""
    order = torch.arange(self.num_channels).reshape(-1, self.num_groups).T.flatten()
    return self.right(x[:, order])[:, order.argsort()]


@law("norm.group", fault=Fault(forward=_interleaved))
def groups_do_not_meet(case: Case) -> float:
    """f(x)_g depends on x_g alone"""
    x, settings = _channels(case)
    block, size = case.build(**settings), settings["num_channels"] // settings["num_groups"]
    changed = torch.cat([x[:, :size], case.tensor("elsewhere", *x[:, size:].shape)], 1)
    return difference(block(changed)[:, :size], block(x)[:, :size])


@law("norm.group", fault=over_the_batch)
def one_group_is_layer_norm_and_one_for_each_channel_instance_norm(case: Case) -> float:
    """f(x) = γ x̂ + β, where x̂ is LayerNorm of the whole example, or of each channel of it"""
    if "num_groups" in case.subject.fixed:
        raise Incomparable("its number of groups is fixed")
    (x, settings), axis = _channels(case), 1 if case.flag("one group") else 2
    block = case.build(**settings | {"num_groups": 1 if axis == 1 else settings["num_channels"]})
    rows = x[..., None].flatten(axis)
    unit = F.layer_norm(rows, rows.shape[-1:], eps=settings["eps"]).reshape(x.shape)
    gain, shift = (w.reshape(-1, *[1] * (x.ndim - 2)) for w in case.weights(block, "weight", "bias").values())
    return difference(block(x), gain * unit + shift)


# Laws of batches


def by_rows(unit: Callable[[Tensor, float], Tensor]) -> Fault:
    """Batch norm whose rows are brought to size in another way."""

    def forward(self: Any, x: Tensor) -> Any:
        y = self.weight[:, None] * unit(_rows(x), self.eps) + self.bias[:, None]
        return y.reshape(x.transpose(0, 1).shape).transpose(0, 1)

    return Fault(forward=forward)


@law(
    "norm.batch",
    fault=by_rows(lambda x, eps: (x - _mean(x)) / (x.var(1, correction=0, keepdim=True).sqrt() + eps)),
    id="bn-identity",
)
def the_right_gain_and_shift_undo_it(case: Case) -> float:
    """γ = √(σ² + ε), β = μ  ⟹  f(x) = x"""
    x, settings = _batch(case)
    block, values = case.build(**settings).train(), _rows(x)
    case.set(block, weight=(values.var(1, correction=0) + settings["eps"]).sqrt(), bias=values.mean(1))
    return difference(block(x), x)


@law("norm.batch", fault=by_rows(lambda x, eps: x / (_mean_square(x) + eps).sqrt()), id="bn-bias-redundant")
def a_bias_before_it_has_no_effect(case: Case) -> float:
    """f(W x + b) = f(W x) in training"""
    x, settings = _batch(case)
    bias, block = case.tensor("b", x.shape[1]).reshape(-1, *[1] * (x.ndim - 2)), case.build(**settings).train()
    return difference(block(x + bias), block(x))


@law("norm.batch", fault=by_rows(lambda x, eps: (x - _mean(x)) / (x.var(1, keepdim=True) + eps).sqrt()))
def the_output_has_mean_0_and_a_variance_below_1(case: Case) -> float:
    """mean f(x) = β,  Var f(x) = γ² σ² / (σ² + ε)"""
    x, settings = _batch(case)
    block = case.build(**settings).train()
    gain, shift = case.weights(block, "weight", "bias").values()
    y, variance = _rows(block(x)), _rows(x).var(1, correction=0)
    wanted = gain**2 * variance / (variance + settings["eps"])
    return difference((y.mean(1), y.var(1, correction=0)), (shift, wanted))


@law("norm.batch", fault=Fault(eval=lambda self: self))
def at_test_time_it_is_affine_and_examples_do_not_meet(case: Case) -> float:
    """f(½x + ½y) = ½f(x) + ½f(y),  f(x)ᵢ = f(xᵢ)"""
    x, settings = _batch(case)
    y, block = case.tensor("y", *x.shape), case.build(**settings).eval()
    _running(case, block)
    first = block(torch.cat([x[:1], y]))[:1]
    return max(difference(block((x + y) / 2), (block(x) + block(y)) / 2), difference(block(x)[:1], first))


@law("norm.batch", fault=lambda **settings: BatchNorm(**settings, affine=False), id="bn-param-count")
def there_are_two_parameters_for_each_feature(case: Case) -> float:
    """2 n parameters for n features, all of which take part"""
    features = case.integer("num_features", 1, 4)
    block = case.build(num_features=features).train()
    own = list(block.parameters())
    slopes = gradients(block(case.distinct("x", 3, features)), own)
    return float(abs(sum(p.numel() for p, slope in zip(own, slopes, strict=True) if slope.any()) - 2 * features))
