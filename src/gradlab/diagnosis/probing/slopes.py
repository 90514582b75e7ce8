"""Autograd functions that somebody wrote: is what `backward` gives the slope of what `forward` computes?"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from gradlab.diagnosis.probing.replay import Replay, seeded
from gradlab.diagnosis.record import Probed, Record, Site
from gradlab.diagnosis.series import median

_CALLS, _LARGEST, _STEEPEST, _RANDOM, _SECONDS = 2, 4_000_000, 8, 16, 5.0
# A step this wide is far above the rounding even of a function that computes in float32 inside, and far below the
# width in which smooth functions bend.
_STEP, _NEAR, _NOTHING = 1e-3, 0.05, 1e-3


def slopes(record: Record, replay: Replay, deadline: float) -> list[str]:
    """Compare them with numeric differences, in float64, at the inputs that the model gives them. Says who refused."""
    kinds = {name: kind for name, kind in record.custom_functions.items() if not kind.__module__.startswith("torch.")}
    kinds = {name: kind for name, kind in kinds.items() if all(s.name != name for s in record.probed.slopes)}
    if not kinds:
        return []
    notes = []
    with _heard(kinds) as heard:
        seeded()
        replay.output(replay.as_trained())
    for name, kind in kinds.items():
        if not heard[name]:
            notes.append(f"{name} was not checked: {replay.capture.root.name} alone does not call it")
        for args in heard[name]:
            try:
                record.probed.slopes += _compare(name, kind, args, min(deadline, time.thread_time() + _SECONDS))
            except Exception as error:  # whatever it is that a stranger's function does not like
                notes.append(f"{name} was not checked, it refuses float64: {type(error).__name__}: {error}"[:200])
                break
            if any(s.name == name for s in record.probed.slopes):
                break
    return notes


@contextmanager
def _heard(kinds: dict[str, Any]) -> Iterator[dict[str, list[tuple[Any, ...]]]]:
    """What functions are given. `forward` is listened to, as `apply` may have been taken from the class long ago."""
    heard: dict[str, list[tuple[Any, ...]]] = {name: [] for name in kinds}
    before = {name: vars(kind).get("forward") for name, kind in kinds.items()}

    def around(name: str, kind: Any) -> Any:
        function = kind.forward
        skipped = int(kind.setup_context is torch.autograd.Function.setup_context)  # the context comes first

        def forward(*args: Any, **kwargs: Any) -> Any:
            inputs = args[skipped:]
            size = sum(a.numel() for a in inputs if isinstance(a, Tensor))
            if len(heard[name]) < _CALLS and not kwargs and size <= _LARGEST:
                wanted = [isinstance(a, Tensor) and a.requires_grad for a in inputs]
                kept = [a.detach().clone() if isinstance(a, Tensor) else a for a in inputs]
                heard[name].append(tuple(a.requires_grad_() if w else a for a, w in zip(kept, wanted, strict=True)))
            return function(*args, **kwargs)

        return staticmethod(forward)

    try:
        for name, kind in kinds.items():
            kind.forward = around(name, kind)
        yield heard
    finally:
        for name, kind in kinds.items():
            if before[name] is not None:
                kind.forward = before[name]
            elif "forward" in vars(kind):
                del kind.forward


class _Function:
    """A function at one input, in float64."""

    def __init__(self, kind: Any, args: Sequence[Any]):
        self.kind = kind
        self.args = [a.detach().double() if isinstance(a, Tensor) and a.is_floating_point() else a for a in args]
        self.wanted = [
            i for i, a in enumerate(args) if isinstance(a, Tensor) and a.requires_grad and a.is_floating_point()
        ]

    def __call__(self, args: Sequence[Any]) -> list[Tensor]:
        seeded()
        # Some change their arguments in place.
        output = self.kind.apply(*(a.clone() if isinstance(a, Tensor) else a for a in args))
        outputs = output if isinstance(output, (tuple, list)) else (output,)
        return [t for t in outputs if isinstance(t, Tensor) and t.is_floating_point()]

    def values(self, argument: int | None = None, place: int = 0, step: float = 0.0) -> list[Tensor]:
        args = list(self.args)
        if argument is not None:
            args[argument] = args[argument].clone()
            args[argument].view(-1)[place] += step
        with torch.no_grad():
            return [t.detach().double() for t in self(args)]


@dataclass
class _Compared:
    right: int = 0
    wrong: list[tuple[float, float]] = field(default_factory=list)
    passed: list[tuple[float, float]] = field(default_factory=list)
    stopped: list[tuple[float, float]] = field(default_factory=list)


def _compare(name: str, kind: Any, args: Sequence[Any], deadline: float) -> list[Probed.Slope]:
    function = _Function(kind, args)
    if not function.wanted:
        return []
    base = function.values()
    again = function.values()
    if not all(bool(torch.isfinite(t).all()) for t in base) or any(
        not torch.equal(a, b) for a, b in zip(base, again, strict=True)
    ):
        return []
    weights, gradients = _backward(function)
    by_argument = {}
    for argument, gradient in zip(function.wanted, gradients, strict=True):
        by_argument[argument] = _at_places(function, argument, gradient, weights, base, deadline)
    meant = ""
    # One argument by steps makes an estimator of the whole function: others' slopes are then chosen with it.
    if any(c.passed and not c.right and not c.wrong for c in by_argument.values()) or _in_steps(function, base):
        meant = "steps"
    result = []
    for argument, one in by_argument.items():
        off = one.wrong or one.passed or one.stopped
        if not off:
            continue
        ratios = [a / n for a, n in one.wrong]
        same = bool(ratios) and not one.right and max(ratios) - min(ratios) <= _NEAR * max(map(abs, ratios))
        result.append(
            Probed.Slope(
                name=name,
                site=_site(kind),
                argument=argument,
                checked=one.right + len(one.wrong) + len(one.passed) + len(one.stopped),
                wrong=len(one.wrong),
                passed=len(one.passed),
                stopped=len(one.stopped),
                example=max(off, key=lambda pair: abs(pair[0] - pair[1])),
                ratio=median(ratios) if same else float("nan"),
                meant=meant or _of_identity(function.args[argument], base),
            )
        )
    return result


def _backward(function: _Function) -> tuple[list[Tensor | None], list[Tensor]]:
    """Random weights of the outputs, and the gradient of their weighted sum. A loss of its own has the weight 1: some
    do not even look at what comes back to them."""
    args = list(function.args)
    for i in function.wanted:
        args[i] = args[i].clone().requires_grad_()
    outputs = function(args)
    seeded(1)
    single = sum(t.numel() for t in outputs) == 1
    weights = [None if not t.requires_grad else torch.ones_like(t) if single else torch.randn_like(t) for t in outputs]
    total = sum((w.double() * t.double()).sum() for w, t in zip(weights, outputs, strict=True) if w is not None)
    leaves = [args[i] for i in function.wanted]
    if not isinstance(total, Tensor):
        return weights, [torch.zeros_like(leaf) for leaf in leaves]
    gradients = torch.autograd.grad(total, leaves, allow_unused=True)
    return weights, [torch.zeros_like(a) if g is None else g for g, a in zip(gradients, leaves, strict=True)]


def _at_places(
    function: _Function,
    argument: int,
    gradient: Tensor,
    weights: list[Tensor | None],
    base: list[Tensor],
    deadline: float,
) -> _Compared:
    """Both slopes at some places of an argument: where backward's are steepest, and anywhere."""
    inputs: Tensor = function.args[argument]
    flat = gradient.reshape(-1)
    count = flat.numel()
    places = set(flat.abs().topk(min(_STEEPEST, count)).indices.tolist())
    places |= set(torch.randperm(count)[:_RANDOM].tolist())
    width = _STEP * (float(inputs.square().mean().sqrt()) or 1.0)

    def along(one: list[Tensor], other: list[Tensor], distance: float) -> float:
        return sum(
            float((w.double() * (a - b)).sum()) / distance
            for w, a, b in zip(weights, one, other, strict=True)
            if w is not None
        )

    pairs = []
    for place in sorted(places):
        if time.thread_time() > deadline:
            break
        up, down = (function.values(argument, place, sign * width) for sign in (1, -1))
        half_up, half_down = (function.values(argument, place, sign * width / 2) for sign in (1, -1))
        wide, near = along(up, down, 2 * width), along(half_up, half_down, width)
        right, left = along(half_up, base, width / 2), along(base, half_down, width / 2)
        pairs.append((float(flat[place]), wide, near, right, left))
    scale = max((abs(p[0]) for p in pairs), default=0.0) or max((abs(p[2]) for p in pairs), default=0.0)
    # At a kink or a jump there is no slope to compare with.
    smooth = [
        (analytic, wide, near)
        for analytic, wide, near, right, left in pairs
        if abs(wide - near) <= 0.02 * max(abs(wide), abs(near)) + 1e-4 * scale
        and abs(right - left) <= 0.1 * max(abs(right), abs(left)) + 1e-4 * scale
    ]
    size = max((max(abs(analytic), abs(near)) for analytic, _, near in smooth), default=0.0)
    compared = _Compared()
    for analytic, wide, near in smooth:
        numeric = (4 * near - wide) / 3
        if abs(analytic - numeric) <= _NEAR * max(abs(analytic), abs(numeric)) + _NOTHING * size:
            compared.right += analytic != 0 or numeric != 0
        elif abs(numeric) <= _NOTHING * size:
            compared.passed.append((analytic, numeric))
        elif abs(analytic) <= _NOTHING * size:
            compared.stopped.append((analytic, numeric))
        else:
            compared.wrong.append((analytic, numeric))
    return compared


def _in_steps(function: _Function, outputs: list[Tensor]) -> bool:
    """Whether outputs have few values although inputs have many: signs, roundings, codes."""
    inputs = max((function.args[i] for i in function.wanted), key=Tensor.numel)
    for output in outputs:
        values = output[output != 0]
        many = len(torch.unique(inputs)) > 0.5 * inputs.numel()
        if many and min(values.numel(), inputs.numel()) >= 16 and len(torch.unique(values)) <= 0.25 * values.numel():
            return True
    return False


def _of_identity(inputs: Tensor, outputs: list[Tensor]) -> str:
    """Whether forward leaves its argument as it is, or only scales it: then backward is all that it is there for."""
    x = inputs.reshape(-1)
    for output in outputs:
        y = output.reshape(-1)
        if y.shape != x.shape or not bool(x.any()):
            continue
        factor = float(x @ y / (x @ x))
        if bool((y - factor * x).abs().max() <= 1e-6 * y.abs().max()):
            return "identity" if abs(factor - 1) < 1e-6 else "scaled"
    return ""


def _site(kind: Any) -> Site | None:
    """Where its backward is written."""
    code = getattr(inspect.unwrap(kind.backward), "__code__", None)
    if code is None:
        return None
    try:
        file = os.path.relpath(code.co_filename)
    except ValueError:  # another drive
        file = ".."
    return Site(code.co_filename if file.startswith("..") else file, code.co_firstlineno)
