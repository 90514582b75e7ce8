"""Policies that learn from what their actions brought: gradients that leak into how good an action was."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Graph, Record
from gradlab.diagnosis.rules.base import Case, Rule, at
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs

# From a product back to the log-probability of an action: ratios of probabilities are made of the same.
_TO_SCORE = VIEWS - {"Gather"} | {"Neg", "Exp", "Clamp", "ClampMin", "ClampMax", "Sub", "Sum"}
# And back to a value of a state that something else is compared with: an advantage, perhaps standardised.
_TO_VALUE = VIEWS - {"Gather"} | {"Neg", "Sub", "Add", "Rsub", "Div", "Mul", "Mean", "Std", "Sum"}
_LOGS = ("LogSoftmax", "Logsumexp")
_PRODUCTS = ("Addmm", "Mm", "Linear", "Mv", "Dot")


@Rule(
    slug="advantage_not_detached",
    title="gradients of the policy flow into the values",
    meaning=(
        "The log-probability of an action is multiplied by how much better it was than expected, and the expectation "
        "has a gradient there: the critic is then moved so that the policy's loss falls, not so that it is right."
    ),
    evidence=(
        "In {products} of the products in the loss{line}, the log-probability of actions is on one side, and on the "
        "other a value that has a gradient."
    ),
    remedy="advantages.detach() in the policy's loss: the critic learns from its own error alone",
)
def advantage_not_detached(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        if products := sum(_leaks(graph, i) for i, _ in graph.named("Mul")):
            line = f" at {loss.site}" if loss.site else ""
            yield Case(("warning", 0.9), at("loss", loss.site), products=products, line=line)
            return


def _leaks(graph: Graph, index: int) -> bool:
    """Whether a product is of a log-probability and of something minus a value, both with gradients."""
    sides = graph.nodes[index].inputs
    return len(sides) == 2 and any(
        _is_score(graph, one) and _is_advantage(graph, other) for one, other in (sides, sides[::-1])
    )


def _is_score(graph: Graph, index: int) -> bool:
    """The log-probability of what was picked: a gather from logarithms that are normalised."""
    return any(
        graph.nodes[i].name == "Gather" and any(graph.nodes[j].name in _LOGS for j in graph.above(i))
        for i in _reached(graph, index, _TO_SCORE)
    )


def _is_advantage(graph: Graph, index: int) -> bool:
    """A difference that a layer with one output is in; nothing that is picked or normalised, as entropies are."""
    if any(graph.nodes[i].name in (*_LOGS, "Gather", "Softmax") for i in graph.above(index)):
        return False
    way = _reached(graph, index, _TO_VALUE)
    heads = [graph.nodes[i] for i in way if graph.nodes[i].name in _PRODUCTS]
    one = any(head.shape[-1:] == (1,) and len(head.shape) > 1 for head in heads)
    return one and any(graph.nodes[i].name in ("Sub", "Rsub") for i in way)


def _reached(graph: Graph, index: int, through: frozenset[str]) -> set[int]:
    """A node and all that it is made of, past operations of some kinds, with the first that is of none of them."""
    reached, waiting = {index}, [index]
    while waiting:
        node = graph.nodes[waiting.pop()]
        if node.name in through:
            new = set(node.inputs) - reached
            reached |= new
            waiting += new
    return reached
