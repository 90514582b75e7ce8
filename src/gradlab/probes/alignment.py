"""Where a model of pairs looks in its source for each token that it writes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.data import Pairing, Tokenizer
from gradlab.data.pairs.sentences import Sentences
from gradlab.models.seq2seq import EncoderDecoderModel
from gradlab.tasks.evaluation import inference

if TYPE_CHECKING:
    from gradlab.tasks.written import Written

_SHADES = " ░▒▓█"


@dataclass(frozen=True, eq=False)
class Alignment:
    """Weights of the source for each token of a target; rows sum to 1."""

    source: list[str]
    """The tokens of the source, or nothing where it is no text."""

    target: list[str]
    weights: Float[Tensor, "target source"]

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"source": self.source, "target": self.target, "weights": self.weights.tolist()}

    def shades(self) -> list[list[str]]:
        """A row for each token of the target, with a mark for each of the source: the darker, the more it counts."""
        levels = (self.weights * (len(_SHADES) - 1)).round().long().clamp(0, len(_SHADES) - 1)
        return [[_SHADES[level] for level in row] for row in levels.tolist()]


def alignment_of(model: Any, pairing: Pairing, source: Tensor, written: "Written") -> Alignment | None:
    """Of one source, alone in its batch; None for a model that does not look back at it."""
    assert isinstance(model, EncoderDecoderModel)
    tokens = torch.tensor([written.tokens], device=source.device)
    with inference(model):
        weights = model.alignment(source, tokens[:, :-1])
    if weights is None:
        return None
    side = pairing.source
    names = token_texts(side.encoder, source[0].tolist()) if isinstance(side, Sentences) else []
    return Alignment(names, token_texts(pairing.target.encoder, written.tokens[1:]), weights[0].cpu())


def token_texts(tokenizer: Tokenizer, tokens: list[int]) -> list[str]:
    """What each token stands for; of special ones the name."""
    special = {number: name for name, number in tokenizer.special.items()}
    return [special.get(token) or tokenizer.tokens[token].decode(errors="backslashreplace") for token in tokens]
