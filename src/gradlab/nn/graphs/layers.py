"""Layers over graphs: each node takes in what its neighbours send."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.nn.blocks import Family, block
from gradlab.nn.dense import Linear
from gradlab.nn.graphs.segments import (
    Edges,
    Reduce,
    neighbour_sum,
    reduce_segments,
    sizes,
    softmax_segments,
    transformed,
)
from gradlab.registry import Count, NonNegative

convolutions = Family("graph.{}", "in_features", "out_features")
"""Layers that map the features of all nodes, given the edges."""

_LETTERS = "n nodes, m edges, and d features in and e out"


def check_edges(name: str, edges: Tensor, nodes: int) -> None:
    """Refuse edges to nodes that are not there: on a GPU they would end the process."""
    if transformed() or edges.device.type != "cpu" or not edges.numel():
        return
    if int(edges.min()) < 0 or int(edges.max()) >= nodes:
        raise GradlabError(
            f"{name}: edges have numbers of nodes, from 0 to {nodes - 1}; got {int(edges.min())} to {int(edges.max())}."
        )


@block("graph.messages", flops="O(m·d)", memory="O(m·d)", letters="n nodes, m edges and d features")
class MessagePassing(nn.Module):
    r"""What each node hears from its neighbours: the sum, the mean or the largest of their features.

    $$ y_i = \bigoplus_{j \to i} x_j, \qquad \bigoplus \in \{ \textstyle\sum, \mathrm{mean}, \max \} $$

    None of the three depends on the order of the neighbours. A node to which no edge leads hears 0. Gilmer et al. 2017,
    arXiv:1704.01212.

    >>> x, edges = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[1, 2, 0], [0, 0, 1]])
    >>> MessagePassing("mean")(x, edges).flatten()
    tensor([3., 1., 0.])
    """

    def __init__(self, aggregate: Reduce = "sum"):
        super().__init__()
        self.aggregate: Reduce = aggregate

    def forward(self, x: Float[Tensor, "nodes features"], edges: Edges) -> Float[Tensor, "nodes features"]:
        check_edges("graph.messages", edges, len(x))
        if self.aggregate == "max":
            return reduce_segments(x[edges[0]], edges[1], len(x), "max")
        total = neighbour_sum(x, edges, x.new_ones(edges.shape[1]))
        return total if self.aggregate == "sum" else total / sizes(edges[1], len(x)).clamp(min=1)[:, None]


@block("graph.convolution", flops="2·n·d·e, and O(m·e)", memory="O((n + m)·e)", letters=_LETTERS)
class GraphConvolution(Linear):
    r"""A linear map, and then a mean over each node and its neighbours that counts popular neighbours less.

    $$ y = \hat D^{-1/2} \hat A \hat D^{-1/2} x W^\top + b, \qquad \hat A = A + I, \quad
       \hat D_{ii} = \textstyle\sum_j \hat A_{ij} $$

    Each node is a neighbour of itself. Kipf & Welling 2017, arXiv:1609.02907.

    >>> layer = GraphConvolution(1, 1, bias=False)
    >>> _ = nn.init.ones_(layer.weight)
    >>> layer(torch.tensor([[1.0], [3.0]]), torch.tensor([[0, 1], [1, 0]])).flatten().detach()
    tensor([2.0000, 2.0000])
    """

    def forward(  # type: ignore[override]
        self, x: Float[Tensor, "nodes {self.in_features}"], edges: Edges
    ) -> Float[Tensor, "nodes {self.out_features}"]:
        check_edges("graph.convolution", edges, len(x))
        scale = (sizes(edges[1], len(x)) + 1).to(x.dtype).rsqrt()
        h = nn.functional.linear(x, self.weight)
        y = neighbour_sum(h, edges, scale[edges[0]] * scale[edges[1]]) + scale.square()[:, None] * h
        return y if self.bias is None else y + self.bias


@block("graph.sage", flops="4·n·d·e, and O(m·d)", memory="O((n + m)·d)", letters=_LETTERS)
class GraphSAGE(nn.Module):
    r"""A map of each node beside another one of what its neighbours say together.

    $$ y_i = W x_i + V \bigoplus_{j \to i} x_j + b $$

    Unlike `GraphConvolution` it can distinguish a node from its neighbours. Hamilton et al. 2017, arXiv:1706.02216.

    >>> GraphSAGE(3, 2)(torch.zeros(4, 3), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([4, 2])
    """

    def __init__(self, in_features: Count, out_features: Count, aggregate: Reduce = "mean"):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.messages = MessagePassing(aggregate)
        self.own = nn.Linear(in_features, out_features)
        self.neighbours = nn.Linear(in_features, out_features, bias=False)

    def forward(
        self, x: Float[Tensor, "nodes {self.in_features}"], edges: Edges
    ) -> Float[Tensor, "nodes {self.out_features}"]:
        y: Tensor = self.own(x) + self.neighbours(self.messages(x, edges))
        return y


@block("graph.attention", flops="2·n·d·e, and O(m·e)", memory="O((n + m)·e)", letters=_LETTERS)
class GraphAttention(nn.Module):
    r"""A mean over each node and its neighbours whose weights are learned: how much each of them matters.

    $$ y_i = \sum_{j \to i} \alpha_{ij} W x_j + b, \qquad
       \alpha_{ij} = \mathrm{softmax}_j \, \mathrm{LeakyReLU}(a^\top W x_i + c^\top W x_j) $$

    Each node is a neighbour of itself. Each head has a, c and rows of W of its own, and their outputs lie side by side.
    Veličković et al. 2018, arXiv:1710.10903.

    >>> GraphAttention(3, 4, num_heads=2)(torch.zeros(4, 3), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([4, 4])
    """

    def __init__(
        self, in_features: Count, out_features: Count, num_heads: Count = 1, negative_slope: NonNegative = 0.2
    ):
        super().__init__()
        if out_features % num_heads:
            raise GradlabError(
                f"graph.attention: out_features must be a multiple of num_heads={num_heads}, got {out_features}."
            )
        self.in_features, self.out_features = in_features, out_features
        self.num_heads, self.negative_slope = num_heads, negative_slope
        self.linear = nn.Linear(in_features, out_features, bias=False)
        self.receiver = nn.Parameter(torch.empty(num_heads, out_features // num_heads))
        self.sender = nn.Parameter(torch.empty(num_heads, out_features // num_heads))
        self.bias = nn.Parameter(torch.zeros(out_features))
        nn.init.xavier_uniform_(self.receiver), nn.init.xavier_uniform_(self.sender)

    def weights(self, h: Tensor, edges: Edges) -> Float[Tensor, "edges heads"]:
        """How much each edge counts where it leads to, given mapped features by heads."""
        scores = (self.receiver * h).sum(-1)[edges[1]] + (self.sender * h).sum(-1)[edges[0]]
        return softmax_segments(nn.functional.leaky_relu(scores, self.negative_slope), edges[1], len(h))

    def forward(
        self, x: Float[Tensor, "nodes {self.in_features}"], edges: Edges
    ) -> Float[Tensor, "nodes {self.out_features}"]:
        check_edges("graph.attention", edges, len(x))
        edges = torch.cat([edges, torch.arange(len(x), device=x.device).expand(2, -1)], 1)
        h = self.linear(x).unflatten(-1, (self.num_heads, -1))
        messages = self.weights(h, edges)[..., None] * h[edges[0]]
        return reduce_segments(messages, edges[1], len(x), "sum").flatten(1) + self.bias
