r"""What of a picture speaks for a class: four answers, each a function of (model, pictures, classes).

    from gradlab.probes import saliency
    saliency.grad_cam(model, pictures, model(pictures).argmax(1))

The model is any module that gives a score f_c for each class c: logits. It is called in evaluation mode, and neither
its weights nor their `.grad` are changed. Classes are a number for each picture, or one for all of them. Of a model
with a single output z, the logarithm of the odds of two classes, the scores are -z/2 and z/2.
"""

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.modes import evaluating
from gradlab.probes.maps import last_layer, maps_of
from gradlab.probes.recording import record

Pictures = Float[Tensor, "batch channels height width"]
Classes = Int64[Tensor, " batch"]
Baseline = float | Tensor

_AT_ONCE = 2**17  # numbers of the pictures that a model is given together


def gradient(model: nn.Module, x: Pictures, classes: Classes | int) -> Pictures:
    r"""How the score changes with each pixel. Simonyan et al. 2013, arXiv:1312.6034.

    $$ s = \frac{\partial f_c(x)}{\partial x} $$

    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(4, 3))
    >>> bool((gradient(model, torch.randn(1, 1, 2, 2), 2).flatten() == model[1].weight[2]).all())
    True
    """
    with evaluating(model), torch.enable_grad():
        x = x.detach().clone().requires_grad_()
        (slope,) = torch.autograd.grad(_scores(model, x, classes).sum(), x, allow_unused=True, materialize_grads=True)
        return slope


def integrated_gradients(
    model: nn.Module, x: Pictures, classes: Classes | int, baseline: Baseline = 0.0, steps: int = 32
) -> Pictures:
    r"""The share of each pixel in the difference between the scores of a picture and of a baseline.

    $$ s = (x - b) \odot \int_0^1 \frac{\partial f_c}{\partial x}\bigl(b + α (x - b)\bigr) \, dα,
       \qquad \sum_i s_i = f_c(x) - f_c(b) $$

    The integral is a sum over `steps` places by the rule of Gauss and Legendre. Sundararajan et al. 2017,
    arXiv:1703.01365.

    >>> model, x = nn.Sequential(nn.Flatten(), nn.Linear(4, 3), nn.Tanh()), torch.randn(1, 1, 2, 2)
    >>> shares = integrated_gradients(model, x, 2)
    >>> bool(torch.isclose(shares.sum(), model(x)[0, 2] - model(0 * x)[0, 2], atol=1e-5))
    True
    """
    if steps < 1:
        raise GradlabError(f"Integrated gradients need at least one step, got steps={steps}.")
    classes, start = _classes(x, classes), _baseline(x, baseline)
    nodes, weights = (torch.from_numpy(part).to(x) / 2 for part in np.polynomial.legendre.leggauss(steps))
    total = torch.zeros_like(x)
    for part in _parts(steps, x):
        places = 0.5 + nodes[part].view(-1, *(1,) * x.ndim)
        points = start + places * (x - start)
        slopes = gradient(model, points.flatten(0, 1), classes.repeat(len(points))).view_as(points)
        total += torch.einsum("s,s...->...", weights[part], slopes)
    return (x - start) * total


def grad_cam(
    model: nn.Module, x: Pictures, classes: Classes | int, layer: str | None = None
) -> Float[Tensor, "batch rows columns"]:
    r"""Where the feature maps $A^k$ of a layer that speak for the class are strong.

    $$ s = \mathrm{relu}\Bigl(\sum_k a_k A^k\Bigr),
       \qquad a_k = \frac{1}{n} \sum_{p \le n} \frac{\partial f_c}{\partial A^k_p} $$

    The layer is named as in `model.named_modules()`; by default it is the last one whose maps are as fine as those of
    the last convolution. The result has a number for each of its n places. Selvaraju et al. 2016, arXiv:1610.02391.

    >>> model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    >>> grad_cam(model, torch.randn(2, 1, 8, 8), 0).shape
    torch.Size([2, 6, 6])
    """
    classes = _classes(x, classes)
    seen = record(model, x, classes, lambda outputs, c: _chosen(outputs, c).sum())
    layer = last_layer(seen) if layer is None else layer
    if layer is None:
        raise GradlabError(
            "Grad-CAM needs places: no layer of this model is a convolution that keeps those of a picture."
        )
    maps = maps_of(seen, layer)
    weights = maps.slopes.mean((2, 3), keepdim=True)
    return (weights * maps.values).sum(1).relu()


def grad_cam_layer(model: nn.Module, x: Pictures) -> str | None:
    """The layer that `grad_cam` takes by default; none where no convolution keeps the places of a picture."""
    return last_layer(record(model, x[:1]))


def occlusion(
    model: nn.Module,
    x: Pictures,
    classes: Classes | int,
    window: int | None = None,
    stride: int | None = None,
    baseline: Baseline = 0.0,
) -> Float[Tensor, "batch height width"]:
    r"""How much the score falls where a square window is covered by the baseline: the mean over the windows of a pixel.

    $$ s_p = \frac{1}{|W_p|} \sum_{w \in W_p} f_c(x) - f_c(x \text{ with } b \text{ in } w),
       \qquad W_p = \{w : p \in w\} $$

    By default windows are a seventh of the shorter side, and half of a window apart. Zeiler & Fergus 2013,
    arXiv:1311.2901.

    >>> model = nn.Sequential(nn.Flatten(), nn.Linear(16, 3))
    >>> falls = occlusion(model, torch.ones(1, 1, 4, 4), 2, window=1)
    >>> bool(torch.allclose(falls.flatten(), model[1].weight[2], atol=1e-5))
    True
    """
    _check_pictures(x)
    window = window or default_window(x)
    covers = _windows(x, window, stride or max(1, window // 2))
    classes, start = _classes(x, classes), _baseline(x, baseline)
    falls = []
    with evaluating(model), torch.no_grad():
        whole = _scores(model, x, classes)
        for part in _parts(len(covers), x):
            covered = torch.where(covers[part, None, None], start, x)
            scores = _scores(model, covered.flatten(0, 1), classes.repeat(len(covered)))
            falls.append(whole - scores.view(len(covered), len(x)))
    inside = covers.to(x)
    return torch.einsum("wb,whk->bhk", torch.cat(falls), inside) / inside.sum(0)


def default_window(x: Pictures) -> int:
    """The side of the windows of an occlusion."""
    return -(-min(x.shape[-2:]) // 7)


def window_count(x: Pictures, window: int, stride: int) -> int:
    """How many windows cover a picture."""
    return len(_starts(x.shape[-2], window, stride)) * len(_starts(x.shape[-1], window, stride))


def _windows(x: Pictures, window: int, stride: int) -> Bool[Tensor, "windows height width"]:
    """Which pixels each window covers. Those at the far edges may be cut off there."""
    if min(window, stride) < 1 or stride > window:
        raise GradlabError(
            f"Windows of {window} pixels at distances of {stride} do not cover a picture. "
            "Take a stride from 1 to the size of a window."
        )
    rows, columns = (_covered(side, window, stride) for side in x.shape[-2:])
    return (rows[:, None, :, None] & columns[None, :, None, :]).flatten(0, 1).to(x.device)


def _covered(side: int, window: int, stride: int) -> Bool[Tensor, "windows side"]:
    places, first = torch.arange(side), torch.tensor(_starts(side, window, stride))[:, None]
    return (first <= places) & (places < first + window)


def _starts(side: int, window: int, stride: int) -> range:
    return range(0, max(1, side - window + stride), stride)


def _parts(count: int, x: Tensor) -> Iterator[slice]:
    """Copies of x, so many at a time that memory holds what is computed of them."""
    most = max(1, _AT_ONCE // max(1, x.numel()))
    return (slice(first, first + most) for first in range(0, count, most))


def _scores(model: nn.Module, x: Tensor, classes: Classes | int) -> Float[Tensor, " batch"]:
    return _chosen(model(x), _classes(x, classes))


def _chosen(outputs: Tensor, classes: Classes) -> Float[Tensor, " batch"]:
    scores = class_scores(outputs)
    least, most = int(classes.min()), int(classes.max())
    if not 0 <= least <= most < scores.shape[1]:
        raise GradlabError(f"Classes are from 0 to {scores.shape[1] - 1}, got {least if least < 0 else most}.")
    return scores.gather(1, classes[:, None])[:, 0]


def class_scores(outputs: Tensor) -> Float[Tensor, "batch classes"]:
    """What a model gave, as a score for each class, whose softmax are the probabilities."""
    if not isinstance(outputs, Tensor) or outputs.ndim != 2:
        got = f"shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
        raise GradlabError(f"The model must give a row of scores for each picture, one for each class; got {got}.")
    return torch.cat([-outputs, outputs], 1) / 2 if outputs.shape[1] == 1 else outputs


def _classes(x: Tensor, classes: Classes | int) -> Classes:
    if not len(x):
        raise GradlabError("There are no pictures: the batch is empty.")
    if isinstance(classes, Tensor) and classes.shape != x.shape[:1]:
        raise GradlabError(
            f"{len(x)} pictures need {len(x)} classes, or a number for all; got shape {tuple(classes.shape)}."
        )
    return torch.as_tensor(classes, device=x.device).long().expand(len(x))


def _baseline(x: Tensor, baseline: Baseline) -> Tensor:
    return torch.as_tensor(baseline, dtype=x.dtype, device=x.device).expand_as(x)


def _check_pictures(x: Tensor) -> None:
    if x.ndim != 4 or not x.is_floating_point():
        raise GradlabError(
            f"Pictures are numbers of shape (batch, channels, height, width), got {x.dtype} of shape {tuple(x.shape)}."
        )
