"""Whether and how the step is compiled: decided by the recipe alone, so that a repeated run does the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from gradlab import parallel
from gradlab.data import Batch
from gradlab.data.batch import copied, key, tensors
from gradlab.training.compiled import CompiledStep, fast_layers
from gradlab.training.guard import Guard
from gradlab.training.plan import Plan
from gradlab.training.small_update import small_update
from gradlab.training.step import GradientStep, Step, Stepped, TurnsStep

Mode = Literal["eager", "graph", "compiled", "compiled-graph"]

# A capture costs about as much as this many small steps. On the CPU compiling waits to be asked for: `gradlab bench
# compile` shows small steps that are slower for it, and larger ones that win it back only after 100,000 steps.
_GRAPH_STEPS = 100
# Between two replays a device waits some 10 µs, and as long again for what is copied for each. A step of a model with
# more parameters than these takes so much longer that nobody would see it; recording so many steps at once costs as
# much as some hundred of them spare.
_AT_ONCE, _SMALL, _AT_ONCE_STEPS = 16, 2**22, 500
_WARMUP = 3  # eager steps before a capture: libraries make their workspaces in them
# Compiling layers, those that our own kernels do not know (`nn.fused_layer`), takes 11 s the first time on a machine
# and 1 to 4 s from then on. On an H200 it spares a sixth of GPT-2's captured step (63.1 ms against 74.7) and a fifth of
# that of a GPT of 11 million weights (6.8 against 8.4): won back after 3·10¹⁶ and 8·10¹⁵ operations the first time, and
# after a fourth of that later. By work and not by steps: large ones pay after a few hundred, and small ones never.
_COMPILE_FLOPS = 8e15


def choose_mode(plan: Plan, device: torch.device, steps: int, layer_flops: float = 0.0) -> Mode:
    """How the step of this plan runs: as it is, or on CUDA replayed from a graph, with compiled layers where that pays.

    `layer_flops` are the operations of the whole run, if it has layers to compile and batches of one shape.
    """
    if plan.compile == "off" or plan.searches or parallel.count() > 1:
        return "eager"
    wanted = plan.compile == "on"
    if device.type == "cuda":
        # The compiler times some kernels and takes the fastest, which may be another the next time.
        if not plan.deterministic and (layer_flops >= _COMPILE_FLOPS or (wanted and layer_flops)):
            return "compiled-graph"
        return "graph" if wanted or steps >= _GRAPH_STEPS else "eager"
    return "compiled" if wanted else "eager"


def steps_at_once(mode: Mode, parameters: Sequence[Tensor], steps: int) -> int:
    """Steps that are replayed together, where their batches are known ahead: more than one for small models."""
    small = sum(p.numel() for p in parameters) <= _SMALL
    return _AT_ONCE if mode == "graph" and small and steps >= _AT_ONCE_STEPS else 1


def in_mode(
    step: Step, mode: Mode, device: torch.device, rows: int | None = None, at_once: int = 1, steps: int = 0
) -> Step:
    """The step as the mode wants it: replayed, compiled, both, or as it is.

    `rows` are those of most batches, `at_once` the steps that may be replayed together, and `steps` those of the run.
    """
    turns = step.steps if isinstance(step, TurnsStep) else [(step, 1.0)]
    if not all(isinstance(one, GradientStep) for one, _ in turns):
        return step
    if mode in ("graph", "compiled-graph"):
        for one, _ in turns:
            assert isinstance(one, GradientStep)
            one.small = small_update(one.optimizer, one.guard, one.plan, steps)
    parts = [(_faster(one, mode, rows), multiple) for one, multiple in turns]  # type: ignore[arg-type]
    step = TurnsStep(parts) if isinstance(step, TurnsStep) else parts[0][0]
    return GraphStep(step, device, at_once) if mode in ("graph", "compiled-graph") else step


def _faster(step: GradientStep, mode: Mode, rows: int | None) -> Step:
    """The step with what its mode has compiled, and on CUDA with layers of our own kernels."""
    if mode == "compiled":
        return CompiledStep(step)
    layers = [] if mode == "eager" else fast_layers(step, compile=mode == "compiled-graph")
    return CompiledStep(step, layers, rows) if layers else step


class GraphStep:
    """The same step, recorded once for each shape of a batch and replayed by the device without Python.

    The first steps of each shape run as they are, so that resuming and starting do the same arithmetic. There are few
    shapes: a last batch may be smaller, and texts are padded to one of sixteen widths. With `at_once`, so many steps
    are also recorded in one graph, for batches that are known ahead: the same arithmetic again.
    """

    def __init__(self, step: Step, device: torch.device, at_once: int = 1):
        self.step, self.guards, self.gradient_norms = step, step.guards, step.gradient_norms
        self.at_once, self.lrs = at_once, torch.zeros(at_once, device=device)
        self.rates: list[float] = []  # those that are in `lrs`
        self.seen: dict[Any, int] = {}
        self.captured: dict[Any, _Captured] = {}
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()  # one for all shapes: only one of them is ever at work

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        self._set([lr])
        shape = key(batch)
        if (shape, 1) not in self.captured:
            self.seen[shape] = self.seen.get(shape, 0) + 1
            if self.seen[shape] <= _WARMUP:
                return self._eager(batch)
            self.captured[shape, 1] = self._capture([batch])
        return self.captured[shape, 1].replay(self.guards, [batch])[0]

    def several(self, batches: Sequence[Batch], lrs: Sequence[float]) -> list[Stepped]:
        """Steps on some batches, one after the other: in one replay where they are `at_once` of a shape met before."""
        shape = key(batches[0])
        ready = self.seen.get(shape, 0) >= _WARMUP and len(batches) == self.at_once
        if not ready or any(key(batch) != shape for batch in batches[1:]):
            return [self(batch, lr) for batch, lr in zip(batches, lrs, strict=True)]
        self._set(lrs)
        if (shape, self.at_once) not in self.captured:
            self.captured[shape, self.at_once] = self._capture(batches)
        return self.captured[shape, self.at_once].replay(self.guards, batches)

    def _set(self, lrs: Sequence[float]) -> None:
        if self.rates[: len(lrs)] == list(lrs):
            return
        self.rates[: len(lrs)] = lrs
        if len(lrs) == 1:
            self.lrs[0].fill_(lrs[0])  # a kernel, where a copy from the host would be two
        else:
            self.lrs.copy_(torch.tensor(lrs), non_blocking=True)

    def _eager(self, batch: Batch) -> Stepped:
        # On a side stream, as a capture's warm-up must be.
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            stepped = self.step(batch, self.lrs[0])  # type: ignore[arg-type]
        torch.cuda.current_stream().wait_stream(self.stream)
        return stepped

    def _capture(self, batches: Sequence[Batch]) -> "_Captured":
        graph, mine = torch.cuda.CUDAGraph(), [copied(batch) for batch in batches]
        with torch.cuda.graph(graph, pool=self.pool, stream=self.stream):
            steps = [self.step(batch, lr) for batch, lr in zip(mine, self.lrs.unbind(), strict=False)]  # type: ignore[arg-type]
            # In one tensor of each loss, so that all of them are copied at once.
            totals = {name: torch.stack([stepped[name][0] for stepped in steps]) for name in steps[0]}
            counts = {name: _together([stepped[name][1] for stepped in steps]) for name in steps[0]}
        parts = list(zip(*map(tensors, mine), strict=True))
        return _Captured(graph, parts, totals, counts, [(guard.norm, guard.norms) for guard in self.guards])


@dataclass(frozen=True)
class _Captured:
    """Recorded steps and the memory they read and write."""

    graph: torch.cuda.CUDAGraph
    parts: list[tuple[Tensor, ...]]
    """Of the batches: for each tensor of a batch, one for each step."""
    totals: dict[str, Tensor]
    counts: dict[str, Tensor | int]
    norms: list[tuple[float | Tensor, list[float] | Tensor]]

    def replay(self, guards: Sequence[Guard], batches: Sequence[Batch]) -> list[Stepped]:
        for mine, theirs in zip(self.parts, zip(*map(tensors, batches), strict=True), strict=True):
            torch._foreach_copy_(mine, theirs)
        self.graph.replay()
        for guard, (norm, norms) in zip(guards, self.norms, strict=True):
            guard.norm, guard.norms = norm, norms
        # The next replay writes over the losses, which are wanted until the next log point.
        totals = {name: total.clone().unbind() for name, total in self.totals.items()}
        counts = {name: _apart(count, len(batches)) for name, count in self.counts.items()}
        return [{name: (totals[name][i], counts[name][i]) for name in totals} for i in range(len(batches))]


def _together(counts: list[Tensor | int]) -> Tensor | int:
    """Counts on the device as one tensor; those that follow from shapes are the same in all steps."""
    return torch.stack(counts) if isinstance(counts[0], Tensor) else counts[0]  # type: ignore[arg-type]


def _apart(count: Tensor | int, steps: int) -> Sequence[Tensor | int]:
    return count.clone().unbind() if isinstance(count, Tensor) else [count] * steps
