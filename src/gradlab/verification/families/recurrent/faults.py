"""Versions of the recurrent blocks with a fault, for the laws to find."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import linear

from gradlab.nn.recurrent import GRUCell, LSTMCell
from gradlab.verification.families.recurrent.drawing import CELLS, KINDS, SEQUENCES, stepped


def faulty(forward: Callable[..., Any]) -> dict[str, Any]:
    """All blocks, called in another way. Within it, `right` is the block as it should be."""
    everything = {**SEQUENCES, **CELLS}
    return {name: type(f"Faulty{made.__name__}", (made,), {"forward": forward}) for name, made in everything.items()}


def right(block: Any, *args: Any) -> Any:
    parent: Any = type(block).__bases__[0]
    return parent.forward(block, *args)


def reweighted(change: Callable[[str, Tensor], Tensor]) -> dict[str, Any]:
    """All blocks, with other weights than their own."""

    def forward(self: Any, *args: Any) -> Any:
        weights = {name: change(name, weight) for name, weight in self.named_parameters()}
        return functional_call(type(self).__bases__[0](self.input_size, self.hidden_size), weights, args)

    return faulty(forward)


def of_cells(faulty_cell: Callable[..., nn.Module]) -> dict[str, Any]:
    """The blocks over sequences, made of a cell with a fault."""

    def forward(self: Any, x: Tensor, state: Any = None) -> Any:
        cell = faulty_cell(self.input_size, self.hidden_size)
        weights = {kind: getattr(self, f"{kind}_l0") for kind in KINDS}
        return stepped(lambda step, state: functional_call(cell, weights, (step, state)), x, state)

    return faulty(forward)


biases_cancel = reweighted(lambda name, weight: -weight if name.startswith("bias_hh") else weight)
state_from_the_left = reweighted(lambda name, weight: weight.T if name.startswith("weight_hh") else weight)


def _swap_input_and_forget_gate(name: str, weight: Tensor) -> Tensor:
    i, f, g, o = weight.chunk(4)
    return torch.cat([f, i, g, o])


def _turn_update_gate_round(name: str, weight: Tensor) -> Tensor:
    r, z, n = weight.chunk(3)
    return torch.cat([r, -z, n])


input_and_forget_gate_swapped = reweighted(_swap_input_and_forget_gate)
update_gate_turned_round = reweighted(_turn_update_gate_round)


def sums(cell: Any, x: Tensor, h: Tensor) -> Tensor:
    """U x + b + W h + c, the gates side by side."""
    return linear(x, cell.weight_ih, cell.bias_ih) + linear(h, cell.weight_hh, cell.bias_hh)


class UnbentCandidate(LSTMCell):
    """What is added to the cell has no bound."""

    def forward(self, x: Tensor, state: Any = None) -> Any:
        h, c = state or (x.new_zeros(len(x), self.hidden_size),) * 2
        i, f, g, o = sums(self, x, h).chunk(4, -1)
        c = f.sigmoid() * c + i.sigmoid() * g
        return o.sigmoid() * c, c


class LooksAtTheNewState(LSTMCell):
    """The output gate sees the state that it is about to make."""

    def forward(self, x: Tensor, state: Any = None) -> Any:
        h, c = super().forward(x, state)
        o = sums(self, x, h).chunk(4, -1)[-1]
        return o.sigmoid() * c.tanh(), c


class AddsTheCandidate(GRUCell):
    """h' = n + z h."""

    def forward(self, x: Tensor, h: Any = None) -> Any:
        h = x.new_zeros(len(x), self.hidden_size) if h is None else h
        _, z, _ = sums(self, x, h).chunk(3, -1)
        return super().forward(x, h) + z.sigmoid() * candidate(self, x, h)


class BiasOutsideTheReset(GRUCell):
    """n = tanh(U x + b + c + r W h)."""

    def forward(self, x: Tensor, h: Any = None) -> Any:
        moved = {"bias_ih": self.bias_ih + self.bias_hh, "bias_hh": torch.zeros_like(self.bias_hh)}
        own = {kind: getattr(self, kind) for kind in KINDS} | moved
        return functional_call(GRUCell(self.input_size, self.hidden_size), own, (x, h))


def candidate(cell: Any, x: Tensor, h: Tensor) -> Tensor:
    """What a GRU moves towards."""
    r = sums(cell, x, h).chunk(3, -1)[0].sigmoid()
    from_input, from_state = linear(x, cell.weight_ih, cell.bias_ih), linear(h, cell.weight_hh, cell.bias_hh)
    return (from_input.chunk(3, -1)[2] + r * from_state.chunk(3, -1)[2]).tanh()
