"""A picture as a source: the cells of the last feature maps of a network are the positions that a decoder looks at."""

from collections import OrderedDict
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.registry import models
from gradlab.models.seq2seq.model import Memory
from gradlab.models.vision.parts import GlobalAverage
from gradlab.nn.position import LearnedPosition
from gradlab.registry import Part
from gradlab.specs import Pair, Picture, Tokens

_TRUNK = Part("vgg", {"widths": [32, 64]})
Pixels = Float[Tensor, "batch channels height width"]


@dataclass(frozen=True, kw_only=True)
class RegionSettings:
    """What looks at the picture."""

    trunk: Annotated[Part, models, "the network of pictures whose last maps are looked at, such as vgg or resnet18"] = (
        _TRUNK
    )


class RegionEncoder(nn.Module):
    r"""A vector for each cell of the last maps of a network, with its place.

    $$ m_i = W f_i(x) + b + p_i $$

    f are the layers of the network before those that look at all places together, i the cells, row by row, and p is
    learned.
    """

    def __init__(self, picture: Picture, dim: int, settings: RegionSettings):
        super().__init__()
        self.trunk = maps_of(models.build(settings.trunk, picture, 1), settings.trunk.name)
        channels, *grid = _map_shape(self.trunk, picture)
        self.grid: tuple[int, int] = (grid[0], grid[1])
        """Rows and columns of cells."""
        self.map = nn.Linear(channels, dim)
        self.position = LearnedPosition(grid[0] * grid[1], dim)
        nn.init.normal_(self.position.weight, std=0.5)  # as large as what the maps say, so that both are heard at once

    def forward(self, source: Pixels) -> Memory:
        states: Tensor = self.position(self.map(self.trunk(source).flatten(2).transpose(1, 2)))
        return Memory(states)


class StartingEncoder(RegionEncoder):
    r"""The same, and the state that a recurrent decoder begins with.

    $$ s_0 = \tanh(V c + d), \qquad c = \frac{1}{n} \sum_i m_i \quad \text{or} \quad c = (m_1, \dots, m_n) $$

    With attention the mean is enough, as in Xu et al. 2015 (arXiv:1502.03044). A decoder that never looks back has all
    it knows from s₀, which is then of all cells, each by weights of its own, as in Vinyals et al. 2014
    (arXiv:1411.4555).
    """

    def __init__(self, picture: Picture, dim: int, settings: RegionSettings, *, looks: bool, layers: int, sizes: Any):
        super().__init__(picture, dim, settings)
        self.looks, self.layers, self.parts = looks, layers, sizes
        cells = 1 if looks else self.grid[0] * self.grid[1]
        self.start = nn.Linear(cells * dim, layers * sum(sizes))

    def forward(self, source: Pixels) -> Memory:
        states = super().forward(source).states
        whole = states.mean(1) if self.looks else states.flatten(1)
        first = torch.tanh(self.start(whole))[None]
        return Memory(states, None, [self._state(part) for part in first.chunk(self.layers, -1)])

    def _state(self, part: Float[Tensor, "1 batch units"]) -> Any:
        """h, or of an LSTM (h, c)."""
        tensors = [piece.contiguous() for piece in part.chunk(len(self.parts), -1)]
        return tuple(tensors) if len(tensors) > 1 else tensors[0]


def maps_of(network: nn.Module, name: str) -> nn.Sequential:
    """The layers of a network of pictures that give maps: those before the mean, or the list, of all places.

    >>> from gradlab.models import build_model
    >>> list(dict(maps_of(build_model(Part("vgg"), Picture(3, 8, 8), 10), "vgg").named_children()))
    ['features']
    """
    parts = OrderedDict(network.named_children()) if isinstance(network, nn.Sequential) else {}
    flat = [any(isinstance(m, (GlobalAverage, nn.Flatten)) for m in part.modules()) for part in parts.values()]
    if any(flat[1:]) and not flat[0]:
        return nn.Sequential(OrderedDict(islice(parts.items(), flat.index(True))))
    raise GradlabError(f"model.trunk={name} gives no maps of a picture. Take vgg, densenet, or a resnet.")


def _map_shape(trunk: nn.Module, picture: Picture) -> tuple[int, ...]:
    """Channels, rows and columns of the last maps."""
    weight = next(trunk.parameters())
    trunk.eval()
    with torch.no_grad():
        shape = trunk(weight.new_zeros(1, *picture.shape)).shape[1:]
    trunk.train()
    return tuple(shape)


def picture_of(pair: Pair) -> tuple[Picture, Tokens]:
    """Source and target of pictures with captions."""
    if not isinstance(pair.source, Picture) or not isinstance(pair.target, Tokens):
        raise GradlabError(f"This model is for pictures with captions, and these are {pair}. Take another model.")
    return pair.source, pair.target
