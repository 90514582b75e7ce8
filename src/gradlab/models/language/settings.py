"""What all transformers over tokens can be set to, stated once."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from gradlab.nn.activations import activations
from gradlab.nn.normalisation import last_axis_norms
from gradlab.registry import Count, Fraction, Part

Layers = Annotated[int, Ge(1), Le(1000)]
NormName = Annotated[str, last_axis_norms, "the normalisation"]
Bend = Annotated[Part | None, activations, "between the maps of an MLP; default GELU, or SiLU if gated"]


@dataclass(frozen=True, kw_only=True)
class TransformerSizes:
    """How large a transformer is."""

    layers: Annotated[Layers, "one above the other"] = 4
    heads: Annotated[Count, "of each attention"] = 4
    dim: Annotated[Count, "features of a token, a multiple of heads"] = 128
    hidden: Annotated[Count | None, "features between the maps of an MLP; default 4 dim, or 8/3 dim if gated"] = None
    dropout: Annotated[Fraction, "probability of dropping a feature"] = 0.0
