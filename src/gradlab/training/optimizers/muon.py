"""Muon (Jordan et al. 2024) for the matrices inside a model, AdamW for all else."""

from math import sqrt
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.registry import Count, Positive
from gradlab.tasks.objective import begins
from gradlab.training.optimizers.adam import adam_update
from gradlab.training.optimizers.base import (
    Beta,
    Epsilon,
    Group,
    Momentum,
    Optimizer,
    Parameters,
    Rate,
    blend,
    descend,
    optimizers,
)
from gradlab.training.optimizers.matrices import inner_matrices

Adjust = Literal["match_rms_adamw", "original"]


class _Muon(Optimizer):
    def __init__(
        self,
        parameters: Parameters,
        others: list[str],
        *,
        momentum: float,
        nesterov: bool,
        iterations: int,
        adjust: Adjust,
        normalised: bool,
        adamw_rate: float,
        **adamw: float,
    ):
        super().__init__(parameters)
        self.momentum, self.nesterov = momentum, nesterov
        self.iterations, self.adjust, self.normalised = iterations, adjust, normalised
        self.adamw_rate, self.adamw = adamw_rate, adamw
        names = [name for name, _ in parameters.model.named_parameters()]
        for part in others:
            if not any(begins(name, part) for name in names):
                raise GradlabError(
                    f"train.optimizer.others={part}: there is no parameter whose name begins so, such as {names[0]}."
                )
        inner = inner_matrices(parameters)
        chosen = [name in inner and not any(begins(name, part) for part in others) for name in parameters.names]
        self.shapes = [(v.flatten(1).shape if c else ()) for v, c in zip(self.values, chosen, strict=True)]
        for slot, of_matrices in {"velocity": True, "exp_avg": False, "exp_avg_sq": False}.items():
            kept = [v if c == of_matrices else v.new_empty(0) for v, c in zip(self.values, chosen, strict=True)]
            self.state[slot] = [torch.zeros_like(v) for v in kept]

    def kind(self, i: int) -> tuple[Any, ...]:
        """Matrices of one shape are turned together."""
        return *super().kind(i), self.shapes[i]

    def apply(self, group: Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        shape = self.shapes[group.members[0]]
        if not shape:
            adam_update(torch._fused_adamw_, group, gradients, lr * self.adamw_rate, skip, self.adamw)
            return
        velocities = group.state["velocity"]
        blend(velocities, gradients, 1 - self.momentum, skip)
        ahead = torch._foreach_lerp(gradients, velocities, self.momentum) if self.nesterov else velocities
        turned = orthogonal(torch.stack([m.flatten(1) for m in ahead]), self.iterations)
        # A fused rule goes through values and steps in memory's order, which of a convolution may be another.
        steps = [torch.empty_like(v).copy_(t.view(v.shape)) for v, t in zip(group.values, turned, strict=True)]
        torch._foreach_mul_(steps, adjustment(self.adjust, *shape))
        if self.normalised:
            normalise(group.values, sqrt(shape[0]), skip)
        descend(group.values, steps, lr, skip, decay=group.decay)


def orthogonal(matrices: Tensor, iterations: int = 5, dtype: torch.dtype | None = None) -> Tensor:
    r"""About U Vᵀ for each matrix U S Vᵀ: its singular values are brought to between 0.7 and 1.2, or near it.

    $$ X \leftarrow a X + b \, (X X^\top) X + c \, (X X^\top)^2 X $$

    The polynomial is steep at 0 rather than exact at 1. In bf16 on a GPU, unless a dtype is given.

    >>> turned = orthogonal(torch.diag(torch.tensor([3.0, 0.2]))[None])[0].abs()
    >>> bool(((turned.diag() > 0.6) & (turned.diag() < 1.3)).all())
    True
    """
    a, b, c = 3.4445, -4.7750, 2.0315
    exact = torch.promote_types(matrices.dtype, torch.float32)
    x = matrices.to(dtype or (torch.bfloat16 if matrices.is_cuda else exact))
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x  # the smaller of the two squares
    x = x / torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True).clamp(min=1e-7)
    for _ in range(iterations):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def normalise(matrices: list[Tensor], norm: float, skip: Tensor | None) -> None:
    """Each is scaled to this norm, that of a matrix with as many rows of length 1; nothing where `skip` is 1."""
    shares = torch._foreach_clamp_min(torch._foreach_div(torch._foreach_norm(matrices), norm), 1e-7)
    blend(matrices, torch._foreach_div(matrices, shares), 1.0, skip)


def adjustment(way: Adjust, rows: int, columns: int) -> float:
    """By which the rate is multiplied for a matrix of this shape."""
    return 0.2 * sqrt(max(rows, columns)) if way == "match_rms_adamw" else sqrt(max(1, rows / columns))


@optimizers.register("muon")
def muon(
    parameters: Parameters,
    *,
    momentum: Momentum = 0.95,
    nesterov: Annotated[bool, "look ahead along the velocity"] = True,
    iterations: Annotated[Count, "Newton-Schulz iterations that make a step orthogonal"] = 5,
    adjust: Annotated[
        Adjust, "rate by shape: steps as large as AdamW's, for rates made for it; or √max(1, rows / columns)"
    ] = "match_rms_adamw",
    normalised: Annotated[bool, "scale each matrix to the norm √rows before its step, instead of decay"] = False,
    adamw_rate: Annotated[Positive, "rate of AdamW, as a multiple of train.lr"] = 1.0,
    others: Annotated[list[str] | None, "beginnings of names of further weights that AdamW moves"] = None,
    beta1: Beta = 0.9,
    beta2: Beta = 0.999,
    eps: Epsilon = 1e-8,
) -> Optimizer:
    r"""Momentum whose step is an orthogonal matrix: all its directions are moved along by as much.

    $$ v \leftarrow m v + (1 - m) g \qquad O = \mathrm{NS}(g + m (v - g)) \qquad
       \theta \leftarrow (1 - \eta \lambda) \theta - \eta r O $$

    $$ \mathrm{NS}: \quad X \leftarrow 3.4445 \, X - 4.7750 \, (X X^\top) X + 2.0315 \, (X X^\top)^2 X, \qquad
       \text{from } X = M / \lVert M \rVert $$

    NS brings the singular values of a matrix near 1 in a few products, in bf16 on a GPU. Without `nesterov` it is that
    of v. r follows from the shape (`adjust`): 0.2 √max(rows, columns), or √max(1, rows / columns), made for
    larger rates (0.02), beside which `adamw_rate` is small. λ is `train.weight_decay`.

    It moves the matrices inside a model, and convolutions as matrices of a row for each output channel. Biases, gains,
    embeddings and the last map (`head`) are moved by AdamW, with `beta1`, `beta2` and `eps`. Jordan et al. 2024,
    kellerjordan.github.io/posts/muon; the first r: Liu et al. 2025, arXiv:2502.16982.
    """
    return _Muon(
        parameters,
        others or [],
        momentum=momentum,
        nesterov=nesterov,
        iterations=iterations,
        adjust=adjust,
        normalised=normalised,
        adamw_rate=adamw_rate,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
    )
