"""Whether and how the step is compiled: decided by the recipe alone, so that a repeated run does the same."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from gradlab.data import Batch
from gradlab.training.plan import Plan
from gradlab.training.step import GradientStep, Step, Stepped

Mode = Literal["eager", "graph", "compiled"]

# A capture costs about as much as this many small steps. On the CPU compiling waits to be asked for: `gradlab bench
# compile` shows small steps that are slower for it, and larger ones that win it back only after 100,000 steps.
_GRAPH_STEPS = 100
_WARMUP = 3  # eager steps before a capture: libraries make their workspaces in them


def choose_mode(plan: Plan, device: torch.device, steps: int) -> Mode:
    """How the step of this plan runs: as it is, replayed from a CUDA graph, or compiled."""
    if plan.compile == "off" or plan.optimizer.name == "lbfgs":
        return "eager"
    if device.type == "cuda":
        return "graph" if plan.compile == "on" or steps >= _GRAPH_STEPS else "eager"
    return "compiled" if plan.compile == "on" else "eager"


def compiled(step: GradientStep) -> Step:
    """The same step with model and loss compiled by torch.compile."""
    step.loss = torch.compile(step.loss)  # type: ignore[method-assign]
    return step


class GraphStep:
    """The same step, recorded once for each shape of a batch and replayed by the device without Python.

    The first steps of each shape run as they are, so that resuming and starting do the same arithmetic. There are few
    shapes: a last batch may be smaller, and texts are padded to one of sixteen widths.
    """

    def __init__(self, step: GradientStep):
        self.step = step
        self.frozen_at = step.frozen_at
        self.gradient_norm, self.gradient_norms = step.gradient_norm, step.gradient_norms
        self.lr = torch.zeros((), device=step.bad.device)
        self.seen: dict[torch.Size, int] = {}
        self.captured: dict[torch.Size, _Captured] = {}
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        self.lr.fill_(lr)
        shape = batch[0].shape
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
            stepped = self.step(batch, self.lr)
        torch.cuda.current_stream().wait_stream(self.stream)
        return stepped

    def _capture(self, batch: Batch) -> "_Captured":
        graph, batch = torch.cuda.CUDAGraph(), tuple(part.clone() for part in batch)
        with torch.cuda.graph(graph, stream=self.stream):
            stepped = self.step(batch, self.lr)
        return _Captured(graph, batch, stepped, self.step.norm, self.step.norms)


@dataclass(frozen=True)
class _Captured:
    """A recorded step and the memory it reads and writes."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    stepped: Stepped
    norm: float | Tensor
    norms: list[float] | Tensor

    def replay(self, step: GradientStep, batch: Batch) -> Stepped:
        for mine, part in zip(self.batch, batch, strict=True):
            mine.copy_(part)
        self.graph.replay()
        step.norm, step.norms = self.norm, self.norms
        # The next replay writes over the loss, which is wanted until the next log point.
        return Stepped(self.stepped.loss.clone(), self.stepped.count)
