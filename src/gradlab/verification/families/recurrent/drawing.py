"""What the checks of the recurrent blocks draw, and the pieces of which they make what they expect."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.recurrent import GRU, LSTM, RNN, GRUCell, LSTMCell, RNNCell
from gradlab.verification.calls import Refused
from gradlab.verification.case import Case
from gradlab.verification.checks import tied
from gradlab.verification.subject import Incomparable

SEQUENCES: dict[str, Any] = {"recurrent.rnn": RNN, "recurrent.lstm": LSTM, "recurrent.gru": GRU}
CELLS: dict[str, Any] = {"recurrent.rnn_cell": RNNCell, "recurrent.lstm_cell": LSTMCell, "recurrent.gru_cell": GRUCell}
KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
WAYS = ("", "_reverse")


@dataclass(frozen=True)
class Run:
    """A block over sequences, called with the time first whatever its own order, and with no more than is needed."""

    case: Case
    block: Any
    settings: dict[str, Any]

    @classmethod
    def drawn(cls, case: Case, **options: Sequence[Any]) -> "Run":
        """A block of small sizes, with one of the options for each of these settings."""
        settings: dict[str, Any] = {size: case.integer(size, 1, 3) for size in ("input_size", "hidden_size")}
        for name, choices in {"batch_first": (False,), "bidirectional": (False,), **options}.items():
            settings[name] = case.choice(name, choices)
        return cls(case, case.build(**settings), settings)

    def __call__(self, x: Tensor, state: Any = None, lengths: Tensor | None = None) -> tuple[Tensor, Any]:
        if lengths is not None and not self.takes_lengths:
            raise Incomparable("its forward takes no lengths")
        if self.case.subject.foreign and self.num_layers * len(self.ways) == 1:
            return self._of_one_layer(x, state, lengths)
        rest = [] if state is None and lengths is None else [state] if lengths is None else [state, lengths]
        outputs, last = self.block(self.turned(x), *rest)
        return self.turned(outputs), last

    def _of_one_layer(self, x: Tensor, state: Any, lengths: Tensor | None) -> tuple[Tensor, Any]:
        """A user's, whose state may have no axis for layers, and whose outputs may be a list of steps."""
        given = [None] if state is None else [state, each(state, lambda part: part[0])]
        for first in given:
            rest = [] if first is None and lengths is None else [first] if lengths is None else [first, lengths]
            try:
                outputs, last = self.block(self.turned(x), *rest)
            except Refused:
                if first is given[-1]:
                    raise
                continue
            outputs = torch.stack([*outputs]) if isinstance(outputs, list | tuple) else self.turned(outputs)
            if outputs.ndim == x.ndim:
                break
        return outputs, each(last, lambda part: part[None] if part.ndim == 2 else part)

    def turned(self, x: Tensor) -> Tensor:
        return x.transpose(0, 1) if self.settings["batch_first"] else x

    @property
    def takes_lengths(self) -> bool:
        return "lengths" in inspect.signature(self.block.forward).parameters

    def only_forwards(self) -> "Run":
        """Itself, if it does not look ahead."""
        if self.settings["bidirectional"]:
            raise Incomparable("a run backwards knows what comes later")
        return self

    # What it is called with

    def inputs(self, *, steps: int = 1, batch: int = 1) -> Tensor:
        """Sequences of at least so many steps, and at least so many of them."""
        shape = self.case.integer("steps", steps, 4), self.case.integer("batch", batch, 3), self.settings["input_size"]
        return self.case.tensor("x", *shape)

    def lengths(self, x: Tensor) -> Tensor:
        return 1 + self.case.indices("lengths less one", x.shape[1], below=len(x))

    def state(self, x: Tensor) -> Any:
        """h, or for the LSTM (h, c)."""
        shape = self.num_layers * len(self.ways), x.shape[1], self.settings["hidden_size"]
        return whole([self.case.tensor(f"first {part}", *shape) for part in self.parts])

    @property
    def parts(self) -> str:
        return "hc" if self.case.subject.name == "recurrent.lstm" else "h"

    @property
    def num_layers(self) -> int:
        return int(self.settings.get("num_layers", 1))

    @property
    def ways(self) -> tuple[str, ...]:
        return WAYS[: 1 + self.settings["bidirectional"]]

    # What it is made of

    def names(self, layer: int, way: str = "") -> list[str]:
        """The parameters of one layer in one direction."""
        kinds = KINDS if self.settings.get("bias", True) else KINDS[:2]
        return [f"{kind}_l{layer}{way}" for kind in kinds]

    def all_names(self) -> list[str]:
        return [name for layer in range(self.num_layers) for way in self.ways for name in self.names(layer, way)]

    def weights(self) -> dict[str, nn.Parameter]:
        return self.case.weights(self.block, *self.all_names())

    def layer(self, layer: int, *ways: str) -> Any:
        """One layer of it alone as a block of ours; the first of these ways is forwards there, the second backwards."""
        names = [name for way in ways for name in self.names(layer, way)]
        values = [*self.case.weights(self.block, *names).values()]
        own = [name for way in WAYS[: len(ways)] for name in self.names(0, way)]
        options = {"bias": self.settings.get("bias", True), "bidirectional": len(ways) == 2}
        block = SEQUENCES[self.case.subject.name](values[0].shape[1], self.settings["hidden_size"], **options)
        return tied(block, dict(zip(own, values, strict=True)))

    def cell(self) -> Any:
        """The cell of its one layer."""
        cell = CELLS[f"{self.case.subject.name}_cell"](self.settings["input_size"], self.settings["hidden_size"])
        return tied(cell, dict(zip(KINDS, self.case.weights(self.block, *self.names(0)).values(), strict=True)))


def parts(state: Any) -> tuple[Tensor, ...]:
    return (state,) if isinstance(state, Tensor) else tuple(state)


def whole(parts: Sequence[Any]) -> Any:
    """h, (h, c), or no state where there are no parts."""
    return (parts[0] if len(parts) == 1 else tuple(parts)) if parts else None


def each(state: Any, function: Callable[[Tensor], Tensor]) -> Any:
    """The function of h, and of c where there is one."""
    return None if state is None else whole([function(part) for part in parts(state)])


def pick(state: Any, *index: Any) -> Any:
    """A part of the state, by an index of its axes: layers and directions, examples, units."""
    return each(state, lambda part: part[index])


def joined(states: Sequence[Any]) -> Any:
    """The states of several layers or directions as one."""
    return whole([torch.cat(group) for group in zip(*map(parts, states), strict=True)])


def stepped(cell: Callable[..., Any], x: Tensor, state: Any) -> tuple[Tensor, Any]:
    """A cell at one step after the other."""
    outputs, state = [], each(state, lambda part: part[0])
    for step in x:
        state = cell(step, state)
        outputs.append(parts(state)[0])
    return torch.stack(outputs), each(state, lambda part: part[None])
