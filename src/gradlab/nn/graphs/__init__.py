"""Graphs: layers over nodes and edges, and batches of graphs."""

from gradlab.nn.graphs.batch import Graphs
from gradlab.nn.graphs.layers import GraphAttention, GraphConvolution, GraphSAGE, MessagePassing, convolutions
from gradlab.nn.graphs.pooling import GraphPool
from gradlab.nn.graphs.segments import Edges, Reduce, neighbour_sum, reduce_segments, softmax_segments

__all__ = [
    "Edges",
    "GraphAttention",
    "GraphConvolution",
    "GraphPool",
    "GraphSAGE",
    "Graphs",
    "MessagePassing",
    "Reduce",
    "convolutions",
    "neighbour_sum",
    "reduce_segments",
    "softmax_segments",
]
