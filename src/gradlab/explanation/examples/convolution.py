"""A worked example of a convolutional layer: three channels, a frame of zeros, a bias, ReLU and pooling."""

import torch

from gradlab.explanation.walk import Step, rows, worked
from gradlab.nn import AvgPool2d, Conv2d, MaxPool2d, ReLU

PICTURE = torch.tensor([
    [[2, 1, 0, 0], [0, 0, 2, 1], [0, 2, 0, 1], [2, 1, 0, 1]],
    [[2, 2, 0, 0], [0, 0, 2, 1], [0, 0, 2, 0], [0, 1, 0, 1]],
    [[2, 1, 0, 0], [0, 0, 2, 1], [2, 0, 0, 0], [0, 1, 0, 1]],
]).float()  # fmt: skip
KERNEL = torch.tensor([
    [[1, 0, 0], [0, -2, 0], [0, 0, -1]],
    [[1, 2, 0], [2, 0, -1], [0, -1, 1]],
    [[0, 0, -2], [0, 1, 2], [-2, 2, 0]],
]).float()  # fmt: skip
BIAS = 2.0


@worked("conv-worked-example", "A picture of three channels through a convolution, ReLU and two kinds of pooling")
def conv_worked_example() -> list[Step]:
    x, layer = PICTURE[None], Conv2d(3, 1, 3, padding=1)
    layer.load_state_dict({"weight": KERNEL[None], "bias": torch.tensor([BIAS])})
    with torch.no_grad():
        alone = [torch.conv2d(x[:, [c]], KERNEL[c][None, None], padding=1)[0, 0] for c in range(3)]
        y = ReLU()(layer(x))
        flipped = ReLU()(torch.conv2d(x, KERNEL[None].flip(2, 3), padding=1) + BIAS)
        largest, mean = MaxPool2d(2)(y)[0, 0], AvgPool2d(2)(y)[0, 0]
        other = MaxPool2d(2)(flipped)[0, 0]
    return [
        Step("A picture of 4 × 4 pixels in three channels.", values=_channels("X", PICTURE)),
        Step("One filter: a kernel of 3 × 3 for each channel, and a bias of 2.", values=_channels("W", KERNEL)),
        Step(
            "Around each channel comes a frame of zeros, and its kernel slides over it. The kernel is not flipped: "
            "this is cross-correlation, as in every library of neural networks.",
            r"(X_c \star W_c)_{ij} = \sum_{u=-1}^{1} \sum_{v=-1}^{1} W_{c,uv} \, X_{c,\,i+u,\,j+v}",
            _channels("X*W", torch.stack(alone)),
        ),
        Step(
            "The channels are summed, the bias is added, and ReLU leaves what is above 0.",
            r"Y = \mathrm{relu}\Big(\sum_c X_c \star W_c + 2\Big)",
            rows(y[0, 0]),
        ),
        Step("The largest of each window of 2 × 2:", values=rows(largest)),
        Step("And the mean of each, also of Y:", values=rows(mean)),
        Step(
            "With flipped kernels, the convolution of mathematics, the largest are others.",
            values=rows(other),
        ),
    ]


def _channels(name: str, values: torch.Tensor) -> str:
    """Side by side, with a title each."""
    blocks = [rows(channel).splitlines() for channel in values]
    titles = [f"{name.replace('*', f'{c} * ')}{c}" for c in range(len(blocks))]
    columns = [[title, *block] for title, block in zip(titles, blocks, strict=True)]
    widths = [max(map(len, column)) for column in columns]
    lines = zip(*columns, strict=True)
    return "\n".join("     ".join(c.ljust(w) for c, w in zip(line, widths, strict=True)).rstrip() for line in lines)
