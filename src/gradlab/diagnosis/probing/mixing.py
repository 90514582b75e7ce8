"""Whether an example's output depends on the others of its batch."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from gradlab.diagnosis.probing.replay import Replay, answers, seeded
from gradlab.diagnosis.record import Probed, Record
from gradlab.diagnosis.shapes import flatten_rows
from gradlab.diagnosis.watching.tensors import tensors_in

_ROWS, _NOISE, _LOOKS, _PAIRS = 12, 1e-5, 300, 500
_PLACED = 1e-2  # of the largest output: what a row's place in the batch may not matter for
_SIMPLE = (Tensor, int, float, str, bool, type(None))
_BY_TIME = (nn.RNNBase, nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)


def mixing(record: Record, replay: Replay, deadline: float) -> None:
    """Give some rows other companions, and then all of them another order, in evaluation mode."""
    if replay.rows < 4 or any(isinstance(m, _BatchNorm) and m.running_mean is None for m in replay.model().modules()):
        return
    model = (replay.ended() or replay.as_trained()).eval()
    batch = _smaller(replay, model)
    if batch is None:
        return
    count = batch.count
    half = count // 2
    base = torch.arange(count)
    with torch.no_grad():
        before = batch.run(base)
        chance = not _equal(before, batch.run(base, seed=1))
        kept_first = batch.run(torch.cat([base[:half], base[:half]]))
        kept_last = batch.run(torch.cat([base[half:], base[half:]]))
        turned = batch.run(base.flip(0))
    if not all(bool(torch.isfinite(t).all()) for t in before):
        return
    change, rows, order = 0.0, 0.0, 0.0
    for was, one, other, back in zip(before, kept_first, kept_last, turned, strict=True):
        size = float(was.abs().max()) or 1.0
        for moved in (was[:half] - one[:half], was[half:] - other[half:]):
            by_row = moved.abs().reshape(half, -1).amax(1) / size
            change = max(change, float(by_row.max()))
            rows = max(rows, float((by_row > _NOISE).float().mean()))
        order = max(order, float((was.flip(0) - back).abs().max()) / size)
    company = _company(record, replay)
    # Where the first axis is time, the second one has the examples, and they are apart.
    placed = company == "new" and not chance and order > _PLACED
    if (change <= _NOISE and not placed) or (company != "new" and batch.columns_apart()):
        return
    record.probed.mixing.append(
        Probed.Mixing(
            root=replay.capture.root.name,
            change=change,
            rows=rows,
            order=None if chance else order,
            company=company,
            through=batch.through(),
            doubt=_doubt(replay),
        )
    )


class _Batch:
    """Some rows of the captured batch, as they are given to a copy."""

    def __init__(self, replay: Replay, model: nn.Module, count: int):
        self.replay, self.model, self.count = replay, model, count
        self.wanted: list[int] = []

    def run(self, order: Tensor, axis: int = 0, seed: int = 0) -> list[Tensor]:
        """What it says of these rows, in this order; of a copy, as models may remember what they were asked."""
        args, kwargs = self.replay.rearranged(_pick(self.replay.rows, order, self.count, axis))
        seeded(seed)
        outputs = list(answers(self.replay.output(copy.deepcopy(self.model), args, kwargs)))
        return [outputs[i].float() for i in self.wanted] if self.wanted else outputs

    def columns_apart(self) -> bool:
        """Whether outputs have the second axis of the input too, and do not mix along it."""
        inputs = next(t for t in tensors_in([self.replay.capture.args, self.replay.capture.kwargs]) if t.ndim)
        if inputs.ndim < (3 if inputs.is_floating_point() else 2) or inputs.shape[1] < 2:
            return False
        columns = inputs.shape[1]
        half = columns // 2
        with torch.no_grad():
            base = torch.arange(columns)
            before, after = self.run(base, axis=1), self.run(torch.cat([base[:half], base[: columns - half]]), axis=1)
        if not all(t.ndim >= 2 and t.shape[1] == columns for t in before):
            return False
        moved = (float((a[:, :half] - b[:, :half]).abs().max()) for a, b in zip(before, after, strict=True))
        return max(moved) <= _NOISE * max(float(t.abs().max()) for t in before)

    def through(self) -> str:
        """A layer that takes the first axis for time, and was given the rows there, with a time axis beside it."""
        with _noted(self.model, self.count) as layers, torch.no_grad():
            # The hooks are on this model, not on a copy.
            args, kwargs = self.replay.rearranged(_pick(self.replay.rows, torch.arange(self.count), self.count, 0))
            self.replay.output(self.model, args, kwargs)
        return layers[0] if layers else ""


def _pick(rows: int, order: Tensor, count: int, axis: int) -> Callable[[Tensor], Tensor]:
    """Of each argument, the first `count` rows; these (or the columns, if `axis` is 1) in an order."""

    def pick(tensor: Tensor) -> Tensor:
        if not tensor.ndim or tensor.layout != torch.strided:
            return tensor
        along = 0 if len(tensor) == rows else 1 if tensor.ndim > 1 and tensor.shape[1] == rows else None
        if along is not None:
            at = order if axis == 0 else torch.arange(count)
            tensor = tensor.index_select(along, at.to(tensor.device))
        if axis == 1 and tensor.ndim > 1 and tensor.shape[1] == len(order):
            tensor = tensor.index_select(1, order.to(tensor.device))
        return tensor

    return pick


def _smaller(replay: Replay, model: nn.Module) -> _Batch | None:
    """A part of the batch with a size that nothing else has, if the model takes it, and what of the output has rows."""
    lengths = {n for t in tensors_in([replay.capture.args, replay.capture.kwargs]) for n in t.shape[1:]}
    fits = [
        n for n in range(min(_ROWS, replay.rows), 3, -1) if n % 2 == 0 and n not in lengths and n - 2 not in lengths
    ]
    if fits and fits[0] > 4:
        batch, fewer = _Batch(replay, model, fits[0]), _Batch(replay, model, fits[0] - 2)
        try:
            with torch.no_grad():
                shapes = [[tuple(t.shape) for t in b.run(torch.arange(b.count))] for b in (batch, fewer)]
            return _by_row(batch, shapes[0], shapes[1], fewer.count)
        except (RuntimeError, ValueError, IndexError, AssertionError):
            pass  # a model of one size of batch
    batch = _Batch(replay, model, replay.rows - replay.rows % 2)
    with torch.no_grad():
        shapes = [[tuple(t.shape) for t in batch.run(torch.arange(batch.count))]]
    return _by_row(batch, shapes[0], None, 0)


def _by_row(batch: _Batch, shapes: list[Any], fewer: list[Any] | None, count: int) -> _Batch | None:
    """Keep outputs that have one row for each example, and no other axis that counts them: those are of pairs."""
    connected = batch.replay.capture.connected
    for i, shape in enumerate(shapes):
        if not shape or shape[0] != batch.count or (connected and i not in connected):
            continue
        apart = batch.count not in shape[1:] if fewer is None else fewer[i] == (count, *shape[1:])
        if apart and math.prod(shape):
            batch.wanted.append(i)
    if not batch.wanted:
        return None
    return batch


def _equal(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def _doubt(replay: Replay) -> str:
    """Arguments that may say which rows belong together."""
    rows, capture = replay.rows, replay.capture
    for value in _leaves([capture.args, capture.kwargs]):
        if not isinstance(value, _SIMPLE):
            return f"an argument is a {type(value).__name__}"
        if not isinstance(value, Tensor) or not value.ndim:
            continue
        if value.layout != torch.strided or tuple(value.shape[:2]) == (rows, rows):
            return "an argument has pairs of rows"
        if rows not in value.shape[:2] and len(value) != 1:
            return "an argument is not by row"
    return ""


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


@contextmanager
def _noted(model: nn.Module, count: int) -> Iterator[list[str]]:
    """Layers that take the first axis for time, and get `count` there; none, if another one has its time elsewhere:
    then the rows are looked at on purpose, besides."""
    layers: list[str] = []
    others: list[str] = []

    def note(path: str, batch_first: bool) -> Callable[..., None]:
        def hook(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
            tensor = next((t for t in tensors_in([args, kwargs])), None)
            by_row = tensor is not None and tensor.ndim == 3 and tensor.shape[0] == count and tensor.shape[1] > 1
            (layers if by_row and not batch_first else others).append(f"{path} ({type(module).__name__})")

        return hook

    hooks = []
    for path, module in model.named_modules():
        batch_first = getattr(module, "batch_first", getattr(getattr(module, "self_attn", None), "batch_first", None))
        if isinstance(module, _BY_TIME) and batch_first is not None:
            hooks.append(module.register_forward_pre_hook(note(path, batch_first), with_kwargs=True))
    try:
        yield layers
    finally:
        for hook in hooks:
            hook.remove()
        if others:
            layers.clear()


# -- with whom rows are seen ------------------------------------------------------------------------------------------


def _company(record: Record, replay: Replay) -> str:
    """Whether a row that comes again has new companions, as shuffled examples have, or the same ones, as the points of
    a set, the nodes of a graph and the moments of a series have."""
    inputs = next(t for t in tensors_in([replay.capture.args, replay.capture.kwargs]) if t.ndim)
    if inputs[0].numel() < 2:  # numbers, or words: they come again in any company
        return "unknown"
    # Arguments that have rows may stand side by side there.
    fit = [x for x, _ in record.examples[:_LOOKS] if len(x) and x[0].numel() >= inputs[0].numel()]
    looks = [_prints(x) for x in fit if x.shape[1:] == fit[0].shape[1:]]
    members = [set(look) for look in looks]
    if len(looks) >= 5 and all(one == members[0] for one in members):
        return "all"
    seen: dict[int, int] = {}
    overlaps: list[float] = []
    followed = 0
    for number, look in enumerate(looks):
        for row, place in {row: place for place, row in enumerate(look)}.items():
            if row in seen and len(overlaps) < _PAIRS:
                theirs, other = members[number], members[seen[row]]
                overlaps.append((len(theirs & other) - 1) / max(1, min(len(theirs), len(other)) - 1))
                before = looks[seen[row]]
                at = before.index(row)
                followed += before[at + 1 : at + 2] == look[place + 1 : place + 2] != []
            seen[row] = number
    if len(overlaps) < 8:
        return "unknown"
    chance = max(map(len, looks)) / max(1, len(seen))
    together = sum(overlaps) / len(overlaps)
    # Of two random halves of all rows, half of each is in the other.
    return "new" if together < min(0.9, chance + 0.25) and followed < 0.2 * len(overlaps) else "same"


def _prints(rows: Tensor) -> list[int]:
    flat = flatten_rows(rows)
    flat = flat.float() if flat.dtype == torch.bfloat16 else flat
    return [hash(row.tobytes()) for row in flat[:256].numpy()]
