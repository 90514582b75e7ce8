"""Worked examples of backpropagation: two small networks by hand, and a whole training in NumPy."""

import numpy as np
import torch
import torch.nn.functional as F

from gradlab.data.bundled import digits
from gradlab.explanation.walk import Step, worked
from gradlab.maths.backprop import backpropagate, hidden_error, output_error
from gradlab.scratch import Tensor
from gradlab.scratch.functions import sigmoid, tanh
from gradlab.scratch.networks import first_network

NAMES = ("b₁", "b₂", "w₁₁", "w₁₂", "w₂₁", "w₃₁", "w₃₂", "v₁", "v₂")
START = (0.1, -0.2, 0.5, 0.3, -0.4, 0.2, -0.6, 1.5, -2.0)
POINTS = [((1.0, 2.0, -1.0), 0.5), ((0.0, -1.0, 1.0), 1.0), ((2.0, 0.5, 0.0), -1.0)]
"""Inputs and their targets."""


def small_net(x: tuple[float, float, float], w: list[Tensor]) -> Tensor:
    """Three inputs, a hidden unit with σ and one with tanh, which does not see x₂; a linear output."""
    b1, b2, w11, w12, w21, w31, w32, v1, v2 = w
    a1 = sigmoid(w11 * x[0] + w21 * x[1] + w31 * x[2] + b1)
    a2 = tanh(w12 * x[0] + w32 * x[2] + b2)
    return v1 * a1 + v2 * a2


def nine_partials(x: tuple[float, float, float], w: tuple[float, ...]) -> list[float]:
    """Of the output by each parameter, in the order of `NAMES`, by their formulas."""
    b1, b2, w11, w12, w21, w31, w32, v1, v2 = w
    a1 = 1 / (1 + np.exp(-(w11 * x[0] + w21 * x[1] + w31 * x[2] + b1)))
    a2 = np.tanh(w12 * x[0] + w32 * x[2] + b2)
    first, second = v1 * a1 * (1 - a1), v2 * (1 - a2**2)
    return [first, second, first * x[0], second * x[0], first * x[1], first * x[2], second * x[2], a1, a2]


def gradient(value: Tensor, parameters: list[Tensor]) -> list[float]:
    """As the NumPy engine finds it."""
    for parameter in parameters:
        parameter.grad = None
    value.backward()
    return [float(p.grad) if p.grad is not None else 0.0 for p in parameters]


def listed(values: list[float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in zip(NAMES, values, strict=True))


@worked("small-net-gradient", "Three inputs, a sigmoid and a tanh unit: the nine derivatives by hand and by the engine")
def small_net_gradient() -> list[Step]:
    w, x, lr = [Tensor(value) for value in START], POINTS[0][0], 0.1
    output = small_net(x, w)
    by_hand, by_engine = nine_partials(x, START), gradient(output, w)
    largest = max(abs(a - b) for a, b in zip(by_hand, by_engine, strict=True))
    errors = [small_net(x, w) - y for x, y in POINTS]
    loss = 0.5 * (errors[0] ** 2 + errors[1] ** 2 + errors[2] ** 2)
    slopes = gradient(loss, w)
    after = [Tensor(value - lr * slope) for value, slope in zip(START, slopes, strict=True)]
    loss_after = sum(0.5 * float((small_net(x, after) - y).value) ** 2 for x, y in POINTS)
    return [
        Step(
            "The network: two hidden units, of which the second does not see x₂.",
            r"f = v_1 \, \sigma(w_{11} x_1 + w_{21} x_2 + w_{31} x_3 + b_1) "
            r"+ v_2 \tanh(w_{12} x_1 + w_{32} x_3 + b_2)",
            f"{listed(list(START))}; x = {x}: f = {float(output.value):.4f}",
        ),
        Step(
            "Those of the output weights are the hidden values themselves.",
            r"\frac{\partial f}{\partial v_1} = a_1 \qquad \frac{\partial f}{\partial v_2} = a_2",
            f"a₁ = {by_hand[7]:.4f}, a₂ = {by_hand[8]:.4f}",
        ),
        Step(
            r"All others pass an activation, whose slope is $\sigma' = \sigma (1 - \sigma)$ or $\tanh' = 1 - \tanh^2$.",
            r"\frac{\partial f}{\partial w_{i1}} = v_1 a_1 (1 - a_1) x_i \qquad "
            r"\frac{\partial f}{\partial w_{i2}} = v_2 (1 - a_2^2) x_i",
            listed(by_hand),
        ),
        Step("The engine finds the same nine from the graph alone.", values=f"largest difference {largest:.1e}"),
        Step(
            "The gradient of the loss over three points is their sum, each times its error.",
            r"\nabla L = \sum_n (f(x_n) - y_n) \nabla f(x_n), \qquad L = \tfrac{1}{2} \sum_n (f(x_n) - y_n)^2",
            f"L = {float(loss.value):.4f}; {listed(slopes)}",
        ),
        Step(
            f"A step of gradient descent with the learning rate {lr} lowers it.",
            r"w \leftarrow w - \eta \nabla L",
            f"L = {loss_after:.4f}",
        ),
    ]


WEIGHTS = [[[1.0, -0.5], [0.5, 1.0]], [[0.5, -1.0], [-2.0, 0.5]]]
BIASES = [[-0.5, -0.5], [1.0, 1.0]]


@worked("relu-net-worked", "Two inputs, two hidden and two output units with ReLU: forwards, backwards and a step")
def relu_net_worked() -> list[Step]:
    x, target, lr = torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]), 0.01
    layers = [(torch.tensor(w), torch.tensor(b)) for w, b in zip(WEIGHTS, BIASES, strict=True)]

    def loss(y: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(y, target)

    (first, b1), (second, b2) = layers
    z1 = first @ x + b1
    h = z1.relu()
    z2 = second @ h + b2
    y = z2.relu()
    last = output_error(z2, torch.relu, loss)
    hidden = hidden_error(z1, torch.relu, second, last)
    (d_first, _), (d_second, _) = backpropagate(x, layers, torch.relu, torch.relu, loss)
    chosen = {
        "w₃₁": (second[0, 0], d_second[0, 0]),
        "w₄₂": (second[1, 1], d_second[1, 1]),
        "w₂₂": (first[1, 1], d_first[1, 1]),
    }
    steps = [f"{name}: {w:g} - {lr:g} · ({g:g}) = {w - lr * g:.4g}" for name, (w, g) in chosen.items()]
    return [
        Step(
            "Forwards, layer by layer.",
            r"h = \mathrm{ReLU}(W x + b), \qquad y = \mathrm{ReLU}(V h + c)",
            f"before ReLU {z1.tolist()}, h = {h.tolist()}; before ReLU {z2.tolist()}, y = {y.tolist()}",
        ),
        Step(
            f"The mean of the squared errors, for the targets {target.tolist()}.",
            r"E = \tfrac{1}{2} \left( (y_1 - t_1)^2 + (y_2 - t_2)^2 \right)",
            f"E = {loss(y):g}",
        ),
        Step(
            "Backwards: the first output is off, so no error passes it.",
            r"\delta = \mathrm{ReLU}'(z) \odot \frac{\partial E}{\partial y}",
            f"δ of the outputs = {last.tolist()}",
        ),
        Step(
            "Through the weights to the hidden units, of which the first is off too.",
            r"\delta^{[1]} = \mathrm{ReLU}'(z^{[1]}) \odot V^\top \delta",
            f"δ of the hidden units = {hidden.tolist()}",
        ),
        Step(
            f"Three weights after one step with the learning rate {lr:g}: the first, between two units that are off, "
            "learns nothing.",
            r"w \leftarrow w - \eta \, \delta \, a",
            "; ".join(steps),
        ),
    ]


@worked("numpy-mnist-net", "The first network in NumPy: ten hidden units, gradient descent on all pictures at once")
def numpy_mnist_net() -> list[Step]:
    raw = digits(0)
    inputs = np.asarray(raw.inputs, dtype=np.float64).reshape(len(raw.inputs), -1) / 16
    classes = np.asarray(raw.targets)
    train, test = np.arange(len(inputs)) < 1500, np.arange(len(inputs)) >= 1500
    ends, histories = [], []
    for seed in range(2):
        network, history = first_network(inputs[train], classes[train], np.random.RandomState(seed))
        ends.append(network.accuracy(inputs[test], classes[test]))
        histories.append(history)
    return [
        Step(
            "8×8 digits in place of those of MNIST: 1,500 to learn from, 297 to test. One hidden layer of 10 ReLU "
            "units; all weights begin uniform on (-1, 1).",
            r"\hat y = \mathrm{softmax}(W_2 \, \mathrm{ReLU}(W_1 x + b_1) + b_2)",
            f"parameters: {64 * 10 + 10 + 10 * 10 + 10}",
        ),
        Step(
            "500 steps of gradient descent, each on all pictures, with the learning rate 0.1. The start decides much: "
            "the accuracy on the training pictures, of two seeds.",
            r"\theta \leftarrow \theta - 0.1 \, \nabla_\theta \, \tfrac{1}{n} \sum_i - \log \hat y_{i, y_i}",
            "; ".join(
                f"seed {seed}: {history[0]:.3f} at first, {history[100]:.3f} after 100 steps, {history[-1]:.3f} at last"
                for seed, history in enumerate(histories)
            ),
        ),
        Step("On pictures that were held out:", values=", ".join(f"{share:.3f}" for share in ends)),
    ]
