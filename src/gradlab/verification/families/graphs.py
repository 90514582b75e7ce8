"""What is known of layers over graphs."""

import warnings
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor

from gradlab.scratch import graphs
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law, tied
from gradlab.verification.comparing import array, difference

MESSAGES, CONVOLUTION, SAGE, ATTENTION, POOL = (
    f"graph.{name}" for name in ("messages", "convolution", "sage", "attention", "pool")
)
LAYERS = (MESSAGES, CONVOLUTION, SAGE, ATTENTION)
REDUCTIONS = ("sum", "mean", "max")


def _graph(case: Case, features: int, *, distinct: bool = False) -> tuple[Tensor, Tensor]:
    """Features of some nodes, and edges between them, some of them twice and of nodes with themselves.

    Others count an edge that is there twice once, and loops that are there instead of their own: theirs have neither.
    """
    nodes, edges = case.integer("nodes", 1, 6), case.integer("edges", 0, 9)
    x = case.distinct("x", nodes, features) if distinct else case.tensor("x", nodes, features)
    if distinct and case.subject.foreign:  # others start the largest at 0, which then has a share of the gradient
        x = (x.detach() + 0.37).requires_grad_()
    if case.subject.foreign:
        pairs = [(i, j) for i in range(nodes) for j in range(nodes) if i != j]
        order = case.permutation("order of edges", len(pairs))[:edges]
        return x, torch.tensor(pairs, dtype=torch.long).reshape(-1, 2)[order].T
    return x, case.indices("edges_", 2, edges, below=nodes)


def _layer(case: Case, features: int | None = None) -> tuple[Any, int]:
    """A block and how many features it takes."""
    if case.subject.name == MESSAGES:
        return case.build(aggregate=case.choice("aggregate", REDUCTIONS)), case.integer("features", 1, 3)
    sizes = {"in_features": case.integer("in_features", 1, 3), "out_features": case.integer("out_features", 1, 3)}
    more: dict[str, Any] = {}
    if case.subject.name == SAGE:
        more["aggregate"] = case.choice("aggregate", REDUCTIONS)
    if case.subject.name == ATTENTION:
        fixed = "out_features" in case.subject.drawn_as
        counts = [heads for heads in (1, 2) if not fixed or sizes["out_features"] % heads == 0]
        more["num_heads"] = case.choice("num_heads", counts)
        sizes["out_features"] *= 1 if fixed else more["num_heads"]
        more["negative_slope"] = case.drawn["negative_slope"] = case.subject.drawn_as.get("negative_slope", 0.2)
    return case.build(**sizes, **more), sizes["in_features"]


def _call(*weights: str, **options: Callable[[Any], Any]) -> Draw:
    def draw(case: Case) -> Call:
        block, features = _layer(case)
        # Of equal largest entries each library chooses another for the gradient.
        x, edges = _graph(case, features, distinct=case.drawn.get("aggregate") == "max" or case.subject.name == SAGE)
        told = {name: option(case.drawn) for name, option in options.items()}
        return Call(block, (x, edges), case.weights(block, *weights), told)

    return draw


def _twin(twin: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy engine has tensors for what is differentiated, and arrays for edges."""
    return lambda x, edges, *weights, **options: twin(x, _plain(edges), *weights, **options)


def _plain(edges: Any) -> Any:
    return (array(edges) if isinstance(edges, Tensor) else getattr(edges, "value", edges)).astype("int64")


def _geometric(name: str) -> Any:
    with warnings.catch_warnings():  # its import uses what torch is about to drop
        warnings.simplefilter("ignore")
        import torch_geometric.nn as theirs

    return getattr(theirs, name)


def _edge_once(call: Call) -> tuple[Tensor, Tensor]:
    """torch_geometric replaces self-loops that are there by its own, where ours come on top."""
    x, edges = call.inputs
    return x, edges[:, edges[0] != edges[1]]


def _without_loops(draw: Draw) -> Draw:
    def drawn(case: Case) -> Call:
        call = draw(case)
        return Call(call.block, _edge_once(call), call.weights, call.options)

    return drawn


def _away_from_zero(draw: Draw) -> Draw:
    """torch_geometric starts the largest at 0, and gives that start a share of the gradient of an entry that is 0."""

    def drawn(case: Case) -> Call:
        call = draw(case)
        x = (call.inputs[0].detach() + 0.37).requires_grad_()
        return Call(call.block, (x, call.inputs[1]), call.weights, call.options)

    return drawn


def _gcn(call: Call) -> Tensor:
    (x, edges), weights = call.inputs, call.weights
    peer = _geometric("GCNConv")(x.shape[1], len(weights["bias"])).double()
    y: Tensor = tied(peer, {"lin.weight": weights["weight"], "bias": weights["bias"]})(x, edges)
    return y


def _sage(call: Call) -> Tensor:
    (x, edges), weights, (inputs, outputs) = call.inputs, call.weights, call.weights["own.weight"].T.shape
    peer = _geometric("SAGEConv")(inputs, outputs, aggr=call.options["aggregate"]).double()
    names = {"lin_r.weight": "own.weight", "lin_l.bias": "own.bias", "lin_l.weight": "neighbours.weight"}
    y: Tensor = tied(peer, {theirs: weights[ours] for theirs, ours in names.items()})(x, edges)
    return y


def _gat(call: Call) -> Tensor:
    (x, edges), weights = call.inputs, call.weights
    heads, size = weights["receiver"].shape
    peer = _geometric("GATConv")(x.shape[1], size, heads=heads, negative_slope=call.options["slope"]).double()
    tied(peer, {"lin.weight": weights["linear.weight"], "bias": weights["bias"]})
    del peer.att_src, peer.att_dst  # views of ours, so that gradients reach them
    peer.att_src, peer.att_dst = weights["sender"][None], weights["receiver"][None]
    y: Tensor = peer(x, edges)
    return y


def _aggregated(call: Call) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch_geometric.utils import scatter
    x, edges = call.inputs
    return torch.as_tensor(scatter(x[edges[0]], edges[1], dim_size=len(x), reduce=call.options["aggregate"]))


_AGGREGATE = {"aggregate": itemgetter("aggregate")}
_MESSAGES = _call(**_AGGREGATE)
_CONVOLUTION = _call("weight", "bias")
_SAGE = _call("own.weight", "own.bias", "neighbours.weight", aggregate=itemgetter("aggregate"))
_ATTENTION = _call("linear.weight", "receiver", "sender", "bias", slope=itemgetter("negative_slope"))


def _pool(case: Case) -> Call:
    block, nodes = case.build(aggregate=case.choice("aggregate", REDUCTIONS)), case.integer("nodes", 1, 6)
    drawn = case.indices("graph", nodes, below=3)
    graph = torch.unique(drawn, return_inverse=True)[1]  # no graph without nodes
    return Call(
        block,
        (case.distinct("x", nodes, case.integer("features", 1, 3)), graph),
        {},
        {"aggregate": case.drawn["aggregate"]},
    )


def _pooled(call: Call) -> Tensor:
    name = {"sum": "add"}.get(call.options["aggregate"], call.options["aggregate"])
    return torch.as_tensor(_geometric(f"global_{name}_pool")(*call.inputs))


conform(MESSAGES, _MESSAGES, twin=graphs.messages, twin_call=_twin(graphs.messages))
conform(CONVOLUTION, _CONVOLUTION, twin=graphs.graph_convolution, twin_call=_twin(graphs.graph_convolution))
conform(SAGE, _SAGE, twin=graphs.graph_sage, twin_call=_twin(graphs.graph_sage))
conform(ATTENTION, _ATTENTION, twin=graphs.graph_attention, twin_call=_twin(graphs.graph_attention))
conform(POOL, _pool, twin=graphs.pool, twin_call=_twin(graphs.pool))
_PEER: dict[str, Any] = {"needs": "torch_geometric"}
conform(MESSAGES, _away_from_zero(_MESSAGES), peer={"torch_geometric.utils.scatter": _aggregated}, **_PEER)
conform(CONVOLUTION, _without_loops(_CONVOLUTION), peer={"torch_geometric.nn.GCNConv": _gcn}, **_PEER)
conform(SAGE, _away_from_zero(_SAGE), peer={"torch_geometric.nn.SAGEConv": _sage}, **_PEER)
conform(ATTENTION, _without_loops(_ATTENTION), peer={"torch_geometric.nn.GATConv": _gat}, **_PEER)
conform(POOL, _away_from_zero(_pool), peer={"torch_geometric.nn.global_add_pool, mean, max": _pooled}, **_PEER)

_RING = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]])
example(MESSAGES, call=lambda n, d: ({}, (torch.randn(n, d), _RING)), n=5, d=4)
example(
    CONVOLUTION, SAGE, ATTENTION,
    call=lambda n, d, e: ({"in_features": d, "out_features": e}, (torch.randn(n, d), _RING)), n=5, d=4, e=3,
)  # fmt: skip
example(POOL, call=lambda n, d: ({}, (torch.randn(n, d), torch.tensor([0, 0, 1, 1, 1]), 2)), n=5, d=4)

# Laws


def _by_number(self: Any, x: Tensor, edges: Tensor) -> Tensor:
    """A node's number tells it from others."""
    return self.right(x, edges) * (1 + torch.arange(len(x), dtype=x.dtype))[:, None]  # type: ignore[no-any-return]


@law(*LAYERS, fault=Fault(forward=_by_number), id="gnn")
def renumbered_nodes_are_the_same_nodes(case: Case) -> float:
    """f(P x, P E) = P f(x, E): the numbers of nodes and the order of edges say nothing"""
    block, features = _layer(case)
    x, edges = _graph(case, features)
    new, order = case.permutation("nodes_order", len(x)), case.permutation("edges_order", edges.shape[1])
    moved = torch.empty_like(x).index_copy(0, new, x)
    return difference(block(moved, new[edges][:, order])[new], block(x, edges))


def _far(self: Any, x: Tensor, edges: Tensor) -> Tensor:
    y: Tensor = self.right(x, edges)
    return y + x.sum()


@law(*LAYERS, fault=Fault(forward=_far), id="gnn")
def a_node_hears_its_neighbours_alone(case: Case) -> float:
    """∂y_i/∂x_j = 0 unless i = j or there is an edge from j to i"""
    block, features = _layer(case)
    x, edges = _graph(case, features)
    near = torch.eye(len(x), dtype=torch.bool)
    near[edges[1], edges[0]] = True
    jacobian = torch.autograd.functional.jacobian(  # type: ignore[no-untyped-call]
        lambda z: block(z, edges), x.detach()
    )
    return float(jacobian.abs().sum((1, 3))[~near].sum())


def _cycles() -> tuple[Tensor, Tensor]:
    """A ring of six nodes, and two rings of three: colour refinement gives all nodes one colour in both."""
    ring = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 0]])
    rings = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 0, 4, 5, 3]])
    return torch.cat([ring, ring.flip(0)], 1), torch.cat([rings, rings.flip(0)], 1)


def _triangles(self: Any, x: Tensor, edges: Tensor) -> Tensor:
    """Sees how many ways of three edges lead back to a node."""
    a = torch.zeros(len(x), len(x), dtype=x.dtype).index_put((edges[1], edges[0]), x.new_ones(edges.shape[1]))
    y: Tensor = self.right(x, edges)
    return y + (a @ a @ a).diagonal()[:, None]


@law(*LAYERS, fault=Fault(forward=_triangles), id="gnn")
def what_colour_refinement_cannot_tell_apart_is_not_told_apart(case: Case) -> float:
    """Two triangles and a ring of six, all nodes alike: the same outputs (Weisfeiler & Leman 1968)"""
    block, features = _layer(case)
    x, (ring, rings) = case.tensor("x", 1, features).expand(6, -1), _cycles()
    return difference(block(x, ring), block(x, rings))


@law(POOL, fault=Fault(forward=lambda self, x, graph, graphs=None: self.right(x, graph, graphs) + x[0]), id="gnn")
def renumbered_nodes_pool_to_the_same_vector(case: Case) -> float:
    """f(P x, P g) = f(x, g)"""
    call = _pool(case)
    x, graph = call.inputs
    order = case.permutation("order", len(x))
    return difference(call.block(x[order], graph[order]), call.block(x, graph))


@law(*LAYERS, fault=Fault(forward=lambda self, x, edges: self.right(x, edges) - self.right(x, edges).mean(0)))
def graphs_of_a_batch_know_nothing_of_each_other(case: Case) -> float:
    """f(x ⊔ x', E ⊔ E') = f(x, E) ⊔ f(x', E')"""
    block, features = _layer(case)
    x, edges = _graph(case, features)
    other = case.tensor("other", 2, features)
    both = block(torch.cat([x, other]), torch.cat([edges, torch.tensor([[0], [1]]) + len(x)], 1))
    return difference(both, torch.cat([block(x, edges), block(other, torch.tensor([[0], [1]]))]))
