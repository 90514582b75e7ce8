"""A training that is known by its log, with a close look at its first steps: gradlab's own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.diagnosis.record import (
    Clipping,
    Inputs,
    Judged,
    Loss,
    Module,
    NotFinite,
    Optimizer,
    Parameter,
    Record,
    Root,
)

Figures = Mapping[str, float]
"""A number for each layer."""

_FALLING = 0.97  # of the lowest loss in the first two thirds: below it, the training is still under way
_EVALUATIONS = 5
_COLUMNS = 4096
_FRESH = 0.8  # of the loss of a constant: no model that knows nothing is better than that


@dataclass(kw_only=True)
class Logged(Record):
    """Filled from the lines of a metrics log. What only hooks could see (graphs, activations, modes) is not in it."""

    loss: Loss = field(default_factory=lambda: Loss(site=None))
    trained: Judged = field(default_factory=lambda: Judged(kind="the task's loss", site=None, training=True))
    """Training examples, judged as the held-out ones are."""
    held_out: Judged = field(default_factory=lambda: Judged(kind="the task's loss", site=None, training=False))
    optimizer: Optimizer = field(default_factory=lambda: Optimizer(number=0, kind="", site=None))
    has_floor: bool = True
    """Whether a perfect model would have a loss of 0; only then do shares of a loss say how much is left to learn."""

    def __post_init__(self) -> None:
        self.losses, self.judged, self.optimizers = [self.loss], [self.trained, self.held_out], [self.optimizer]

    # -- before the first step ------------------------------------------------------------------------------------

    def meet(self, model: nn.Module, layers: Mapping[str, Tensor]) -> None:
        """The model, and its trained weights: matrices and kernels."""
        root = Root(name=type(model).__name__, kind=type(model).__name__)
        self.roots.append(root)
        for path, module in model.named_modules():
            if not list(module.children()):
                settings = {"p": module.p} if isinstance(getattr(module, "p", None), float) else {}
                self.modules[path] = Module(path=path, kind=type(module).__name__, root=root.name, settings=settings)
        for name, weight in layers.items():
            owner = type(model.get_submodule(name.rpartition(".")[0])).__name__
            dtype = str(weight.dtype).removeprefix("torch.")
            self.parameters[name] = Parameter(
                name=name, shape=tuple(weight.shape), requires_grad=True, dtype=dtype, owner=owner, optimizer=0
            )
        self.optimizer.parameters = list(layers)

    def weigh(self, layers: Mapping[str, Tensor]) -> None:
        """The first weights; waits for the device once."""
        if not layers:
            return
        told = [[w.mean(), w.std(correction=0), (w == w[:1]).all().to(w.dtype)] for w in layers.values()]
        figures = torch.stack([torch.stack(three).float() for three in told]).tolist()
        for name, (mean, std, equal) in zip(layers, figures, strict=True):
            one = self.parameters[name]
            one.mean, one.std, one.rows_equal = mean, std, bool(equal)

    def weigh_again(self, layers: Mapping[str, Tensor]) -> None:
        """The last weights, of those whose rows began alike."""
        for name, weight in layers.items():
            one = self.parameters[name]
            if one.rows_equal:
                one.rows_equal_later = bool((weight - weight[:1]).abs().amax() <= 0.01 * weight.abs().mean())

    def read(self, inputs: Tensor) -> None:
        """Some of the training inputs, where they are numbers and not tokens."""
        if not inputs.is_floating_point() or inputs.ndim < 2:
            return
        # Of tables and sequences the features, of pictures the channels.
        flat = (inputs.movedim(1, -1) if inputs.ndim > 3 else inputs).flatten(0, -2)
        if flat.shape[1] > _COLUMNS:
            return
        figures = [flat.mean(0), flat.std(0, correction=0), flat.amin(0), flat.amax(0)]
        mean, std, low, high = torch.stack(figures).double().tolist()
        seen = Inputs(shape=tuple(inputs.shape), dtype=str(inputs.dtype).removeprefix("torch."), rows=len(inputs))
        seen.looks, seen.mean, seen.std, seen.low, seen.high = 1, mean, std, low, high
        self.roots[0].inputs.append(seen)

    # -- while it trains ------------------------------------------------------------------------------------------

    def look(self, step: int, loss: float, updates: Figures, weights: Figures, gradients: Figures) -> None:
        """One step, by itself."""
        self.loss.values.add(step, loss)
        self._norm(step, math.hypot(*gradients.values()))
        self._layers(step, updates, weights, gradients)

    def line(self, line: Mapping[str, Any], weights: Figures | None = None, gradients: Figures | None = None) -> None:
        """A line of the log; the norms of weights and gradients by layer where they are known."""
        step, loss = line["step"], line["loss"]
        if line["split"] == "train":
            self.loss.values.add(step, loss)
            self.optimizer.rate.add(step, line["lr"])
            self._norm(step, line["gradient_norm"])
            self._layers(step, line["update_ratio"], weights or {}, gradients or {})
            self._decay(step, line["gradient_norm"], weights or {})
        else:
            judged = self.trained if line["split"] == "train-sample" else self.held_out
            judged.values.add(step, loss)
            if step == 0 and judged is self.trained:
                self.loss.values.add(step, loss)

    def _layers(self, step: int, updates: Figures, weights: Figures, gradients: Figures) -> None:
        self.looks.append(step)
        for name, one in self.parameters.items():
            # Updates of zeros have no size beside them: what a log says of those is no figure.
            if updates.get(name) and updates[name] > 0:
                one.update.add(step, updates[name])
                one.changed = True
            if name in weights:
                one.weight.add(step, weights[name])
            if name in gradients:
                one.gradient.add(step, gradients[name])
                one.reached += 1
                if math.isnan(one.first_gradient):
                    one.first_gradient = gradients[name] / math.sqrt(max(1, one.size))

    def _norm(self, step: int, norm: float) -> None:
        self.optimizer.gradient.add(step, norm)
        for clipping in self.clippings:
            clipping.norm.add(step, norm)
            clipping.count += 1
            clipping.bound += norm > clipping.limit

    def _decay(self, step: int, norm: float, weights: Figures) -> None:
        """The penalty's part of the gradient beside the rest of it."""
        decay = self.optimizer.settings.get("weight_decay", 0.0)
        if decay and weights:
            part = decay * math.hypot(*weights.values())
            self.optimizer.decay.add(step, part / norm if norm else math.inf)

    # -- after the last step --------------------------------------------------------------------------------------

    def conclude(self, steps: int, seconds: float, constant: float, *, same: bool, diverged: bool) -> None:
        """How far it came, and what the best constant prediction would give (NaN where that is not known).

        `same`: whether the loss of the steps is that of evaluations.
        """
        self.steps, self.seconds, looks = steps, seconds, len(self.looks)
        self.loss.count = self.trained.count = steps
        self.held_out.count = len(self.held_out.values)
        self.optimizer.steps = self.roots[0].trained = looks
        for module in self.modules.values():
            module.trained = looks
        self.trained.constant_loss = constant
        if len(self.trained.values) < _EVALUATIONS:  # too few to see a course: then that of the steps is as good
            self.trained.values = self.loss.values
            self.trained.constant_loss = constant if same else math.nan
        if diverged:
            self.loss.not_finite = steps
            self.not_finite = NotFinite(step=steps, what="loss")

    def clips(self, limit: float) -> None:
        self.clippings.append(Clipping(site=None, limit=limit))

    # -- what rules ask -------------------------------------------------------------------------------------------

    def left(self, loss: Loss | None = None) -> float:
        """As of any training; but where a fresh model was a little better than a constant by chance, it has learnt
        nothing while it is no better than that. One that was far better had learnt before."""
        constant, first = self.constant_loss(), self.trained.values.first
        if math.isnan(constant):
            return self.loss.end / self.loss.values.first if self.loss.values.first > 0 else 0.0
        share = super().left()
        return share * constant / first if _FRESH * constant < first < constant else share

    def stuck(self, loss: Loss | None = None) -> bool:
        """As of any training; but a line of the log is a mean over many steps, so that the loss before the first step
        counts as the beginning, and a loss that still falls at the end has not failed."""
        if self.loss.not_finite is not None:
            return True
        first = self.loss.values.first
        if len(self.loss.values) < 10 or not first > 0:
            return False
        return self.unlearnt() or (self.loss.values.largest > 1.5 * first and self.left() > 0.9)

    def unlearnt(self) -> bool:
        """Whether it has come no further than a constant, and does not fall any more; or has exploded on its way."""
        values = self.loss.values
        if values.largest > 3 * values.first and self.left() > 0.5:
            return True
        before = min(values.values[: 2 * len(values) // 3], default=math.inf)
        return self.has_floor and self.loss.end > _FALLING * before and self.left() > 0.97
