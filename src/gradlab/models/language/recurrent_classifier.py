"""A recurrent network that sorts texts into classes: many tokens, one answer."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.models.language.recurrent import RecurrentSizes
from gradlab.models.registry import models
from gradlab.registry import Schema
from gradlab.specs import Tokens

Features = Float[Tensor, "batch length features"]
Lengths = Int64[Tensor, " batch"]


@dataclass(frozen=True, kw_only=True)
class RecurrentClassifierSettings(RecurrentSizes):
    """What a recurrent classifier is built by."""

    bidirectional: Annotated[bool, "each layer reads from the end to the start too"] = False
    pooling: Annotated[Literal["last", "mean"], "what stands for the text: last states, or the mean of all"] = "last"


class RecurrentClassifier(nn.Module):
    r"""An embedding of the tokens, recurrent layers, and logits of the classes, of the last state or the mean of all.

    $$ h_t = \mathrm{cell}(E_{x_t}, h_{t-1}), \qquad z = V h_T + b
       \qquad \text{or} \qquad z = V \frac{1}{T} \sum_{t=1}^T h_t + b $$

    With `bidirectional` each layer has both directions, whose states lie side by side; the last of the way back is that
    of the first token. The token 0 is padding, behind the T real ones, and changes nothing: the way there has read it
    only after them, and the way back begins at the last real one. `settings` are those of
    `RecurrentClassifierSettings`.

    >>> model = RecurrentClassifier(10, 3, dim=16, cell="gru", bidirectional=True)
    >>> alone, padded = torch.tensor([[4, 5, 6]]), torch.tensor([[4, 5, 6, 0, 0]])
    >>> torch.allclose(model(padded), model(alone), atol=1e-5)
    True
    """

    def __init__(self, vocabulary: int, classes: int, **settings: Any):
        super().__init__()
        self.classes = classes
        self.settings: RecurrentClassifierSettings = Schema(RecurrentClassifierSettings).read(settings, "model")
        chosen = self.settings
        width = chosen.units * (1 + chosen.bidirectional)
        self.embedding = nn.Embedding(vocabulary, chosen.dim)
        self.layers = chosen.make_layers(width)
        self.backwards = chosen.make_layers(width) if chosen.bidirectional else None
        self.dropout = nn.Dropout(chosen.dropout)
        self.head = nn.Linear(width, classes)
        nn.init.normal_(self.embedding.weight)

    def forward(self, tokens: Int64[Tensor, "batch length"]) -> Float[Tensor, "batch {self.classes}"]:
        real = tokens != 0
        lengths = real.sum(1).clamp(min=1)  # a text of padding alone is read as one token
        x = self.dropout(self.embedding(tokens))
        for i, layer in enumerate(self.layers):
            y, _ = layer(x)
            if self.backwards is not None:
                back, _ = self.backwards[i](turned(x, lengths))
                y = torch.cat([y, turned(back, lengths)], -1)
            x = self.dropout(y)
        pooled = _mean(x, lengths) if self.settings.pooling == "mean" else self._last(x, lengths)
        logits: Tensor = self.head(pooled)
        return logits

    def _last(self, x: Features, lengths: Lengths) -> Float[Tensor, "batch features"]:
        """The states that have read all of the text: at its last token, and on the way back at its first."""
        units = self.settings.units
        last = x[..., :units].gather(1, (lengths - 1)[:, None, None].expand(-1, 1, units))
        return torch.cat([last[:, 0], x[:, 0, units:]], -1)


def turned(x: Features, lengths: Lengths) -> Features:
    """Each sequence from its last real step to its first; what lies behind it stays behind it.

    Packed sequences say the same, but their lengths must be known to the host, which would wait for a device in every
    step; a recorded step would keep those of its first batch.

    >>> turned(torch.tensor([[[1.0], [2.0], [3.0], [0.0]]]), torch.tensor([3])).flatten().tolist()
    [3.0, 2.0, 1.0, 0.0]
    """
    steps = x.shape[1]
    places = (lengths[:, None] - 1 - torch.arange(steps, device=x.device)) % steps
    return x.gather(1, places[..., None].expand_as(x))


def _mean(x: Features, lengths: Lengths) -> Float[Tensor, "batch features"]:
    real = torch.arange(x.shape[1], device=x.device) < lengths[:, None]
    return (x * real[..., None]).sum(1) / lengths[:, None]


@models.register("rnn-classifier")
def rnn_classifier(inputs: Tokens, outputs: int, *, settings: RecurrentClassifierSettings) -> nn.Module:
    """A recurrent network that sorts texts into classes: RNN, LSTM or GRU. The token 0 is padding, and not read."""
    return RecurrentClassifier(inputs.vocabulary, outputs, **vars(settings))
