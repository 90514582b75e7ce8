"""Axes that are taken for others: a softmax over one number, and a view where axes should have been moved."""

import math
from collections.abc import Iterator

from torch import Tensor

from gradlab.diagnosis.finding import Spot
from gradlab.diagnosis.progress import HALF, poor
from gradlab.diagnosis.record import Graph, Loss, Node, Record
from gradlab.diagnosis.rules.base import TINY, Case, Rule, at
from gradlab.diagnosis.rules.chains import VIEWS, first_graphs, is_product, sources
from gradlab.diagnosis.shapes import in_order, mixes

_VIEWED = ("View", "UnsafeView", "_UnsafeView", "ReshapeAlias")


def _spots(record: Record, loss: Loss, node: Node, what: str) -> list[Spot | str]:
    """Where an operation is: its line in the model where that is known, else the loss that it goes into."""
    line = record.probed.lines.get((node.name, node.shape, node.dim))
    spots: list[Spot | str] = [node.module] if node.module else []
    return [*spots, at(what, line) if line else at("loss", loss.site)]


@Rule(
    slug="softmax_of_one",
    title="a softmax is taken over a single number",
    meaning="Of one number it is always exactly 1, whatever the number: nothing before it can be learnt.",
    evidence=(
        "The softmax of a tensor of shape {shape} runs along axis {axis}, which has one element: its result is 1 "
        "everywhere, and its gradient 0."
    ),
    remedy="torch.sigmoid(x)  # for one output; of weights: softmax along the axis of what is weighed",
    topic="activation.softmax",
)
def softmax_of_one(record: Record) -> Iterator[Case]:
    for loss, graph in first_graphs(record):
        for index, node in graph.named("Softmax", "LogSoftmax"):
            if not _of_one(node) or not all(any(map(_of_one, g.nodes)) for g in loss.graphs):
                continue
            # A sequence of one place has one key: unusual, but attention does nothing wrong then.
            sequence = is_product(graph, index)
            yield Case(
                ("note", 0.4) if sequence else ("error", 0.96),
                *_spots(record, loss, node, "softmax"),
                series=loss.values,
                shape=node.shape,
                axis=(node.dim or 0) % len(node.shape),
            )
            return


def _of_one(node: Node) -> bool:
    several = len(node.shape) > 1 and max(node.shape) > 1
    return node.name in ("Softmax", "LogSoftmax") and node.dim is not None and several and node.shape[node.dim] == 1


@Rule(
    slug="view_mixes_axes",
    title="a view stands where axes should be moved",
    meaning="A view keeps the numbers in their order: what it calls one row has pieces of several rows in it.",
    evidence=(
        "A tensor of shape {before} is viewed as {after}: the axes have another order, but its {numbers:,} numbers are "
        "where they were, so that those of different {mixed} are mixed up."
    ),
    remedy="x.permute(…) or x.transpose(1, 2)  # moves axes; view and reshape only split and join neighbours",
)
def view_mixes_axes(record: Record) -> Iterator[Case]:
    yield from _interleaved(record)
    for loss, graph in first_graphs(record):
        for index, node in graph.named(*_VIEWED):
            if not _mixed(record, graph, index):
                continue
            first = node.before[0] == node.shape[0]
            yield Case(
                ("error", 0.93),
                *_spots(record, loss, node, "view"),
                *_made_by(graph, index),
                series=loss.values,
                before=node.before,
                after=node.shape,
                numbers=math.prod(node.shape),
                mixed="places or channels" if first else "examples",
            )
            return


def _interleaved(record: Record) -> Iterator[Case]:
    """Pictures whose channels came last and were called first: a pixel's neighbours are then its other channels."""
    for root in record.roots:
        for inputs in root.inputs[:1]:
            x = inputs.sample
            if not root.trained or x is None or x.ndim != 4 or not x.is_floating_point() or not 2 <= x.shape[1] <= 4:
                continue
            rows, channels, *size = x.shape
            if min(size) < 6 or not bool(x.isfinite().all()):
                continue
            here = max(_alike(x))
            other = min(_alike(x.reshape(rows, *size, channels).movedim(-1, 1)))
            # By chance, neighbours of noise are alike by about one over the root of their number.
            if other < here + max(0.05, 8 / math.sqrt(x.numel())):
                continue
            yield Case(
                ("error", 0.93) if other > here + 0.2 and poor(record, HALF) else ("note", 0.6),
                at(f"the input of {root.name}", root.site, ", called at "),
                series=record.main.values if record.main else None,
                evidence=(
                    "Neighbouring pixels of the input of shape {shape} have a correlation of {here:.2f}, and "
                    "of {other:.2f} if the same numbers are taken as {last}: the channels came last, and a view has "
                    "called them first."
                ),
                shape=inputs.shape,
                here=here,
                other=other,
                last=(inputs.shape[0], *size, channels),
            )
            return


def _alike(x: Tensor) -> tuple[float, float]:
    """How alike neighbours are along both axes of pictures (rows, channels, height, width)."""
    x = x.float() - x.float().mean((0, 2, 3), keepdim=True)
    squares = float(x.square().mean())
    down, across = (x[:, :, 1:] * x[:, :, :-1]).mean(), (x[..., 1:] * x[..., :-1]).mean()
    return float(down) / max(squares, TINY), float(across) / max(squares, TINY)


def _mixed(record: Record, graph: Graph, index: int) -> bool:
    """Whether a view mixes axes, and not by sizes that happen to be equal."""
    before, after = graph.nodes[index].before, graph.nodes[index].shape
    if not mixes(before, after):
        return False
    probed = record.probed.views.get((before, after))
    # Of a view outside of the model: what a convolution gives has its classes along axis 1, and the loss the last.
    classes = len(before) > 2 and after == (math.prod(before) // before[1], before[1]) and _into_loss(graph, index)
    return probed if probed is not None else classes or not in_order(before, after)


def _into_loss(graph: Graph, index: int) -> bool:
    losses = graph.named("LogSoftmax", "NllLoss")
    return any(index in graph.nodes[i].inputs for i, _ in losses)


def _made_by(graph: Graph, index: int) -> Iterator[str]:
    """The module whose output is viewed."""
    makers = (node.module for _, node in sources(graph, index, VIEWS | {"Relu", "Tanh", "Gelu", "Add"}))
    yield from (f"of what {module} gives" for module in list(filter(None, makers))[:1])
