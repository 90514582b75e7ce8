"""A task made of functions of one's own: what is minimised, what is measured, and which figure is better."""

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor, nn

from gradlab.data import Batch
from gradlab.errors import GradlabError
from gradlab.tasks.objective import Loss, Losses, Objective, check_name
from gradlab.tasks.task import Criterion, Task

ObjectiveLike = Callable[[Any, Batch], Losses] | Objective
BatchMetric = Callable[[nn.Module, Batch], Loss | Tensor]


class OwnTask(Task):
    """Objectives as functions of (model, batch), and metrics of the same kind."""

    def __init__(
        self,
        objective: ObjectiveLike | Mapping[str, ObjectiveLike],
        metrics: Mapping[str, BatchMetric] | None = None,
        criterion: Criterion | None = None,
    ):
        objectives = objective if isinstance(objective, Mapping) else {"loss": objective}
        if not objectives:
            raise GradlabError("There is no objective: give a function of (model, batch) that returns (sum, count).")
        for name in objectives:
            check_name("objective", name)
        self._objectives = {name: _objective(name, one) for name, one in objectives.items()}
        self.batch_metrics = dict(metrics or {})
        self.criterion = criterion or Criterion()
        for name in self.batch_metrics:
            check_name("metric", name)
            if name in ("loss", *self._objectives):
                raise GradlabError(f"A metric cannot be named {name!r}, which is the name of a loss.")

    def objectives(self) -> Mapping[str, Objective]:
        return self._objectives


def _objective(name: str, objective: Any) -> Objective:
    if isinstance(objective, Objective):
        return objective
    if callable(objective):
        return Objective(loss=objective)
    raise GradlabError(
        f"The objective {name!r} must be a function of (model, batch) or an Objective, got {objective!r}."
    )
