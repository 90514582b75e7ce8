"""A worked example of a recurrent network of two layers, beside PyTorch's own."""

import torch
from torch import Tensor, nn

from gradlab.explanation.walk import Step, worked
from gradlab.nn import RNN

STEPS, BATCH, INPUTS, HIDDEN, LAYERS = 5, 3, 10, 20, 2


@worked("pytorch-rnn-demo", "A network of two recurrent layers over five steps: what goes in, what comes out")
def pytorch_rnn_demo() -> list[Step]:
    with torch.random.fork_rng(devices=()), torch.no_grad():
        torch.manual_seed(0)
        net, theirs = RNN(INPUTS, HIDDEN, LAYERS), nn.RNN(INPUTS, HIDDEN, LAYERS)
        x, first = torch.randn(STEPS, BATCH, INPUTS), torch.randn(LAYERS, BATCH, HIDDEN)
        outputs, last = net(x, first)
        theirs.load_state_dict(net.state_dict())
        apart = _apart(outputs, theirs(x, first)[0])
        moved = {amounts: _apart(_with_biases(net, amounts, x, first), outputs) for amounts in ((1, -1), (1, 1))}
    parameters = {name: tuple(parameter.shape) for name, parameter in net.named_parameters()}
    shapes = {"x": x, "h₀": first, "outputs": outputs, "h₅": last}
    count = sum(parameter.numel() for parameter in net.parameters())
    return [
        Step(
            f"`RNN({INPUTS}, {HIDDEN}, {LAYERS})`: {INPUTS} numbers at each step, {HIDDEN} hidden ones in each of two "
            "layers. The second layer reads the states of the first, not the input.",
            r"h^{(l)}_t = \tanh\big(U^{(l)} h^{(l-1)}_t + b^{(l)} + W^{(l)} h^{(l)}_{t-1} + c^{(l)}\big), "
            r"\qquad h^{(0)}_t = x_t",
        ),
        Step(
            f"Eight tensors of parameters, with {count:,} numbers:",
            values="\n".join(f"{name:<14}{shape}" for name, shape in parameters.items()),
        ),
        Step(
            f"{STEPS} steps of {BATCH} sequences, and a state for each layer to begin with.",
            values=", ".join(f"{name} {tuple(value.shape)}" for name, value in shapes.items()),
        ),
        Step(
            "The outputs are the states of the upper layer at every step; the last of them is in the final state.",
            values=f"largest difference {_apart(outputs[-1], last[-1]):.1g}",
        ),
        Step("PyTorch's own `nn.RNN` with the same weights:", values=f"largest difference {apart:.1g}"),
        Step(
            "The two biases of a layer add up. Adding 1 to the one and -1 to the other changes nothing but rounding; "
            "1 to both does.",
            r"(b + 1) + (c - 1) = b + c",
            "\n".join(f"{up:+d} and {down:+d}: outputs differ by {size:.1g}" for (up, down), size in moved.items()),
        ),
    ]


def _apart(a: Tensor, b: Tensor) -> float:
    return float((a - b).abs().max())


def _with_biases(net: RNN, amounts: tuple[int, int], x: Tensor, first: Tensor) -> Tensor:
    """The outputs with these added to the biases of input and state."""
    more = dict(zip(("bias_ih", "bias_hh"), amounts, strict=True))
    changed = {name: weight + more.get(name[:7], 0) for name, weight in net.named_parameters()}
    outputs: Tensor = torch.func.functional_call(net, changed, (x, first))[0]
    return outputs
