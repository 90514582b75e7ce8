"""Whether and how the step is compiled: decided by the recipe alone, so that a repeated run does the same."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from gradlab import parallel
from gradlab.data import Batch
from gradlab.data.batch import copied, key, tensors
from gradlab.errors import GradlabError, one_line
from gradlab.kernels.graphs import recording
from gradlab.training.compiled import CompiledStep, fast_layers
from gradlab.training.guard import Guard
from gradlab.training.plan import Plan
from gradlab.training.replay_check import ReplayDiffers, compare_replay, distinct, find_room
from gradlab.training.replayable import find_listener, is_standard
from gradlab.training.small_update import small_update
from gradlab.training.step import GradientStep, Step, Stepped, TurnsStep
from gradlab.training.step_watch import StepWatch

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
    if plan.compile == "off" or plan.searches:
        return "eager"
    required = plan.compile == "on"
    if device.type == "cuda":
        # The compiler times some kernels and takes the fastest, which may be another the next time.
        if not plan.deterministic and (layer_flops >= _COMPILE_FLOPS or (required and layer_flops)):
            return "compiled-graph"
        return "graph" if required or steps >= _GRAPH_STEPS else "eager"
    return "compiled" if required else "eager"


def require_fast(plan: Plan, mode: Mode, reason: str) -> Mode:
    """The mode; refused where the plan asks for a fast step and there is none, for this reason."""
    if plan.compile == "on" and mode == "eager":
        raise GradlabError(f"train.compile=on asks for a compiled or replayed step, but {reason}. Leave it out.")
    return mode


def mode_in_words(mode: str, reason: str = "") -> str:
    """How the step runs, and why it is eager where another form was possible.

    >>> mode_in_words("eager", "net.py:12 reads a value back: z.mean().item()")
    'eager step (net.py:12 reads a value back: z.mean().item())'
    """
    return f"{mode} step" + (f" ({reason})" if reason else "")


def steps_at_once(mode: Mode, parameters: Sequence[Tensor], steps: int) -> int:
    """Steps that are replayed together, where their batches are known ahead: more than one for small models."""
    small = sum(p.numel() for p in parameters) <= _SMALL
    return _AT_ONCE if mode == "graph" and small and steps >= _AT_ONCE_STEPS else 1


def in_mode(
    step: Step,
    mode: Mode,
    device: torch.device,
    rows: int | None = None,
    at_once: int = 1,
    steps: int = 0,
    owner: "ReplayOwner | None" = None,
) -> Step:
    """The step as the mode wants it: replayed, compiled, both, or as it is.

    `rows` are those of most batches, `at_once` the steps that may be replayed together, `steps` those of the run, and
    `owner` the training, which a step that is not known to replay is compared in.
    """
    turns = step.steps if isinstance(step, TurnsStep) else [(step, 1.0)]
    if not all(isinstance(one, GradientStep) for one, _ in turns):
        return step
    ones: list[GradientStep] = [one for one, _ in turns]  # type: ignore[misc]
    if device.type == "cuda" and parallel.count() == 1:
        for one in ones:  # in an eager step too, so that both have the same bits
            one.small = small_update(one.optimizer, one.guard, one.plan, steps)
    watch = None
    if mode in ("graph", "compiled-graph") and owner is not None and not all(map(is_standard, ones)):
        roots = {name: root for one in ones for name, root in one.roots.items()}
        watch = StepWatch(roots, device, next(filter(None, map(find_listener, ones)), ""))
    # Faster forms of layers are for steps that are known: another one must end with the bits of the eager step.
    layers = mode if watch is None or ones[0].plan.compile == "on" else "eager"
    parts = [(_faster(one, layers, rows), multiple) for one, (_, multiple) in zip(ones, turns, strict=True)]
    step = TurnsStep(parts) if isinstance(step, TurnsStep) else parts[0][0]
    if device.type != "cuda" and mode not in ("graph", "compiled-graph"):
        return step
    replays = mode in ("graph", "compiled-graph")
    return GraphStep(step, device, at_once, replays=replays, watch=watch, owner=owner)


def _faster(step: GradientStep, mode: Mode, rows: int | None) -> Step:
    """The step with what its mode has compiled, and on CUDA with layers of our own kernels."""
    if mode == "compiled":
        return CompiledStep(step)
    layers = [] if mode == "eager" else fast_layers(step, compile=mode == "compiled-graph")
    return CompiledStep(step, layers, rows) if layers else step


class ReplayOwner(Protocol):
    """Whoever trains with a step that may be replayed."""

    def live_tensors(self) -> list[Tensor]:
        """Weights, buffers, and what the optimizers and the average keep, on the device."""

    def begin(self, place: torch.device) -> None:
        """Remember where the training stands, in memory of the place."""

    def note_success(self) -> None:
        """The replays since the comparison before were right."""

    def fall_back(self, reason: str) -> None:
        """The step is eager from now on; raises where a fast one was demanded."""


class GraphStep:
    """The same step, recorded once for each shape of a batch and replayed by the device without Python.

    The first steps of each shape run as they are, so that resuming and starting do the same arithmetic. There are few
    shapes: a last batch may be smaller, and texts are padded to one of sixteen widths. With `at_once`, so many steps
    are also recorded in one graph, for batches that are known ahead: the same arithmetic again.

    A step that is not known to do the same on the device every time has a `watch`. It is then replayed only if its
    eager steps did nothing that a replay would not repeat, and each recording computes what the eager step computes.
    """

    def __init__(
        self,
        step: Step,
        device: torch.device,
        at_once: int = 1,
        *,
        replays: bool = True,
        watch: StepWatch | None = None,
        owner: ReplayOwner | None = None,
    ):
        self.step, self.guards, self.gradient_norms = step, step.guards, step.gradient_norms
        self.device, self.replays, self.watch = device, replays, watch
        # Weakly: a cycle would keep graphs and their memory until somebody collects garbage.
        self.owner: ReplayOwner | None = None if owner is None else weakref.proxy(owner)
        self.at_once, self.lrs = at_once, torch.zeros(at_once, device=device)
        self.rates: list[float] = []  # those that are in `lrs`
        self.seen: dict[Any, int] = {}
        self.captured: dict[Any, _Captured] = {}
        self.compares = False  # the next replay
        self.unchecked = 0  # replays since the last comparison
        self.stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()  # one for all shapes: only one of them is ever at work

    def __call__(self, batch: Batch, lr: float) -> Stepped:
        self._set([lr])
        if not self.replays:
            return self.step(batch, self.lrs[0])  # type: ignore[arg-type]
        shape = key(batch)
        if (shape, 1) not in self.captured:
            self.seen[shape] = self.seen.get(shape, 0) + 1
            if self.seen[shape] <= _WARMUP:
                return self._first(batch)
        return self._replay((shape, 1), [batch])[0]

    def can_replay(self, batches: Sequence[Batch]) -> bool:
        """Whether steps on these batches are one replay: as many as are recorded together, of a shape met before."""
        if not self.replays or self.compares or len(batches) != self.at_once:
            return False
        shape = key(batches[0])
        return self.seen.get(shape, 0) >= _WARMUP and all(key(batch) == shape for batch in batches[1:])

    def several(self, batches: Sequence[Batch], lrs: Sequence[float]) -> list[Stepped]:
        """Steps on batches that `can_replay`, one after the other."""
        self._set(lrs)
        return self._replay((key(batches[0]), self.at_once), batches)

    def compare(self) -> None:
        """Let the next replay of a step that is not known be compared with eager steps."""
        self.compares = self.watch is not None

    def look(self) -> None:
        """Stop replaying if something but a step has changed what Python reads: an evaluation, or an observer."""
        if self.watch is not None and self.captured and not self.watch.read():
            self._refuse(self.watch.reason)

    def _set(self, lrs: Sequence[float]) -> None:
        if self.rates[: len(lrs)] == list(lrs):
            return
        self.rates[: len(lrs)] = lrs
        if len(lrs) == 1:
            self.lrs[0].fill_(lrs[0])  # a kernel, where a copy from the host would be two
        else:
            # From pinned memory, which is kept until it is copied; other memory may have been used again by then.
            rates = torch.tensor(lrs)
            self.lrs.copy_(rates.pin_memory() if self.device.type == "cuda" else rates, non_blocking=True)

    def _first(self, batch: Batch) -> Stepped:
        """An eager step of a shape that is to be recorded; the first of all makes what modules make once."""
        if self.watch is None or (len(self.seen) == 1 and self.seen[key(batch)] == 1):
            return self._eager([batch])[0]
        if not self.captured:
            self.watch.forget()
        with self.watch.watching():
            stepped = self._eager([batch])[0]
        if self.watch.reason:
            self._refuse(self.watch.reason)
        return stepped

    def _eager(self, batches: Sequence[Batch]) -> list[Stepped]:
        # On a side stream, as a capture's warm-up must be.
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            steps = [self.step(batch, lr) for batch, lr in zip(batches, self.lrs.unbind(), strict=False)]  # type: ignore[arg-type]
        torch.cuda.current_stream().wait_stream(self.stream)
        return steps

    def _replay(self, which: tuple[Any, int], batches: Sequence[Batch]) -> list[Stepped]:
        new = which not in self.captured
        if new and (failure := self._try_capture(which, batches)):
            self._give_up(failure)
            return self._eager(batches)
        if self.compares or (new and self.watch is not None):
            return self._compare(self.captured[which], batches)
        self.unchecked += 1
        return self.captured[which].replay(self.guards, batches)

    def _compare(self, captured: "_Captured", batches: Sequence[Batch]) -> list[Stepped]:
        """Steps made by a replay and then eagerly, from the same state; the training goes on from the second."""
        assert self.watch is not None
        assert self.owner is not None
        self.compares = False
        guards = [tensor for guard in self.guards for tensor in guard.state]
        state = distinct([*self.owner.live_tensors(), *self.watch.state.tensors.values(), *guards])
        place = find_room(state, self.device)
        if place is None:
            self._give_up(f"its state of {sum(t.nbytes for t in state) / 2**30:.1f} GB does not fit into memory again")
            return self._eager(batches)
        self.owner.begin(place)
        made: list[Stepped] = []
        reasons: list[str] = []

        def compute_replay() -> list[Tensor]:
            return self._results(captured.replay(self.guards, batches))

        def compute_eager() -> list[Tensor]:
            assert self.watch is not None
            with self.watch.watching():
                made[:] = self._eager(batches)
            reasons.extend(filter(None, [self.watch.reason]))
            return self._results(made)

        reason = compare_replay(state, place, self.device, compute_replay, compute_eager)
        if reasons or reason:
            self._give_up(reasons[0] if reasons else reason)
        else:
            self.unchecked = 0
            self.owner.note_success()
        return made

    def _results(self, steps: Sequence[Stepped]) -> list[Tensor]:
        """Losses, counts and norms of gradients."""
        losses = [part for stepped in steps for loss in stepped.values() for part in loss if isinstance(part, Tensor)]
        return [*losses, *(guard.norms for guard in self.guards if isinstance(guard.norms, Tensor))]

    def _give_up(self, reason: str) -> None:
        """No more replays; those that nobody has compared are to be made again."""
        unchecked = self.unchecked
        self._refuse(reason)
        if unchecked:
            raise ReplayDiffers(reason)

    def _refuse(self, reason: str) -> None:
        self.replays, self.compares, self.unchecked = False, False, 0
        self.captured.clear()
        if self.owner is not None:
            self.owner.fall_back(reason)

    def _try_capture(self, which: tuple[Any, int], batches: Sequence[Batch]) -> str:
        """Record steps; why that is not possible, or "". The failure is gone by then, with what it held."""
        try:
            self.captured[which] = self._capture(batches)
        except Exception as error:
            return f"it cannot be recorded: {one_line(error)}"
        return ""

    def _capture(self, batches: Sequence[Batch]) -> "_Captured":
        graph, mine = torch.cuda.CUDAGraph(), [copied(batch) for batch in batches]
        with recording(graph, self.stream, self.pool):
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
