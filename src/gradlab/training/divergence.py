"""Where a training went out of the numbers: the first module or parameter that is not finite."""

from typing import Any

import torch
from torch import Tensor, nn

from gradlab import parallel
from gradlab.data import Batch
from gradlab.tasks import Task
from gradlab.tasks.objective import named


def explain_divergence(model: nn.Module, task: Task, called: Any, batch: Batch) -> str:
    """Name the first module, in the order of the forward pass, whose output is not finite, or the bad gradients.

    `called` is the model, or what stands for it: a carried state is that before the bad step, which left it alone.
    """
    reasons: list[str] = []

    def watch(name: str) -> Any:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            tensors = [t for t in (output if isinstance(output, (tuple, list)) else [output]) if isinstance(t, Tensor)]
            if not reasons and any(t.is_floating_point() and not t.isfinite().all() for t in tensors):
                reasons.append(f"the output of {name} ({type(module).__name__}) is the first that is not finite")

        return hook

    leaves = [(name, module) for name, module in model.named_modules() if not list(module.children())]
    handles = [module.register_forward_hook(watch(name or "the model")) for name, module in leaves]
    try:
        computed = [named(one.loss(called, batch), name) for name, one in task.objectives().items()]
    finally:
        for handle in handles:
            handle.remove()
    totals = {name: total for losses in computed for name, (total, _) in losses.items()}
    for name, total in totals.items():
        if not total.isfinite():
            which = "the loss" if name == "loss" else f"the loss {name!r}"
            reasons.append(f"{which} is {total.item()} though every module's output is finite")
    reason = _of_any(reasons)
    if reason is not None:
        return reason
    trained = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    whole = torch.stack([total.double() for total in totals.values()]).sum()
    gradients = torch.autograd.grad(whole, [p for _, p in trained], allow_unused=True)
    bad = [n for (n, _), g in zip(trained, gradients, strict=True) if g is not None and not g.isfinite().all()]
    reason = _of_any(
        [f"the gradient of {name} is the first, from the loss backwards, that is not finite" for name in bad[-1:]]
    )
    return reason or "the norm of the gradient is not finite"


def _of_any(reasons: list[str]) -> str | None:
    """What was found first; of several processes, what the first of them that found something did."""
    return next((texts[0] for texts in parallel.every(reasons) if texts), None)
