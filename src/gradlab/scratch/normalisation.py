"""Normalisation: the same formula over different sets of entries.

y = γ (x - mean) / √(variance + ε) + β, where mean and variance (divided by n, not n - 1) are taken over the batch and
all places (batch), over the features of one example (layer), or over a group of its channels (group).
"""

from gradlab.scratch.functions import sqrt
from gradlab.scratch.gates import Array
from gradlab.scratch.tensor import Tensor

EPS = 1e-5  # under the root, so that a constant feature gives 0 and not 0/0


def batch_norm(x: Tensor, gain: Tensor, shift: Tensor, eps: float = EPS) -> Tensor:
    """In training: each channel (axis 1) is normalised by its mean and variance over the batch and all places."""
    axes = (0, *range(2, x.value.ndim))
    return _per_channel(_standardised(x, axes, eps), gain, shift)


def batch_norm_at_test(
    x: Tensor, gain: Tensor, shift: Tensor, mean: Array, variance: Array, eps: float = EPS
) -> Tensor:
    """At test time: by the running mean and variance, so that an example's output depends on no other example."""
    shape = _channel_shape(x)
    unit = (x - mean.reshape(shape)) / (variance.reshape(shape) + eps) ** 0.5
    return _per_channel(unit, gain, shift)


def running_statistics(x: Tensor, mean: Array, variance: Array, momentum: float = 0.1) -> tuple[Array, Array]:
    """What a training step makes of the running statistics: old + momentum (new - old).

    The new variance is divided by n - 1, since it estimates that of all examples and not of this batch.
    """
    axes = (0, *range(2, x.value.ndim))
    new_mean, new_variance = x.value.mean(axis=axes), x.value.var(axis=axes, ddof=1)
    return mean + momentum * (new_mean - mean), variance + momentum * (new_variance - variance)


def layer_norm(x: Tensor, gain: Tensor, shift: Tensor, eps: float = EPS) -> Tensor:
    """Each vector of features (the last axes, as many as the gain has) is normalised by itself, also at test time."""
    return gain * _standardised(x, _last_axes(gain), eps) + shift


def group_norm(x: Tensor, groups: int, gain: Tensor, shift: Tensor, eps: float = EPS) -> Tensor:
    """The channels are cut into groups; each example's group is normalised by itself, over its channels and places."""
    grouped = _standardised(x.reshape(len(x), groups, -1), (-1,), eps)
    return _per_channel(grouped.reshape(*x.shape), gain, shift)


def rms_norm(x: Tensor, gain: Tensor, eps: float = EPS) -> Tensor:
    """y = γ x / √(mean of x² + ε): each vector is scaled to a root mean square of 1, and not centred."""
    return gain * x / sqrt((x**2).mean(axis=_last_axes(gain), keepdims=True) + eps)


def _last_axes(gain: Tensor) -> tuple[int, ...]:
    return tuple(range(-len(gain.shape), 0))


def _standardised(x: Tensor, axes: tuple[int, ...], eps: float) -> Tensor:
    centred = x - x.mean(axis=axes, keepdims=True)
    variance = (centred**2).mean(axis=axes, keepdims=True)
    return centred / sqrt(variance + eps)


def _per_channel(x: Tensor, gain: Tensor, shift: Tensor) -> Tensor:
    shape = _channel_shape(x)
    return gain.reshape(*shape) * x + shift.reshape(*shape)


def _channel_shape(x: Tensor) -> tuple[int, ...]:
    return (-1, *(1 for _ in x.shape[2:]))
