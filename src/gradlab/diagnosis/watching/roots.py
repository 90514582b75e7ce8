"""Roots: modules that the user's code calls itself, in which mode, on what, and for which step."""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.loss import _Loss
from torch.nn.parameter import is_lazy

from gradlab.diagnosis.record import Loss, Root, Shared
from gradlab.diagnosis.watching.inputs import Columns
from gradlab.diagnosis.watching.known import Known
from gradlab.diagnosis.watching.origins import Origins
from gradlab.diagnosis.watching.rows import Rows
from gradlab.diagnosis.watching.sites import caller, module_name, of_a_package, site_of, user_frame
from gradlab.diagnosis.watching.tensors import dense, first_tensor, is_leaf, tensors_in

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

_ROOTS = 64
_EVALUATIONS, _SOME = 5, 256
_EVALUATED = -1  # in place of the number of an argument: that of evaluations


class Call:
    """A root's call that waits for a backward pass. Its output is kept only if the step is to be captured."""

    def __init__(self, root: Root, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any):
        self.root, self.args, self.kwargs, self.training = root, args, kwargs, module.training
        self.output = output if root.initial is None else None
        first = first_tensor(output)
        self.shown = None if first is None else (first.grad_fn, first.detach())
        """The node that made its first output, and the values; without its graph."""
        self.number = 1
        """Which call of its root it is since the last backward pass."""


class Roots:
    """Their calls, with gradients and without."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.known: Known[Root] = Known()
        self.pending: dict[str, Call] = {}
        """The last call of each root since the last backward pass."""
        self.fed: set[int] = set()
        """Leaves that were given to roots before this backward pass, and want a gradient, by identity."""
        self.stepping: dict[str, tuple[Root, bool]] = {}
        """Roots that a backward pass of this step has gone through, with their modes."""
        self.origins = Origins(watch)
        self._owned: dict[tuple[str, int, int], bool] = {}
        self._last_evaluated: tuple[int, Tensor] | None = None
        self._columns: dict[tuple[str, int], Columns] = {}
        self._stochastic: Known[bool] = Known()
        self._lazy: Known[Root] = Known()
        self._rows: defaultdict[str, Rows] = defaultdict(Rows)

    def switched(self, module: nn.Module, training: bool) -> None:
        """train() or eval() is called on a root."""
        root = self.known.get(module)
        if root is not None and not training:
            root.eval_site = caller()

    def ran(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """What the user called has come to its end."""
        watch, root = self.watch, self.known.get(module)
        inputs, first = first_tensor((*args, *kwargs.values()), dense), first_tensor(output, dense)
        if inputs is not None and inputs.is_meta:  # sizes are tried out
            return
        if root is None:
            if watch.looking:
                watch.modules.ran(module, args, output)
            return
        if module in self._lazy:
            self._lazy.pop(module)
            self._enter(root, module)
        if watch.looking or watch.reinforced.following:
            watch.reinforced.called(root, args, kwargs, output)
        tracked = first is None or first_tensor(output, lambda t: t.requires_grad) is not None
        if watch.looking:
            self.origins.called_with(root, inputs)
            if not any(module.children()) and (tracked or not torch.is_grad_enabled()):
                watch.modules.ran(module, args, output)
        if torch.is_grad_enabled() and tracked:
            self._waits(Call(root, module, args, kwargs, output), self.stochastic(module))
            if watch.looking:
                self._look(root, args, kwargs, output)
            if inputs is not None and inputs.ndim >= 2:
                self._rows[root.name].train(inputs)
            watch.autocast()
        elif not torch.is_grad_enabled():
            if watch.looking:
                self.origins.gave(root, first)
            if watch.step:  # before the first step, sizes are tried out
                self._evaluation_call(root, module, inputs)
                if inputs is not None and inputs.ndim >= 2:
                    self._rows[root.name].judge(inputs)
                    self._evaluation_columns(root, inputs)

    def _look(self, root: Root, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """At what went in and what came out, in training."""
        watch, calls = self.watch, self.watch.calls
        inputs, first = first_tensor((*args, *kwargs.values()), dense), first_tensor(output, dense)
        tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)][:4]
        for number, tensor in enumerate(tensors):
            self._add(root, number, tensor)
        self.origins.gave(root, first)
        self.origins.trained_on(root, inputs)
        if first is not None and first.grad_fn is not None:
            calls.makers.setdefault(first.grad_fn, root.name)
            calls.held.mark(watch.step, first.grad_fn)
        calls.held.given(watch.step, [t for t in tensors_in(output) if t.layout == torch.strided])

    def _add(self, root: Root, number: int, tensor: Tensor) -> None:
        columns = self._columns.setdefault((root.name, number), Columns())
        columns.add(tensor)
        if len(root.inputs) <= number:
            root.inputs.append(columns.inputs)

    def _evaluation_columns(self, root: Root, inputs: Tensor) -> None:
        """Of a few of the rows of the first evaluations."""
        if root.evaluation_inputs is None or root.evaluation_inputs.looks < _EVALUATIONS:
            columns = self._columns.setdefault((root.name, _EVALUATED), Columns())
            columns.add(inputs[:_SOME])
            columns.inputs.shape, root.evaluation_inputs = tuple(inputs.shape), columns.inputs

    def shared(self) -> list[Shared]:
        """Of roots that are given data; what another root made (codes, features) may well be the same again."""
        names = [root.name for root in self.watch.record.roots if not root.from_root]
        inputs = [self._rows[name] for name in names if name in self._rows]
        trained = set[int]().union(*(rows.trained for rows in inputs))
        # In a set of rows that comes to an end, all come again.
        again = set[int]().union(*(rows.again for rows in inputs if rows.endless))
        stream = any(rows.endless for rows in inputs)
        return [replace(rows.compared(trained, again), stream=stream) for rows in inputs if rows.batches and trained]

    def _waits(self, call: Call, varies: bool) -> None:
        before, root = self.pending.get(call.root.name), call.root
        if before is not None:
            call.number = before.number + 1
            if before.training != call.training:  # the one in another mode was an evaluation
                root.evaluated += 1
                root.evaluated_in_train += before.training and varies
        self.pending[root.name] = call
        self.fed |= {id(t) for t in (*call.args, *call.kwargs.values()) if is_leaf(t)}

    def next_step(self) -> None:
        self.stepping.clear()
        self.origins.clear()

    def _evaluation_call(self, root: Root, module: nn.Module, inputs: Tensor | None) -> None:
        """A call with gradients off, in one mode or the other."""
        watch = self.watch
        varies = module.training and self.stochastic(module) and not _measuring(module)
        if inputs is not None and inputs.layout == torch.strided:
            start = inputs.detach().reshape(-1)[:64].clone()
            before, self._last_evaluated = self._last_evaluated, (watch.step, start)
            if before is not None and before[0] == watch.step and _same(before[1], start):
                root.evaluated_again += 1
                return
        root.evaluated += 1
        if watch.step != watch.evaluated_step.get(root.name):
            watch.evaluated_step[root.name] = watch.step
            root.evaluated_steps += 1
        if varies:
            root.evaluated_in_train += 1
            if root.evaluated_site is None:
                frame = user_frame()
                root.evaluated_site = None if frame is None else site_of(frame)

    def new(self, module: nn.Module) -> Root | None:
        bare = not any(module.children()) and next(module.parameters(), None) is None and not _holds(module)
        if len(self.watch.record.roots) >= _ROOTS or isinstance(module, _Loss) or bare:
            return None
        frame = user_frame()
        name, inside = module_name(module), getattr(module, "_orig_mod", None)
        if name is None and inside is None:
            inside = _wrapped(module)
            name = None if inside is None else module_name(inside)
        name = name or type(module).__name__
        taken = {root.name for root in self.watch.record.roots}
        while name in taken:
            name += "'"
        root = Root(
            name=name,
            kind=type(inside or module).__name__,
            reference=(lambda: module) if self.watch.keeping else weakref.ref(module),
            site=None if frame is None else site_of(frame),
        )
        self.known[module] = root
        self.watch.record.roots.append(root)
        self._enter(root, inside or module)
        return root

    def _enter(self, root: Root, module: nn.Module) -> None:
        """Name all that a root has; what takes its size from the first input, after that."""
        self.watch.parameters.enter(root.name, module)
        if any(is_lazy(parameter) for parameter in module.parameters()):
            self._lazy[module] = root
        for path, part in module.named_modules():
            full = ".".join(filter(None, (root.name, path)))
            if part not in self.watch.modules.paths:
                self.watch.modules.paths[part] = full
            for held, tensor in _loose(part):
                self.watch.parameters.add(tensor, f"{full}.{held}", type(part).__name__, registered=False)

    def bare(self, loss: Loss, inputs: Tensor | None) -> None:
        """A model without modules: what its loss was made of, with the line of the backward pass for its name."""
        roots = self.watch.record.roots
        if inputs is None or not inputs.ndim or any(root.kind != "function" for root in roots):
            return
        root = next((root for root in roots if root.site == loss.site), None)
        if root is None:
            if len(roots) >= _ROOTS:
                return
            root = Root(name="the model" + "'" * len(roots), kind="function", site=loss.site)
            roots.append(root)
        root.trained += 1
        self._add(root, 0, inputs)

    def stochastic(self, module: nn.Module) -> bool:
        """Whether it acts differently in training: by batch norm, or by dropout."""
        varies = self._stochastic.get(module)
        if varies is None:
            parts = list(nn.Module.modules(module))  # which a class may have overridden
            varies = any(isinstance(m, _BatchNorm) or (isinstance(m, _DropoutNd) and m.p > 0) for m in parts)
            varies = varies or any(getattr(m, "dropout", 0.0) for m in parts if isinstance(m, nn.RNNBase))
            self._stochastic[module] = varies
        return varies

    def trained(self) -> list[Call]:
        """The calls that a backward pass ends: the last of each root."""
        last, self.pending = list(self.pending.values()), {}
        for call in last:
            call.root.trained += 1
            call.root.trained_in_eval += not call.training
            self.stepping[call.root.name] = call.root, call.training
        return last

    def stepped(self, number: int, tensors: list[Tensor]) -> None:
        """An optimiser has stepped: in which mode its models ran. Others ran too: a critic, while its maker learns."""
        for key, (root, training) in self.stepping.items():
            about = (key, number, len(tensors))
            if about not in self._owned:
                module = root.module
                theirs = set() if module is None else {id(p) for p in module.parameters()}
                self._owned[about] = any(id(t) in theirs for t in tensors)
            if self._owned[about]:
                root.stepped += 1
                root.stepped_in_eval += not training
                if not training and root.eval_since < 0:
                    root.eval_since = self.watch.step


def _holds(module: nn.Module) -> bool:
    """Whether it has modules or parameters that it has not registered."""
    for value in vars(module).values():
        items = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(item, (nn.Module, nn.Parameter)) for item in list(items)[:100]):
            return True
    return False


def _wrapped(module: nn.Module) -> nn.Module | None:
    """What a framework has put into a module of its own and calls through it, where the user has a name for it."""
    children = list(module.children())
    bare = len(children) == 1 and not module._parameters and of_a_package(type(module))
    return children[0] if bare and module_name(children[0]) is not None else None


def _measuring(module: nn.Module) -> bool:
    """Whether its batch norms take the plain mean of all batches: their statistics are being measured anew."""
    norms = [m for m in module.modules() if isinstance(m, _BatchNorm)]
    return bool(norms) and all(m.momentum is None for m in norms)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


def _loose(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Leaves that want a gradient, which a module holds in plain attributes: its parameters() do not give them."""
    for name, value in vars(module).items():
        if name.startswith("_"):
            continue
        items: dict[str, Any] = {name: value}
        if isinstance(value, (list, tuple)):
            items = {f"{name}[{i}]": item for i, item in enumerate(value[:100])}
        elif isinstance(value, dict):
            items = {f"{name}[{key!r}]": item for key, item in islice(value.items(), 100)}
        for full, item in items.items():
            if is_leaf(item):
                yield full, item
