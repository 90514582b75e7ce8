"""Steps with a faster form of a part: of the layers that a model repeats, or of the whole loss."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import _has_any_global_hook

from gradlab import kernels
from gradlab.data import Batch
from gradlab.data.batch import size
from gradlab.errors import TrainingError, notice, one_line
from gradlab.nn.fused_layer import can_fuse, fused
from gradlab.nn.transformer import Layer
from gradlab.run.checkpoint import rng_state, set_rng_state
from gradlab.training.backward import heard
from gradlab.training.guard import NonFinite
from gradlab.training.step import GradientStep, Stepped

# Every shape has a graph of its own: a graph for all shapes would come with the second one, so that the arithmetic of a
# step would depend on those before it. There are few shapes, but one process may train many models.
_GRAPHS = 256


def repeated_layers(model: nn.Module) -> list[nn.Module]:
    """Those of a transformer: one graph serves all of them, so that compiling costs as much for twelve as for one."""
    return [module for module in model.modules() if isinstance(module, Layer)]


Form = tuple[nn.Module, Callable[..., Any]]
"""A layer, and what makes the function that stands for its call."""


def fast_layers(step: GradientStep, *, compile: bool) -> list[Form]:
    """Faster forms of layers: our own kernels for those that they know, compiled ones for others if that pays."""
    narrow, device = step.plan.precision == "bf16", step.parameters[0].device
    others = _compiled_call if compile else None
    own, forms = partial(fused, otherwise=others), list[Form]()
    for layer in repeated_layers(step.model):
        if narrow and can_fuse(layer, device):
            kernels.prepare()
            forms.append((layer, own))
        elif others is not None:
            forms.append((layer, others))
    return forms


class CompiledStep:
    """The same step with its layers in a faster form, or without any its loss compiled.

    Where the compiler fails, layers run as they are; a training that asked for a compiled step ends.

    The forms are in place only while the step runs: evaluation, decoding and copies have the model as it is. `rows`
    are those of the batches that are compiled: of all but the last of an epoch, which alone would not pay.
    """

    def __init__(self, step: GradientStep, layers: Sequence[Form] = (), rows: int | None = None):
        self.step, self.layers, self.rows = step, layers, rows
        self.guards, self.gradient_norms = step.guards, step.gradient_norms
        self.compiled: list[tuple[Any, str, Any]] | None = None  # objects, attributes, and what is put there

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        if self.compiled == [] or (self.rows is not None and size(batch) != self.rows):
            return self.step(batch, lr)
        if self.compiled is None:
            return self._first(batch, lr)
        with _in_place(self.compiled):
            return self.step(batch, lr)

    def _first(self, batch: Batch, lr: float) -> Stepped:
        """The step in which everything is compiled; its update comes last, so that it can be made again without."""
        device = self.step.parameters[0].device
        before = rng_state(device)
        try:
            compiled = self._compiled()
            with _in_place(compiled):
                stepped = self.step(batch, lr)
        except NonFinite:
            raise
        except Exception as error:
            if self.step.plan.compile == "on":
                raise TrainingError(
                    f"train.compile=on asks for a compiled step, but the compiler failed: {one_line(error)}. Leave "
                    "train.compile out: the eager step computes the same."
                ) from error
            self.compiled = []
            notice(f"The layers run as they are: they could not be compiled ({one_line(error)}). See train.compile.")
            set_rng_state(before, device)
            return self.step(batch, lr)
        self.compiled = compiled
        return stepped

    def _compiled(self) -> list[tuple[Any, str, Any]]:
        """Asked once, when observers have started: whoever listens to the layers is there by then."""
        if not self.layers:
            return [(self.step, "loss", torch.compile(self.step.loss))]
        if _listening([layer for layer, _ in self.layers]) or heard(self.step.model, self.step.parameters):
            return []
        return [(layer, "_compiled_call_impl", form(layer)) for layer, form in self.layers]


def _compiled_call(layer: nn.Module) -> Callable[..., Any]:
    return torch.compile(layer._call_impl, fullgraph=True, dynamic=False)


@contextmanager
def _in_place(compiled: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    if not compiled:
        yield
        return
    kept = [(vars(place), name, vars(place).get(name)) for place, name, _ in compiled]
    for place, name, value in compiled:
        vars(place)[name] = value
    try:
        with torch._dynamo.config.patch(recompile_limit=_GRAPHS, accumulated_recompile_limit=4 * _GRAPHS):
            yield
    finally:
        for values, name, value in kept:
            values[name] = value


def _listening(layers: Sequence[nn.Module]) -> bool:
    """Whether somebody has hooks on the calls of the layers or of their parts."""
    parts = (part for layer in layers for part in layer.modules())
    return any(part._forward_hooks or part._forward_pre_hooks for part in parts) or _has_any_global_hook()  # type: ignore[no-untyped-call]
