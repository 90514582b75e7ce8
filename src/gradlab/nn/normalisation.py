"""Normalisation: one formula over different sets of entries, so that layers see numbers of about the same size."""

from typing import Annotated

import torch
from annotated_types import Len
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gradlab.errors import GradlabError
from gradlab.kernels.group_norm import group_norm, takes
from gradlab.nn.activations import SiLU
from gradlab.nn.blocks import Family, ShapeError, block
from gradlab.nn.plain import Map, is_plain
from gradlab.registry import Count, NonNegative, Probability

Features = Count | Annotated[tuple[Count, ...], Len(1)] | Annotated[list[Count], Len(1)]
"""The sizes of the axes that are normalised together."""

norms = Family("norm.{}", "num_features", "num_channels", "normalized_shape")
"""Those of examples that are vectors."""

last_axis_norms = Family("norm.{}", "normalized_shape")
"""Those of vectors that lie along the last axis, such as the tokens of a text."""

Eps = Annotated[NonNegative, "added to the variance"]
Affine = Annotated[bool, "with a gain and a shift that are learned"]


@block("norm.batch", flops="O(n·d)", memory="O(d)", letters="n vectors of d features")
class BatchNorm(_BatchNorm):
    r"""Each feature is centred and scaled by its mean and variance over the batch; then a gain and a shift are learned.

    $$ y = \gamma \, \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta $$

    γ is `weight` and β is `bias`, one number for each feature (axis 1). In training μ and σ² are taken over the batch
    and all places, and σ² is divided by their number n. At test time they are `running_mean` and `running_var`, so that
    an example's output depends on no other example. Each training batch moves these by

    $$ r \leftarrow r + m \, (r_\text{batch} - r) $$

    where the variance is divided by n - 1, and m is `momentum`. With `momentum=None` all batches count alike: one pass
    over the training set after `reset_running_stats()` gives its mean. The output has the variance σ²/(σ² + ε), not
    quite 1, and a bias in the layer before has no effect. Ioffe & Szegedy 2015, arXiv:1502.03167.

    >>> BatchNorm(1, eps=1.0)(torch.tensor([[0.0], [2.0]])).tolist()
    [[-0.7071067690849304], [0.7071067690849304]]
    """

    def __init__(
        self,
        num_features: Count,
        eps: Eps = 1e-5,
        momentum: Annotated[Probability | None, "of the running means; none: all batches count alike"] = 0.1,
        affine: Affine = True,
    ):
        super().__init__(num_features, eps, momentum, affine)

    def forward(
        self, x: Float[Tensor, "batch {self.num_features} *places"]
    ) -> Float[Tensor, "batch {self.num_features} *places"]:
        y: Tensor = super().forward(x)
        return y

    def _check_input_dim(self, input: Tensor) -> None:
        if self.training and input.numel() < 2 * self.num_features:
            raise ShapeError(
                f"norm.batch: x of shape {tuple(input.shape)} has no variance: training takes two examples."
            )


@block("norm.layer", flops="O(n·d)", memory="O(n)", letters="n vectors of d features")
class LayerNorm(nn.LayerNorm):
    r"""Each vector of features is centred and scaled by its own mean and variance, in training and at test time alike.

    $$ y_i = \gamma_i \, \frac{x_i - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \beta_i, \qquad
       \mu = \frac{1}{d} \sum_j x_j, \quad \sigma^2 = \frac{1}{d} \sum_j (x_j - \mu)^2 $$

    γ is `weight` and β is `bias`. Where `normalized_shape` has several sizes, the features are all entries of as many
    last axes. What is added to all features, or multiplies them, changes nothing but for ε. Ba et al. 2016,
    arXiv:1607.06450.

    >>> LayerNorm(3)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([-1.2247,  0.0000,  1.2247], grad_fn=<NativeLayerNormBackward0>)
    """

    def __init__(
        self,
        normalized_shape: Features,
        eps: Eps = 1e-5,
        elementwise_affine: Affine = True,
        bias: Annotated[bool, "with a shift"] = True,
    ):
        super().__init__(normalized_shape, eps, elementwise_affine, bias)
        self.features = self.normalized_shape[-1]

    def forward(self, x: Float[Tensor, "*batch {self.features}"]) -> Float[Tensor, "*batch {self.features}"]:
        return super().forward(x)

    def bare(self) -> Map:
        shape, weight, bias, eps = self.normalized_shape, self.weight, self.bias, self.eps
        return lambda x: torch.layer_norm(x, shape, weight, bias, eps)


@block("norm.group", flops="O(n·d)", memory="O(n·g)", letters="n examples of d numbers and g groups")
class GroupNorm(nn.GroupNorm):
    r"""The channels of an example are cut into groups, and each group is centred and scaled by itself.

    $$ y_c = \gamma_c \, \frac{x_c - \mu_g}{\sqrt{\sigma_g^2 + \varepsilon}} + \beta_c $$

    μ and σ² are taken over the channels of the group g of c, and all their places. γ is `weight` and β is `bias`, one
    number for each channel (axis 1). One group is layer norm of the whole example but for the gains, and as many groups
    as channels is instance norm. Wu & He 2018, arXiv:1803.08494.

    >>> GroupNorm(2, 4)(torch.tensor([[1.0, 3.0, 10.0, 30.0]])).round().tolist()
    [[-1.0, 1.0, -1.0, 1.0]]
    """

    def __init__(
        self,
        num_groups: Annotated[Count, "of channels; they divide the number of channels"],
        num_channels: Count,
        eps: Eps = 1e-5,
        affine: Affine = True,
    ):
        if num_channels % num_groups:
            raise GradlabError(f"norm.group: num_groups must divide num_channels, got {num_groups} and {num_channels}.")
        super().__init__(num_groups, num_channels, eps, affine)

    def forward(
        self, x: Float[Tensor, "batch {self.num_channels} *places"]
    ) -> Float[Tensor, "batch {self.num_channels} *places"]:
        return group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


def norm_silu(norm: nn.Module, activation: nn.Module, x: Tensor, offset: Tensor | None = None) -> Tensor:
    """activation(norm(x)): in one pass where they are plain group normalisation and SiLU, and a kernel is for x.

    `offset` has a number for each channel of each example, which is added to x before.
    """
    if type(norm) is GroupNorm and type(activation) is SiLU and x.ndim > 1 and x.shape[1] == norm.num_channels:
        affine = norm.num_groups, norm.weight, norm.bias
        if takes(x, *affine, offset) and is_plain(norm) and is_plain(activation):
            return group_norm(x, *affine, norm.eps, "silu", offset)
    y: Tensor = activation(norm(x if offset is None else x + offset[:, :, None, None]))
    return y


@block("norm.rms", flops="O(n·d)", memory="O(n)", letters="n vectors of d features")
class RMSNorm(nn.RMSNorm):
    r"""Each vector of features is scaled to a root mean square of 1, and not centred.

    $$ y_i = \gamma_i \, \frac{x_i}{\sqrt{\frac{1}{d} \sum_j x_j^2 + \varepsilon}} $$

    γ is `weight`; there is no shift. `eps=None` is the precision of the numbers computed with: 1.2e-7 in float32 and
    bfloat16, 2.2e-16 in float64. Zhang & Sennrich 2019, arXiv:1910.07467.

    >>> RMSNorm(2)(torch.tensor([3.0, -3.0])).tolist()
    [1.0, -1.0]
    """

    def __init__(
        self,
        normalized_shape: Features,
        eps: Annotated[NonNegative | None, "added to the mean square; default: the precision of the numbers"] = None,
        elementwise_affine: Annotated[bool, "with a gain that is learned"] = True,
    ):
        super().__init__(normalized_shape, eps, elementwise_affine)
        self.features = self.normalized_shape[-1]

    def forward(self, x: Float[Tensor, "*batch {self.features}"]) -> Float[Tensor, "*batch {self.features}"]:
        return super().forward(x)
