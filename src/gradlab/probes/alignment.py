"""Where a model of pairs looks in its source for each token that it writes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import torch
from jaxtyping import Float
from torch import Tensor

from gradlab.data import Pairing, Tokenizer
from gradlab.data.pairs.sentences import Sentences
from gradlab.models.seq2seq import EncoderDecoderModel, RegionEncoder
from gradlab.models.seq2seq.model import real
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

    grid: tuple[int, int] | None = None
    """Rows and columns of the cells of a picture, which are then the source, row by row."""

    picture: npt.NDArray[Any] | None = None
    """It, channels first, as it is in the world."""

    def plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        where = {} if self.grid is None else {"grid": list(self.grid)}
        return {"source": self.source, "target": self.target, "weights": self.weights.tolist(), **where}

    def maps(self) -> Float[Tensor, "target rows columns"]:
        """Of a picture: a map for each token of the target."""
        assert self.grid is not None
        return self.weights.reshape(-1, *self.grid)

    def shades(self) -> list[list[str]]:
        """A row for each token of the target, with a mark for each of the source: the darker, the more it counts."""
        levels = (self.weights * (len(_SHADES) - 1)).round().long().clamp(0, len(_SHADES) - 1)
        return [[_SHADES[level] for level in row] for row in levels.tolist()]


def alignment_of(
    model: Any, pairing: Pairing, source: Tensor, written: "Written", picture: npt.NDArray[Any] | None = None
) -> Alignment | None:
    """Of one source, alone in its batch; None for a model that does not look back at it.

    `picture` is the source as it is in the world, where it is one.
    """
    assert isinstance(model, EncoderDecoderModel)
    tokens = torch.tensor([written.tokens], device=source.device)
    with inference(model):
        weights = model.alignment(source, tokens[:, :-1])
    if weights is None:
        return None
    written_texts, weights = token_texts(pairing.target.encoder, written.tokens[1:]), weights[0].cpu()
    if not isinstance(pairing.source, Sentences):
        grid = model.encoder.grid if isinstance(model.encoder, RegionEncoder) else None
        return Alignment([], written_texts, weights, grid, picture)
    read = source[0][real(source)[0]].tolist()
    return Alignment(token_texts(pairing.source.encoder, read), written_texts, weights[:, : len(read)])


def token_texts(tokenizer: Tokenizer, tokens: list[int]) -> list[str]:
    """What each token stands for; of special ones the name."""
    special = {number: name for name, number in tokenizer.special.items()}
    return [special.get(token) or tokenizer.tokens[token].decode(errors="backslashreplace") for token in tokens]
