"""Whether and how the step is compiled: decided by the recipe alone, so that a repeated run does the same."""

from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from gradlab import parallel
from gradlab.data import Batch
from gradlab.data.batch import copied, key, tensors
from gradlab.training.compiled import CompiledStep, repeated_layers
from gradlab.training.plan import Plan
from gradlab.training.step import GradientStep, Step, Stepped, TurnsStep

Mode = Literal["eager", "graph", "compiled", "compiled-graph"]

# A capture costs about as much as this many small steps. On the CPU compiling waits to be asked for: `gradlab bench
# compile` shows small steps that are slower for it, and larger ones that win it back only after 100,000 steps.
_GRAPH_STEPS = 100
_WARMUP = 3  # eager steps before a capture: libraries make their workspaces in them
# Compiling the layers of a transformer takes some 15 s once, and spares a third of a captured step, in which an H200
# does 100 to 350 TFLOP/s, the less the smaller the layers are. So 45 s of steps pay for it, at the lower speed these
# operations. By work and not by steps, of which large ones pay after a few hundred, and small ones never.
_COMPILE_FLOPS = 4e15


def choose_mode(plan: Plan, device: torch.device, steps: int, layer_flops: float = 0.0) -> Mode:
    """How the step of this plan runs: as it is, or on CUDA replayed from a graph, with compiled layers where that pays.

    `layer_flops` are the operations of the whole run, if it has layers to compile and batches of one shape.
    """
    if plan.compile == "off" or plan.optimizer.name == "lbfgs" or parallel.count() > 1:
        return "eager"
    asked = plan.compile == "on"
    if device.type == "cuda":
        # The compiler times some kernels and takes the fastest, which may be another the next time.
        if not plan.deterministic and (layer_flops >= _COMPILE_FLOPS or (asked and layer_flops)):
            return "compiled-graph"
        return "graph" if asked or steps >= _GRAPH_STEPS else "eager"
    return "compiled" if asked else "eager"


def in_mode(step: Step, mode: Mode, device: torch.device, rows: int | None = None) -> Step:
    """The step as the mode wants it: replayed, compiled, both, or as it is. `rows` are those of most batches."""
    turns = step.steps if isinstance(step, TurnsStep) else [(step, 1.0)]
    if not all(isinstance(one, GradientStep) for one, _ in turns):
        return step
    if mode in ("compiled", "compiled-graph"):
        parts = [(_compiled(one, mode, rows), multiple) for one, multiple in turns]  # type: ignore[arg-type]
        step = TurnsStep(parts) if isinstance(step, TurnsStep) else parts[0][0]
    return GraphStep(step, device) if mode in ("graph", "compiled-graph") else step


def _compiled(step: GradientStep, mode: Mode, rows: int | None) -> CompiledStep:
    return CompiledStep(step, repeated_layers(step.model), rows) if mode == "compiled-graph" else CompiledStep(step)


class GraphStep:
    """The same step, recorded once for each shape of a batch and replayed by the device without Python.

    The first steps of each shape run as they are, so that resuming and starting do the same arithmetic. There are few
    shapes: a last batch may be smaller, and texts are padded to one of sixteen widths.
    """

    def __init__(self, step: Step, device: torch.device):
        self.step, self.guards, self.gradient_norms = step, step.guards, step.gradient_norms
        self.lr = torch.zeros((), device=device)
        self.seen: dict[Any, int] = {}
        self.captured: dict[Any, _Captured] = {}
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()  # one for all shapes: only one of them is ever at work

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        self.lr.fill_(lr)
        shape = key(batch)
        if shape not in self.captured:
            self.seen[shape] = self.seen.get(shape, 0) + 1
            if self.seen[shape] <= _WARMUP:
                return self._eager(batch)
            self.captured[shape] = self._capture(batch)
        return self.captured[shape].replay(self.step, batch)

    def _eager(self, batch: Batch) -> Stepped:
        # On a side stream, as a capture's warm-up must be.
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            stepped = self.step(batch, self.lr)  # type: ignore[arg-type]
        torch.cuda.current_stream().wait_stream(self.stream)
        return stepped

    def _capture(self, batch: Batch) -> "_Captured":
        graph, batch = torch.cuda.CUDAGraph(), copied(batch)
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            stepped = self.step(batch, self.lr)  # type: ignore[arg-type]
        return _Captured(graph, tensors(batch), stepped, [(guard.norm, guard.norms) for guard in self.guards])


@dataclass(frozen=True)
class _Captured:
    """A recorded step and the memory it reads and writes."""

    graph: torch.cuda.CUDAGraph
    batch: list[Tensor]
    stepped: Stepped
    norms: list[tuple[float | Tensor, list[float] | Tensor]]

    def replay(self, step: Step, batch: Batch) -> Stepped:
        for mine, part in zip(self.batch, tensors(batch), strict=True):
            mine.copy_(part)
        self.graph.replay()
        for guard, (norm, norms) in zip(step.guards, self.norms, strict=True):
            guard.norm, guard.norms = norm, norms
        # The next replay writes over the losses, which are wanted until the next log point.
        return {name: (total.clone(), _kept(count)) for name, (total, count) in self.stepped.items()}


def _kept(count: Tensor | int) -> Tensor | int:
    return count.clone() if isinstance(count, Tensor) else count
