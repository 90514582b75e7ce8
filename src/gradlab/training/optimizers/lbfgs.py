"""L-BFGS: `torch.optim.LBFGS` itself, since its step is long enough not to care what surrounds it."""

from collections.abc import Callable
from typing import Annotated, Any

import torch
from torch import Tensor

from gradlab.registry import Count
from gradlab.training.optimizers.base import ClosureOptimizer, Optimizer, Parameters, optimizers

# Of the loss in one step. torch allows 5/4 of the iterations, with which one or two of them are left no line search.
_EVALUATIONS = 25


class Lbfgs(ClosureOptimizer):
    def __init__(self, parameters: Parameters, history: int, iterations: int):
        super().__init__(parameters)
        self.inner = torch.optim.LBFGS(
            parameters.tensors,
            history_size=history,
            max_iter=iterations,
            max_eval=max(_EVALUATIONS, iterations * 5 // 4),
            line_search_fn="strong_wolfe",
        )

    def minimise(self, loss: Callable[[], Tensor], lr: float) -> None:
        """One step: up to `iterations` quasi-Newton iterations, each with a line search along its direction."""
        self.step += 1
        self.inner.param_groups[0]["lr"] = lr
        self.inner.step(lambda: self.penalised(loss))  # type: ignore[no-untyped-call]

    def snapshot(self) -> dict[str, Any]:
        return {"step": self.step, "inner": self.inner.state_dict()["state"]}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.step.copy_(snapshot["step"])
        # Structure read from JSON has text for keys; the inner optimiser numbers its parameters.
        state = {int(k): v for k, v in snapshot["inner"].items()}
        self.inner.load_state_dict({"state": state, "param_groups": self.inner.state_dict()["param_groups"]})


@optimizers.register("lbfgs")
def lbfgs(
    parameters: Parameters,
    *,
    history: Annotated[Count, "gradient differences that make up the curvature estimate"] = 10,
    iterations: Annotated[Count, "quasi-Newton iterations in one step"] = 20,
) -> Optimizer:
    r"""A quasi-Newton method: L-BFGS with a strong Wolfe line search, on the full batch.

    $$ \theta \leftarrow \theta - \alpha H g $$

    H stands for the inverse of the Hessian, made of the last `history` differences of gradients and never written out;
    α is searched for along the direction. Liu & Nocedal 1989, doi:10.1007/BF01589116.
    """
    return Lbfgs(parameters, history, iterations)
