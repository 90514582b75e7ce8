"""Backward passes: the value of each loss, its graph, and the activations that the graph has kept."""

from __future__ import annotations

import math
import time
from itertools import islice
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradlab.diagnosis.record import Activation, Loss, NotFinite, Site
from gradlab.diagnosis.watching import by_hand, graph
from gradlab.diagnosis.watching.capture import capture
from gradlab.diagnosis.watching.sites import is_users, nearest_frame, site_of, user_frame
from gradlab.diagnosis.watching.tensors import some

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

_GRAPHS, _LOSSES, _WINDOW, _UNITS, _TERMS = 5, 32, 20, 65_536, 4
_KINDS = {"Relu": "relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Softmax": "softmax", "ThresholdBackward": "relu"}


class Backwards:
    """Calls of backward(), grouped by the line they are on."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.losses: dict[tuple[Any, int], Loss] = {}
        self.activations: dict[tuple[int, str], Activation] = {}
        self._active: dict[int, list[Tensor]] = {}
        self._began = 0.0

    def before(self, loss: Tensor, accumulates: bool) -> None:
        watch, step = self.watch, self.watch.step
        frame = user_frame()
        key = (frame.f_code, frame.f_lineno) if frame is not None else (None, 0)
        one = self.losses.get(key)
        if one is None:
            if len(self.losses) >= _LOSSES:
                return
            one = self.losses[key] = Loss(site=self._place(frame))
            watch.record.losses.append(one)
        one.count += 1
        value = loss.detach()
        number = float(value) if value.numel() == 1 else float(value.float().mean())
        one.values.add(step, number)
        if not math.isfinite(number) and one.not_finite is None:
            one.not_finite = step
            if watch.record.not_finite is None:
                watch.record.not_finite = self._origin(loss, step)
        calls = watch.roots.trained()
        watch.modules.trained()
        watch.reinforced.backward(calls)
        if watch.looking:
            self._look(one, loss, calls)
        watch.roots.fed = set()
        watch.loss_calls.recent, watch.loss_calls.site = [], None
        watch.calls.makers = {}
        watch.updates.backward(accumulates, one)
        self._began = time.perf_counter()

    def _place(self, frame: FrameType | None) -> Site | None:
        """The line of backward(); where a package calls it, that of the user which made the loss, or ran the model."""
        if frame is None:
            return None
        called = self.watch.loss_calls.site, *(call.root.site for call in self.watch.roots.pending.values())
        origin = None if is_users(nearest_frame()) else next((site for site in called if site is not None), None)
        return origin or site_of(frame)

    def after(self, loss: Tensor) -> None:
        watch = self.watch
        frame = user_frame()
        one = self.losses.get((frame.f_code, frame.f_lineno) if frame is not None else (None, 0))
        if one is not None:
            one.seconds.add(watch.step, time.perf_counter() - self._began)
        watch.updates.backward_ended()

    def _look(self, one: Loss, loss: Tensor, calls: list[Any]) -> None:
        watch, step = self.watch, self.watch.step
        operations = graph.nodes_of(loss)
        one.nodes.add(step, len(operations))
        one.carried.add(step, graph.carried(operations, step))
        names = set()
        for node in reversed(operations):  # from the input on: so they are listed
            variable = getattr(node, "variable", None)
            name = self.name(variable) if isinstance(variable, Tensor) else None
            if name is not None:
                names.add(name)
        for name in names:
            watch.record.parameters[name].reached += 1
        one.parameters |= names
        readable = not watch.saved_hooks
        if readable and not calls:
            watch.roots.bare(one, graph.data(operations))
        if readable and not watch.loss_calls.recent:
            outputs = {call.shown[0]: call.shown[1] for call in calls if call.shown is not None}
            for number, pair in enumerate(islice(by_hand.pairs(loss, outputs), _TERMS)):
                watch.loss_calls.by_hand(number, pair, one.site, calls)
        watch.reinforced.look(one, operations)
        if len(operations) <= 5000:
            seen = graph.read(step, operations, self.name, watch.calls.makers, readable)
            one.last_graph = seen
            if len(one.graphs) < _GRAPHS:
                one.graphs.append(seen)
        if readable and len(operations) <= 5000:
            self._activations(one, operations)
        for node in operations:
            kind = type(node)
            if hasattr(kind, "_forward_cls"):
                watch.record.custom_functions.setdefault(kind._forward_cls.__name__, kind._forward_cls)
        capture(watch, calls, loss, set(operations))

    def name(self, leaf: Tensor) -> str | None:
        """Of a parameter; an input of a root whose gradient is wanted too (physics, attacks) is none."""
        watch = self.watch
        fed = id(leaf) in watch.roots.fed and not watch.parameters.known(leaf) and not watch.updates.has(leaf)
        return None if fed else watch.parameters.name(leaf)

    # -- activations ----------------------------------------------------------------------------------------------

    def _activations(self, one: Loss, operations: list[Any]) -> None:
        count: dict[str, int] = {}
        after = _with_parameters(operations)
        # From the input to the loss, so that their numbers do not change when a loss gets further terms.
        for node in reversed(operations):
            kind = _KINDS.get(graph.short(node))
            if kind is None:
                continue
            count[kind] = count.get(kind, 0) + 1
            if count[kind] > 64:
                continue
            where = self.watch.calls.makers.get(node) or f"{kind} #{count[kind]}"
            result = graph.saved(node, "_saved_result")
            if result is None or result.numel() == 0 or not result.is_floating_point():
                continue
            key = (id(one), where)
            seen = self.activations.get(key)
            if seen is None:
                order = len(self.activations)
                seen = self.activations[key] = Activation(kind=kind, where=where, order=order, hidden=node in after)
                self.watch.record.activations.append(seen)
            self._measure(seen, result.detach())

    def _measure(self, seen: Activation, result: Tensor) -> None:
        step = self.watch.step
        if seen.kind == "relu":
            active = _active(result)
            seen.units = len(active)
            if seen.units <= _UNITS:
                window = self._active.setdefault(id(seen), [])
                if window and window[0].shape[0] != seen.units:
                    window.clear()
                window.append(active.cpu())
                del window[:-_WINDOW]
                seen.dead.add(step, float((~torch.stack(window).any(0)).float().mean()))
        elif seen.kind in ("tanh", "sigmoid"):
            seen.units = len(_active(result))
            result = some(result)
            low, high = (-1.0, 1.0) if seen.kind == "tanh" else (0.0, 1.0)
            margin = 0.01 * (high - low)
            railed = (result < low + margin) | (result > high - margin)
            seen.saturated.add(step, float(railed.float().mean()))

    # -- the first NaN --------------------------------------------------------------------------------------------

    def _origin(self, loss: Tensor, step: int) -> NotFinite:
        """The earliest thing that is not finite: an input, a parameter, or an operation of this graph."""
        watch = self.watch
        for name, tensor in watch.parameters.living():
            if tensor.is_floating_point() and not bool(tensor.detach().isfinite().all()):
                return NotFinite(step=step, what="parameter", where=name)
        for call in watch.roots.pending.values():
            for value in (*call.args, *call.kwargs.values()):
                if isinstance(value, Tensor) and value.is_floating_point() and not bool(value.isfinite().all()):
                    return NotFinite(step=step, what="input", where=call.root.name)
        if not watch.saved_hooks:
            for node in reversed(graph.nodes_of(loss)):
                detail = _bad(node)
                if detail:
                    module = watch.calls.makers.get(node, "")
                    return NotFinite(
                        step=step, what="loss", where=module, operation=graph.short(node), module=module, detail=detail
                    )
        return NotFinite(step=step, what="loss")


def _bad(node: Any) -> str:
    """What is wrong with the numbers that a node has kept."""
    name = graph.short(node)
    for attribute in ("_saved_self", "_saved_other", "_saved_result"):
        tensor = graph.saved(node, attribute)
        if tensor is None or not tensor.is_floating_point() or tensor.numel() == 0:
            continue
        values = tensor.detach()
        if name in ("Log", "Log2", "Log10") and attribute == "_saved_self" and bool((values <= 0).any()):
            return f"the logarithm of {float(values.min()):g}"
        if name == "Div" and attribute == "_saved_other" and bool((values == 0).any()):
            return "a division by 0"
        if name == "Sqrt" and attribute == "_saved_result" and bool(values.isnan().any()):
            return "the square root of a negative number"
        if name in ("Exp",) and attribute == "_saved_result" and bool(values.isinf().any()):
            return "an exponential that overflowed"
        if attribute == "_saved_result" and not bool(values.isfinite().all()):
            return "its result is not finite"
    return ""


def _active(result: Tensor) -> Tensor:
    """Which units were above zero anywhere: channels of pictures are units; of sequences, the last axis."""
    if result.ndim <= 1:
        return result.reshape(-1) > 0
    if result.ndim <= 3:
        return result.amax(tuple(range(result.ndim - 1))) > 0
    return result.amax((0, *range(2, result.ndim))) > 0


def _with_parameters(operations: list[Any]) -> set[Any]:
    """Nodes between which and the loss a parameter is used: hidden, not at the output."""
    waiting = [node for node in operations if _takes_parameter(node)]
    hidden: set[Any] = set()
    while waiting:
        for source, _ in waiting.pop().next_functions:
            if source is not None and source not in hidden:
                hidden.add(source)
                waiting.append(source)
    return hidden


def _takes_parameter(node: Any) -> bool:
    for source, _ in node.next_functions:
        if source is None:
            continue
        if hasattr(source, "variable"):
            return True
        if graph.short(source) in ("T", "Transpose", "View", "Expand", "Unsqueeze", "Permute") and any(
            deeper is not None and hasattr(deeper, "variable") for deeper, _ in source.next_functions
        ):
            return True
    return False
