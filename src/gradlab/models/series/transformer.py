"""A transformer that reads a series and answers once."""

from dataclasses import dataclass
from typing import Annotated, Literal

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.language.settings import Layers, TransformerSizes
from gradlab.models.registry import models
from gradlab.models.series.recurrent import Shortcut, WithShortcut
from gradlab.nn import Dropout, EncoderLayer, LayerNorm, LearnedPosition, Linear
from gradlab.registry import Count
from gradlab.specs import Series

Pooling = Literal["mean", "last", "all"]


@dataclass(frozen=True, kw_only=True)
class SeriesTransformerSettings(TransformerSizes):
    """The sizes of a transformer, and what of its features the outputs are mapped from."""

    layers: Annotated[Layers, "one above the other"] = 2
    dim: Annotated[Count, "features of a step, a multiple of heads"] = 64
    pooling: Annotated[Pooling, "what stands for the series: the mean of its steps, the last, or all of them"] = "mean"
    shortcut: Shortcut = False


class SeriesTransformer(nn.Module):
    r"""Each step is mapped to a vector, encoder layers mix these, and what is pooled of them is mapped to the outputs.

    $$ y = V \, \mathrm{pool}(\mathrm{norm}(E_L \cdots E_1 (W x_t + b + w_t)_{t})) + c $$

    w are the learned vectors of the positions. The pool is the mean over the steps, the last of them, or all side by
    side. With `shortcut`, a linear map of all inputs is added.

    >>> import torch
    >>> SeriesTransformer(Series(length=7, features=2), outputs=3)(torch.zeros(5, 7, 2)).shape
    torch.Size([5, 3])
    """

    def __init__(self, inputs: Series, outputs: int, settings: SeriesTransformerSettings = SeriesTransformerSettings()):
        super().__init__()
        dim, self.pooling = settings.dim, settings.pooling
        self.steps, self.position = Linear(inputs.features, dim), LearnedPosition(inputs.length, dim)
        nn.init.normal_(self.position.weight, std=0.5)  # about as large as the vectors of standardised steps
        self.dropout = Dropout(settings.dropout)
        self.layers = nn.Sequential(
            *(EncoderLayer(dim, settings.heads, settings.hidden, settings.dropout) for _ in range(settings.layers))
        )
        self.norm = LayerNorm(dim)
        self.head = WithShortcut(
            dim * (inputs.length if settings.pooling == "all" else 1), inputs, outputs, settings.shortcut
        )

    def forward(self, x: Float[Tensor, "batch length features"]) -> Float[Tensor, "batch outputs"]:
        features = self.norm(self.layers(self.dropout(self.position(self.steps(x)))))
        y: Tensor = self.head(self._pooled(features), x)
        return y

    def _pooled(self, features: Float[Tensor, "batch length dim"]) -> Float[Tensor, "batch pooled"]:
        if self.pooling == "all":
            return features.flatten(1)
        return features.mean(1) if self.pooling == "mean" else features[:, -1]


@models.register("series-transformer")
def series_transformer(inputs: Series, outputs: int, *, settings: SeriesTransformerSettings) -> nn.Module:
    """A transformer encoder over steps in time that answers once: many to one."""
    return SeriesTransformer(inputs, outputs, settings)
