"""Dense layers: every output sees every input. A table of embeddings is one whose inputs are one-hot."""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from gradlab.nn.blocks import block
from gradlab.registry import Count


@block(
    "dense.linear",
    flops="2·n·d·h",
    memory="0, all that is kept is the input",
    letters="n vectors of d features and h outputs",
)
class Linear(nn.Linear):
    r"""An affine map of the last axis, the same for all examples; linear only without its bias.

    $$ y = W x + b, \qquad W \in \mathbb{R}^{h \times d} $$

    In a batch the examples are rows, so it is computed as X Wᵀ + b. Two of them with no bend between are one.

    >>> import torch
    >>> layer = Linear(2, 1)
    >>> _ = layer.load_state_dict({"weight": torch.tensor([[3.0, 4.0]]), "bias": torch.tensor([0.5])})
    >>> layer(torch.tensor([[1.0, 1.0], [0.0, 0.0]])).tolist()
    [[7.5], [0.5]]
    """

    def __init__(self, in_features: Count, out_features: Count, bias: bool = True):
        super().__init__(in_features, out_features, bias)

    def forward(self, x: Float[Tensor, "*batch {self.in_features}"]) -> Float[Tensor, "*batch {self.out_features}"]:
        return F.linear(x, self.weight, self.bias)


@block(
    "dense.embedding",
    flops="O(n·d)",
    memory="0, all that is kept are the indices",
    letters="n indices and d numbers in a row",
)
class Embedding(nn.Embedding):
    r"""A row of a table for each index: a vector that is learned for each word.

    $$ y_t = E_{i_t} = E^\top e_{i_t} $$

    It is a dense layer without a bias on one-hot vectors e, whose products with 0 are left out. A row learns only from
    the places where its index stands.

    >>> import torch
    >>> table = Embedding(3, 2)
    >>> torch.equal(table(torch.tensor([2, 0])), table.weight[[2, 0]])
    True
    """

    def __init__(self, num_embeddings: Count, embedding_dim: Count):
        super().__init__(num_embeddings, embedding_dim)

    def forward(self, indices: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch {self.embedding_dim}"]:
        return F.embedding(indices, self.weight)
