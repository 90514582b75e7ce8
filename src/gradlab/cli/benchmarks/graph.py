"""`gradlab bench graph`: what a step over a graph costs."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from gradlab.bench.graphs.speed import EDGES, GraphStep, bench_graphs
from gradlab.cli.benchmarks.output import OUTPUT, Output
from gradlab.cli.output import table


def graph(
    *,
    edges: Annotated[Sequence[int], Parameter(consume_multiple=True)] = EDGES,
    rounds: int = 7,
    output: Output = OUTPUT,
) -> None:
    """What a step of a two-layer graph convolutional network costs, over block models of ever more edges.

    A step is forward, backward and an update on all nodes; a node has ten edges, 32 features and 32 hidden units.
    Beside it, the same network of torch_geometric's layers, where that is installed.

    Example: `gradlab bench graph --edges 1000 1000000`

    Parameters
    ----------
    edges
        How many edges each graph has; default 1,000 to 1,000,000.
    rounds
        Steps, of which the median is reported.
    """
    output.show(list(bench_graphs(edges, rounds)), show_graph_steps)


def show_graph_steps(screen: Console, results: Iterable[GraphStep]) -> None:
    """One table."""
    rows = [
        [
            f"{one.edges:,}",
            f"{one.nodes:,}",
            f"{one.milliseconds:.2f}",
            f"{one.per_edge:.0f}",
            "not installed" if one.peer is None else f"{one.peer:.2f}",
        ]
        for one in results
    ]
    title = "A step of a graph convolutional network"
    screen.print(table("edges", "nodes", "ms a step", "ns per edge", "torch_geometric, ms", rows=rows, title=title))
