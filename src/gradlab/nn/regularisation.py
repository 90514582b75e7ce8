"""Regularisation: what keeps a network from learning its training examples by heart."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import block
from gradlab.registry import Positive, Probability


@block("regularisation.dropout", flops="O(n)", memory="O(n)")
class Dropout(nn.Dropout):
    r"""In training, each entry is dropped with probability p, and what is kept is enlarged to make up for it.

    $$ y = \frac{r \odot x}{1 - p}, \qquad r_i \sim \mathrm{Bernoulli}(1 - p) $$

    r is 0 with probability p, else 1. The mean of y over all r is x, so that at test time nothing is done; for what an
    affine layer makes of it the same holds, and for more than that not quite. Hinton et al. 2012, arXiv:1207.0580.
    Of n units n (1 - p) are left on average: a layer that would do with m without dropout should have m / (1 - p).

    >>> y = Dropout(p=0.2)(torch.ones(1000))
    >>> sorted(set(y.tolist()))
    [0.0, 1.25]
    """

    def __init__(self, p: Probability = 0.5):
        super().__init__(p)

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return F.dropout(x, self.p, self.training)


@block("regularisation.thinning", flops="O(n)", memory="O(n)")
class Thinning(nn.Module):
    r"""Dropout in its first form: entries are dropped in training, and all are made smaller at test time.

    $$ y_\text{training} = r \odot x, \qquad y_\text{test} = (1 - p) \, x $$

    with r as in dropout: both are 1 - p times what dropout gives. To scale the weights of the next layer at test time
    instead is the same, as long as its bias is left alone. Srivastava et al. 2014, jmlr.org/papers/v15/srivastava14a.

    >>> thinning = Thinning(p=0.2)
    >>> sorted(set(thinning(torch.ones(1000)).tolist())), thinning.eval()(torch.ones(2))
    ([0.0, 1.0], tensor([0.8000, 0.8000]))
    """

    def __init__(self, p: Probability = 0.5):
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        return (1 - self.p) * F.dropout(x, self.p, self.training)


@block("regularisation.stochastic_depth", flops="O(n)", memory="O(n)")
class StochasticDepth(nn.Module):
    r"""In training, the whole branch of a residual connection is dropped for an example with probability p.

    $$ y_i = \frac{r_i \, x_i}{1 - p}, \qquad r_i \sim \mathrm{Bernoulli}(1 - p) $$

    i counts the examples. As the last part of F in x + F(x) it leaves x alone for the examples that are dropped: a
    network of random depth. At test time nothing is done. Huang et al. 2016, arXiv:1603.09382, where instead the branch
    is made smaller at test time.

    >>> y = StochasticDepth(p=0.5)(torch.ones(1000, 2))
    >>> sorted(set(map(tuple, y.tolist())))
    [(0.0, 0.0), (2.0, 2.0)]
    """

    def __init__(self, p: Probability = 0.5):
        super().__init__()
        self.p = p

    def forward(self, x: Float[Tensor, "batch *shape"]) -> Float[Tensor, "batch *shape"]:
        each = x.new_ones(len(x), *(1 for _ in x.shape[1:]))
        return F.dropout(each, self.p, self.training) * x


@block("regularisation.l2", flops="O(n)", memory="O(1)")
def l2_penalty(weight: Float[Tensor, "*shape"], strength: float) -> Float[Tensor, ""]:
    r"""What is added to the loss for weights that are large.

    $$ \frac{\lambda}{2} \lVert w \rVert_2^2 $$

    λ is `strength`. Its gradient is λw, so that gradient descent makes every weight smaller by the same share.

    >>> l2_penalty(torch.tensor([3.0, -4.0]), strength=0.1)
    tensor(1.2500)
    """
    return strength / 2 * weight.square().sum()


@block("regularisation.l1", flops="O(n)", memory="O(1)")
def l1_penalty(weight: Float[Tensor, "*shape"], strength: float) -> Float[Tensor, ""]:
    r"""What is added to the loss for weights that are not 0.

    $$ \lambda \lVert w \rVert_1 $$

    λ is `strength`. Its gradient is λ sign(w), of the same size for small weights as for large ones, so that a weight
    that the loss does not hold ends at 0. At 0, where there is none, it is taken to be 0.

    >>> l1_penalty(torch.tensor([3.0, -4.0]), strength=0.1)
    tensor(0.7000)
    """
    return strength * weight.abs().sum()


@block("regularisation.weight_decay", flops="O(n)", memory="O(1)")
def weight_decay(
    weight: Float[Tensor, "*shape"], update: Float[Tensor, "*shape"], lr: float, strength: float
) -> Float[Tensor, "*shape"]:
    r"""One step of an optimiser, in which the weights become smaller by a share beside what the gradient does to them.

    $$ w \leftarrow (1 - \eta \lambda) \, w - \eta \, u $$

    η is `lr`, λ is `strength`, and u is the `update`, what the optimiser has made of the gradient g of the loss. In
    plain gradient descent u = g, and this is the step of a loss with an L2 penalty, whose gradient is g + λw. In Adam u
    is scaled, so that the penalty is another thing: it decays weights with large gradients less. Biases are not
    decayed. Loshchilov & Hutter 2017, arXiv:1711.05101.

    >>> weight_decay(torch.tensor([2.0, -1.0]), torch.zeros(2), lr=0.1, strength=0.5)
    tensor([ 1.9000, -0.9500])
    """
    return (1 - lr * strength) * weight - lr * update


@block("regularisation.max_norm", flops="O(n)", memory="O(n)")
def max_norm(weight: Float[Tensor, "units inputs *window"], longest: Positive) -> Float[Tensor, "units inputs *window"]:
    r"""The weights that come into each unit, shortened to a length c where they are longer.

    $$ w \leftarrow w \, \min \left( 1, \frac{c}{\lVert w \rVert} \right) $$

    c is `longest`, and is about 3 or 4. Unlike clipping, which shortens gradients, it bounds the weights themselves.

    >>> max_norm(torch.tensor([[3.0, 4.0], [0.0, 1.0]]), longest=2.5).tolist()
    [[1.5, 2.0], [0.0, 1.0]]
    """
    return weight * max_norm_factors(weight, longest)


def max_norm_factors(weight: Float[Tensor, "units inputs *window"], longest: Positive) -> Float[Tensor, "units *ones"]:
    """min(1, c / ‖w‖) for each unit: what its incoming weights are multiplied with."""
    lengths = torch.linalg.vector_norm(weight, dim=tuple(range(1, weight.ndim)), keepdim=True)
    factors: Tensor = longest / lengths.clamp(min=longest)
    return factors


@block("regularisation.label_smoothing", flops="O(n)", memory="0")
def label_smoothing(target: Float[Tensor, "*batch classes"], smoothing: Probability) -> Float[Tensor, "*batch classes"]:
    r"""Targets that leave some probability to every class, so that the network need not be certain.

    $$ q = (1 - \varepsilon) \, t + \frac{\varepsilon}{C} $$

    t is the `target`, one-hot or any distribution over the C classes, and ε is `smoothing`. The cross entropy is then
    least at finite logits. Szegedy et al. 2015, arXiv:1512.00567.

    >>> label_smoothing(torch.tensor([0.0, 1.0, 0.0, 0.0]), 0.2)
    tensor([0.0500, 0.8500, 0.0500, 0.0500])
    """
    return (1 - smoothing) * target + smoothing / target.shape[-1]
