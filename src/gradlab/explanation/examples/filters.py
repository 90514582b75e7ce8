"""Worked examples of filters: kernels that are known, on small pictures."""

import tempfile
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from gradlab.explanation.walk import Step, matrix, rows, worked
from gradlab.nn.filters import Filter, GaussianBlur, MeanBlur, Sharpen, Sobel

EDGE = torch.tensor([[0.0, 0, 0, 100, 100, 100, 100]]).expand(5, -1)
"""Black on the left, white on the right."""


def applied(block: nn.Module, picture: Tensor) -> Tensor:
    """To a picture of one channel."""
    filtered: Tensor = block(picture[None, None])[0, 0]
    return filtered


def constant(block: Filter) -> str:
    """What becomes of a picture whose pixels are all 70."""
    answer = applied(block, torch.full((5, 5), 70.0))
    return f"kernel sum {block.kernel.sum() / block.divisor:g}: all 70 → {answer.min():.4g} to {answer.max():.4g}"


@worked("mean-blur", "The mean of 5 × 5 pixels: an edge becomes a slope, and a constant picture stays")
def mean_blur() -> list[Step]:
    blur = MeanBlur()
    return [
        Step("Each of 25 pixels counts the same.", rf"K = \frac{{1}}{{25}} {matrix(blur.kernel)}"),
        Step("A picture with an edge from black to white, in each row:", values=rows(EDGE[:1])),
        Step(
            "The kernel is put on each pixel in turn, and the mean of what it covers takes the pixel's place. Beyond "
            "the border, the picture is mirrored about its outermost pixels.",
            r"y_{ij} = \sum_{u=-2}^{2} \sum_{v=-2}^{2} K_{uv} \, x_{i+u,\, j+v}",
            rows(applied(blur, EDGE)[2:3]),
        ),
        Step("The weights sum to 1, and so brightness stays what it is.", r"\sum_{uv} K_{uv} = 1", constant(blur)),
    ]


@worked("gaussian-blur", "A mean in which near pixels count more")
def gaussian_blur() -> list[Step]:
    blur, dot = GaussianBlur(), torch.zeros(9, 9)
    dot[4, 4] = 273
    beside = torch.cat([applied(MeanBlur(), EDGE)[2:3], applied(blur, EDGE)[2:3]])
    return [
        Step(
            "Weights that fall with the distance from the middle: whole numbers, divided by their sum.",
            rf"K = \frac{{1}}{{273}} {matrix(blur.kernel)}",
            f"sum of the whole numbers: {int(blur.kernel.sum())}",
        ),
        Step("One pixel of 273 among zeros becomes the kernel itself.", values=rows(applied(blur, dot)[2:7, 2:7])),
        Step("Above, an edge after the plain mean; below, after this one: steeper at the edge.", values=rows(beside)),
        Step("The weights sum to 1.", values=constant(blur)),
    ]


@worked("sharpen-kernel", "Each pixel, moved away from the mean of its neighbours")
def sharpen_kernel() -> list[Step]:
    sharpen = Sharpen()
    soft = torch.tensor([[50.0, 50, 60, 80, 90, 90]]).expand(3, -1)
    beside = torch.cat([soft[:1], applied(sharpen, soft)[1:2]])
    return [
        Step(
            "The kernel: five times the pixel, less its four neighbours.",
            rf"K = {matrix(sharpen.kernel)}, \qquad y = x + 4 \, (x - \text{{mean of the four neighbours}})",
        ),
        Step(
            "A soft edge, in each row; and below it, sharpened.",
            values=rows(beside),
        ),
        Step("At its foot it is darker than before, and at its top brighter: it may leave the range of the picture."),
        Step("The kernel sums to 1, and so what is flat stays.", values=constant(sharpen)),
    ]


@worked("edge-kernels", "Sobel's pair: each answers to edges across its direction, and to nothing flat")
def edge_kernels() -> list[Step]:
    across, down = Sobel("x"), Sobel("y")
    upright = (EDGE[:, 1:6] / 100).contiguous()
    answers = {
        "sobel x on the upright edge": applied(across, upright),
        "sobel y on the upright edge": applied(down, upright),
        "sobel x on the level edge": applied(across, upright.mT.contiguous()),
    }
    return [
        Step(
            "The derivative from left to right, and that from top to bottom, each smoothed along the other direction.",
            rf"K_x = {matrix(across.kernel)} \qquad K_y = {matrix(down.kernel)}",
        ),
        Step("An upright edge:", values=rows(upright)),
        Step(
            "The derivative from left to right answers to the upright edge, and not to a level one: x is the direction "
            "in which it compares pixels, not the one in which edges lie.",
            values="\n\n".join(f"{name}:\n{rows(answer)}" for name, answer in answers.items()),
        ),
        Step("Both kernels sum to 0, and so constant areas give 0.", values=f"{constant(across)}\n{constant(down)}"),
    ]


@worked("opencv-filter", "A box of 5 × 5 over a picture file, as cv2.filter2D does it")
def opencv_filter() -> list[Step]:
    from PIL import Image  # both are slow to load

    from gradlab.data.pictures.filtering import filter_picture, read_kernel

    pixels = checkered()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "picture.png")
        Image.fromarray(pixels).save(path)
        blurred, edges = (filter_picture(path, read_kernel(name)).pixels[0] for name in ("mean", "sobel-x"))
    return [
        Step("A grey picture in a file, of bright and dark squares:", values=rows(torch.tensor(pixels))),
        Step(
            "`gradlab filter picture.png --kernel mean --out blurred.png` is what `cv2.filter2D(picture, -1, "
            "np.ones((5, 5)) / 25)` computes: the kernel is not flipped, and the border is mirrored about the "
            "outermost pixels, so that the picture keeps its size.",
            r"y_{ij} = \frac{1}{25} \sum_{u=-2}^{2} \sum_{v=-2}^{2} x_{i+u,\, j+v}, \qquad x_{-1,\,j} = x_{1,\,j}",
            rows(torch.tensor(blurred)),
        ),
        Step("And its upright edges, by `--kernel sobel-x`, as absolute values:", values=rows(torch.tensor(edges))),
    ]


def checkered() -> npt.NDArray[np.uint8]:
    """8 × 10 pixels, in squares of 4 × 5."""
    y, x = np.mgrid[:8, :10]
    return np.where((y // 4 + x // 5) % 2, 200, 40 + 4 * x).astype(np.uint8)
