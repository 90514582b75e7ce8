"""Recurrent layers that read a source, whatever its length, in one call for all sources of a batch."""

from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.recurrent import Cell
from gradlab.models.seq2seq.model import Memory, real
from gradlab.nn.recurrent import by_cell

Features = Float[Tensor, "batch length features"]


class RecurrentEncoder(nn.Module):
    r"""Recurrent layers over the tokens of a source; with two directions, their states lie side by side.

    $$ h_t = (\overrightarrow{h}_t, \overleftarrow{h}_t), \qquad
       \text{last} = (\overrightarrow{h}_T, \overleftarrow{h}_1) \text{ of every layer} $$

    Padding changes nothing: each direction reads it before the source. Its inputs are zeros and the layers have no
    biases, so that a state of zeros stays exactly that until the first token; the bias of a token is the weight of one
    more feature, which is 1. Packed sequences say the same, but need lengths that the host knows, and so wait for a
    device in every step. An LSTM first remembers, as that of a language model does.

    >>> encoder = RecurrentEncoder(nn.Embedding(10, 8), "lstm", hidden=6)
    >>> encoder(torch.tensor([[4, 5, 6], [7, 0, 0]])).states.shape
    torch.Size([2, 3, 6])
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        cell: Cell,
        hidden: int,
        layers: int = 1,
        *,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        directions = 1 + bidirectional
        if hidden % directions:
            raise GradlabError(f"model.hidden={hidden} must be even: each direction of the encoder has half.")
        self.embedding, self.dropout = embedding, nn.Dropout(dropout)
        units, kind = hidden // directions, by_cell[cell]
        widths = [embedding.embedding_dim, *[hidden] * (layers - 1)]
        self.forwards, self.backwards = (
            nn.ModuleList(kind(width + 1, units, bias=False, batch_first=True) for width in widths if wanted)
            for wanted in (True, bidirectional)
        )
        for layer in (*self.forwards, *self.backwards):
            nn.init.zeros_(layer.weight_ih_l0.data[:, -1])
            if cell == "lstm":
                nn.init.ones_(layer.weight_ih_l0.data[units : 2 * units, -1])

    def forward(self, source: Int64[Tensor, "batch length"]) -> Memory:
        mask = real(source)
        x, last = self.dropout(self.embedding(source)), []
        for i, forwards in enumerate(self.forwards):
            x = torch.cat([x, x.new_ones(*mask.shape, 1)], -1) * mask[..., None]
            states, state = forwards(at_the_end(x, mask))
            states = at_the_start(states, mask)
            if self.backwards:
                back, other = self.backwards[i](x.flip(1))  # which brings padding to the front
                states, state = torch.cat([states, back.flip(1)], -1), _side_by_side(state, other)
            x = self.dropout(states)
            last.append(state)
        return Memory(x, mask, last)


def at_the_end(x: Features, mask: Bool[Tensor, "batch length"]) -> Features:
    """Each sequence moved behind its padding.

    >>> at_the_end(torch.tensor([[[1.0], [2.0], [0.0]]]), torch.tensor([[True, True, False]])).flatten().tolist()
    [0.0, 1.0, 2.0]
    """
    return _moved(x, mask.sum(1, keepdim=True))


def at_the_start(x: Features, mask: Bool[Tensor, "batch length"]) -> Features:
    """Each sequence moved back before its padding."""
    return _moved(x, -mask.sum(1, keepdim=True))


def _moved(x: Features, places: Int64[Tensor, "batch 1"]) -> Features:
    """Each row begins so many places later, and goes on with what was left out."""
    steps = x.shape[1]
    index = (torch.arange(steps, device=x.device) + places) % steps
    return x.gather(1, index[..., None].expand_as(x))


def _side_by_side(state: Any, other: Any) -> Any:
    """The last states of both directions as one: h, or of an LSTM (h, c)."""
    if isinstance(state, tuple):
        return tuple(map(_side_by_side, state, other))
    return torch.cat([state, other], -1)
