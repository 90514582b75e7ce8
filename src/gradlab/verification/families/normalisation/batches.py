"""What is known of batch normalisation."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradlab import scratch
from gradlab.nn.normalisation import BatchNorm
from gradlab.scratch import normalisation
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, same
from gradlab.verification.subject import Incomparable


def _batch(case: Case) -> tuple[Tensor, dict[str, Any]]:
    """Two examples or more, and settings that fit them, with an ε that is large enough to matter."""
    features, examples = case.integer("num_features", 1, 4), case.integer("batch", 2, 5)
    places = [case.integer(f"size {axis}", 1, 3) for axis in range(case.integer("places", 0, 2))]
    x = case.tensor("x", examples, features, *places, scale=2.0)
    return x, {"num_features": features, "eps": case.real("eps", 0.01, 1)}


def _rows(x: Tensor) -> Tensor:
    """A row for each feature, with its values at all examples and places."""
    return x.transpose(0, 1).flatten(1)


def _running(case: Case, block: nn.Module) -> tuple[Tensor, Tensor]:
    """The running statistics of a block, set at random."""
    found = dict(block.named_buffers())
    if missing := sorted({"running_mean", "running_var"} - set(found)):
        raise Incomparable(f"it has no buffer {', '.join(missing)}")
    mean, variance = found["running_mean"], found["running_var"]
    mean.copy_(case.tensor("running mean", *mean.shape).detach())
    variance.copy_(case.positive("running variance", *variance.shape).detach())
    return mean, variance


@twin("norm.batch", normalisation.batch_norm)
def in_training(case: Case) -> float:
    x, settings = _batch(case)
    block = case.build(**settings).train()
    weights, eps = case.weights(block, "weight", "bias"), settings["eps"]
    return agreement(block(x), lambda x, gain, shift: normalisation.batch_norm(x, gain, shift, eps), x, *weights)


@twin("norm.batch", normalisation.batch_norm_at_test)
def at_test_time(case: Case) -> float:
    x, settings = _batch(case)
    block = case.build(**settings).eval()
    mean, variance = (values.numpy() for values in _running(case, block))
    weights, eps = case.weights(block, "weight", "bias"), settings["eps"]
    return agreement(
        block(x),
        lambda x, gain, shift: normalisation.batch_norm_at_test(x, gain, shift, mean, variance, eps),
        x,
        *weights,
    )


@twin("norm.batch", normalisation.running_statistics)
def what_a_step_makes_of_them(case: Case) -> float:
    x, settings = _batch(case)
    momentum = case.real("momentum", 0, 1)
    block = case.build(**settings, momentum=momentum).train()
    found = _running(case, block)
    mean, variance = (values.clone().numpy() for values in found)
    block(x)
    wanted = normalisation.running_statistics(scratch.Tensor(x.detach().numpy()), mean, variance, momentum)
    return difference(found, tuple(map(torch.from_numpy, wanted)))


@peer("norm.batch", "torch.nn.BatchNorm1d and 2d")
def torchs_batch_norm(case: Case) -> float:
    x, settings = _batch(case)
    settings |= {"affine": case.flag("affine"), "momentum": case.choice("momentum", (0.1, None, 1.0))}
    block, torchs = case.build(**settings), (nn.BatchNorm2d if x.ndim == 4 else nn.BatchNorm1d)(**settings).double()
    torchs.load_state_dict(block.state_dict())
    leaves, others = [x, *block.parameters()], [x, *torchs.parameters()]
    errors = [same(block(x), torchs(x), leaves, others) for _ in range(2)]
    return max(*errors, same(block.eval()(x), torchs.eval()(x), leaves, others))


@example("norm.batch", n=6, d=4)
def batch_example(n: int, d: int) -> Any:
    return {"num_features": d}, (torch.randn(n, d),)


# Laws


class Faulty(BatchNorm):
    """Batch norm whose rows are brought to size in another way."""

    def __init__(self, unit: Callable[[Tensor, float], Tensor], **settings: Any):
        super().__init__(**settings)
        self.unit = unit

    def forward(self, x: Tensor) -> Tensor:
        y = self.weight[:, None] * self.unit(_rows(x), self.eps) + self.bias[:, None]
        return y.reshape(x.transpose(0, 1).shape).transpose(0, 1)


def faulty(unit: Callable[[Tensor, float], Tensor]) -> Callable[..., nn.Module]:
    return lambda **settings: Faulty(unit, **settings)


outside_the_root = faulty(lambda x, eps: (x - x.mean(1, True)) / (x.var(1, correction=0, keepdim=True).sqrt() + eps))
unbiased_variance = faulty(lambda x, eps: (x - x.mean(1, True)) / (x.var(1, keepdim=True) + eps).sqrt())
not_centred = faulty(lambda x, eps: x / (x.square().mean(1, True) + eps).sqrt())


@law("norm.batch", wrong=outside_the_root)
def the_right_gain_and_shift_undo_it(case: Case) -> float:
    """γ = √(σ² + ε), β = μ  ⟹  f(x) = x"""
    x, settings = _batch(case)
    block, values = case.build(**settings).train(), _rows(x)
    gain, shift = case.weights(block, "weight", "bias")
    with torch.no_grad():
        gain.copy_((values.var(1, correction=0) + settings["eps"]).sqrt())
        shift.copy_(values.mean(1))
    return difference(block(x), x)


@law("norm.batch", wrong=not_centred)
def a_bias_before_it_has_no_effect(case: Case) -> float:
    """f(W x + b) = f(W x) in training"""
    x, settings = _batch(case)
    bias = case.tensor("b", x.shape[1]).reshape(-1, *(1 for _ in x.shape[2:]))
    block = case.build(**settings).train()
    return difference(block(x + bias), block(x))


@law("norm.batch", wrong=unbiased_variance)
def the_output_has_mean_0_and_a_variance_below_1(case: Case) -> float:
    """mean f(x) = β,  Var f(x) = γ² σ² / (σ² + ε)"""
    x, settings = _batch(case)
    block = case.build(**settings).train()
    gain, shift = case.weights(block, "weight", "bias")
    y, variance = _rows(block(x)), _rows(x).var(1, correction=0)
    wanted = gain**2 * variance / (variance + settings["eps"])
    return max(difference(y.mean(1), shift), difference(y.var(1, correction=0), wanted))


class AlwaysTraining(BatchNorm):
    """Takes the statistics of the batch at test time too."""

    def eval(self) -> "AlwaysTraining":
        return self


@law("norm.batch", wrong=AlwaysTraining)
def at_test_time_it_is_affine_and_examples_do_not_meet(case: Case) -> float:
    """f(½x + ½y) = ½f(x) + ½f(y),  f(x)ᵢ = f(xᵢ)"""
    x, settings = _batch(case)
    y = case.tensor("y", *x.shape)
    block = case.build(**settings).eval()
    _running(case, block)
    first = block(torch.cat([x[:1], y]))[:1]
    return max(difference(block((x + y) / 2), (block(x) + block(y)) / 2), difference(block(x)[:1], first))


@law("norm.batch", wrong=lambda momentum, **settings: BatchNorm(**settings, momentum=1 - momentum))  # as in Keras
def the_same_batch_again_draws_the_statistics_to_its_own(case: Case) -> float:
    """after t steps  r = (1 - m)ᵗ r₀ + (1 - (1 - m)ᵗ) r_batch, with the variance divided by n - 1"""
    x, settings = _batch(case)
    momentum, steps = case.real("momentum", 0, 1), case.integer("steps", 1, 4)
    block = case.build(**settings, momentum=momentum).train()
    found = _running(case, block)
    old = [values.clone() for values in found]
    for _ in range(steps):
        block(x)
    kept, new = (1 - momentum) ** steps, (_rows(x).mean(1), _rows(x).var(1))
    return difference(found, [kept * before + (1 - kept) * batch for before, batch in zip(old, new, strict=True)])


@law("norm.batch", wrong=lambda momentum, **settings: BatchNorm(**settings))
def without_momentum_all_batches_count_alike(case: Case) -> float:
    """m = None  ⟹  r = the mean of r_batch over the batches: the mean of all examples, if batches are of one size"""
    x, settings = _batch(case)
    if case.choice("momentum", (None,)) is not None:
        raise Incomparable("its momentum is given")
    batches = [x, *(case.tensor(f"batch {i}", *x.shape) for i in range(case.integer("more batches", 1, 3)))]
    block = case.build(**settings, momentum=None).train()
    found = _running(case, block)
    for batch in batches:
        block(batch)
    variances = torch.stack([_rows(batch).var(1) for batch in batches])
    return difference(found, (_rows(torch.cat(batches)).mean(1), variances.mean(0)))


@law("norm.batch", wrong=lambda **settings: BatchNorm(**settings, affine=False))
def there_are_two_parameters_for_each_feature(case: Case) -> float:
    """2 n parameters for n features"""
    features = case.integer("num_features", 1, 4)
    block = case.build(num_features=features)
    return float(abs(sum(p.numel() for p in block.parameters()) - 2 * features))
