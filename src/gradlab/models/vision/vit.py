"""A vision transformer: patches of a picture are its tokens. Dosovitskiy et al. 2020, arXiv:2010.11929."""

from dataclasses import dataclass
from typing import Annotated

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.language.settings import TransformerSizes
from gradlab.models.registry import models
from gradlab.nn import Conv2d, Dropout, EncoderLayer, LayerNorm, LearnedPosition, Linear
from gradlab.registry import Count
from gradlab.specs import Picture

_FEWEST = 7  # patches along the shorter side, where their size is not chosen and 2 or more


@dataclass(frozen=True, kw_only=True)
class ViTSettings(TransformerSizes):
    """The patches, and the sizes of a transformer."""

    patch: Annotated[Count | None, "side of a patch in pixels; default 1 to 16, by the size of the pictures"] = None


class VisionTransformer(nn.Module):
    r"""Each patch is mapped to a vector, a stack of encoder layers mixes these, and their mean is sorted into classes.

    $$ z = V \, \frac{1}{n} \sum_{p \le n} \mathrm{norm}(E_L \cdots E_1 (W x_p + b + w_p)_{p}) + c $$

    x are the n patches and w the learned vectors of their positions. The mean stands for the picture, as in
    Beyer et al. 2022, arXiv:2205.01580, where the first of these networks had a token of its own for it.
    """

    def __init__(self, inputs: Picture, outputs: int, patch: int, settings: ViTSettings):
        super().__init__()
        dim, places = settings.dim, inputs.height // patch * (inputs.width // patch)
        self.patches = Conv2d(inputs.channels, dim, patch, patch)
        self.position = LearnedPosition(places, dim)
        # About as large as the vectors of standardised patches: smaller ones take long to learn from.
        nn.init.normal_(self.position.weight, std=0.5)
        self.dropout = Dropout(settings.dropout)
        self.layers = nn.Sequential(
            *(EncoderLayer(dim, settings.heads, settings.hidden, settings.dropout) for _ in range(settings.layers))
        )
        self.norm, self.head = LayerNorm(dim), Linear(dim, outputs)

    def forward(self, x: Float[Tensor, "batch channels height width"]) -> Float[Tensor, "batch outputs"]:
        tokens = self.position(self.patches(x).flatten(2).transpose(1, 2))
        logits: Tensor = self.head(self.norm(self.layers(self.dropout(tokens))).mean(1))
        return logits


@models.register("vit")
def vit(inputs: Picture, outputs: int, *, settings: ViTSettings = ViTSettings()) -> nn.Module:
    """A small vision transformer: an encoder over the patches of a picture, and their mean."""
    return VisionTransformer(inputs, outputs, _patch(inputs, settings.patch), settings)


def _patch(inputs: Picture, chosen: int | None) -> int:
    height, width = inputs.height, inputs.width

    def fits(side: int) -> bool:
        return height % side == 0 and width % side == 0

    if chosen is None:
        largest = max(2, min(height, width) // _FEWEST)
        return next(side for side in (16, 8, 4, 2, 1) if side <= largest and fits(side))
    if not fits(chosen):
        raise GradlabError(
            f"vit cannot cut inputs of shape {inputs.shape} into patches of {chosen}×{chosen} pixels: "
            "take a model.patch that divides both sides."
        )
    return chosen
