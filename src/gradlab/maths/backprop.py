"""Backpropagation as the course writes it: the errors δ of the layers, from the last to the first.

Layer by layer $z = W a + b$ and then $a = \\sigma(z)$; the last layer has a head of its own, $a = g(z)$. Of each layer,
$\\delta = \\partial E / \\partial z$.
"""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.func import grad, jacrev, vjp

Entrywise = Callable[[Tensor], Tensor]
Layer = tuple[Float[Tensor, "outputs inputs"], Float[Tensor, " outputs"]]
"""A weight and a bias."""


def output_error(
    z: Float[Tensor, " outputs"], head: Callable[[Tensor], Tensor], loss: Callable[[Tensor], Tensor]
) -> Float[Tensor, " outputs"]:
    r"""The error of the last layer, for any head and any loss of what the head answers.

    $$ \delta^{[L]} = \left( \frac{\partial g}{\partial z} \right)^{\!\top} \frac{\partial E}{\partial a},
       \qquad a = g(z) $$

    Only for pairs such as softmax and cross-entropy is it a - y.

    >>> target = torch.tensor([0.0, 1.0])
    >>> z = torch.tensor([0.0, 0.0])
    >>> output_error(z, lambda z: z.softmax(-1), lambda a: -(target * a.log()).sum())
    tensor([ 0.5000, -0.5000])
    >>> output_error(z, torch.sigmoid, lambda a: 0.5 * (a - target).square().sum())
    tensor([ 0.1250, -0.1250])
    """
    error: Tensor = jacrev(head)(z).mT @ grad(loss)(head(z))
    return error


def hidden_error(
    z: Float[Tensor, " units"],
    activation: Entrywise,
    weight: Float[Tensor, "next units"],
    error: Float[Tensor, " next"],
) -> Float[Tensor, " units"]:
    r"""The error of a hidden layer, from that of the next one.

    $$ \delta^{[l]} = \sigma'(z^{[l]}) \odot (W^{[l+1]})^\top \delta^{[l+1]} $$

    >>> hidden_error(torch.tensor([1.0, -1.0]), torch.relu, torch.tensor([[2.0, 3.0]]), torch.tensor([10.0]))
    tensor([20.,  0.])
    """
    slope: Tensor
    (slope,) = vjp(activation, z)[1](torch.ones_like(z))
    return slope * (weight.mT @ error)


def parameter_gradients(error: Float[Tensor, " outputs"], inputs: Float[Tensor, " inputs"]) -> Layer:
    r"""The gradients of a layer's weight and bias.

    $$ \frac{\partial E}{\partial W^{[l]}} = \delta^{[l]} (a^{[l-1]})^\top, \qquad
       \frac{\partial E}{\partial b^{[l]}} = \delta^{[l]} $$

    >>> parameter_gradients(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))[0]
    tensor([[3., 4.],
            [6., 8.]])
    """
    return torch.outer(error, inputs), error


def backpropagate(
    x: Float[Tensor, " inputs"],
    layers: Sequence[Layer],
    activation: Entrywise,
    head: Callable[[Tensor], Tensor],
    loss: Callable[[Tensor], Tensor],
) -> list[Layer]:
    """The gradients of all layers: forwards once, keeping z and a of each, and backwards once.

    >>> layers = [(torch.eye(2), torch.zeros(2)), (torch.ones(1, 2), torch.zeros(1))]
    >>> (_, bias), _ = backpropagate(torch.tensor([3.0, -1.0]), layers, torch.relu, lambda z: z, lambda a: a.sum())
    >>> bias
    tensor([1., 0.])
    """
    a, zs, inputs = x, list[Tensor](), list[Tensor]()
    for weight, bias in layers:
        inputs.append(a)
        zs.append(weight @ a + bias)
        a = activation(zs[-1])
    error = output_error(zs[-1], head, loss)
    gradients = [parameter_gradients(error, inputs[-1])]
    for layer in reversed(range(len(layers) - 1)):
        error = hidden_error(zs[layer], activation, layers[layer + 1][0], error)
        gradients.append(parameter_gradients(error, inputs[layer]))
    return gradients[::-1]
