"""An optimizer of `torch.optim`, as an instance or a class, in the words of a training plan.

Only what the plan can do exactly is taken; the instance is read and never used. One difference remains: a parameter
that gets its first gradient after the first step has, in Adam, the bias correction of the training's age.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from torch import nn

from gradlab.errors import GradlabError, one_line
from gradlab.registry import Part, shortly

if TYPE_CHECKING:
    from torch.optim import Optimizer

_BY_GROUP = ("lr", "weight_decay")
# How a step is computed, and not what: ours is always fused.
_IMPLEMENTATION = ("foreach", "fused", "capturable", "differentiable")
_INSTEAD = "Name one by optimizer='adamw', with lr=, weight_decay= and groups=, or register yours: gradlab.register"


@dataclass(frozen=True)
class TorchRule:
    """An update rule of ours: its name, and its values from the options of torch's."""

    name: str
    values: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    refused: Mapping[str, Any]
    """Options, by the only value with which the rules are the same."""


def _adam(options: Mapping[str, Any]) -> dict[str, Any]:
    beta1, beta2 = options["betas"]
    return {"beta1": float(beta1), "beta2": float(beta2), "eps": options["eps"]}


def _torch_rule(kind: str, options: Mapping[str, Any]) -> TorchRule | None:
    """The rule of ours that is the same as torch's of that name."""
    minimizes = {"maximize": False}
    match kind:
        case "Adam" | "AdamW":
            decoupled = kind == "AdamW" or options.get("decoupled_weight_decay", False)
            return TorchRule("adamw" if decoupled else "adam", _adam, {**minimizes, "amsgrad": False})
        case "SGD" if options["momentum"]:
            name = "nesterov" if options["nesterov"] else "momentum"
            return TorchRule(name, lambda o: {"momentum": o["momentum"]}, {**minimizes, "dampening": 0})
        case "SGD":
            return TorchRule("sgd", lambda o: {}, minimizes)
        case "RMSprop":
            return TorchRule(
                "rmsprop", lambda o: {key: o[key] for key in ("alpha", "eps", "momentum", "centered")}, minimizes
            )
        case "Adagrad":
            initial = "initial_accumulator_value"
            return TorchRule(
                "adagrad", lambda o: {"initial": o[initial], "eps": o["eps"]}, {**minimizes, "lr_decay": 0}
            )
        case "Adadelta":
            return TorchRule("adadelta", lambda o: {"rho": o["rho"], "eps": o["eps"]}, minimizes)
    return None


def is_torch_optimizer(value: Any) -> bool:
    """Whether a value is an optimizer of torch's kind: an instance, a class, or a partial of one."""
    kind = value.func if isinstance(value, partial) else value
    bases = inspect.getmro(kind if isinstance(kind, type) else type(kind))
    return any(base.__module__ == "torch.optim.optimizer" and base.__name__ == "Optimizer" for base in bases)


def translate_optimizer(
    value: Any, model: nn.Module, plan: Mapping[str, Any], groups: Any
) -> tuple[dict[str, Any], Any]:
    """The keywords of a plan, and the groups, by which the same steps are made."""
    if isinstance(value, type | partial):
        value = _build_optimizer(value, model, plan)
    elif taken := [key for key in (*_BY_GROUP, "decay_all") if key in plan] + ["groups"] * (groups is not None):
        raise GradlabError(f"{' and '.join(taken)} and optimizer={type(value).__name__}(…) say two things: give one.")
    first = value.param_groups[0]
    kind = type(value).__name__ if type(value).__module__.startswith("torch.optim.") else ""
    rule = _torch_rule(kind, first)
    if rule is None:
        raise GradlabError(f"fit has no optimizer that is the same as {type(value).__name__}. {_INSTEAD}.")
    _check_options(value, rule)
    rates = _rates(value, model)
    lr, decay = float(first["lr"]), float(first["weight_decay"])
    differing = {name: own for name, own in rates.items() if own != {"lr": lr, "weight_decay": decay}}
    words = {"optimizer": Part(rule.name, rule.values(first)), "lr": lr, "weight_decay": decay, "decay_all": True}
    return {**plan, **words}, {**differing, **(groups or {})} or None


def _build_optimizer(kind: Any, model: nn.Module, plan: Mapping[str, Any]) -> "Optimizer":
    """An instance of a class for the parameters that are trained, at the rate and decay of the plan if it has some."""
    own = {key: plan[key] for key in _BY_GROUP if key in plan}
    try:
        optimizer: Optimizer = kind([p for p in model.parameters() if p.requires_grad], **own)
    except (TypeError, ValueError) as error:
        raise GradlabError(f"optimizer={shortly(kind)} cannot be built: {one_line(error)}. {_INSTEAD}.") from None
    return optimizer


def _check_options(optimizer: "Optimizer", rule: TorchRule) -> None:
    """Refuse a state, options that the rule does not have, and options that differ between groups."""
    name, groups = type(optimizer).__name__, optimizer.param_groups
    if any(float(state.get("step", 1)) > 0 for state in optimizer.state.values()):
        raise GradlabError(f"The optimizer {name} has made steps before, whose state fit cannot take over. {_INSTEAD}.")
    for group in groups:
        for key, only in rule.refused.items():
            if group[key] != only:
                raise GradlabError(f"fit has no {name} with {key}={group[key]}. {_INSTEAD}.")
        for key in group.keys() - {"params", "initial_lr", *_BY_GROUP, *_IMPLEMENTATION}:
            if group[key] != groups[0][key]:
                raise GradlabError(
                    f"The groups of the optimizer differ in {key}, which all parameters share in fit. {_INSTEAD}."
                )


def _rates(optimizer: "Optimizer", model: nn.Module) -> dict[str, dict[str, float]]:
    """The rate and the decay of each parameter that is trained, by its name."""
    names = {id(p): name for name, p in model.named_parameters()}
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    rates: dict[str, dict[str, float]] = {}
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            if id(parameter) not in names:
                raise GradlabError(
                    f"The optimizer moves a parameter of shape {tuple(parameter.shape)} that the model does not have. "
                    "Build it from model.parameters()."
                )
            rates[names[id(parameter)]] = {key: float(group[key]) for key in _BY_GROUP}
    if left := sorted(trained - rates.keys()):
        raise GradlabError(
            f"The optimizer does not have {_list_names(left)}, which would be trained: add "
            "it, or requires_grad_(False) if it should stay."
        )
    return {name: rates[name] for name in rates if name in trained}


def _list_names(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
