"""What is known of the errors δ of backpropagation."""

from collections.abc import Callable

import torch
from torch import Tensor

from gradlab.maths import backprop as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference
from gradlab.verification.subject import subject

OUTPUT, HIDDEN, WHOLE = "maths.output_error", "maths.hidden_error", "maths.backpropagate"
subject(OUTPUT)(ours.output_error)
subject(HIDDEN)(ours.hidden_error)
subject(WHOLE)(ours.backpropagate)

Map = Callable[[Tensor], Tensor]

HEADS: dict[str, Map] = {
    "softmax": lambda z: z.softmax(-1),
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "unit length": lambda z: z / (1 + z.square().sum()).sqrt(),
}
ACTIVATIONS: dict[str, Map] = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "softplus": torch.nn.functional.softplus}


def _loss(case: Case, outputs: int) -> Map:
    target = case.tensor("target", outputs).detach()
    kind = case.choice("loss", ("half square", "sum of cubes", "log"))
    losses: dict[str, Map] = {
        "half square": lambda a: 0.5 * (a - target).square().sum(),
        "sum of cubes": lambda a: (a - target).pow(3).sum(),
        "log": lambda a: -(target * (a.square() + 1).log()).sum(),
    }
    return losses[kind]


def _canonical(z: Tensor, head: Map, loss: Map) -> Tensor:
    """The derivative by a itself, as if the head were the canonical one."""
    slope: Tensor = torch.func.grad(loss)(head(z))
    return slope


def _diagonal(z: Tensor, head: Map, loss: Map) -> Tensor:
    """As if the head took each entry alone, which softmax does not."""
    slopes: Tensor = torch.func.jacrev(head)(z).diagonal()
    return slopes * _canonical(z, head, loss)


@law(OUTPUT, id="backprop-delta-output", fault=[_canonical, _diagonal])
def it_is_the_heads_jacobian_times_the_slope_of_the_loss(case: Case) -> float:
    r"""$δ^{[L]} = (∂g/∂z)^⊤ ∂E/∂a = ∂E(g(z))/∂z$, for any head g and loss E"""
    z = case.tensor("z", case.integer("outputs", 2, 5))
    head, loss = HEADS[case.choice("head", tuple(HEADS))], _loss(case, len(z))
    (wanted,) = torch.autograd.grad(loss(head(z)), z)
    return difference(case.build()(z.detach(), head, loss), wanted)


def _layers(case: Case, count: int) -> tuple[Tensor, list[ours.Layer]]:
    sizes = [case.integer(f"units {i}", 2, 4) for i in range(count + 1)]
    weights = [case.tensor(f"W{i}", sizes[i], sizes[i - 1]) for i in range(1, count + 1)]
    biases = [case.tensor(f"b{i}", sizes[i]) for i in range(1, count + 1)]
    return case.tensor("x", sizes[0]).detach(), list(zip(weights, biases, strict=True))


def _without_slope(z: Tensor, activation: Map, weight: Tensor, error: Tensor) -> Tensor:
    return weight.mT @ error


def _slope_of_value(z: Tensor, activation: Map, weight: Tensor, error: Tensor) -> Tensor:
    """σ' at the activation a instead of at z."""
    return ours.hidden_error(activation(z), activation, weight, error)


@law(HIDDEN, id="backprop-delta-hidden", fault=[_without_slope, _slope_of_value])
def it_comes_from_the_next_layer_through_the_weight(case: Case) -> float:
    r"""$δ^{[l]} = σ'(z^{[l]}) ⊙ (W^{[l+1]})^⊤ δ^{[l+1]}$"""
    x, ((weight, bias), (following, shift)) = _layers(case, 2)
    sigma, loss = ACTIVATIONS[case.choice("activation", tuple(ACTIVATIONS))], _loss(case, len(following))
    z = (weight @ x + bias).detach().requires_grad_()
    last = following @ sigma(z) + shift
    hidden, output = torch.autograd.grad(loss(last), (z, last))
    return difference(case.build()(z.detach(), sigma, following.detach(), output), hidden)


def _first_inputs(x: Tensor, layers: list[ours.Layer], activation: Map, head: Map, loss: Map) -> list[ours.Layer]:
    """The weight of a layer learns from what came out of it, not from what went in."""
    right = ours.backpropagate(x, layers, activation, head, loss)
    return [(torch.outer(bias, torch.ones(weight.shape[1], dtype=bias.dtype)), bias) for weight, bias in right]


@law(WHOLE, id=("backprop-delta-hidden", "backprop-param-grads"), fault=_first_inputs)
def all_gradients_are_those_of_autograd(case: Case) -> float:
    r"""$∂E/∂W^{[l]} = δ^{[l]} (a^{[l-1]})^⊤$ and $∂E/∂b^{[l]} = δ^{[l]}$ in every layer"""
    x, layers = _layers(case, case.integer("layers", 1, 4))
    sigma = ACTIVATIONS[case.choice("activation", tuple(ACTIVATIONS))]
    head, loss = HEADS[case.choice("head", tuple(HEADS))], _loss(case, len(layers[-1][1]))
    a = x
    for weight, bias in layers[:-1]:
        a = sigma(weight @ a + bias)
    value = loss(head(layers[-1][0] @ a + layers[-1][1]))
    wanted = torch.autograd.grad(value, [parameter for layer in layers for parameter in layer])
    constant = [(weight.detach(), bias.detach()) for weight, bias in layers]
    results = case.build()(x, constant, sigma, head, loss)
    return difference([gradient for layer in results for gradient in layer], wanted)
