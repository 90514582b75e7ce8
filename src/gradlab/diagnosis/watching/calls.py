"""Calls of modules: which are roots, in which mode they run, what goes in and what comes out."""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.loss import _Loss
from torch.nn.parameter import is_lazy

from gradlab.diagnosis.record import Capture, Loss, Module, Root, Shared
from gradlab.diagnosis.series import Series
from gradlab.diagnosis.watching.chance import unrolled
from gradlab.diagnosis.watching.held import Held
from gradlab.diagnosis.watching.inputs import Columns
from gradlab.diagnosis.watching.known import Known, Stored
from gradlab.diagnosis.watching.rows import Rows
from gradlab.diagnosis.watching.sample import some
from gradlab.diagnosis.watching.sites import caller, name_in, site_of, user_frame

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.watch import Watch

_ROOTS, _COPIED = 64, 20_000_000


class Call:
    """A root's call that waits for a backward pass. Its output is kept only if the step is to be captured."""

    def __init__(self, root: Root, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any):
        self.root, self.args, self.kwargs, self.training = root, args, kwargs, module.training
        self.output = output if root.initial is None else None
        first = _tensor(output)
        self.shown = None if first is None else (first.grad_fn, first.detach())
        """The node that made its first output, and the values; without its graph."""
        self.number = 1
        """Which call of its root it is since the last backward pass."""


class Calls:
    """Forward passes, seen through torch's global hooks."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.roots: Known[Root] = Known()
        self.paths: Known[str] = Known()
        self.pending: dict[str, Call] = {}
        """The last call of each root since the last backward pass."""
        self.fed: set[int] = set()
        """Leaves that were given to roots before this backward pass, and want a gradient, by identity."""
        self.made: dict[Any, str] = {}
        """Autograd's nodes at this look, and the modules whose outputs they are."""
        self.outputs: Stored[str] = Stored()
        """Whose outputs of this look lie where."""
        self.given: Stored[dict[tuple[int, tuple[int, ...]], set[str]]] = Stored()
        """Whose inputs of this look lie where, by offset and shape."""
        self.modes: dict[str, bool] = {}
        self.ran: dict[str, tuple[Root, bool]] = {}
        """Roots that a backward pass of this step has gone through, with their modes."""
        self._owned: dict[tuple[str, int, int], bool] = {}
        self._judged: tuple[int, Tensor] | None = None
        self.columns: dict[tuple[str, int], Columns] = {}
        self._stack: list[nn.Module] = []
        self._stochastic: Known[bool] = Known()
        self._lazy: Known[Root] = Known()
        self.held = Held()
        self.rows: dict[str, Rows] = {}
        self.judging = False
        """Whether the last root was called with gradients off, after the first step."""
        self._with_gradients = True
        """Whether they were on when the root was called; inside of it, a part may run without."""

    # -- hooks ----------------------------------------------------------------------------------------------------

    def before(self, module: nn.Module, args: Any) -> None:
        if torch.compiler.is_compiling():
            return
        if not self._stack:
            self.watch.called()
            self._with_gradients = torch.is_grad_enabled()
            self.judging = not self._with_gradients and self.watch.step > 0
            if module not in self.roots:
                self.watch.safely(self._new_root, module)
        self._stack.append(module)

    def after(self, module: nn.Module, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        if torch.compiler.is_compiling():
            return
        stack = self._stack
        while stack and stack.pop() is not module:  # those above it have raised
            pass
        watch = self.watch
        if not stack:
            watch.safely(self._root, module, args, kwargs, output)
        elif watch.looking:
            watch.safely(self._inner, module, args, output)

    def switched(self, module: nn.Module, training: bool) -> None:
        """train() or eval() is called on a root."""
        root = self.roots.get(module)
        if root is not None and training:
            root.train_site = caller()
        elif root is not None:
            root.eval_site = caller()

    def unwind(self) -> None:
        """A step is over."""
        self.ran.clear()
        self._stack.clear()
        self.outputs.clear()
        self.given.clear()

    # -- roots ----------------------------------------------------------------------------------------------------

    def _root(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        root = self.roots.get(module)
        given = _tensor((*args, *kwargs.values()))
        if given is not None and given.is_meta:  # sizes are tried out
            return
        if root is None:
            if self.watch.looking:
                self._inner(module, args, output)
            return
        watch = self.watch
        if module in self._lazy:
            self._lazy.pop(module)
            self._enter(root, module)
        tracked = _tensor(output) is None or _tensor(output, lambda t: t.requires_grad) is not None
        if watch.looking:
            self._beside(root, _tensor((*args, *kwargs.values())))
        if torch.is_grad_enabled() and tracked:
            self._waits(Call(root, module, args, kwargs, output), self.stochastic(module))
            if watch.looking:
                if not any(module.children()):
                    self._inner(module, args, output)
                self._inputs(root, module, args, kwargs)
                self._origin(root, _tensor((*args, *kwargs.values())), _tensor(output))
                first = _tensor(output)
                if first is not None and first.grad_fn is not None:
                    self.made.setdefault(first.grad_fn, root.name)
                    self.held.mark(watch.step, first.grad_fn)
                self.held.given(watch.step, [t for t in tensors_in(output) if t.layout == torch.strided])
                _spread(root.output_spread, watch.step, first)
                _spread(root.input_spread, watch.step, _tensor((*args, *kwargs.values())))
            first = _tensor((*args, *kwargs.values()))
            if first is not None and first.ndim >= 2:
                self._rows(root).train(first)
            watch.autocast()
        elif not torch.is_grad_enabled():
            if watch.looking:
                if not any(module.children()):
                    self._inner(module, args, output)
                self._came_from(root, _tensor(output))
            first = _tensor((*args, *kwargs.values()))
            if watch.step:  # before the first step, sizes are tried out
                self._judge(root, module, first)
            if first is not None and first.ndim >= 2 and watch.step:
                self._rows(root).judge(first)

    def _rows(self, root: Root) -> Rows:
        if root.name not in self.rows:
            self.rows[root.name] = Rows()
        return self.rows[root.name]

    def shared(self) -> list[Shared]:
        """Of roots that are given data; what another root made (codes, features) may well be the same again."""
        given = [self.rows[root.name] for root in self.watch.record.roots if root.name in self.rows and not root.made]
        trained = set[int]().union(*(rows.trained for rows in given))
        # In a set of rows that comes to an end, all come again.
        again = set[int]().union(*(rows.again for rows in given if rows.endless))
        stream = any(rows.endless for rows in given)
        return [replace(rows.compared(trained, again), stream=stream) for rows in given if rows.batches and trained]

    def _waits(self, call: Call, varies: bool) -> None:
        before, root = self.pending.get(call.root.name), call.root
        if before is not None:
            call.number = before.number + 1
            if before.training != call.training:  # the one in another mode was an evaluation
                root.judged += 1
                root.judged_in_train += before.training and varies
        self.pending[root.name] = call
        self.fed |= {id(t) for t in (*call.args, *call.kwargs.values()) if _leaf(t)}

    def _judge(self, root: Root, module: nn.Module, given: Tensor | None) -> None:
        """A call with gradients off, in one mode or the other."""
        watch = self.watch
        varies = module.training and self.stochastic(module) and not _measuring(module)
        if given is not None and given.layout == torch.strided:
            some = given.detach().reshape(-1)[:64].clone()
            before, self._judged = self._judged, (watch.step, some)
            if before is not None and before[0] == watch.step and _same(before[1], some):
                root.judged_again += 1
                return
        root.judged += 1
        if watch.step != watch.judged_step.get(root.name):
            watch.judged_step[root.name] = watch.step
            root.judged_steps += 1
        if varies:
            root.judged_in_train += 1
            if root.judged_site is None:
                frame = user_frame()
                root.judged_site = None if frame is None else site_of(frame)

    def _origin(self, root: Root, given: Tensor | None, output: Tensor | None) -> None:
        """Whether a root's input is what another root made: a discriminator's are of both kinds."""
        self._came_from(root, output)
        if given is None or not given.is_floating_point() or given.ndim < 2 or len(given) < 2:
            return
        rows = given.detach().reshape(len(given), -1).float()
        if rows.shape[1] > 4096:
            return
        std, mean = torch.std_mean(rows, dim=0, correction=0)
        maker = self.outputs.get(given)
        now = (mean.tolist(), std.tolist())
        if maker is not None and maker != root.name:
            root.made, root.made_at = _blended(root.made, now), self.watch.step
        else:
            root.given = _blended(root.given, now)

    def _beside(self, root: Root, given: Tensor | None) -> None:
        if given is None or not given.numel() or given.layout != torch.strided:
            return
        here = self.given.get(given)
        if here is None:
            self.given[given] = here = {}
        names = here.setdefault((int(given.storage_offset()), tuple(given.shape)), set())
        for other in self.watch.record.roots:
            if other.name in names and other is not root:
                other.beside.add(root.name)
                root.beside.add(other.name)
        names.add(root.name)

    def _came_from(self, root: Root, output: Tensor | None) -> None:
        if output is not None and output.is_floating_point() and output.numel():
            self.outputs[output] = root.name

    def _new_root(self, module: nn.Module) -> Root | None:
        bare = not any(module.children()) and next(module.parameters(), None) is None and not _holds(module)
        if len(self.watch.record.roots) >= _ROOTS or isinstance(module, _Loss) or bare:
            return None
        frame = user_frame()
        name = name_in(frame, module) or type(module).__name__
        taken = {root.name for root in self.watch.record.roots}
        while name in taken:
            name += "'"
        inside = getattr(module, "_orig_mod", None)
        root = Root(
            name=name,
            kind=type(inside or module).__name__,
            reference=(lambda: module) if self.watch.keeping else weakref.ref(module),
            site=None if frame is None else site_of(frame),
            compiled=inside is not None,
        )
        self.roots[module] = root
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
            if part not in self.paths:
                self.paths[part] = full
            for held, tensor in _loose(part):
                self.watch.parameters.add(tensor, f"{full}.{held}", type(part).__name__, registered=False)

    def bare(self, loss: Loss, given: Tensor | None) -> None:
        """A model without modules: what its loss was made of, with the line of the backward pass for its name."""
        roots = self.watch.record.roots
        if given is None or not given.ndim or any(root.kind != "function" for root in roots):
            return
        root = next((root for root in roots if root.site == loss.site), None)
        if root is None:
            if len(roots) >= _ROOTS:
                return
            root = Root(name="the model" + "'" * len(roots), kind="function", site=loss.site)
            roots.append(root)
        root.trained += 1
        columns = self.columns.setdefault((root.name, 0), Columns())
        columns.add(given)
        root.inputs = root.inputs or [columns.inputs]

    def stochastic(self, module: nn.Module) -> bool:
        """Whether it acts differently in training: by batch norm, or by dropout."""
        found = self._stochastic.get(module)
        if found is None:
            parts = list(module.modules())
            found = any(isinstance(m, _BatchNorm) or (isinstance(m, _DropoutNd) and m.p > 0) for m in parts)
            found = found or any(getattr(m, "dropout", 0.0) for m in parts if isinstance(m, nn.RNNBase))
            self._stochastic[module] = found
        return found

    def _inputs(self, root: Root, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        tensors = [t for t in (*args, *kwargs.values()) if isinstance(t, Tensor)][:4]
        for number, tensor in enumerate(tensors):
            columns = self.columns.setdefault((root.name, number), Columns())
            columns.add(tensor)
            while len(root.inputs) <= number:
                root.inputs.append(columns.inputs)

    # -- what is inside -------------------------------------------------------------------------------------------

    def _inner(self, module: nn.Module, args: Any, output: Any) -> None:
        """A module at a look."""
        path = self.paths.get(module)
        if path is None:
            path = self._stray(module)
        first = _tensor(output)
        if first is not None and first.is_meta:
            return
        record = self.watch.record
        seen = record.modules.get(path)
        if seen is None:
            seen = record.modules[path] = self._new(path, module)
        self.watch.parameters.used(module, self._with_gradients)
        if not self._with_gradients:
            seen.judged += 1
            seen.judged_in_train += module.training
            return
        self.modes[path] = module.training
        if first is None:
            return
        if first.grad_fn is not None:
            self.made.setdefault(first.grad_fn, path)
            if torch.is_grad_enabled() and first.layout == torch.strided:
                self.held.made(first)
        if not seen.leaf or not first.is_floating_point() or first.numel() == 0:
            return
        std, mean = torch.std_mean(some(first.detach()), correction=0)
        seen.mean.add(self.watch.step, float(mean))
        seen.std.add(self.watch.step, float(std))
        if isinstance(module, _BatchNorm) and module.training:
            seen.per_channel.add(self.watch.step, first.numel() / max(1, first.shape[1] if first.ndim > 1 else 1))

    def dropped(self, p: float, training: bool) -> None:
        """Dropout as a function, called by the user's code and not by a module of torch that stands for it."""
        inner = self._stack[-1] if self._stack else None
        if inner is None or isinstance(inner, _DropoutNd) or type(inner).__module__.startswith("torch."):
            return
        owner = self.paths.get(inner) or type(inner).__name__
        path = f"{owner} (F.dropout)"
        modules = self.watch.record.modules
        if path not in modules:
            modules[path] = Module(path=path, kind="Dropout", root=owner.split(".")[0], settings={"p": float(p)})
        if self._with_gradients:
            self.modes[path] = training
        else:
            modules[path].judged += 1
            modules[path].judged_in_train += training

    def _stray(self, module: nn.Module) -> str:
        """A module that runs inside a root which does not know it, or one without parameters that the user calls."""
        outer = self._stack[0] if self._stack else None
        root = self.roots.get(outer) if outer is not None else None
        name = None
        for holder in reversed(self._stack):
            name = _held(holder, module)
            if name:
                above = self.paths.get(holder) or type(holder).__name__
                path = f"{above}.{name}"
                break
        else:
            path = f"{root.name if root else type(outer).__name__ if outer is not None else ''}.{type(module).__name__}"
        while path in self.watch.record.modules:
            path += "'"
        self.paths[module] = path
        inside = outer is not None and any(part is module for part in outer.modules())
        if not inside:
            self.watch.parameters.enter(path, module, registered=False)
        seen = self.watch.record.modules[path] = self._new(path, module)
        seen.registered = inside
        return path

    def _new(self, path: str, module: nn.Module) -> Module:
        simple = {
            name: value
            for name, value in vars(module).items()
            if not name.startswith("_") and isinstance(value, (int, float, str, bool)) and name != "training"
        }
        return Module(
            path=path,
            kind=type(module).__name__,
            root=path.split(".")[0],
            leaf=not any(module.children()),
            settings=simple,
        )

    # -- backward -------------------------------------------------------------------------------------------------

    def trained(self) -> list[Call]:
        """The calls that a backward pass ends: the last of each root."""
        last, self.pending = list(self.pending.values()), {}
        for call in last:
            call.root.trained += 1
            call.root.trained_in_eval += not call.training
            self.ran[call.root.name] = call.root, call.training
        if self.watch.looking:
            for path, training in self.modes.items():
                seen = self.watch.record.modules[path]
                seen.trained += 1
                seen.trained_in_eval += not training
        self.modes = {}
        return last

    def stepped(self, number: int, tensors: list[Tensor]) -> None:
        """An optimiser has stepped: in which mode its models ran. Others ran too: a critic, while its maker learns."""
        for key, (root, training) in self.ran.items():
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

    def capture(self, calls: list[Call], loss: Tensor, step: int, graph: set[Any]) -> None:
        """Keep what is needed to run this step again, once for each root."""
        judges = self.watch.judges
        for call in calls:
            root = call.root
            module = root.module
            if root.initial is not None or module is None:
                continue
            model = getattr(module, "_orig_mod", module)
            if sum(p.numel() for p in model.parameters()) > _COPIED:
                continue
            try:
                with unrolled():
                    root.initial = copy.deepcopy(model)
            except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError):
                continue  # a module that cannot be copied cannot be probed
            for parameter in root.initial.parameters():
                parameter.grad = None
            capture = Capture(
                root=root,
                model=root.initial,
                args=_cloned(call.args),
                kwargs=_cloned(call.kwargs),
                connected=tuple(i for i, t in enumerate(tensors_in(call.output)) if t.grad_fn in graph),
                loss=float(loss.detach().float().mean()) if loss.numel() else float("nan"),
                step=step,
            )
            judges.explain(capture, call.output)
            self.watch.record.captures.append(capture)


def _holds(module: nn.Module) -> bool:
    """Whether it has modules or parameters that it has not registered."""
    for value in vars(module).values():
        items = value if isinstance(value, (list, tuple)) else value.values() if isinstance(value, dict) else (value,)
        if any(isinstance(item, (nn.Module, nn.Parameter)) for item in list(items)[:100]):
            return True
    return False


def _measuring(module: nn.Module) -> bool:
    """Whether its batch norms take the plain mean of all batches: their statistics are being measured anew."""
    norms = [m for m in module.modules() if isinstance(m, _BatchNorm)]
    return bool(norms) and all(m.momentum is None for m in norms)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


def _leaf(given: Any) -> bool:
    return isinstance(given, Tensor) and given.requires_grad and given.is_leaf


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
            if _leaf(item):
                yield full, item


def _held(holder: nn.Module, module: nn.Module) -> str | None:
    """Under which attribute a module holds another without having registered it."""
    for name, value in vars(holder).items():
        if value is module:
            return name
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                if item is module:
                    return f"{name}[{i}]"
        elif isinstance(value, dict) and not name.startswith("_"):
            for key, item in value.items():
                if item is module:
                    return f"{name}[{key!r}]"
    return None


def _tensor(given: Any, fits: Callable[[Tensor], bool] = lambda _: True) -> Tensor | None:
    """The first tensor in what a module took or gave."""
    if isinstance(given, Tensor):
        return given if fits(given) else None
    if isinstance(given, dict):
        given = given.values()
    elif not isinstance(given, (tuple, list)):
        return None
    for item in given:
        found = _tensor(item, fits)
        if found is not None:
            return found
    return None


def tensors_in(given: Any) -> list[Tensor]:
    """All tensors in what a module gave."""
    if isinstance(given, Tensor):
        return [given]
    items = given.values() if isinstance(given, dict) else given if isinstance(given, (tuple, list)) else ()
    return [tensor for item in items for tensor in tensors_in(item)]


def _spread(series: Series, step: int, tensor: Tensor | None) -> None:
    """How much the rows of a batch differ."""
    if tensor is not None and tensor.is_floating_point() and tensor.ndim >= 2 and len(tensor) > 1:
        series.add(step, float(tensor.detach().float().std(0, correction=0).mean()))


def _blended(
    before: tuple[list[float], list[float]] | None, now: tuple[list[float], list[float]]
) -> tuple[list[float], list[float]]:
    """Mostly the last looks."""
    if before is None or len(before[0]) != len(now[0]):
        return now
    mean, std = ([0.7 * a + 0.3 * b for a, b in zip(x, y, strict=True)] for x, y in zip(before, now, strict=True))
    return mean, std


def _cloned(given: Any) -> Any:
    """A copy of arguments without their graph."""
    if isinstance(given, Tensor):
        return given.detach().clone()
    if isinstance(given, tuple) and not hasattr(given, "_fields"):
        return tuple(_cloned(item) for item in given)
    if isinstance(given, list):
        return [_cloned(item) for item in given]
    if isinstance(given, dict):
        return {key: _cloned(value) for key, value in given.items()}
    return given
