"""A record of gradlab's own trainings: from the lines of their log, with a close look at the first steps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.diagnosis.record import (
    COLUMNS,
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
from gradlab.diagnosis.series import Series

Figures = Mapping[str, float]
"""A number for each layer."""

_EVALUATIONS = 5
_KEPT = ("mean", "std", "rows_equal", "changed", "reached")  # of a parameter, beside its series


class Logged:
    """Fills a record from lines of a metrics log. What only hooks could see (graphs, activations) is not in it."""

    def __init__(self) -> None:
        self.loss = Loss(site=None)
        self.trained = Judged(kind="the task's loss", site=None, training=True)
        """Training examples, evaluated as the held-out ones are."""
        self.held_out = Judged(kind="the task's loss", site=None, training=False)
        self.optimizer = Optimizer(number=0, kind="", site=None)
        self.record = Record(
            logged=True, losses=[self.loss], judged=[self.trained, self.held_out], optimizers=[self.optimizer]
        )

    # -- before the first step ------------------------------------------------------------------------------------

    def begin(self, model: nn.Module, layers: Mapping[str, Tensor]) -> None:
        """The model, and its trained weights: matrices and kernels."""
        root = Root(name=type(model).__name__, kind=type(model).__name__)
        self.record.roots.append(root)
        for path, module in model.named_modules():
            if not list(module.children()):
                settings = {"p": module.p} if isinstance(getattr(module, "p", None), float) else {}
                kind = type(module).__name__
                self.record.modules[path] = Module(path=path, kind=kind, root=root.name, settings=settings)
        for name, weight in layers.items():
            owner = type(model.get_submodule(name.rpartition(".")[0])).__name__
            dtype = str(weight.dtype).removeprefix("torch.")
            self.record.parameters[name] = Parameter(
                name=name, shape=tuple(weight.shape), requires_grad=True, dtype=dtype, owner=owner, optimizer=0
            )
        self.optimizer.parameters = list(layers)

    def clips(self, limit: float) -> None:
        self.record.clippings.append(Clipping(site=None, limit=limit))

    def first_weights(self, layers: Mapping[str, Tensor]) -> None:
        """Waits for the device once."""
        if not layers:
            return
        figures = [[w.mean(), w.std(correction=0), (w == w[:1]).all().to(w.dtype)] for w in layers.values()]
        rows = torch.stack([torch.stack(three).float() for three in figures]).tolist()
        for name, (mean, std, equal) in zip(layers, rows, strict=True):
            one = self.record.parameters[name]
            one.mean, one.std, one.rows_equal = mean, std, bool(equal)

    def last_weights(self, layers: Mapping[str, Tensor]) -> None:
        """Of those whose rows began alike."""
        for name, weight in layers.items():
            one = self.record.parameters[name]
            if one.rows_equal:
                one.rows_equal_later = bool((weight - weight[:1]).abs().amax() <= 0.01 * weight.abs().mean())

    def inputs(self, inputs: Tensor) -> None:
        """Some of the training inputs, where they are numbers and not tokens."""
        if not inputs.is_floating_point() or inputs.ndim < 2:
            return
        # Of tables and sequences the features, of pictures the channels.
        flat = (inputs.movedim(1, -1) if inputs.ndim > 3 else inputs).flatten(0, -2)
        if flat.shape[1] > COLUMNS:
            return
        figures = [flat.mean(0), flat.std(0, correction=0), flat.amin(0), flat.amax(0)]
        mean, std, low, high = torch.stack(figures).double().tolist()
        dtype = str(inputs.dtype).removeprefix("torch.")
        columns = Inputs(shape=tuple(inputs.shape), dtype=dtype, rows=len(inputs), looks=1, mean=mean, std=std)
        columns.low, columns.high = low, high
        self.record.roots[0].inputs.append(columns)

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
        self.record.looks.append(step)
        for name, one in self.record.parameters.items():
            # Updates of zeros have no size beside them: what a log says of those is no figure.
            if updates.get(name) and updates[name] > 0:
                one.update.add(step, updates[name])
                one.changed = True
            if name in weights:
                one.weight.add(step, weights[name])
            if name in gradients:
                one.gradient.add(step, gradients[name])
                one.reached += 1

    def _norm(self, step: int, norm: float) -> None:
        self.optimizer.gradient.add(step, norm)
        for clipping in self.record.clippings:
            clipping.norm.add(step, norm)
            clipping.count += 1
            clipping.bound += norm > clipping.limit

    def _decay(self, step: int, norm: float, weights: Figures) -> None:
        """The penalty's part of the gradient beside the rest of it."""
        decay = self.optimizer.settings.get("weight_decay", 0.0)
        if decay and weights:
            part = decay * math.hypot(*weights.values())
            self.optimizer.decay.add(step, part / norm if norm else math.inf)

    # -- in a checkpoint ------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """What the steps so far have filled; model, data and settings are read again when a run goes on."""
        parameters = self.record.parameters.values()
        return {
            "looks": self.record.looks,
            "clippings": [[one.count, one.bound] for one in self.record.clippings],
            "series": {name: _packed(series) for name, series in self._series().items()},
            "parameters": {p.name: {name: getattr(p, name) for name in _KEPT} for p in parameters},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """After `begin` and `clips`."""
        self.record.looks = list(state["looks"])
        for clipping, (count, bound) in zip(self.record.clippings, state["clippings"], strict=True):
            clipping.count, clipping.bound = count, bound
        for name, series in self._series().items():
            _unpack(state["series"][name], series)
        for name, values in state["parameters"].items():
            vars(self.record.parameters[name]).update(values)

    def _series(self) -> dict[str, Series]:
        """All that grow with the steps."""
        optimizer = {"rate": self.optimizer.rate, "norm": self.optimizer.gradient, "decay": self.optimizer.decay}
        losses = {"loss": self.loss.values, "trained": self.trained.values, "held_out": self.held_out.values}
        clipped = {f"clipped {i}": clipping.norm for i, clipping in enumerate(self.record.clippings)}
        kinds = ("update", "weight", "gradient")
        layers = {f"{kind} of {p.name}": getattr(p, kind) for p in self.record.parameters.values() for kind in kinds}
        return {**losses, **optimizer, **clipped, **layers}

    # -- after the last step --------------------------------------------------------------------------------------

    def conclude(self, steps: int, seconds: float, constant: float, *, same: bool, diverged: bool) -> None:
        """How far it came, and what the best constant prediction would give (NaN where that is not known).

        `same`: whether the loss of the steps is that of evaluations.
        """
        record = self.record
        record.steps, record.seconds, looks = steps, seconds, len(record.looks)
        self.loss.count = self.trained.count = steps
        self.held_out.count = len(self.held_out.values)
        self.optimizer.steps = record.roots[0].trained = looks
        for module in record.modules.values():
            module.trained = looks
        self.trained.constant_loss = constant
        if len(self.trained.values) < _EVALUATIONS:  # too few to see a course: then that of the steps is as good
            self.trained.values = self.loss.values
            self.trained.constant_loss = constant if same else math.nan
        if diverged:
            self.loss.not_finite = steps
            record.not_finite = NotFinite(step=steps, what="loss")


def _packed(series: Series) -> dict[str, Any]:
    points = torch.tensor([series.steps, series.values], dtype=torch.float64)
    return {"points": points, "every": series.every, "offered": series.offered}


def _unpack(state: Mapping[str, Any], series: Series) -> None:
    steps, values = state["points"].tolist()
    series.steps, series.values = [int(step) for step in steps], values
    series.every, series.offered = state["every"], state["offered"]
