"""The objectives of a task made ready: the parameters that each moves, its optimiser, and its step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.data import Batch
from gradlab.errors import GradlabError
from gradlab.registry import shortly
from gradlab.tasks import Losses, Objective, Task
from gradlab.tasks.objective import begins
from gradlab.training.frozen import check_frozen, frozen_parts
from gradlab.training.guard import DeviceGuard, Flag, Guard, HostGuard
from gradlab.training.optimizers import ClosureOptimizer, Optimizer, Parameters, optimizers
from gradlab.training.plan import Plan, plan_schema
from gradlab.training.step import (
    AfterUpdate,
    ClosureStep,
    GradientStep,
    LearnStep,
    Step,
    TurnsStep,
    learns_without_gradients,
)

Groups = Mapping[str, Mapping[str, float]]
"""By the beginning of their names, parameters with an `lr` or a `weight_decay` of their own."""

_OWN = ("optimizer", "lr", "weight_decay", "l1", "decay_all", "clip", "max_norm")  # what an objective may set


@dataclass(frozen=True, kw_only=True)
class Player:
    """An objective with its optimiser. Supervised learning has one; a GAN has two, which take turns."""

    name: str
    objective: Objective
    plan: Plan
    optimizer: Optimizer
    multiple: float
    """Of the rate that the plan of the training gives."""

    def loss(self, model: Callable[..., Any]) -> Callable[[Batch], Losses]:
        """The loss as a function of the batch alone."""
        return partial(self.objective.loss, model)

    def step(
        self,
        model: nn.Module,
        called: Callable[..., Any],
        guard: Guard,
        after: Sequence[AfterUpdate] = (),
        number: int = 0,
    ) -> "GradientStep | ClosureStep":
        """From the step of this number on. `called` is the model, or what stands for it: one that carries its state."""
        if isinstance(self.optimizer, ClosureOptimizer):
            return ClosureStep(self.loss(called), self.optimizer, HostGuard(), self.name)
        return GradientStep(
            self.loss(called), model, self.optimizer, self.plan, guard, name=self.name, after=after, number=number
        )


def check_players(model: nn.Module, task: Task, plan: Plan, groups: Groups | None = None) -> None:
    """Refuse objectives that are none, move nothing or set what they cannot: before there is an optimiser."""
    objectives: Any = task.objectives()
    sound = isinstance(objectives, Mapping) and all(isinstance(one, Objective) for one in objectives.values())
    if not sound or not objectives:
        raise GradlabError(
            f"The method `objectives` of {type(task).__name__} must return at least one gradlab.Objective, each by its "
            f"name, as {{'loss': Objective(loss=…)}} is; it returned {shortly(objectives)}."
        )
    check_frozen(model, plan, task.outputs)
    for name, objective in objectives.items():
        _settled(name, objective, model, plan, groups or {}, thaw=0)


def make_players(
    model: nn.Module,
    task: Task,
    plan: Plan,
    groups: Groups | None = None,
    thaw: int = 0,
    masks: Mapping[str, Tensor] | None = None,
) -> list[Player]:
    """A player for each objective of the task, with groups beside its own; refused where one moves nothing.

    `thaw` is the step from which on parts that are frozen at first learn too. `masks` say of pruned parameters, by
    their names, which weights are kept.
    """
    check_frozen(model, plan, task.outputs)
    players = [_player(name, one, model, plan, groups or {}, thaw) for name, one in task.objectives().items()]
    for player in players:
        player.optimizer.parameters.prune(masks or {})
    return players


def _player(name: str, objective: Objective, model: nn.Module, plan: Plan, groups: Groups, thaw: int) -> Player:
    own, parameters = _settled(name, objective, model, plan, groups, thaw)
    optimizer = optimizers.build(own.optimizer, parameters)
    return Player(name=name, objective=objective, plan=own, optimizer=optimizer, multiple=own.lr / plan.lr)


def _settled(
    name: str, objective: Objective, model: nn.Module, plan: Plan, groups: Groups, thaw: int
) -> tuple[Plan, Parameters]:
    """The plan of an objective, and the parameters that it moves, each with its decay, its rate and its start."""
    for key in objective.train:
        if key not in _OWN:
            raise GradlabError(f"The objective {name!r} cannot have a {key} of its own. Valid: {', '.join(_OWN)}.")
    own = (
        Plan(**plan_schema.resolve({**vars(plan), **objective.train}, f"objective {name}")) if objective.train else plan
    )
    frozen, thaws = frozen_parts(model, plan), plan.thaw is not None
    parameters = Parameters(
        model, own.weight_decay, own.decay_all, lambda n: objective.moved(n) and (thaws or not frozen(n))
    )
    if thaws and parameters.set(frozen, multiple=plan.thaw_lr, start=thaw) == len(parameters.tensors):
        raise GradlabError(f"The objective {name!r} would move nothing before train.thaw: all of it is frozen.")
    if not parameters.tensors and not learns_without_gradients(model):
        raise GradlabError(
            f"The objective {name!r} moves no parameter: none that can be trained begins with {objective.moves!r}."
            if objective.moves
            else "The model has no parameter to train."
        )
    for several in (groups, objective.groups):
        check_groups(several)
    for prefix, values in {**groups, **objective.groups}.items():
        _set_group(parameters, prefix, values, own.lr)
    return own, parameters


def check_groups(groups: Any) -> None:
    """Refuse what is no dictionary of dictionaries: by the beginnings of names, values by their keys."""
    sound = isinstance(groups, Mapping) and all(
        isinstance(prefix, str) and isinstance(values, Mapping) and all(isinstance(key, str) for key in values)
        for prefix, values in groups.items()
    )
    if not sound:
        raise GradlabError(
            "groups must be dictionaries by the beginnings of names of parameters, as in "
            f"{{'encoder': {{'lr': 1e-5, 'weight_decay': 0.0}}}}, got {shortly(groups)}."
        )


def _set_group(parameters: Parameters, prefix: str, values: Any, lr: float) -> None:
    for key in values:
        if key not in ("lr", "weight_decay"):
            raise GradlabError(f"The group {prefix!r} cannot have a {key} of its own. Valid: lr, weight_decay.")
    values = {key: plan_schema.knobs[key].resolve(value, f"group {prefix}.{key}") for key, value in values.items()}
    multiple = values["lr"] / lr if "lr" in values else None
    if not parameters.set(partial(begins, prefix=prefix), decay=values.get("weight_decay"), multiple=multiple):
        raise GradlabError(f"There is no parameter to train in the group {prefix!r}: no name begins so.")


def make_step(
    model: nn.Module,
    called: Callable[..., Any],
    players: Sequence[Player],
    train: Any,
    device: torch.device,
    step: int,
    after: Sequence[AfterUpdate] = (),
) -> Step:
    """The step of a training that stands at some step; what follows an update follows the last player's."""
    if learns_without_gradients(model):
        return LearnStep(model, players[0].loss(called), train, players[0].name)
    flag = Flag(device, step) if device.type != "cpu" else None
    steps: list[tuple[Step, float]] = []
    for player in players:
        last = player is players[-1]
        guard = HostGuard() if flag is None else DeviceGuard(flag, counts=last)
        steps.append((player.step(model, called, guard, after if last else (), step), player.multiple))
    return steps[0][0] if len(steps) == 1 else TurnsStep(steps)
