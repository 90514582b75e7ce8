"""Targets that rest on a network's own values: y = r + discount · m · v, found by trying what a step has in hand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor, nn

from gradlab.diagnosis.record import Bootstrap, Loss, Root
from gradlab.diagnosis.watching.graph import saved, short, signed, upstream
from gradlab.diagnosis.watching.tensors import first_tensor
from gradlab.diagnosis.watching.transitions import Table

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.reinforced import Given, Reinforced
    from gradlab.diagnosis.watching.roots import Call
    from gradlab.diagnosis.watching.watch import Watch

_ROWS, _VALUES, _REWARDS = 8, 16, 24
_TOLD = ("MseLoss", "SmoothL1Loss", "HuberLoss", "L1Loss")
_SHAPED = ("View", "UnsafeView", "Squeeze", "Unsqueeze", "Reshape", "ReshapeAlias", "Alias")
_SAMPLE = 64


class Values(NamedTuple):
    """One value for each row, made of a call's output."""

    roots: tuple[Root, ...]
    inputs: Tensor
    each: Tensor


class Fit(NamedTuple):
    """y = r + discount · m · v, exactly; m is 1, 0, or -1 where v is too small to tell."""

    discount: float
    added: Tensor
    reward: Tensor


class Followed:
    """One bootstrap with what is known of it between looks."""

    def __init__(self, seen: Bootstrap, target: Root):
        self.seen, self.target = seen, target
        self.table = Table()
        self.first: list[Tensor] = []


class Bootstraps:
    """By the root that predicts and the root whose values are in its targets."""

    def __init__(self, watch: Watch, given: Reinforced):
        self.watch, self.given = watch, given
        self.known: dict[tuple[str, str], Followed] = {}
        self.suspected = False
        """Whether there was a regression while some other output of as many rows was at hand."""

    @property
    def found(self) -> bool:
        return bool(self.known)

    def look(self, loss: Loss, operations: list[Any]) -> None:
        if self.watch.saved_hooks or len(operations) > 5000:
            return
        inside = {self.given.number_of(node) for node in operations}
        others = [given for given in self.given.calls if given.number not in inside]
        for node, y in targets_in(operations, self.given):
            online = self._call(node)
            rows = y.reshape(-1).float()
            if online is None or len(rows) < _ROWS:
                continue
            # A teacher is asked about the very same rows; next values are of others.
            candidates = [v for v in _values(others, len(rows)) if not _equal(v.inputs, online.inputs)]
            candidates.sort(
                key=lambda values: online.root in values.roots
            )  # once it is equal to its target, either fits
            self.suspected = self.suspected or bool(candidates)
            for values in candidates:
                fit = _fitted(rows, values.each, self.given.operands)
                if fit is not None:
                    for target in values.roots:
                        self._saw(loss, online.root, target, fit).table.add(online.inputs, values.inputs, *fit[1:])
                    break

    def _saw(self, loss: Loss, online: Root, target: Root, fit: Fit) -> Followed:
        key = (online.name, target.name)
        one = self.known.get(key)
        if one is None:
            seen = Bootstrap(
                site=loss.site,
                online=online.name,
                target=target.name,
                discount=fit.discount,
                since=self.watch.step,
            )
            one = self.known[key] = Followed(seen, target)
            self.watch.record.bootstraps.append(seen)
        seen = one.seen
        seen.rows += int((fit.added >= 0).sum())
        seen.masked += int((fit.added == 0).sum())
        self._compare(one, online, target)
        return one

    def _compare(self, one: Followed, online: Root, target: Root) -> None:
        """Whether the target's weights are those of the network that learns, and whether they ever change."""
        module, other = target.module, online.module
        if module is None or other is None or module is other:
            return
        ours, theirs = _some(module), _some(other)
        if not ours or [t.shape for t in ours] != [t.shape for t in theirs]:
            return
        one.first = one.first or ours
        seen = one.seen
        seen.compared += 1
        seen.equal += _all_equal(ours, theirs)
        seen.moved += len(ours) != len(one.first) or not _all_equal(ours, one.first)

    def follow(self, calls: list[Call]) -> None:
        """A backward pass between looks: which rows it learns from, and of which others values were asked."""
        for one in self.known.values():
            learnt = next((first_tensor(call.args) for call in calls if call.root.name == one.seen.online), None)
            if learnt is None:
                continue
            others = [g for g in self.given.calls if g.root is one.target and g.inputs.shape == learnt.shape]
            others = [g for g in others if g.step == self.watch.step and not torch.equal(g.inputs, learnt)]
            if others:
                one.seen.steps, one.seen.until = one.seen.steps + 1, self.watch.step
                if not self.watch.looking and one.seen.online != one.seen.target:
                    one.table.add(learnt, others[-1].inputs)

    def _call(self, node: Any) -> Given | None:
        """The call that a prediction comes from."""
        calls = (self.given.call_of(one) for one in upstream(node, 1000))
        return next((call for call in calls if call is not None), None)

    def finish(self) -> None:
        for one in self.known.values():
            one.seen.transitions = one.table.observed()


def targets_in(operations: list[Any], given: Reinforced) -> Iterator[tuple[Any, Tensor]]:
    """The node of each prediction, with the numbers it should have been: those have no graph."""
    for node in operations:
        name = short(node)
        sources = [source for source, _ in node.next_functions]
        if name in _TOLD and len(sources) == 2 and sources[0] is not None and sources[1] is None:
            target = saved(node, "_saved_target")
            if target is not None:
                yield sources[0], target.detach()
        elif name == "Pow" or (name == "Mul" and len(sources) == 2 and sources[0] is sources[1] is not None):
            error, below = saved(node, "_saved_self"), sources[0]
            if error is None or below is None or short(below) != "Sub":
                continue
            one, other = (source for source, _ in below.next_functions)
            if (one is None) == (other is None):
                continue
            predicted = _number(one or other, given)
            if predicted is not None and predicted.shape == error.shape:
                yield one or other, predicted - error.detach() if other is None else predicted + error.detach()


def _number(node: Any, given: Reinforced) -> Tensor | None:
    """What a node has made of a root's output: a view, or what was picked from it."""
    call, shape = given.call_of(node), tuple(node._input_metadata[0].shape)
    if call is not None:
        return next((t for t in call.outputs if t.shape == shape), None)
    name = short(node)
    if name not in (*_SHAPED, "Gather", "Index", "Select"):
        return None
    base = _number(node.next_functions[0][0], given)
    if base is None:
        return None
    if name == "Gather":
        return base.gather(signed(node._saved_dim), node._saved_index)
    if name == "Index":
        return base[tuple(slice(None) if i is None else i for i in node._saved_indices)]
    if name == "Select":
        return base.select(signed(node._saved_dim), signed(node._saved_index))
    return base.reshape(shape)


def _values(calls: list[Given], rows: int) -> list[Values]:
    """One number a row: a value, the best of several actions, that of the action another network prefers, and the
    smaller one of two networks'."""
    plain: list[Values] = []
    for given in calls:
        for out in given.outputs:
            if out.is_floating_point() and out.numel() == rows and len(given.inputs) == rows:
                plain.append(Values((given.root,), given.inputs, out.reshape(-1).float()))
            elif out.is_floating_point() and out.ndim == 2 and len(out) == rows and out.shape[1] > 1:
                plain.append(Values((given.root,), given.inputs, out.amax(1).float()))
                for other in calls:
                    for preferred in other.outputs:
                        if other is not given and preferred.shape == out.shape:
                            best = preferred.argmax(1, keepdim=True)
                            plain.append(Values((given.root,), given.inputs, out.gather(1, best).reshape(-1).float()))
    plain = plain[-_VALUES:]
    smaller = [
        Values((*a.roots, *b.roots), a.inputs, torch.minimum(a.each, b.each))
        for i, a in enumerate(plain)
        for b in plain[i + 1 :]
        if a.roots != b.roots and _equal(a.inputs, b.inputs)
    ]
    return plain + smaller[:_VALUES]


def _fitted(y: Tensor, v: Tensor, operands: list[Tensor]) -> Fit | None:
    """Whether some numbers at hand are the rewards, so that all of y is one of r and r + discount · v."""
    scale = float(y.abs().amax() + v.abs().amax())
    large = v.abs() > 1e-3 * scale
    if scale == 0 or int(large.sum()) < _ROWS // 2 or bool((v == v[0]).all()):
        return None
    tried = 0
    for operand in operands:
        if operand.numel() != len(y) or operand.dtype == torch.bool or tried >= _REWARDS:
            continue
        tried += 1
        reward = operand.reshape(-1).float()
        rest = y - reward
        close = 1e-5 * scale
        shares = (rest / v)[large & (rest.abs() > close)]
        if len(shares) < max(2, len(y) // 4):
            continue
        discount = float(shares.median())
        whole, none = (rest - discount * v).abs() < close, rest.abs() < close
        if 0.1 <= discount <= 1.0001 and bool((whole | none).all()):
            added = torch.where(whole & none, -1, whole.long())
            return Fit(discount, added, reward)
    return None


def _equal(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.shape == other.shape and torch.equal(one, other.detach())


def _some(module: nn.Module) -> list[Tensor]:
    """A few numbers of each parameter."""
    return [p.detach().reshape(-1)[:: max(1, p.numel() // _SAMPLE)][:_SAMPLE].clone() for p in module.parameters()]


def _all_equal(ours: list[Tensor], theirs: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
