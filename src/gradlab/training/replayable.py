"""Whether a step is made of parts alone that are known to do the same on the device every time."""

from gradlab.nn.plain import find_hook, foreign_function, is_ours, is_replayable
from gradlab.training.backward import heard
from gradlab.training.step import GradientStep


def is_standard(step: GradientStep) -> bool:
    """Whether nothing of a step is code of the user's or of another package, and nobody listens to it."""
    ours = is_ours(type(step.optimizer)) and not foreign_function(step.objective)
    return ours and is_replayable(step.model) and not heard(step.model, step.parameters)


def find_listener(step: GradientStep) -> str:
    """Who listens to the calls or to the gradients of a step; "" if nobody does."""
    if part := find_hook(step.model):
        return f"there is a hook on {part}"
    return "there is a hook on gradients" if heard(step.model, step.parameters) else ""
