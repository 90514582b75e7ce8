"""A watch: what is open while a training is seen."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sized
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from types import FrameType
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils.data import BatchSampler, SequentialSampler

from gradlab.diagnosis.record import Record
from gradlab.diagnosis.series import Series
from gradlab.diagnosis.watching import graph
from gradlab.diagnosis.watching.backwards import Backwards
from gradlab.diagnosis.watching.calls import Calls
from gradlab.diagnosis.watching.functional import Functional
from gradlab.diagnosis.watching.loss_calls import LossCalls
from gradlab.diagnosis.watching.masks import Masks
from gradlab.diagnosis.watching.modules import Modules
from gradlab.diagnosis.watching.pace import Pace
from gradlab.diagnosis.watching.parameters import ParameterNames
from gradlab.diagnosis.watching.patches import Patches
from gradlab.diagnosis.watching.reinforced import Reinforced
from gradlab.diagnosis.watching.roots import Roots
from gradlab.diagnosis.watching.sites import is_users, site_of
from gradlab.diagnosis.watching.updates import Updates, tensors_of

_READINGS = 64  # lines of a script
_SHORT = 10  # operations from a parameter to a number that stands for it


class Enough(BaseException):
    """As many steps as were asked for. Not an Exception, so that a script's own `except Exception` lets it pass."""


class Watch:
    """Fills a record while it is open. What fails in it is told in `faults`, and never to the script."""

    def __init__(self, steps: int | None = None, keeping: bool = False):
        self.most = steps
        self.keeping = keeping
        """Whether the models are kept to the end, for those who look at them then."""
        self.record = Record()
        self.faults: list[str] = []
        self.notes: list[str] = []
        """Which probes could not be made, and why."""
        self.step = 0
        self.looking = True
        self.depth = 0
        """Above 0 while the watch itself runs something that it must not see."""
        self.inside = 0
        """Above 0 inside of a backward pass."""
        self.saved_hooks = False
        """Whether saved tensors are hooked (checkpointing): reading them would compute them again."""
        self.pace = Pace()
        self.parameters = ParameterNames(self.record)
        self.calls = Calls(self)
        self.roots = Roots(self)
        self.modules = Modules(self)
        self.masks = Masks(self)
        self.loss_calls = LossCalls(self)
        self.updates = Updates(self)
        self.backwards = Backwards(self)
        self.reinforced = Reinforced(self)
        self.functional = Functional(self)
        self.patches = Patches(self)
        self.listener: Callable[[], None] | None = None
        """Called after each step that was looked at."""
        self.evaluated_step: dict[str, int] = {}
        self._thread = threading.get_ident()
        self._turn: list[int] = []
        self._idle_since: float | None = None
        self._working_since: float | None = None
        self._loading = 0.0

    def __enter__(self) -> Self:
        self.record.looks.append(0)
        self.patches.put_in()
        self.began = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.reinforced.close()
        self.patches.take_out()
        self.safely(self._finish)

    def safely(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call a part of the watch; its time is our own, and its failure too."""
        if threading.get_ident() != self._thread or self.depth or _transforming():
            return None
        began, looking = time.thread_time(), self.looking
        self.depth += 1
        try:
            with unseen():
                return function(*args)
        except Exception as error:
            self._fault(function, error)
            return None
        finally:
            self.depth -= 1
            took = time.thread_time() - began
            self.pace.own += took
            self.pace.looks += took if looking else 0.0

    def _fault(self, function: Callable[..., Any], error: Exception) -> None:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" ({trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno})" if trace else ""
        fault = f"watching, {getattr(function, '__qualname__', function)}{place}: {type(error).__name__}: {error}"
        if fault not in self.faults and len(self.faults) < 20:
            self.faults.append(fault)

    # -- the clock ------------------------------------------------------------------------------------------------

    def called(self) -> None:
        """A root's call begins."""
        if self._idle_since is not None and torch.is_grad_enabled():
            now = time.perf_counter()
            self.record.waited.add(self.step, now - self._idle_since)
            self._idle_since, self._working_since = None, now

    def stepped(self, optimizer: Any) -> None:
        """An optimiser has stepped: the next step begins."""
        one = self.updates.watched.get(optimizer)
        if one is None:
            return
        number = one.seen.number
        self.roots.stepped(number, tensors_of(optimizer))
        self._turn = [*self._turn[-31:], number]
        # Until the rarest of those that take turns has had its own: three steps of one and one of another make four.
        rarest = min(map(self._turn.count, set(self._turn)))
        self._advance(min(16, -(-len(self._turn) // rarest)))

    def _advance(self, together: int) -> None:
        now = time.perf_counter()
        if self._working_since is not None:
            self.record.worked.add(self.step, now - self._working_since)
        self._idle_since, self._working_since, looked = now, None, self.looking
        self.step += 1
        self.calls.stack.clear()
        self.roots.next_step()
        self.looking = self.pace.due(self.step, together)
        self.reinforced.next_step()
        looks = self.record.looks
        if self.looking and len(looks) < 10_000:
            looks.append(self.step)
            for series, share in (
                (self.record.held, self.calls.held.activations(self.step)),
                (self.record.held_graphs, self.calls.held.graphs(self.step)),
            ):
                if share is not None:
                    series.add(self.step, share)
            if len(looks) & (len(looks) - 1) == 0:  # more and more rarely; at the end a model may be gone
                self.parameters.look_for_changes()
        if looked and self.listener is not None:
            began = time.thread_time()
            self.listener()
            self.pace.looks -= time.thread_time() - began  # of looks there are as many as without it

    def backward_begins(self, loss: Tensor, accumulates: bool = True) -> None:
        if loss.is_meta:  # a framework that asks for shapes
            return
        if not self.updates.stepped:
            self._maybe_by_hand(loss)
        self.backwards.before(loss, accumulates)

    def _maybe_by_hand(self, loss: Tensor) -> None:
        """Where no optimiser has stepped, the user may update: what changed since the last backward pass tells."""
        if self.parameters.replaced():
            for node in graph.nodes_of(loss):
                if isinstance(leaf := getattr(node, "variable", None), Tensor):
                    self.backwards.name(leaf)
        self.updated_by_hand()

    def updated_by_hand(self) -> None:
        if self.updates.by_hand():
            self._advance(1)

    def stop_if_enough(self) -> None:
        if self.most is not None and self.step >= self.most:
            raise Enough

    def read(self, frame: FrameType, value: Any) -> None:
        """The script itself takes a number out of a tensor, in an evaluation."""
        self.record.figures += 1
        if is_users(frame) and isinstance(value, float):
            site, readings = site_of(frame), self.record.readings
            if site in readings or len(readings) < _READINGS:
                readings.setdefault(site, Series()).add(self.step, value)

    def taken(self, tensor: Tensor) -> None:
        """In training, the script takes a number out of what is made of a single parameter."""
        nodes = graph.nodes_of(tensor, _SHORT)
        leaves = [tensor] if tensor.is_leaf else [node.variable for node in nodes if hasattr(node, "variable")]
        if len(leaves) == 1 and len(nodes) < _SHORT:
            self.parameters.taken(leaves[0], self.step)

    # -- circumstances --------------------------------------------------------------------------------------------

    def autocast(self) -> None:
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                self.record.autocast.add(str(torch.get_autocast_dtype(device)).removeprefix("torch."))

    def loading(self, seconds: float) -> None:
        if torch.is_grad_enabled() and self.step:
            self.record.loader_seconds += seconds

    def drawn(self, iterator: Any) -> None:
        """A batch was drawn from a pass over a DataLoader."""
        batches = getattr(iterator, "_index_sampler", None)
        if not torch.is_grad_enabled() or not isinstance(batches, BatchSampler):
            return
        sampler = batches.sampler
        if not isinstance(sampler, Sized) or len(batches) < 2:
            return
        if iterator._num_yielded == 1:
            self.record.first_batches += 1
        else:
            self.record.later_batches += 1
        self.record.batches_in_order &= isinstance(sampler, SequentialSampler)

    def loaded(self, module: nn.Module) -> None:
        self.parameters.loaded(module)

    def _finish(self) -> None:
        self.parameters.look_for_changes()
        self._complete(self.record)

    def so_far(self) -> Record:
        """What the record would be if the training ended here; the record itself stays as it is."""
        parameters = {name: replace(parameter) for name, parameter in self.record.parameters.items()}
        record = replace(self.record, parameters=parameters, optimizers=[])
        self._complete(record)
        return record

    def _complete(self, record: Record) -> None:
        """What is only known when no further step comes."""
        record.seconds, record.own_seconds = time.perf_counter() - self.began, self.pace.own
        record.steps = self.step
        self.updates.name_all(record)
        record.shared = self.roots.shared()
        self.reinforced.finish()


def _transforming() -> bool:
    """Whether torch.func is at work, whose tensors have no values yet, or a trace, which would have our operations in
    it."""
    return torch._C._functorch.maybe_current_level() is not None or torch._C._is_tracing()


def unseen() -> AbstractContextManager[Any]:
    """What the watch computes is not seen by modes that the user has entered to count or change operations."""
    if not torch._C._len_torch_dispatch_stack() and not torch._C._len_torch_function_stack():
        return _NOTHING
    stack = ExitStack()
    stack.enter_context(torch._C.DisableTorchFunction())
    stack.enter_context(_disable_current_modes())
    return stack


_NOTHING = nullcontext()
