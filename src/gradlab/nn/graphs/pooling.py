"""One vector for each graph of a batch."""

from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.nn.blocks import block
from gradlab.nn.graphs.segments import Reduce, reduce_segments


@block("graph.pool", flops="O(n·d)", memory="O(n·d)", letters="n nodes of d features")
class GraphPool(nn.Module):
    r"""The nodes of each graph as one vector: their sum, their mean, or the largest of each feature.

    $$ y_g = \bigoplus_{i \in g} x_i $$

    `graph` says to which graph each node belongs, from 0; a batch of graphs is one graph whose parts have no edges
    between them. The sum alone distinguishes graphs by size.

    >>> import torch
    >>> GraphPool("mean")(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([0, 0, 1])).flatten()
    tensor([2., 5.])
    """

    def __init__(self, aggregate: Reduce = "mean"):
        super().__init__()
        self.aggregate: Reduce = aggregate

    def forward(
        self, x: Float[Tensor, "nodes features"], graph: Int64[Tensor, " nodes"], graphs: int | None = None
    ) -> Float[Tensor, "graphs features"]:
        count = (int(graph.max()) + 1 if len(graph) else 0) if graphs is None else graphs
        return reduce_segments(x, graph, count, self.aggregate)
