"""Whether and how the step is compiled: decided by the recipe alone, so that a repeated run does the same."""

from typing import Literal

import torch
from torch import Tensor

from gradlab.training.plan import Plan
from gradlab.training.step import GradientStep, Step, Stepped

Mode = Literal["eager", "graph", "compiled"]

# Measured with `gradlab bench compile`; what compiling costs once, and what it saves on each step by sparing Python's
# and the dispatcher's time. Both are constants of the rule, not of the machine: the choice must not follow a clock.
_COMPILE_SECONDS, _SAVED_SECONDS = 30.0, 60e-6
_GRAPH_STEPS = 100  # a capture costs about as much as this many small steps
_WARMUP = 3  # eager steps before a capture: libraries make their workspaces in them


def choose_mode(plan: Plan, device: torch.device, steps: int) -> Mode:
    """How the step of this plan runs: as it is, replayed from a CUDA graph, or compiled."""
    if plan.compile == "off" or plan.optimizer.name == "lbfgs":
        return "eager"
    if device.type == "cuda":
        return "graph" if plan.compile == "on" or steps >= _GRAPH_STEPS else "eager"
    return "compiled" if plan.compile == "on" or steps * _SAVED_SECONDS > _COMPILE_SECONDS else "eager"


def compiled(step: GradientStep) -> Step:
    """The same step with model and loss compiled by torch.compile."""
    step.loss = torch.compile(step.loss)  # type: ignore[method-assign]
    return step


class GraphStep:
    """The same step, recorded once for each batch size and replayed by the device without Python.

    The first steps of each size run as they are, so that resuming and starting do the same arithmetic.
    """

    def __init__(self, step: GradientStep):
        self.step = step
        self.frozen_at = step.frozen_at
        self.lr = torch.zeros((), device=step.examples.inputs.device)
        self.seen: dict[int, int] = {}
        self.graphs: dict[int, tuple[torch.cuda.CUDAGraph, Tensor, Stepped]] = {}
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def __call__(self, rows: Tensor, lr: float) -> Stepped:
        self.lr.fill_(lr)
        size = len(rows)
        if size not in self.graphs:
            self.seen[size] = self.seen.get(size, 0) + 1
            if self.seen[size] <= _WARMUP:
                return self._eager(rows)
            self._capture(rows)
        graph, static_rows, result = self.graphs[size]
        static_rows.copy_(rows)
        graph.replay()
        # The next replay writes over the result: the loss is kept until the next log point, the norm only until then.
        return Stepped(result.loss.clone(), result.count, result.gradient_norm)

    def _eager(self, rows: Tensor) -> Stepped:
        # On a side stream, as a capture's warm-up must be.
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            stepped = self.step(rows, self.lr)
        torch.cuda.current_stream().wait_stream(self.stream)
        return stepped

    def _capture(self, rows: Tensor) -> None:
        graph, static_rows = torch.cuda.CUDAGraph(), rows.clone()
        with torch.cuda.graph(graph, stream=self.stream):
            result = self.step(static_rows, self.lr)
        self.graphs[len(rows)] = (graph, static_rows, result)
