"""Learning from what actions brought: which network gave what in a step, and which numbers it was put together with."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor
from torch.distributions import Distribution

from gradlab.diagnosis.record import Loss, Root
from gradlab.diagnosis.watching.bootstraps import Bootstraps
from gradlab.diagnosis.watching.operators import ARITHMETIC, Operators
from gradlab.diagnosis.watching.policies import Policies
from gradlab.diagnosis.watching.tensors import first_tensor, tensors_in

if TYPE_CHECKING:
    from gradlab.diagnosis.watching.roots import Call
    from gradlab.diagnosis.watching.watch import Watch

_CALLS, _OPERANDS, _LARGEST = 32, 256, 65_536
_KEY = "gradlab: call"


class Given(NamedTuple):
    """What a root was given and gave, without any graph."""

    number: int
    root: Root
    step: int
    inputs: Tensor
    outputs: list[Tensor]


class Reinforced:
    """The last calls of roots, at looks and wherever a training was seen to learn from what actions brought."""

    def __init__(self, watch: Watch):
        self.watch = watch
        self.calls: list[Given] = []
        self.operands: list[Tensor] = []
        """Numbers without a gradient that were added or multiplied since the last step, at a look."""
        self.bootstraps = Bootstraps(watch, self)
        self.policies = Policies(watch, self)
        self._arithmetic = Operators(watch, ARITHMETIC, self._operand)
        self._number = self._marked = 0
        self._since_backward: list[Tensor] = []
        self.acted = 0
        """The step before which a root last ran on something that is not learnt from in the same step."""

    @property
    def following(self) -> bool:
        """Whether calls are of interest also between looks."""
        return self.bootstraps.found or self.policies.found

    def called(self, root: Root, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        inputs = first_tensor((*args, *kwargs.values()))
        if inputs is None or not inputs.numel() or inputs.numel() > _LARGEST * 16 or inputs.layout != torch.strided:
            return
        outputs = [t for t in _tensors(output) if t.layout == torch.strided and t.numel() <= _LARGEST]
        self._number += 1
        # What modules inside of it have made is its own too: probabilities may be picked and drawn by there.
        makers = self.watch.calls.makers
        self._marked = min(self._marked, len(makers))
        for node in (*(t.grad_fn for t in outputs), *islice(makers, self._marked, None)):
            if node is not None:
                node.metadata.setdefault(_KEY, self._number)
        self._marked = len(makers)
        given = Given(self._number, root, self.watch.step, inputs.detach(), [t.detach() for t in outputs])
        self.calls = [*self.calls[1 - _CALLS :], given]
        self._since_backward = [*self._since_backward[1 - _CALLS :], given.inputs]
        self.policies.called(given)

    def backward(self, calls: list[Call]) -> None:
        """Any backward pass, of which these calls are the last of each root."""
        if not (self.watch.looking or self.following):
            return
        learnt = [first_tensor((*call.args, *call.kwargs.values())) for call in calls]
        if not all(any(_same(inputs, other) for other in learnt) for inputs in self._since_backward):
            self.acted = self.watch.step
        self.policies.learns([inputs for inputs in learnt if inputs is not None])
        self._since_backward, self._marked = [], 0
        self.bootstraps.follow(calls)

    def look(self, loss: Loss, operations: list[Any]) -> None:
        self.bootstraps.look(loss, operations)
        self.policies.look(loss, operations)

    def next_step(self) -> None:
        """Sums and products are looked at where next values or scores were seen, and at looks alone."""
        self.operands = []
        self.calls = [given for given in self.calls if given.step >= self.watch.step - 1]
        if self.watch.looking and (self.following or self.bootstraps.suspected):
            self._arithmetic.put_in()
        else:
            self._arithmetic.take_out()

    def finish(self) -> None:
        self.bootstraps.finish()
        self.policies.finish()

    def close(self) -> None:
        self._arithmetic.take_out()
        self.policies.reading.take_out()

    def call_of(self, node: Any) -> Given | None:
        """The call whose output a node has made."""
        number = node.metadata.get(_KEY)
        return None if number is None else next((given for given in self.calls if given.number == number), None)

    @staticmethod
    def number_of(node: Any) -> int | None:
        number: int | None = node.metadata.get(_KEY)
        return number

    def _operand(self, *both: Any) -> None:
        for one in both:
            if not isinstance(one, Tensor) or one.requires_grad or one.is_meta or one.layout != torch.strided:
                continue
            if 1 < one.numel() <= _LARGEST and len(self.operands) < _OPERANDS:
                self.operands.append(one.detach())


def _tensors(output: Any) -> list[Tensor]:
    """Also those of a distribution, which a policy's forward may well give."""
    if isinstance(output, Distribution):
        return [t for t in vars(output).values() if isinstance(t, Tensor)]
    if isinstance(output, (tuple, list)):
        return [tensor for item in output for tensor in _tensors(item)]
    return tensors_in(output)


def _same(one: Tensor, other: Tensor | None) -> bool:
    return other is not None and one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
