"""Layers over a graph, and what is read of them for nodes, edges or whole graphs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from jaxtyping import Float
from torch import Tensor, nn

from gradlab.models.registry import models
from gradlab.nn import Dropout
from gradlab.nn.activations import activations
from gradlab.nn.graphs import GraphAttention, GraphConvolution, GraphPool, Graphs, GraphSAGE, Reduce
from gradlab.registry import Count, Fraction, Part
from gradlab.specs import Graph


@dataclass(frozen=True, kw_only=True)
class GraphNetworkSettings:
    """What a network over graphs is built by."""

    layers: Annotated[Count, "how many edges far each node sees"] = 2
    hidden: Annotated[Count, "features of a node behind each layer"] = 32
    activation: Annotated[Part, activations, "after each layer"] = Part("relu")  # noqa: RUF009
    dropout: Annotated[Fraction, "probability of dropping a feature, before each layer"] = 0.0
    pool: Annotated[Reduce, "how nodes become one vector, where whole graphs are asked for"] = "mean"


class GraphNetwork(nn.Module):
    r"""Layers that pass messages, and a linear map of what they make of the nodes that are asked for.

    $$ h^{l+1} = \sigma(\mathrm{layer}(h^l, E)), \qquad
       y = W r + b, \quad r = h_i, \; h_i \odot h_j \; \text{or} \; \bigoplus_{i \in g} h_i $$

    Of an edge, the product is the same in both directions.
    """

    def __init__(
        self, inputs: Graph, outputs: int, layer: Callable[[int, int], nn.Module], settings: GraphNetworkSettings
    ):
        super().__init__()
        widths = [inputs.node_features, *[settings.hidden] * settings.layers]
        self.layers = nn.ModuleList(layer(a, b) for a, b in pairwise(widths))
        self.activation = activations.build(settings.activation)
        self.dropout = Dropout(settings.dropout)
        self.pool = GraphPool(settings.pool)
        self.head = nn.Linear(settings.hidden, outputs)

    def nodes(self, graphs: Graphs) -> Float[Tensor, "nodes hidden"]:
        """What the layers make of each node."""
        h = graphs.x
        for layer in self.layers:
            h = self.activation(layer(self.dropout(h), graphs.edges))
        return h

    def forward(self, graphs: Graphs) -> Float[Tensor, "examples outputs"]:
        h = self.nodes(graphs)
        h = self.pool(h, graphs.graph, len(graphs)) if graphs.queried is None else h[graphs.queried].prod(1)
        y: Tensor = self.head(self.dropout(h))
        return y


@models.register("gcn")
def gcn(inputs: Graph, outputs: int, *, settings: GraphNetworkSettings) -> nn.Module:
    """A graph convolutional network: means over neighbours, of popular ones less."""
    return GraphNetwork(inputs, outputs, GraphConvolution, settings)


@models.register("sage")
def sage(
    inputs: Graph,
    outputs: int,
    *,
    aggregate: Annotated[Reduce, "what a node takes of all its neighbours"] = "mean",
    settings: GraphNetworkSettings,
) -> nn.Module:
    """GraphSAGE: each node beside the mean, the sum or the largest of its neighbours."""
    return GraphNetwork(inputs, outputs, lambda a, b: GraphSAGE(a, b, aggregate), settings)


@models.register("gat")
def gat(
    inputs: Graph,
    outputs: int,
    *,
    heads: Annotated[Count, "means with weights of their own, side by side"] = 4,
    settings: GraphNetworkSettings,
) -> nn.Module:
    """A graph attention network: how much each neighbour counts is learned."""
    return GraphNetwork(inputs, outputs, lambda a, b: GraphAttention(a, b, heads), settings)
