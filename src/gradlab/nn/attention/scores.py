"""Attention by scores that are learned: how well a key fits a query is an opinion, and weights are its softmax."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.attention.masks import Mask, masked_softmax
from gradlab.nn.blocks import block
from gradlab.registry import Count

Values = Float[Tensor, "*batch m e"]
Weights = Float[Tensor, "*batch n m"]
Pooled = Float[Tensor, "*batch n e"]


def attend(scores: Weights, values: Values, mask: Mask | None = None) -> Pooled:
    """Σⱼ αⱼ vⱼ with α = softmax(scores): what all attention by scores has in common."""
    return masked_softmax(scores, mask) @ values


class Attention(nn.Module):
    """What the kinds of attention have in common: weights of the keys for each query, which can be looked at."""

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        """How well each key fits each query."""
        raise NotImplementedError

    def weights(self, queries: Tensor, keys: Tensor, mask: Mask | None = None) -> Weights:
        """What each value counts in each query's mean."""
        return masked_softmax(self.score(queries, keys), mask)


@block(
    "attention.general",
    flops="2·n·d·c + 2·n·m·c + 2·n·m·e",
    memory="O(n·m + n·c)",
    letters="n queries of d entries, m keys of c and values of e",
)
class GeneralAttention(Attention):
    r"""Scores by a matrix that is learned, so that queries and keys may differ in length.

    $$ s_{ij} = q_i^\top W k_j, \qquad o_i = \sum_j \mathrm{softmax}(s_i)_j \, v_j $$

    With W = I they are dot products. Luong et al. 2015, arXiv:1508.04025.

    >>> GeneralAttention(3, 4)(torch.zeros(2, 3), torch.zeros(5, 4), torch.arange(10.0).reshape(5, 2)).tolist()
    [[4.0, 5.0], [4.0, 5.0]]
    """

    def __init__(self, query_dim: Count, key_dim: Count):
        super().__init__()
        self.query_dim, self.key_dim = query_dim, key_dim
        self.weight = nn.Parameter(torch.empty(query_dim, key_dim))
        nn.init.normal_(self.weight, std=(query_dim * key_dim) ** -0.5)

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        return queries @ self.weight @ keys.mT

    def forward(
        self,
        queries: Float[Tensor, "*batch n {self.query_dim}"],
        keys: Float[Tensor, "*batch m {self.key_dim}"],
        values: Values,
        mask: Mask | None = None,
    ) -> Pooled:
        return attend(self.score(queries, keys), values, mask)


@block(
    "attention.reduced_rank",
    flops="2·n·d·r + 2·m·c·r + 2·n·m·r + 2·n·m·e",
    memory="O(n·m + n·r + m·r)",
    letters="n queries of d entries, m keys of c, values of e and r = `rank`",
)
class ReducedRankAttention(Attention):
    r"""General scores whose matrix is a product of two thin ones: dot products of what both are projected to.

    $$ s_{ij} = (U q_i)^\top (V k_j) = q_i^\top (U^\top V) \, k_j, \qquad o_i = \sum_j \mathrm{softmax}(s_i)_j \, v_j $$

    U is `query_weight`, V is `key_weight`, both with `rank` rows, so that there are r (d + c) numbers to learn and not
    d c, and the matrix of all scores has at most this rank. The heads of a transformer score in this way.

    >>> attention = ReducedRankAttention(8, 8, rank=2)
    >>> torch.linalg.matrix_rank(attention.score(torch.randn(5, 8), torch.randn(5, 8)), rtol=1e-5).item()
    2
    """

    def __init__(self, query_dim: Count, key_dim: Count, rank: Count):
        super().__init__()
        self.query_dim, self.key_dim, self.rank = query_dim, key_dim, rank
        self.query_weight = nn.Parameter(torch.empty(rank, query_dim))
        self.key_weight = nn.Parameter(torch.empty(rank, key_dim))
        nn.init.normal_(self.query_weight, std=(rank**0.5 * query_dim) ** -0.5)
        nn.init.normal_(self.key_weight, std=(rank**0.5 * key_dim) ** -0.5)

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        return (queries @ self.query_weight.T) @ (keys @ self.key_weight.T).mT

    def forward(
        self,
        queries: Float[Tensor, "*batch n {self.query_dim}"],
        keys: Float[Tensor, "*batch m {self.key_dim}"],
        values: Values,
        mask: Mask | None = None,
    ) -> Pooled:
        return attend(self.score(queries, keys), values, mask)


@block(
    "attention.additive",
    flops="2·n·d·h + 2·m·c·h + 2·n·m·h + 2·n·m·e",
    memory="O(n·m·h)",
    letters="n queries of d entries, m keys of c, values of e and h = `hidden_dim`",
)
class AdditiveAttention(Attention):
    r"""Scores by a small network on each pair of query and key.

    $$ s_{ij} = w^\top \tanh(A q_i + B k_j), \qquad o_i = \sum_j \mathrm{softmax}(s_i)_j \, v_j $$

    It is a multilayer perceptron without biases on the two laid end to end. Each pair has h hidden units, so it needs h
    times the memory of a product. Bahdanau et al. 2014, arXiv:1409.0473.

    A, B and w are `query_weight`, `key_weight` and `score_weight`.

    >>> AdditiveAttention(3, 4, 8)(torch.zeros(2, 3), torch.zeros(5, 4), torch.arange(10.0).reshape(5, 2)).tolist()
    [[4.0, 5.0], [4.0, 5.0]]
    """

    def __init__(self, query_dim: Count, key_dim: Count, hidden_dim: Count):
        super().__init__()
        self.query_dim, self.key_dim, self.hidden_dim = query_dim, key_dim, hidden_dim
        self.query_weight = nn.Parameter(torch.empty(hidden_dim, query_dim))
        self.key_weight = nn.Parameter(torch.empty(hidden_dim, key_dim))
        self.score_weight = nn.Parameter(torch.empty(hidden_dim))
        for weight in self.parameters():
            nn.init.normal_(weight, std=weight.shape[-1] ** -0.5)

    def score(self, queries: Tensor, keys: Tensor) -> Weights:
        from_queries, from_keys = queries @ self.query_weight.T, keys @ self.key_weight.T
        return torch.tanh(from_queries[..., :, None, :] + from_keys[..., None, :, :]) @ self.score_weight

    def forward(
        self,
        queries: Float[Tensor, "*batch n {self.query_dim}"],
        keys: Float[Tensor, "*batch m {self.key_dim}"],
        values: Values,
        mask: Mask | None = None,
    ) -> Pooled:
        return attend(self.score(queries, keys), values, mask)
