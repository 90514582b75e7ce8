"""Worked examples of PyTorch's own parts: transforms, blocks, and a module of one's own."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gradlab.data.preprocessing import Preprocessing
from gradlab.explanation.walk import Step, worked
from gradlab.models.mlp import mlp
from gradlab.nn import Linear, ReLU, Softmax
from gradlab.specs import Picture


class Network(nn.Module):
    """784-512-512-10."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.layers = nn.Sequential(
            nn.Linear(28 * 28, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
        )

    def forward(self, x: Tensor) -> Tensor:
        logits: Tensor = self.layers(self.flatten(x))
        return logits


@worked("totensor-onehot", "Pixels from 0 to 255 as numbers from 0 to 1, and a class as a one-hot vector")
def totensor_onehot() -> list[Step]:
    pixels = torch.tensor([[0, 51], [102, 255]], dtype=torch.uint8)
    scaled = pixels.float() / 255
    training = torch.tensor([[[[10, 51], [102, 210]]]], dtype=torch.uint8).numpy()
    fitted = Preprocessing.fit(training, "scale", [], [])
    by_training = fitted(pixels[None, None].numpy())
    by_scatter = torch.zeros(10).scatter_(0, torch.tensor(3), value=1)
    same = by_scatter.equal(F.one_hot(torch.tensor(3), 10).float())
    return [
        Step(
            "ToTensor divides bytes by 255. That is no standardising: mean and deviation stay those of the picture.",
            r"x' = x / 255",
            f"{pixels.tolist()} → {[[round(v, 2) for v in row] for row in scaled.tolist()]}, "
            f"mean {float(scaled.mean()):.2f}",
        ),
        Step(
            "data.preprocess=scale takes the least and the largest value of the training pictures instead, here 10 and "
            "210, so that others may lie outside.",
            r"x' = \frac{x - \mathrm{min}}{\mathrm{max} - \mathrm{min}}",
            f"{[[round(v, 2) for v in row] for row in by_training[0, 0].tolist()]}",
        ),
        Step(
            "A class becomes the vector with 1 at its place: zeros, and a 1 scattered to the index.",
            r"\mathrm{onehot}(3) = e_3",
            f"{[int(v) for v in by_scatter.tolist()]}, as torch.nn.functional.one_hot has it: {same}",
        ),
        Step("A loss that takes classes, as cross-entropy does, needs no one-hot targets: it picks the entry itself."),
    ]


@worked("building-blocks-demo", "Flatten, Linear, ReLU and Softmax: what goes in and what comes out")
def building_blocks_demo() -> list[Step]:
    generator = torch.Generator().manual_seed(0)
    x, y = torch.rand(3, 28, 28, generator=generator), torch.rand(3, 8, generator=generator) - 0.5
    linear, softmax = Linear(8, 4), Softmax(dim=1)
    rows = softmax(y).sum(1)
    return [
        Step(
            "Flatten makes one axis of all but the first. It is torch.nn's own, which gradlab's models use too: there "
            "is nothing to add to it.",
            values=f"{tuple(x.shape)} → {tuple(nn.Flatten()(x).shape)}",
        ),
        Step(
            "Linear maps each row, here of 8 numbers to 4.",
            r"y = W x + b",
            f"{tuple(y.shape)} → {tuple(linear(y).shape)}, {8 * 4 + 4} parameters",
        ),
        Step(
            "ReLU keeps the shape, and makes 0 of what is negative.",
            r"\max(0, x)",
            f"{tuple(y.shape)} → {tuple(ReLU()(y).shape)}; below 0: {int((y < 0).sum())} before, "
            f"{int((ReLU()(y) < 0).sum())} after",
        ),
        Step(
            "Softmax keeps the shape too; along its axis the numbers are positive and sum to 1.",
            r"\frac{e^{x_i}}{\sum_j e^{x_j}}",
            f"{tuple(y.shape)} → {tuple(softmax(y).shape)}; sums {[round(v, 4) for v in rows.tolist()]}",
        ),
    ]


@worked("nn-module", "A module of one's own: its parameters by name, and why it is called and not its forward")
def nn_module() -> list[Step]:
    model, calls = Network(), list[str]()
    model.register_forward_hook(lambda module, inputs, output: calls.append("hook"))
    picture = torch.rand(1, 28, 28, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        same = model(picture).equal(model.forward(picture))
    named = [f"{name} {'×'.join(map(str, p.shape))}" for name, p in model.named_parameters()]
    count = sum(parameter.numel() for parameter in model.parameters())
    ours = sum(parameter.numel() for parameter in mlp(Picture(1, 28, 28), 10, hidden=[512, 512]).parameters())
    return [
        Step(
            "A subclass of nn.Module makes its layers in __init__ and says in forward what is done with them. What is "
            "assigned to self is found again by its name.",
            values="; ".join(named),
        ),
        Step(
            "How many numbers there are to learn; model=mlp with hidden=512,512 has as many.",
            r"784 \cdot 512 + 512 + 512 \cdot 512 + 512 + 512 \cdot 10 + 10",
            f"{count:,} and {ours:,}",
        ),
        Step(
            "model(x) calls forward, and around it whatever was hooked to the module; model.forward(x) passes that "
            "over. So call the module.",
            values=f"the same numbers: {same}; the hook ran {len(calls)} time in two calls",
        ),
    ]
