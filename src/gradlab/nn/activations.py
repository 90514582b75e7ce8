"""Activations: the bends between affine maps, without which a network of any depth would be one affine map."""

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import Family, block
from gradlab.registry import Count, NonNegative, Positive


@dataclass(frozen=True)
class Behaviour:
    """What is known of an activation before any training: its values, and where its slope lets no gradient through."""

    range: tuple[float, float]
    """The least and the largest value, or what the values tend to."""

    steep: tuple[float, float] = (-inf, inf)
    """Outside of these, the slope is below 0.01: the unit is saturated."""

    dead: tuple[float, float] | None = None
    """Between these the slope is exactly 0: an input that stays there is never learned from."""


activations = Family("activation.{}")
"""Those that a model can put between its layers: they need no sizes."""


class Activation(nn.Module):
    """What the entrywise activations have in common: their behaviour is known."""

    behaviour: ClassVar[Behaviour]


@block("activation.identity", flops="0", memory="0")
class Identity(Activation):
    r"""The input itself, where a network asks for an activation and none is wanted.

    $$ f(x) = x $$

    >>> Identity()(torch.tensor([-1.0, 2.0])).tolist()
    [-1.0, 2.0]
    """

    behaviour = Behaviour(range=(-inf, inf))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return x


@block("activation.step", flops="O(n)", memory="O(n)")
class Step(Activation):
    r"""1 where the input is not negative, else 0: the perceptron's decision.

    $$ f(x) = \begin{cases} 1 & x \ge 0 \\ 0 & x < 0 \end{cases} $$

    Its slope is 0 wherever it has one, so no gradient passes: a perceptron learns by its own rule.

    >>> Step()(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [0.0, 1.0, 1.0]
    """

    behaviour = Behaviour(range=(0.0, 1.0), steep=(0.0, 0.0), dead=(-inf, inf))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return (x >= 0).to(x.dtype)


@block("activation.relu", flops="O(n)", memory="O(n)")
class ReLU(Activation):
    r"""The positive part.

    $$ f(x) = \max(x, 0) $$

    At the kink the slope is taken to be 0. A unit whose inputs are all negative gets no gradient, and stays so.

    The usual first choice for hidden layers. Where units die, lower the rate or take `leaky_relu`, `elu` or `maxout`;
    `tanh` has its place where outputs must be bounded; `sigmoid` has none in a hidden layer, since its slope is at most
    ¼ and its outputs have one sign (`gradlab explain sigmoid-problems --show FILE.html`).

    >>> ReLU()(torch.tensor([-1.0, 0.0, 2.0])).tolist()
    [0.0, 0.0, 2.0]
    """

    behaviour = Behaviour(range=(0.0, inf), steep=(0.0, inf), dead=(-inf, 0.0))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.relu(x)


def _slope(*, slope: NonNegative) -> dict[str, Any]:
    return {"negative_slope": slope}


@block("activation.leaky_relu", flops="O(n)", memory="O(n)", old=_slope)
class LeakyReLU(Activation):
    r"""The positive part, and a small share of the negative one, so that no unit dies.

    $$ f(x) = \begin{cases} x & x > 0 \\ a x & x \le 0 \end{cases} $$

    It is not max(x, a x), which is another function for a > 1. a is `negative_slope`.

    >>> LeakyReLU(0.1)(torch.tensor([-1.0, 2.0])).tolist()
    [-0.10000000149011612, 2.0]
    """

    behaviour = Behaviour(range=(-inf, inf))

    def __init__(self, negative_slope: Annotated[NonNegative, "slope for x < 0"] = 0.01):
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.leaky_relu(x, self.negative_slope)


@block("activation.prelu", flops="O(n)", memory="O(n)")
class PReLU(Activation):
    r"""Leaky ReLU whose slope for negative inputs is learned: one for all features, or one for each.

    $$ f(x)_c = \begin{cases} x_c & x_c > 0 \\ a_c x_c & x_c \le 0 \end{cases} $$

    a is `weight`. With several, the features are on axis 1, as torch.nn has it. He et al. 2015, arXiv:1502.01852.

    >>> PReLU()(torch.tensor([-1.0, 2.0])).tolist()
    [-0.25, 2.0]
    """

    behaviour = Behaviour(range=(-inf, inf))

    def __init__(
        self,
        num_parameters: Annotated[Count, "slopes that are learned: one, or one for each feature"] = 1,
        init: Annotated[float, "slope for x < 0 to begin with"] = 0.25,
    ):
        super().__init__()
        self.num_parameters = num_parameters
        self.weight = nn.Parameter(torch.full((num_parameters,), init))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.prelu(x, self.weight)


@block("activation.elu", flops="O(n)", memory="O(n)")
class ELU(Activation):
    r"""The positive part, and an exponential below that levels off at -α.

    $$ f(x) = \begin{cases} x & x > 0 \\ \alpha (e^x - 1) & x \le 0 \end{cases} $$

    With α = 1 it has no kink, and outputs whose mean is nearer 0 than those of ReLU. Clevert et al. 2015,
    arXiv:1511.07289.

    >>> ELU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    behaviour = Behaviour(range=(-1.0, inf), steep=(-4.6052, inf))

    def __init__(self, alpha: Annotated[Positive, "the limit for x → -∞ is -alpha"] = 1.0):
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.elu(x, self.alpha)


def _form(*, form: Literal["exact", "tanh"]) -> dict[str, Any]:
    return {"approximate": "none" if form == "exact" else form}


@block("activation.gelu", flops="O(n)", memory="O(n)", old=_form)
class GELU(Activation):
    r"""The input times the probability that a standard normal number is smaller than it.

    $$ f(x) = x \, \Phi(x) = \frac{x}{2} \left( 1 + \mathrm{erf} \frac{x}{\sqrt{2}} \right) $$

    `approximate="tanh"` takes another function of nearly the same values, with which many models were trained:

    $$ f(x) \approx \frac{x}{2} \left( 1 + \tanh \left( \sqrt{\frac{2}{\pi}} \, (x + 0.044715 \, x^3) \right) \right) $$

    Hendrycks & Gimpel 2016, arXiv:1606.08415.

    >>> GELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """

    behaviour = Behaviour(range=(-0.17, inf), steep=(-3.0674, inf))

    def __init__(self, approximate: Annotated[Literal["none", "tanh"], "exact, or by tanh"] = "none"):
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.gelu(x, approximate=self.approximate)


@block("activation.silu", flops="O(n)", memory="O(n)")
class SiLU(Activation):
    r"""The input times its sigmoid.

    $$ f(x) = x \, \sigma(x) = \frac{x}{1 + e^{-x}} $$

    >>> SiLU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

    behaviour = Behaviour(range=(-0.2785, inf), steep=(-6.2614, inf))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.silu(x)


@block("activation.sigmoid", flops="O(n)", memory="O(n)")
class Sigmoid(Activation):
    r"""The inverse of the logit: any number becomes a probability.

    $$ \sigma(x) = \frac{1}{1 + e^{-x}} $$

    Its slope is σ(1 - σ), at most ¼: a stack of sigmoids passes little gradient, and its outputs are not centred on 0.

    >>> Sigmoid()(torch.tensor([-120.0, 0.0, 120.0])).tolist()
    [0.0, 0.5, 1.0]
    """

    behaviour = Behaviour(range=(0.0, 1.0), steep=(-4.5952, 4.5952))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return torch.sigmoid(x)


@block("activation.tanh", flops="O(n)", memory="O(n)")
class Tanh(Activation):
    r"""The sigmoid, stretched to values from -1 to 1.

    $$ \tanh x = \frac{e^x - e^{-x}}{e^x + e^{-x}} = 2 \sigma(2x) - 1 $$

    >>> Tanh()(torch.tensor([-120.0, 0.0, 120.0])).tolist()
    [-1.0, 0.0, 1.0]
    """

    behaviour = Behaviour(range=(-1.0, 1.0), steep=(-2.9932, 2.9932))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return torch.tanh(x)


@block("activation.softplus", flops="O(n)", memory="O(n)")
class Softplus(Activation):
    r"""A smooth ReLU, positive everywhere; its slope is the sigmoid.

    $$ f(x) = \log(1 + e^x) $$

    >>> Softplus()(torch.tensor([-120.0, 0.0, 120.0]))
    tensor([  0.0000,   0.6931, 120.0000])
    """

    behaviour = Behaviour(range=(0.0, inf), steep=(-4.5952, inf))

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return F.softplus(x, threshold=40.0)  # above 40 it is x in float64 too; above torch's own 20 it is not


@block(
    "activation.maxout",
    flops="2·n·k·d·h",
    memory="O(n·k·h)",
    letters="n vectors of d features, h outputs and k maps, `pieces`",
)
class Maxout(nn.Module):
    r"""The largest of several affine maps: an activation that is learned.

    $$ f(x)_i = \max_k \, (W_k x + b_k)_i $$

    It is convex and piecewise linear; with the maps x and 0 it is ReLU. Goodfellow et al. 2013, arXiv:1302.4389.

    >>> Maxout(4, 2, pieces=3)(torch.zeros(5, 4)).shape
    torch.Size([5, 2])
    """

    def __init__(self, in_features: Count, out_features: Count, pieces: Count = 2):
        super().__init__()
        self.in_features, self.out_features, self.pieces = in_features, out_features, pieces
        self.weight = nn.Parameter(torch.empty(pieces, out_features, in_features))
        self.bias = nn.Parameter(torch.zeros(pieces, out_features))
        nn.init.normal_(self.weight, std=in_features**-0.5)

    def forward(self, x: Float[Tensor, "*batch {self.in_features}"]) -> Float[Tensor, "*batch {self.out_features}"]:
        pieces = torch.einsum("...d, khd -> ...kh", x, self.weight) + self.bias
        return pieces.amax(-2)


@block("activation.softmax", flops="O(n)", memory="O(n)")
class Softmax(nn.Module):
    r"""Positive weights that sum to 1, larger for larger inputs: a soft form of choosing the largest.

    $$ \mathrm{softmax}(x)_i = \frac{e^{x_i / T}}{\sum_j e^{x_j / T}} $$

    T is `temperature`: the colder, the sharper, and in the limit of 0 all the weight is on the largest entry. What is
    added to all entries alike changes nothing.

    >>> Softmax(temperature=0.1)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([2.0611e-09, 4.5398e-05, 9.9995e-01])
    """

    def __init__(
        self,
        dim: Annotated[int, "the axis whose entries sum to 1"] = -1,
        temperature: Annotated[Positive, "the colder, the sharper"] = 1.0,
    ):
        super().__init__()
        self.dim, self.temperature = dim, temperature

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        return torch.softmax(x / self.temperature, self.dim)


@block("activation.argmax", flops="O(n)", memory="O(n)")
class Argmax(nn.Module):
    r"""All the weight on the largest entry: softmax at temperature 0.

    $$ f(x)_i = \lim_{T \to 0} \mathrm{softmax}(x / T)_i
       = \begin{cases} 1/m & x_i = \max_j x_j \\ 0 & x_i < \max_j x_j \end{cases} $$

    m is the number of entries that are the largest, among which the limit divides the weight. No gradient passes.

    >>> Argmax()(torch.tensor([1.0, 3.0, 3.0])).tolist()
    [0.0, 0.5, 0.5]
    """

    def __init__(self, dim: Annotated[int, "the axis along which the largest is looked for"] = -1):
        super().__init__()
        self.dim = dim

    def forward(self, x: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
        largest = (x == x.amax(self.dim, keepdim=True)).to(x.dtype)
        return largest / largest.sum(self.dim, keepdim=True)
