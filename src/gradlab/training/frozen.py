"""What of a model stays as it is for a while, or for good (`train.freeze`, `train.thaw`)."""

from collections.abc import Callable

from torch import nn

from gradlab.errors import GradlabError
from gradlab.models.head import head_of
from gradlab.tasks.objective import begins
from gradlab.training.plan import Plan

TRUNK = "trunk"

Frozen = Callable[[str], bool]
"""Whether a parameter or a buffer, by its name, is in a part that is frozen."""


def frozen_parts(model: nn.Module, plan: Plan) -> Frozen:
    """What the plan freezes; `trunk` is all but the head, unless the model has a part of that name."""
    head = head_of(model) if _means_all_but_the_head(model, plan) else None
    parts = [part for part in plan.freeze or () if head is None or part != TRUNK]

    def frozen(name: str) -> bool:
        return any(begins(name, part) for part in parts) or (head is not None and not begins(name, head))

    return frozen


def check_frozen(model: nn.Module, plan: Plan, outputs: int) -> None:
    """Refuse parts that the model does not have; `outputs` are those that its head must make, 0 if nobody knows."""
    names = [name for name, _ in model.named_parameters()]
    trunk = _means_all_but_the_head(model, plan)
    for part in plan.freeze or ():
        if not (trunk and part == TRUNK) and not any(begins(name, part) for name in names):
            raise GradlabError(f"train.freeze={part}: there is no parameter whose name begins so, such as {names[0]}.")
    if trunk:
        check_head(model, outputs)
        if not any(map(frozen_parts(model, plan), names)):
            raise GradlabError("train.freeze=trunk freezes nothing: the model has one layer, which makes its outputs.")


def check_head(model: nn.Module, outputs: int) -> str:
    """The name of the head, if there is one and it makes so many outputs; 0 if nobody knows how many."""
    head = head_of(model)
    weights = [] if head is None else list(model.get_submodule(head).parameters())
    if head is None or not weights:
        raise GradlabError("The model has no head: no last layer with weights of its own, which makes its outputs.")
    if outputs and all(p.shape[:1] != (outputs,) for p in weights):
        raise GradlabError(
            f"The model's head cannot be separated from its trunk: its last layer, {head!r}, does not return its "
            f"{outputs} outputs for each example. Call the layer that does `head`."
        )
    return head


def hold_statistics(model: nn.Module, frozen: Frozen, held: bool) -> None:
    """Batch normalisation of frozen parts uses its running statistics and leaves them alone, as in evaluation."""
    for name, module in model.named_modules():
        if hasattr(module, "running_mean") and frozen(f"{name}.running_mean".removeprefix(".")):
            module.train(not held)


def _means_all_but_the_head(model: nn.Module, plan: Plan) -> bool:
    return TRUNK in (plan.freeze or ()) and not any(begins(name, TRUNK) for name, _ in model.named_parameters())
