"""Data on which a likelihood has no maximum: classes that a plane separates, and counts that vanish on one side."""

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.errors import GradlabError


def endless_direction(
    design: Float[Tensor, "n columns"], targets: Float[Tensor, "n outputs"], family: str
) -> Float[Tensor, "columns outputs"] | None:
    r"""A direction of the weights in which the likelihood rises for ever, or None if there is none.

    $$ (d_{y_i} - d_c)^\top x_i \ge 0 \text{ for all examples } i \text{ and classes } c,
       \text{ and} > 0 \text{ for one of them} $$

    The first class has d = 0. Of counts: $d^\top x_i = 0$ where $y_i > 0$, and $\le 0$ where $y_i = 0$. Whether such a
    d exists is a linear programme, so that the answer is exact. Targets of classes have a column for each but the
    first.

    >>> points = torch.tensor([[1.0, -2.0], [1.0, -1.0], [1.0, 1.0]])
    >>> endless_direction(points, torch.tensor([[0.0], [0.0], [1.0]]), "bernoulli").flatten()[1] > 0
    tensor(True)
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]  # which takes a while to load

    x, y = design.detach().double().numpy(), targets.detach().double().numpy()
    rising, level = _counts(x, y[:, 0]) if family == "poisson" else (_classes(x, y), None)
    scale = max(float(np.abs(rising).max(initial=0.0)), 1.0)
    bounds = {"A_ub": -rising / scale, "b_ub": np.zeros(len(rising)), "bounds": (-1, 1)}
    if level is not None and len(level):
        bounds |= {"A_eq": level / scale, "b_eq": np.zeros(len(level))}
    best = linprog(-rising.sum(0) / scale, **bounds)
    if best.status != 0 or -best.fun < 1e-6:
        return None
    return torch.from_numpy(best.x).reshape(targets.shape[1], -1).mT


def check_optimum_exists(design: Tensor, targets: Tensor, family: str) -> None:
    """Refuse data on which weights would grow for ever, with the columns whose weights would."""
    direction = endless_direction(design, targets, family)
    if direction is None:
        return
    grows = [i for i, row in enumerate(direction) if float(row.abs().max()) > 1e-6]
    columns = ", ".join("the bias" if i == 0 else f"column {i - 1}" for i in grows)
    what = "some counts are 0 for certain" if family == "poisson" else "the classes are separable"
    raise GradlabError(
        f"fit_glm: {what} by a linear function of {columns}: the likelihood rises for ever as these weights grow, "
        "and has no maximum. Take fewer columns, more data, or train with weight decay."
    )


def _classes(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A row for each example and each class that is not its own: whose products with d are at least 0."""
    classes = np.concatenate([1 - y.sum(1, keepdims=True), y], 1)
    apart = classes[:, None, :] - np.eye(classes.shape[1])[None]  # own class less another one, for each other one
    rows = (apart[..., 1:, None] * x[:, None, None, :]).reshape(-1, y.shape[1] * x.shape[1])
    others: np.ndarray = rows[np.abs(apart).sum(-1).flatten() > 0]
    return others


def _counts(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return -x[y == 0], x[y > 0]
