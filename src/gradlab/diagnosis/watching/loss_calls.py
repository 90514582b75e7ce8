"""Torch's loss functions, as they are called: what was predicted, and what should have been."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab.diagnosis.record import Capture, LossCall, Site
from gradlab.diagnosis.shapes import flatten_rows
from gradlab.diagnosis.watching.by_hand import Pair
from gradlab.diagnosis.watching.sites import caller
from gradlab.diagnosis.watching.tensors import dense

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.roots import Call
    from gradlab.diagnosis.watching.watch import Watch

LOSSES = (
    "cross_entropy",
    "nll_loss",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "kl_div",
    "gaussian_nll_loss",
    "poisson_nll_loss",
    "hinge_embedding_loss",
    "soft_margin_loss",
    "multi_margin_loss",
    "multilabel_soft_margin_loss",
)
_OF_CLASSES = ("cross_entropy", "nll_loss", "multi_margin_loss")
_BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
_OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_BATCHES, _LABELS, _SITES, _EXAMPLES = 40, 512, 64, 2_000_000
_CLASSES = 1000  # whose weights are kept


class LossCalls:
    """Wrappers of the loss functions, which also torch's loss modules call."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.seen: dict[tuple[str, Site | None, bool, int], LossCall] = {}
        self.recent: list[tuple[Tensor, str, Tensor, dict[str, Any]]] = []
        """Input, kind, target and options of the calls since the last step, at a look."""
        self.site: Site | None = None
        """Of the last call in training since the last backward pass."""
        self._recent_sums: dict[int, list[tuple[Counter[int], Counter[int], Counter[int]]]] = {}
        self._sums: dict[int, tuple[float, float, float]] = {}
        self._kept = 0

    def wrapped(self, kind: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            if not torch.compiler.is_compiling() and self.watch.depth == 0:
                self.watch.safely(self._call, kind, args, kwargs, result)
            return result

        return called

    def _call(self, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        arguments = dict(zip(("input", "target"), args, strict=False)) | kwargs
        x, y = arguments.get("input"), arguments.get("target")
        if not isinstance(x, Tensor) or not isinstance(y, Tensor) or not isinstance(result, Tensor) or result.is_meta:
            return
        training = torch.is_grad_enabled() and x.requires_grad
        options = {k: v for k, v in kwargs.items() if k not in ("input", "target")}
        value = result.detach()
        # `size_average=False` is how a sum was asked for in the first years.
        if arguments.get("reduction", "mean") == "sum" or arguments.get("size_average") is False:
            value = value / max(1, y.numel())
        site = caller()
        if training:
            self.site = site
        self._judge(kind, site, training, x, y, value, options)

    def by_hand(self, term: int, pair: Pair, site: Site | None, calls: list[Call]) -> None:
        """A term of a loss that no function of torch has made, at a look."""
        kind, x, y, places = pair
        one = self._judge(kind, site, True, x, y, original(kind)(x, y), {}, term)
        if one is not None and places and one.first_targets is not None and one.first_targets.shape == y.shape:
            one.first_targets = one.first_targets.reshape(places) if one.count == 1 else one.first_targets
        self._example(y, calls)

    def _judge(
        self,
        kind: str,
        site: Site | None,
        training: bool,
        x: Tensor,
        y: Tensor,
        value: Tensor,
        options: dict[str, Any],
        term: int = 0,
    ) -> LossCall | None:
        watch, key = self.watch, (kind, site, training, term)
        one = self.seen.get(key)
        if one is None:
            if len(self.seen) >= _SITES:
                return None
            one = self.seen[key] = LossCall(kind=kind, site=site, training=training)
            watch.record.loss_calls.append(one)
            one.settings = {name: _setting(value) for name, value in options.items() if value is not None}
        one.count += 1
        if training and kind in _OF_CLASSES and len(one.batch_labels) < _BATCHES and not y.is_floating_point():
            one.batch_labels.append(y.detach().reshape(-1)[:_LABELS].tolist())
        if training and not watch.looking:
            return one
        if one.first_targets is None and y.numel() <= 20_000:
            one.first_targets = y.detach().cpu().clone()
        one.input_shape, one.target_shape = tuple(x.shape), tuple(y.shape)
        x, y = x.detach(), y.detach()
        one.values.add(watch.step, float(value.float().mean()))
        if x.numel() == 0 or not x.is_floating_point():
            return one
        one.input_low = min(one.input_low, float(x.amin()))
        if y.is_floating_point() and y.numel():
            low, high = torch.aminmax(y)
            one.target_low, one.target_high = min(one.target_low, float(low)), max(one.target_high, float(high))
        if kind in _OF_CLASSES and x.ndim >= 2 and not y.is_floating_point():
            self._classes(one, x, y, int(options.get("ignore_index", -100)))
        elif kind in _BINARY and x.shape == y.shape:
            edge = 0.5 if kind == "binary_cross_entropy" else 0.0
            self._count(one, (y > 0.5).long().reshape(-1), (x > edge).long().reshape(-1))
            self._total(one, y)
        elif kind in _OF_NUMBERS:
            self._total(one, y)
        if training:
            self.recent.append((x, kind, y, options))
            self._example(y, list(watch.roots.pending.values()))
        return one

    def _classes(self, one: LossCall, x: Tensor, y: Tensor, ignored: int) -> None:
        probable = x.amin() >= 0 and bool(((x.sum(1) - 1).abs() < 1e-3).all())
        one.rows_sum_to_one = one.rows_sum_to_one and bool(probable)
        one.logs_sum_to_one = one.logs_sum_to_one and bool((x.float().logsumexp(1).abs() < 1e-2).all())
        predicted = x.argmax(1)
        if predicted.shape != y.shape:
            return
        counted = y != ignored
        y, predicted = y[counted], predicted[counted]
        self._count(one, y, predicted)
        total = sum(one.targets.values())
        if total:
            one.constant_loss = -sum(n / total * math.log(n / total) for n in one.targets.values())

    def _count(self, one: LossCall, y: Tensor, predicted: Tensor) -> None:
        most = 4096  # positions of a language model are more than enough at that
        y, predicted = y.reshape(-1)[:most], predicted.reshape(-1)[:most]
        new = tuple(Counter(t.tolist()) for t in (y, predicted, y[y == predicted]))
        one.targets.update(new[0])
        looks = self._recent_sums.setdefault(id(one), [])
        looks.append(new)  # type: ignore[arg-type]
        del looks[: -max(5, len(looks) // 10) or None]
        one.recent_targets, one.recent_predicted, one.recent_right = (
            sum(part, Counter()) for part in zip(*looks, strict=True)
        )

    def _total(self, one: LossCall, y: Tensor) -> None:
        """Running moments of the targets."""
        count, total, squares = self._sums.get(id(one), (0.0, 0.0, 0.0))
        y = y.double()
        count, total, squares = count + y.numel(), total + float(y.sum()), squares + float(y.square().sum())
        self._sums[id(one)] = count, total, squares
        mean = total / count
        variance = max(0.0, squares / count - mean * mean)
        if one.kind in _BINARY:
            share = y.clamp(0, 1)
            own = -(torch.xlogy(share, share) + torch.xlogy(1 - share, 1 - share)).sum()
            one.floor += (float(own) - one.floor * y.numel()) / count
            p = min(max(mean, 1e-12), 1 - 1e-12)
            one.constant_loss = -(p * math.log(p) + (1 - p) * math.log(1 - p))
        elif one.kind == "mse_loss":
            one.constant_loss = variance

    def _example(self, y: Tensor, calls: list[Call]) -> None:
        """Rows of inputs with their targets, for probes."""
        if len(calls) != 1 or calls[0].number > 1 or self._kept > _EXAMPLES or y.ndim == 0:
            return
        inputs = [a.detach() for a in calls[0].args if isinstance(a, Tensor) and a.ndim and len(a) == len(y)]
        if not inputs or not all(map(dense, (*inputs, y))):  # the checks that compare rows reshape them
            return
        rows = inputs[0] if len(inputs) == 1 else torch.cat([flatten_rows(a).float() for a in inputs], 1)
        self._kept += rows.numel() + y.numel()
        self.watch.record.examples.append((rows.cpu().clone(), y.cpu().clone()))

    def explain(self, capture: Capture, output: Any) -> None:
        """How a loss was made of a root's output, if by one of these functions from a view of it."""
        for x, kind, target, options in self.recent:
            for place, tensor in enumerate(output if isinstance(output, (tuple, list)) else (output,)):
                if not isinstance(tensor, Tensor) or not tensor.numel():
                    continue
                start, size = tensor.untyped_storage().data_ptr(), tensor.element_size()
                if x.untyped_storage().data_ptr() == start and x.dtype == tensor.dtype:
                    offset = (x.data_ptr() - tensor.data_ptr()) // size
                    capture.view = (tuple(x.shape), tuple(x.stride()), offset)
                    capture.kind, capture.target = kind, target.clone()
                    capture.options, capture.place = options, place if isinstance(output, (tuple, list)) else None
                    return


def _setting(value: Any) -> int | float | str | bool | tuple[float, ...]:
    if isinstance(value, Tensor) and value.numel() == 1:
        return float(value)
    if isinstance(value, Tensor) and value.ndim == 1 and value.numel() <= _CLASSES:
        return tuple(value.tolist())
    return value if isinstance(value, (int, float, str, bool)) else "given"


def original(kind: str) -> Callable[..., Any]:
    """The function as torch has it, also while it is wrapped."""
    function = getattr(F, kind)
    unwrapped: Callable[..., Any] = getattr(function, "__wrapped__", function)
    return unwrapped
