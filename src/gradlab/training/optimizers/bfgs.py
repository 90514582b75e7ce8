"""BFGS on the weights of a model: the steps of `maths.optimisation.bfgs`, with the loss for their function."""

from collections.abc import Callable
from typing import Annotated, Any

import torch
from torch import Tensor

from gradlab.errors import GradlabError
from gradlab.maths.optimisation.bfgs import bfgs_step
from gradlab.maths.optimisation.path import Seen
from gradlab.process import free_memory
from gradlab.registry import Count
from gradlab.training.optimizers.base import ClosureOptimizer, Optimizer, Parameters, optimizers

_FLAT = 1e-7  # entries of a gradient at which nothing is searched for any more, as of torch.optim.LBFGS
_COPIES = 5  # of H: what an update and a checkpoint have in memory at the same time


class Bfgs(ClosureOptimizer):
    def __init__(self, parameters: Parameters, iterations: int):
        _check_memory(parameters)
        super().__init__(parameters)
        self.iterations = iterations
        self.inverse: Tensor | None = None

    def minimise(self, loss: Callable[[], Tensor], lr: float) -> None:
        """One step: up to `iterations` quasi-Newton iterations, each with a line search along its direction."""
        self.step += 1

        def look(x: Tensor) -> Seen:
            self._place(x)
            return Seen(x, self.penalised(loss).detach(), self._gradient())

        here = look(torch.cat([value.flatten() for value in self.values]))
        for _ in range(self.iterations):
            if not here.gradient.abs().max() > _FLAT:
                break
            step = bfgs_step(look, here, self.inverse, lr)
            if step is None:
                self.inverse = None  # rounding has spoilt it, or there is nothing to gain
                break
            here, self.inverse = step
        self._place(here.x, here.gradient)

    def _place(self, x: Tensor, gradient: Tensor | None = None) -> None:
        sizes = [value.numel() for value in self.values]
        for value, part in zip(self.values, torch.split(x, sizes), strict=True):
            value.copy_(part.reshape(value.shape))
        if gradient is not None:
            for p, part in zip(self.parameters.tensors, torch.split(gradient, sizes), strict=True):
                p.grad = part.reshape(p.shape).clone()

    def _gradient(self) -> Tensor:
        tensors = self.parameters.tensors
        return torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in tensors])

    def snapshot(self) -> dict[str, Any]:
        return {"step": self.step} | ({} if self.inverse is None else {"inverse": self.inverse})

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.step.copy_(snapshot["step"])
        inverse = snapshot.get("inverse")
        self.inverse = None if inverse is None else inverse.clone().to(self.step.device)


def _check_memory(parameters: Parameters) -> None:
    """Refuse a matrix that would not fit, before any of it is made."""
    weights = sum(p.numel() for p in parameters.tensors)
    size = max((p.element_size() for p in parameters.tensors), default=4)
    device = parameters.tensors[0].device if parameters.tensors else torch.device("cpu")
    needed = _COPIES * size * weights**2
    there = torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else free_memory()
    if needed > there:
        raise GradlabError(
            f"train.optimizer=bfgs keeps a matrix of {weights:,} × {weights:,} numbers for this model, which takes "
            f"{needed / 1e9:,.1f} GB with the copies that it works on, and {there / 1e9:,.1f} are free. Take "
            "train.optimizer=lbfgs."
        )


@optimizers.register("bfgs")
def bfgs(
    parameters: Parameters,
    *,
    iterations: Annotated[Count, "quasi-Newton iterations in one step"] = 20,
) -> Optimizer:
    r"""A quasi-Newton method on the full batch: BFGS with a Wolfe line search, whose matrix has n² numbers.

    $$ \theta \leftarrow \theta - \alpha H g $$

    H stands for the inverse of the Hessian. It is learned from all differences of gradients, and written out: for n
    weights it takes n² numbers, in memory and in each checkpoint, and n² operations an iteration. So it is for small
    models; `lbfgs` is for others. α is searched for along the direction, from the learning rate on. Nocedal & Wright
    2006, doi:10.1007/978-0-387-40065-5.
    """
    return Bfgs(parameters, iterations)
