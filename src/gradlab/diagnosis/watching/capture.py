"""What is needed to run a training step again."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from torch import Tensor

from gradlab.diagnosis.ranks import together
from gradlab.diagnosis.record import Capture
from gradlab.diagnosis.watching.chance import unrolled
from gradlab.diagnosis.watching.tensors import mapped, tensors_in

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.roots import Call
    from gradlab.diagnosis.watching.watch import Watch

_COPIED = 20_000_000  # parameters: a larger model is not copied


def capture(watch: Watch, calls: list[Call], loss: Tensor, graph: set[Any]) -> None:
    """Keep what is needed to run this step again, once for each root; nothing of what several processes train."""
    if together():
        return
    for call in calls:
        root = call.root
        module = root.module
        if root.initial is not None or module is None:
            continue
        model = getattr(module, "_orig_mod", module)
        if sum(p.numel() for p in model.parameters()) > _COPIED:
            continue
        try:
            with unrolled():
                root.initial = copy.deepcopy(model)
        except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError):
            continue  # a module that cannot be copied cannot be probed
        for parameter in root.initial.parameters():
            parameter.grad = None
        taken = Capture(
            root=root,
            model=root.initial,
            args=mapped(call.args, _copy),
            kwargs=mapped(call.kwargs, _copy),
            connected=tuple(i for i, t in enumerate(tensors_in(call.output)) if t.grad_fn in graph),
            loss=float(loss.detach().float().mean()) if loss.numel() else float("nan"),
            step=watch.step,
        )
        watch.loss_calls.explain(taken, call.output)
        watch.record.captures.append(taken)


def _copy(tensor: Tensor) -> Tensor:
    return tensor.detach().clone()
