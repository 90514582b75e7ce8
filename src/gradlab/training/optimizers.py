"""Optimisers by name: PyTorch's own fused update rules, called directly.

Building a `torch.optim` object imports the compiler (a second at start) and costs more per step than the update of a
small model. The rules themselves are the same functions; the tests compare every one with its `torch.optim` class.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import torch
from annotated_types import Gt, Lt
from torch import Tensor, nn

from gradlab.registry import Count, Fraction, Positive, Registry

Beta = Annotated[Fraction, "decay rate of a running average"]
Momentum = Annotated[Fraction, "share of the last velocity that is kept"]
Epsilon = Annotated[Positive, "added to the divisor, so that it is never zero"]
Rate = float | Tensor


class Parameters:
    """The trainable parameters of a model in order, and the weight decay of each.

    Biases and normalisation gains (parameters with fewer than two axes) are not decayed unless `decay_all`.
    """

    def __init__(self, model: nn.Module, weight_decay: float = 0.0, decay_all: bool = False):
        named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
        self.names = [n for n, _ in named]
        self.tensors = [p for _, p in named]
        self.decays = [weight_decay if decay_all or p.ndim >= 2 else 0.0 for p in self.tensors]


class Optimizer(ABC):
    """An update rule with its state: for each parameter some tensors of its shape, and one step count for all."""

    slots: tuple[str, ...] = ()
    """Names of the tensors kept for each parameter."""

    def __init__(self, parameters: Parameters):
        self.parameters = parameters
        # Detached: the same memory, and updates need no torch.no_grad().
        self.values = [p.detach() for p in parameters.tensors]
        self.state = {slot: [torch.zeros_like(v) for v in self.values] for slot in self.slots}
        self.step = torch.zeros((), device=self.values[0].device if self.values else None)
        self._grouped: dict[tuple[bool, ...], list[_Group]] = {}

    def update(self, gradients: Sequence[Tensor | None], lr: Rate, skip: Tensor | None = None) -> None:
        """One step against the gradients; a parameter without one stays as it is. `skip` = 1 makes it a no-op."""
        self.step += 1
        for group in self._groups(tuple([g is not None for g in gradients])):
            self.apply(group, [gradients[i] for i in group.members], lr, skip)  # type: ignore[misc]
        if skip is not None:
            self.step -= skip

    @abstractmethod
    def apply(self, group: "_Group", gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        """The rule, for parameters of equal weight decay."""

    def _groups(self, used: tuple[bool, ...]) -> "list[_Group]":
        if used not in self._grouped:
            decays = self.parameters.decays
            chosen = [[i for i, u in enumerate(used) if u and decays[i] == d] for d in sorted(set(decays))]
            self._grouped[used] = [_Group(self, members) for members in chosen if members]
        return self._grouped[used]

    def snapshot(self) -> dict[str, Any]:
        """The whole state, nested; tensors are the live ones."""
        named = {slot: dict(zip(self.parameters.names, t, strict=True)) for slot, t in self.state.items()}
        return {"step": self.step, **named}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.step.copy_(snapshot["step"])
        for slot, tensors in self.state.items():
            for name, tensor in zip(self.parameters.names, tensors, strict=True):
                tensor.copy_(snapshot[slot][name])


class _Group:
    """Parameters with gradients and equal weight decay, as the lists that the fused rules take."""

    def __init__(self, optimizer: Optimizer, members: list[int]):
        self.members = members
        self.decay = optimizer.parameters.decays[members[0]]
        self.values = [optimizer.values[i] for i in members]
        self.state = {slot: [tensors[i] for i in members] for slot, tensors in optimizer.state.items()}
        self.steps = [optimizer.step] * len(members)


optimizers: Registry[Optimizer] = Registry("optimizer")


class _Sgd(Optimizer):
    def __init__(self, parameters: Parameters, momentum: float = 0.0, dampening: float = 0.0, nesterov: bool = False):
        self.slots = ("velocity",) if momentum else ()
        super().__init__(parameters)
        self.options: dict[str, Any] = {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}

    def apply(self, group: _Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        # The velocity starts at zero, so no step is a special first one.
        rule: Callable[..., None] = torch._fused_sgd_
        rule(
            group.values,
            gradients,
            group.state.get("velocity", []),
            weight_decay=group.decay,
            lr=lr,
            maximize=False,
            is_first_step=False,
            found_inf=skip,
            **self.options,
        )


@optimizers.register("sgd")
def sgd(parameters: Parameters) -> Optimizer:
    """θ ← θ - η g"""
    return _Sgd(parameters)


@optimizers.register("momentum")
def momentum(
    parameters: Parameters,
    *,
    momentum: Momentum = 0.9,
    form: Annotated[Literal["sum", "average"], "sum: v ← m v + g; average: v ← m v + (1 - m) g"] = "sum",
) -> Optimizer:
    """v ← m v + g (or its average), θ ← θ - η v. The average takes the same path as the sum at the rate η (1 - m)."""
    return _Sgd(parameters, momentum, dampening=momentum if form == "average" else 0.0)


@optimizers.register("nesterov")
def nesterov(
    parameters: Parameters, *, momentum: Annotated[float, Gt(0), Lt(1), "share of the last velocity that is kept"] = 0.9
) -> Optimizer:
    """v ← m v + g, θ ← θ - η (g + m v): the gradient step looks ahead along the velocity."""
    return _Sgd(parameters, momentum, nesterov=True)


class _Adam(Optimizer):
    slots = ("exp_avg", "exp_avg_sq")

    def __init__(self, parameters: Parameters, rule: Callable[..., None], beta1: float, beta2: float, eps: float):
        super().__init__(parameters)
        self.rule = rule
        self.options = {"beta1": beta1, "beta2": beta2, "eps": eps}

    def apply(self, group: _Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        self.rule(
            group.values,
            gradients,
            group.state["exp_avg"],
            group.state["exp_avg_sq"],
            [],
            group.steps,
            lr=lr,
            weight_decay=group.decay,
            amsgrad=False,
            maximize=False,
            found_inf=skip,
            **self.options,
        )


@optimizers.register("adam")
def adam(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.999, eps: Epsilon = 1e-8) -> Optimizer:
    """θ ← θ - η m̂ / (√v̂ + ε), with m and v running averages of g and g²; weight decay is added to g."""
    return _Adam(parameters, torch._fused_adam_, beta1, beta2, eps)


@optimizers.register("adamw")
def adamw(parameters: Parameters, *, beta1: Beta = 0.9, beta2: Beta = 0.999, eps: Epsilon = 1e-8) -> Optimizer:
    """Adam with weight decay apart from the gradient: θ ← (1 - η λ) θ - η m̂ / (√v̂ + ε)."""
    return _Adam(parameters, torch._fused_adamw_, beta1, beta2, eps)


class Lbfgs(Optimizer):
    """Evaluates the loss itself, several times a step; see `minimise`."""

    def __init__(self, parameters: Parameters, history: int, iterations: int):
        super().__init__(parameters)
        self.options = {"history_size": history, "max_iter": iterations, "line_search_fn": "strong_wolfe"}
        self.inner = torch.optim.LBFGS(parameters.tensors, **self.options)  # type: ignore[arg-type]

    def minimise(self, loss: Callable[[], Tensor], lr: float) -> None:
        """One step: up to `iterations` quasi-Newton iterations, each with a line search along its direction."""
        self.step += 1
        self.inner.param_groups[0]["lr"] = lr

        def closure() -> Tensor:
            self.inner.zero_grad()
            value = loss()
            for p, decay in zip(self.parameters.tensors, self.parameters.decays, strict=True):
                if decay:
                    value = value + decay / 2 * p.square().sum()
            value.backward()  # type: ignore[no-untyped-call]
            return value

        self.inner.step(closure)  # type: ignore[no-untyped-call]

    def apply(self, group: _Group, gradients: list[Tensor], lr: Rate, skip: Tensor | None) -> None:
        raise AssertionError("L-BFGS takes a closure")

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
    """L-BFGS with a strong Wolfe line search, on the full batch."""
    return Lbfgs(parameters, history, iterations)
