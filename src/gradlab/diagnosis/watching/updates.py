"""Steps of optimisers: what they were given, what they changed, and whether the gradients were cleared before."""

from __future__ import annotations

import math
import weakref
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gradlab.diagnosis.record import Clipping, OptimizerRecord, Record, Site
from gradlab.diagnosis.watching.known import Known
from gradlab.diagnosis.watching.sites import caller
from gradlab.diagnosis.watching.tensors import is_measurable

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

_ALWAYS, _SMALL, _COPIED, _BY_HAND = 60, 3, 50_000_000, 2_000_000


class _Watched:
    """An optimiser, with what is known of it between two of its steps."""

    def __init__(self, seen: OptimizerRecord):
        self.seen = seen
        self.names: list[str] = []
        self._few: list[weakref.ref[Tensor]] = []
        self.clean = self.given = False
        """Whether a backward pass since the step before began without gradients, and whether one left some."""
        self.backwards = self.summed = 0
        """Backward passes since the step before, and those since the gradients were last clear."""
        self.filled: tuple[int, object] | None = None
        """The step at which gradients were given since they were last clear, and the loss that did."""
        self.joined = False
        """Whether another loss was added to these after another optimiser had stepped."""
        self.before: dict[str, Tensor] = {}
        self.discarded: list[object] = []
        """The losses of gradients that were cleared since the step before, with the weights as they were."""
        self.fresh: list[Tensor] = []
        """A few gradients, as the last backward pass left them,"""
        self.versions: list[int] = []
        """and how often their weights had been changed in place by then."""
        self.unused = 0
        """Of the discarded ones, those of the loss whose gradient is stepped along."""

    def take(self, tensors: list[Tensor]) -> None:
        """What it steps. A few small ones stand for all where something is asked at every step."""
        floats = [t for t in tensors if t.is_floating_point() and t.numel() and t.requires_grad]
        self._few = [weakref.ref(t) for t in sorted(floats, key=lambda t: t.numel())[:_SMALL]]

    def few(self) -> list[Tensor]:
        return [tensor for reference in self._few if (tensor := reference()) is not None]


class Updates:
    """Seen through torch's global hooks of optimisers."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.watched: Known[_Watched] = Known()
        self.all: list[_Watched] = []
        self.sites: Known[Site | None] = Known()
        """Where optimisers were made."""
        self._theirs: Known[bool] = Known()
        """Tensors that an optimiser has."""
        self.clippings: dict[tuple[Site | None, float], Clipping] = {}
        self.stepped = False
        self._last: dict[str, Tensor] = {}
        self._gradients: dict[str, Tensor] = {}
        """Those of the last backward pass, where updates are made by hand."""

    def made(self, optimizer: Any) -> None:
        self.sites[optimizer] = caller()
        self._enter(optimizer)

    # -- steps ----------------------------------------------------------------------------------------------------

    def before(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        one = self.watched.get(optimizer) or self._enter(optimizer)
        seen, watch = one.seen, self.watch
        tensors = tensors_of(optimizer)
        if not seen.steps or len(tensors) != len(one.names):
            self._take(one, tensors)
            one.names = [watch.parameters.name(t) for t in tensors]
        seen.closure = seen.closure or any(callable(a) for a in (*args, *kwargs.values()))
        if one.discarded and one.filled is not None and _as_left(one):
            one.unused = sum(loss is one.filled[1] for loss in one.discarded)
        if watch.looking and sum(t.numel() for t in tensors) <= _COPIED:
            one.names = [watch.parameters.name(t) for t in tensors]
            one.before = {
                n: t.detach().clone() for n, t in zip(one.names, tensors, strict=True) if t.is_floating_point()
            }

    def after(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        one = self.watched.get(optimizer)
        if one is None:
            return
        seen, watch = one.seen, self.watch
        step = watch.step
        self.stepped = True
        if seen.steps == 0:
            seen.first_step = step
        if rates := [float(group["lr"]) for group in optimizer.param_groups if "lr" in group]:
            seen.rate.add(step, max(rates))
        if seen.steps < _ALWAYS or watch.looking:
            seen.backwards.add(step, one.summed)
            self._check(one, optimizer)
        if watch.looking and one.before:
            self._look(one, optimizer)
        seen.joined += one.joined
        seen.discarded += one.unused
        one.before, one.clean, one.given, one.backwards, one.summed = {}, False, False, 0, 0
        one.filled, one.joined, one.discarded, one.fresh, one.unused = None, False, [], [], 0
        seen.steps += 1

    def _enter(self, optimizer: Any) -> _Watched:
        group = optimizer.param_groups[0]
        simple = (int, float, bool, str, tuple, type(None))
        seen = OptimizerRecord(
            number=len(self.all),
            kind=type(optimizer).__name__,
            site=self.sites.get(optimizer) or caller(),
            settings={k: v for k, v in group.items() if k != "params" and isinstance(v, simple)},
        )
        self.watched[optimizer] = one = _Watched(seen)
        self.all.append(one)
        self._take(one, tensors_of(optimizer))
        return one

    def _take(self, one: _Watched, tensors: list[Tensor]) -> None:
        one.take(tensors)
        for tensor in tensors:
            self._theirs[tensor] = True

    def name_all(self, record: Record) -> None:
        """At the end, which optimiser has which parameter; only those that have stepped count."""
        for one in self.all:
            if one.seen.steps == 0:
                continue
            record.optimizers.append(one.seen)
            one.seen.parameters = one.names
            for name in one.seen.parameters:
                if name in record.parameters and record.parameters[name].optimizer is None:
                    record.parameters[name].optimizer = one.seen.number

    def has(self, leaf: Tensor) -> bool:
        """Whether an optimiser has it."""
        return leaf in self._theirs

    def _check(self, one: _Watched, optimizer: Any) -> None:
        """Whether there was a gradient at all, and whether it began at zero."""
        seen = one.seen
        tensors = tensors_of(optimizer)
        if not tensors:
            return
        seen.checked += 1
        grads = [t.grad for t in tensors if t.grad is not None]
        if not grads or all(not bool(g.detach().any()) for g in grads):
            seen.empty += 1
            seen.empty_though_backward += one.backwards > 0
            seen.none_though_backward += one.given
        elif not one.clean and one.backwards:
            seen.stale += 1

    def _look(self, one: _Watched, optimizer: Any) -> None:
        step, seen = self.watch.step, one.seen
        squares, decays, rests, along, lengths = 0.0, 0.0, 0.0, 0.0, 0.0
        groups = {id(t): group for group in optimizer.param_groups for t in group["params"]}
        for tensor, name in zip(tensors_of(optimizer), one.names, strict=True):
            record, before = self.watch.record.parameters.get(name), one.before.get(name)
            if record is None or before is None:
                continue
            size = float(torch.linalg.vector_norm(before.float()))
            change = float(torch.linalg.vector_norm((tensor.detach() - before).float()))
            record.changed = record.changed or change > 0
            record.weight.add(step, size)
            record.update.add(step, change / size if size > 0 else (0.0 if change == 0 else math.inf))
            gradient = 0.0
            if tensor.grad is not None and not tensor.grad.is_sparse:
                gradient = float(torch.linalg.vector_norm(tensor.grad.detach().float()))
                record.gradient.add(step, gradient)
                squares += gradient * gradient
                along += float(((tensor.detach() - before).float() * tensor.grad.detach().float()).sum())
                lengths += change * change
            group = groups.get(id(tensor), {})
            decay = float(group.get("weight_decay") or 0.0)
            if decay:
                decoupled = "AdamW" in seen.kind or bool(group.get("decoupled_weight_decay"))
                part = float(group.get("lr", 0.0)) * decay * size if decoupled else decay * size
                whole = change if decoupled else gradient
                decays, rests = decays + part * part, rests + whole * whole
        seen.gradient.add(step, math.sqrt(squares))
        if squares and lengths:
            seen.uphill.add(step, along / math.sqrt(squares * lengths))
        if decays:
            seen.decay.add(step, math.sqrt(decays / rests) if rests else math.inf)

    # -- what happens between steps ---------------------------------------------------------------------------------

    def backward(self, accumulates: bool, loss: object) -> None:
        """A backward pass is about to begin, from a loss of one line or another."""
        for one in self.watched.facts():
            one.backwards += 1
            one.summed += 1
            if not accumulates:  # what it gives takes the place of what is there
                one.clean, one.summed = True, 1
                continue
            if one.seen.steps < _ALWAYS or self.watch.looking:
                left = [t.grad.detach() for t in one.few() if t.grad is not None]
                norm = math.sqrt(sum(float(g.float().square().sum()) for g in left if not g.is_sparse)) if left else 0.0
                one.seen.leftover.add(self.watch.step, norm)
                if norm == 0.0:
                    if one.filled is not None and one.fresh and one.versions == [t._version for t in one.few()]:
                        one.discarded.append(one.filled[1])
                    one.clean, one.summed, one.filled = True, 1, (self.watch.step, loss)
                elif one.filled is not None:
                    one.joined |= one.filled[0] < self.watch.step and one.filled[1] is not loss

    def backward_ended(self) -> None:
        if self.watch.looking and not self.stepped:
            gradients = [(n, t.grad) for n, t in self.watch.parameters.living() if t.grad is not None]
            dense = [(n, g.detach()) for n, g in gradients if not g.is_sparse]
            if dense:
                squares = sum(float(g.float().square().sum()) for _, g in dense)
                self.watch.record.hand_gradient.add(self.watch.step, math.sqrt(squares))
            few = sum(g.numel() for _, g in dense) <= _BY_HAND
            self._gradients = {n: g.clone() for n, g in dense} if few else {}
        for one in self.watched.facts():
            if one.seen.steps < _ALWAYS or self.watch.looking:
                tensors = one.few()
                one.fresh = [gradient.clone() for gradient in _gradients(tensors)]
                one.versions = [t._version for t in tensors]
                one.given = one.given or any(t.grad is not None and bool(t.grad.detach().any()) for t in tensors)

    def clipped(self, limit: Any, norm: Any, by_value: bool) -> None:
        limit, site = float(limit), caller()
        one = self.clippings.get((site, limit))
        if one is None:
            one = self.clippings[site, limit] = Clipping(site=site, limit=limit, by_value=by_value)
            self.watch.record.clippings.append(one)
        one.count += 1
        if norm is not None:
            value = float(norm)
            one.norm.add(self.watch.step, value)
            one.bound += value > limit

    def given(self, leaves: tuple[Tensor, ...], gradients: Any) -> None:
        """Gradients that the user asked for, to update by hand."""
        if self.watch.looking and not self.stepped:
            for leaf, gradient in zip(leaves, gradients, strict=True):
                if isinstance(gradient, Tensor):
                    norm = float(torch.linalg.vector_norm(gradient.detach().float()))
                    name = self.watch.parameters.name(leaf)
                    self.watch.record.parameters[name].gradient.add(self.watch.step, norm)
                    self._gradients[name] = gradient.detach().clone()

    # -- updates by hand --------------------------------------------------------------------------------------------

    def by_hand(self) -> bool:
        """Whether leaves have changed since this was last asked, without any optimiser."""
        record, parameters = self.watch.record, self.watch.parameters
        changed = left = False
        along, lengths, squares = 0.0, 0.0, 0.0
        # Of a large model, a few numbers of each tensor tell whether it has changed.
        small = sum(t.numel() for _, t in parameters.living()) <= _BY_HAND
        values = {n: t.detach() if small else parameters.some(t.detach()) for n, t in parameters.living()}
        for name, tensor in parameters.living():
            one = record.parameters[name]
            before, now = self._last.get(name), values[name]
            if before is not None and before.shape == now.shape and one.requires_grad and now.is_floating_point():
                change = float(torch.linalg.vector_norm((now - before).float()))
                size = float(torch.linalg.vector_norm(before.float()))
                moved = change != 0  # also to where nothing is a number
                changed = changed or moved
                left = left or (moved and tensor.grad is not None and bool(tensor.grad.detach().any()))
                one.changed = one.changed or moved
                gradient = self._gradients.get(name)
                if change > 0 and gradient is not None and gradient.shape == now.shape:
                    along += float(((now - before).float() * gradient.float()).sum())
                    lengths, squares = lengths + change * change, squares + float(gradient.float().square().sum())
                if change > 0 and self.watch.looking:
                    one.weight.add(self.watch.step, size)
                    one.update.add(self.watch.step, change / size if size > 0 else math.inf)
        if lengths and squares:
            record.hand_uphill.add(self.watch.step, along / math.sqrt(lengths * squares))
        self._gradients = {}
        record.hand_checked += changed
        record.hand_stale += left
        self._last = {n: t.clone() if small else t for n, t in values.items()}
        return changed


def _as_left(one: _Watched) -> bool:
    """Whether a step is along what the last backward pass left, up to a factor: gradients that were read, and put
    together from several passes, are others."""
    now = _gradients(one.few())
    if len(now) != len(one.fresh) or any(a.shape != b.shape for a, b in zip(now, one.fresh, strict=True)):
        return False
    products = sum(float((a * b).sum()) for a, b in zip(now, one.fresh, strict=True))
    sizes = (sum(float(a.square().sum()) for a in gradients) for gradients in (now, one.fresh))
    return products > 0.999 * math.sqrt(math.prod(sizes))


def _gradients(tensors: list[Tensor]) -> list[Tensor]:
    """Those of them that are dense and not zero."""
    dense = (t.grad.detach() for t in tensors if t.grad is not None and not t.grad.is_sparse)
    return [gradient for gradient in dense if bool(gradient.any())]


def tensors_of(optimizer: Any) -> list[Tensor]:
    """The parameters of an optimizer that can be measured."""
    return [tensor for group in optimizer.param_groups for tensor in group["params"] if is_measurable(tensor)]
