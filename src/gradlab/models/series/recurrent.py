"""A recurrent network that reads a series and answers at its end."""

from dataclasses import dataclass
from typing import Annotated

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.language.recurrent import Cell
from gradlab.models.language.settings import Layers
from gradlab.models.registry import models
from gradlab.nn.recurrent import LSTM, by_cell
from gradlab.registry import Count, Fraction
from gradlab.specs import Series

Shortcut = Annotated[bool, "add a linear map of all inputs, past the network, to its outputs"]


@dataclass(frozen=True, kw_only=True)
class SeriesRNNSettings:
    """What a recurrent network over series is built by."""

    cell: Annotated[Cell, "the kind of recurrent layer"] = "lstm"
    layers: Annotated[Layers, "recurrent layers, one above the other"] = 1
    hidden: Annotated[Count, "units of a layer"] = 64
    dropout: Annotated[Fraction, "probability of dropping a feature, behind each layer"] = 0.0
    shortcut: Shortcut = False


class SeriesRNN(nn.Module):
    r"""The last state of recurrent layers, mapped to the outputs: many to one.

    $$ h_t = \mathrm{cell}(x_t, h_{t-1}), \qquad y = V h_T + c \; (+ \, W x) $$

    With `shortcut`, a linear map W of all steps is added, as the autoregressive part of LSTNet is: Lai et al. 2018,
    arXiv:1703.07015.

    >>> import torch
    >>> SeriesRNN(Series(length=7, features=2), outputs=3)(torch.zeros(5, 7, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(self, inputs: Series, outputs: int, settings: SeriesRNNSettings = SeriesRNNSettings()):
        super().__init__()
        kind, hidden = by_cell[settings.cell], settings.hidden
        # One by one, so that the dropout between them is drawn by torch, whose state a checkpoint holds.
        self.layers = nn.ModuleList(
            kind(hidden if i else inputs.features, hidden, batch_first=True) for i in range(settings.layers)
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.head = WithShortcut(hidden, inputs, outputs, settings.shortcut)
        self._remember()

    def _remember(self) -> None:
        """An LSTM first remembers, as the language model does."""
        for layer in self.layers:
            if isinstance(layer, LSTM):
                size = layer.hidden_size
                nn.init.ones_(layer.get_parameter("bias_ih_l0")[size : 2 * size])

    def forward(self, x: Float[Tensor, "batch length features"]) -> Float[Tensor, "batch outputs"]:
        states = x
        for layer in self.layers:
            states = self.dropout(layer(states)[0])
        y: Tensor = self.head(states[:, -1], x)
        return y


class WithShortcut(nn.Module):
    """The last map of a network over series and, where it is asked for, one of its inputs beside it.

    The second begins at 0, so that a fresh model is that without it.
    """

    def __init__(self, features: int, inputs: Series, outputs: int, shortcut: bool):
        super().__init__()
        self.output = nn.Linear(features, outputs)
        self.shortcut = nn.Linear(inputs.length * inputs.features, outputs, bias=False) if shortcut else None
        if self.shortcut is not None:
            nn.init.zeros_(self.shortcut.weight)

    def forward(
        self, features: Float[Tensor, "batch features"], x: Float[Tensor, "batch length inputs"]
    ) -> Float[Tensor, "batch outputs"]:
        y: Tensor = self.output(features)
        return y if self.shortcut is None else y + self.shortcut(x.flatten(1))


@models.register("series-rnn")
def series_rnn(inputs: Series, outputs: int, *, settings: SeriesRNNSettings) -> nn.Module:
    """A recurrent network over steps in time, RNN, LSTM or GRU, that answers at the end: many to one."""
    return SeriesRNN(inputs, outputs, settings)
