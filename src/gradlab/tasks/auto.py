"""The task that the targets call for."""

from gradlab.data import Targets, Wants
from gradlab.registry import Part
from gradlab.tasks.classify import Classify
from gradlab.tasks.regress import Regress
from gradlab.tasks.task import Task, tasks


@tasks.register("auto")
def auto(targets: Targets) -> Task:
    """classify where the targets are classes, regress where they are numbers."""
    return Classify(targets) if targets.classes is not None else Regress(targets)


def settled(part: Part, targets: Targets) -> Part:
    """The task by its own name, resolved: `auto` has no name of its own to be remembered by."""
    if part.name != "auto":
        return part
    return tasks.resolve(Part("classify" if targets.classes is not None else "regress"), "task")


def wants(part: Part) -> Wants | None:
    """What kind of targets a task asks for; None takes them as they are."""
    return getattr(tasks[part.name], "wants", None)
