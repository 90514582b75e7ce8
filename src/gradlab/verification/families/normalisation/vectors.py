"""What is known of the normalisations of one vector at a time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.normalisation import LayerNorm
from gradlab.scratch import normalisation
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, excess, same
from gradlab.verification.subject import Incomparable

Settings = dict[str, Any]


ROUNDING = torch.finfo(torch.float64).eps


def _eps(case: Case) -> float:
    eps: float | None = case.real("eps", 0.01, 1)  # large enough to matter
    return ROUNDING if eps is None else eps


def _vectors(case: Case, fewest: int = 1, axes: int | None = None) -> tuple[Tensor, Settings]:
    """Vectors of features, no two of them equal, behind up to two axes; and settings that fit them."""
    axes = case.integer("axes", 0, 2) if axes is None else axes
    batch = [case.integer(f"batch {axis}", 1, 3) for axis in range(axes)]
    size: Any = case.integer("normalized_shape", fewest, 5)
    features = (size,) if isinstance(size, int) else tuple(size)  # a module of torch.nn has a tuple
    if len(features) > 1:
        raise Incomparable("this is about features on one axis")
    return case.distinct("x", *batch, *features), {"normalized_shape": size, "eps": _eps(case)}


# Twins and peers


@twin("norm.layer", normalisation.layer_norm)
def layer_twin(case: Case) -> float:
    x, settings = _vectors(case)
    block, eps = case.build(**settings), settings["eps"]
    weights = case.weights(block, "weight", "bias")
    return agreement(block(x), lambda x, gain, shift: normalisation.layer_norm(x, gain, shift, eps), x, *weights)


@twin("norm.rms", normalisation.rms_norm)
def rms_twin(case: Case) -> float:
    x, settings = _vectors(case)
    block, eps = case.build(**settings), settings["eps"]
    return agreement(block(x), lambda x, gain: normalisation.rms_norm(x, gain, eps), x, *case.weights(block, "weight"))


def _like_torchs(case: Case, kind: type[nn.Module], x: Tensor, settings: Settings) -> float:
    block, torchs = case.build(**settings), kind(**settings).double()
    torchs.load_state_dict(block.state_dict())
    return same(block(x), torchs(x), [x, *block.parameters()], [x, *torchs.parameters()])


def _several_axes(case: Case) -> tuple[Tensor, Settings]:
    """As `torch.nn` has it, the features may be on several axes, and the gain may be missing."""
    shape: Any = case.choice("normalized_shape", (2, (3,), (2, 3), (1, 2, 2)))
    x = case.tensor("x", case.integer("batch", 1, 3), *((shape,) if isinstance(shape, int) else shape), scale=2.0)
    return x, {"normalized_shape": shape, "elementwise_affine": case.flag("elementwise_affine")}


@peer("norm.layer", "torch.nn.LayerNorm")
def torchs_layer_norm(case: Case) -> float:
    x, settings = _several_axes(case)
    bias: Any = case.flag("bias")  # of a module that is built already, the attribute is the bias itself
    return _like_torchs(
        case, nn.LayerNorm, x, {**settings, "eps": _eps(case), "bias": not (bias is None or bias is False)}
    )


@peer("norm.rms", "torch.nn.RMSNorm")
def torchs_rms_norm(case: Case) -> float:
    x, settings = _several_axes(case)
    return _like_torchs(case, nn.RMSNorm, x, {**settings, "eps": case.choice("eps", (0.1, None))})


@example("norm.layer", n=6, d=4)
@example("norm.rms", n=6, d=4)
def vectors_example(n: int, d: int) -> Any:
    return {"normalized_shape": d}, (torch.randn(n, d),)


# Laws


class Over(nn.Module):
    """The formula with another centre and another size."""

    def __init__(self, centre: Callable[[Tensor], Any], square: Callable[[Tensor], Tensor], **settings: Any):
        super().__init__()
        self.centre, self.square, self.eps = centre, square, settings["eps"]
        self.weight = nn.Parameter(torch.ones(settings["normalized_shape"]))
        self.bias = nn.Parameter(torch.zeros(settings["normalized_shape"]))

    def forward(self, x: Tensor) -> Tensor:
        moved = x - self.centre(x)
        unit: Tensor = moved / (self.square(moved) + self.eps).sqrt()
        return self.weight * unit + self.bias


def over(centre: Callable[[Tensor], Any], square: Callable[[Tensor], Tensor]) -> Callable[..., nn.Module]:
    return lambda **settings: Over(centre, square, **settings)


def _mean_square(x: Tensor) -> Tensor:
    return x.square().mean(-1, True)


def _mean(x: Tensor) -> Tensor:
    return x.mean(-1, True)


no_centre = over(lambda x: 0, _mean_square)
batch_centre = over(lambda x: x.mean(0, True), _mean_square)
unbiased = over(_mean, lambda x: x.square().sum(-1, True) / (x.shape[-1] - 1))
sum_of_squares = over(lambda x: 0, lambda x: x.square().sum(-1, True))
mean_size = over(lambda x: 0, lambda x: x.abs().mean(-1, True))


def _invariance(case: Case, centred: bool, shift: float) -> float:
    """By how much f(a x + b) - f(x) is more than ε explains.

    The two differ by 1/√(1 + ε/s²) against 1/√(1 + ε/(a s)²), and no entry is larger than √d root mean squares.
    """
    x, settings = _vectors(case, fewest=2)
    settings["eps"] = case.choice("eps", (1e-8, 1e-5)) or ROUNDING
    a = case.real("a", 0.1, 10)
    block = case.build(**settings)
    (gain,) = case.weights(block, "weight")
    size = _mean_square(x - _mean(x) if centred else x)
    allowed = gain.abs() * x.shape[-1] ** 0.5 * settings["eps"] / (2 * min(1, a**2) * size)
    return excess((block(a * x + shift) - block(x)).abs(), allowed)


@law("norm.layer", wrong=no_centre)
def moving_and_stretching_the_features_changes_nothing(case: Case) -> float:
    """f(a x + b) → f(x) for a > 0 as ε → 0"""
    return _invariance(case, True, case.real("b", -10, 10))


@law("norm.rms", wrong=mean_size)
def stretching_the_features_changes_nothing(case: Case) -> float:
    """f(a x) → f(x) for a > 0 as ε → 0"""
    return _invariance(case, False, 0.0)


def _plain(case: Case, settings: Settings, **weights: float) -> Any:
    """The block with these numbers for its weights."""
    block = case.build(**settings)
    with torch.no_grad():
        for parameter, value in zip(case.weights(block, *weights), weights.values(), strict=True):
            parameter.fill_(value)
    return block


@law("norm.layer", wrong=unbiased)
def each_vector_has_mean_0_and_a_variance_below_1(case: Case) -> float:
    """γ = 1, β = 0  ⟹  mean f(x) = 0,  Var f(x) = σ² / (σ² + ε)"""
    x, settings = _vectors(case, fewest=2)
    y = _plain(case, settings, weight=1.0, bias=0.0)(x)
    variance = x.var(-1, correction=0)
    wanted = variance / (variance + settings["eps"])
    return max(difference(y.mean(-1), torch.zeros_like(wanted)), difference(y.var(-1, correction=0), wanted))


@law("norm.rms", wrong=sum_of_squares)
def each_vector_has_a_mean_square_below_1(case: Case) -> float:
    """γ = 1  ⟹  mean f(x)² = s / (s + ε) with s = mean x²"""
    x, settings = _vectors(case, fewest=2)
    y, square = _plain(case, settings, weight=1.0)(x), _mean_square(x)
    return difference(_mean_square(y), square / (square + settings["eps"]))


@law("norm.rms", wrong=lambda **settings: over(lambda x: 0, lambda x: x.var(-1, keepdim=True))(**settings))
def of_a_centred_vector_it_is_layer_norm(case: Case) -> float:
    """mean x = 0  ⟹  f(x) = LayerNorm(x) without its shift"""
    x, settings = _vectors(case, fewest=2)
    x = (x - _mean(x)).detach()
    block, layer = case.build(**settings), LayerNorm(**settings, elementwise_affine=False)
    return difference(block(x), case.weights(block, "weight")[0] * layer(x))


@law("norm.layer", "norm.rms", wrong=batch_centre)
def vectors_do_not_meet_in_training_or_at_test_time(case: Case) -> float:
    """f(x)ᵢ = f(xᵢ)"""
    x, settings = _vectors(case, fewest=2, axes=1)
    block = case.build(**settings)
    alone = torch.stack([block(vector) for vector in x])
    return max(difference(block.train()(x), alone), difference(block.eval()(x), alone))
