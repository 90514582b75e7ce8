"""A graph that grows from step to step."""

from collections.abc import Iterator

from gradlab.diagnosis.record import COUNTED, Loss, Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at
from gradlab.diagnosis.series import Series


@Rule(
    slug="graph_growth",
    title="each step goes back through all steps before it",
    meaning="Something carries its graph from step to step: time and memory per step grow until the machine gives up.",
    evidence=(
        "The graph of the loss had {first_size:,} operations at step {first} and {last_size:,} at step {last}, "
        "{rate:.1f} more in each step: {carried:,} of them are of earlier steps{slower}."
    ),
    remedy="state = state.detach()  # before the next batch; and add loss.item(), not loss, to running totals",
)
def graph_growth(record: Record) -> Iterator[Case]:
    for loss in record.losses:
        first, last = _longest(loss)
        nodes = loss.nodes
        if last - first < LOOKS or nodes.values[last] < min(3 * nodes.values[first], COUNTED):
            continue
        steps = nodes.steps[last] - nodes.steps[first]
        took = dict(loss.seconds)
        times = [took[s] * 1e3 for s in (nodes.steps[first], nodes.steps[last]) if s in took]
        slower = f"; the backward pass took {times[0]:.1f} ms, and then {times[1]:.1f} ms" if len(times) == 2 else ""
        yield Case(
            ("error", 0.97),
            at("backward()", loss.site),
            since=nodes.steps[first + 1],
            series=nodes,
            first=nodes.steps[first],
            last=nodes.steps[last],
            first_size=int(nodes.values[first]),
            last_size=int(nodes.values[last]),
            rate=(nodes.values[last] - nodes.values[first]) / max(1, steps),
            carried=int(loss.carried.values[last]),
            slower=slower,
        )
        return
    yield from _held(record)


def _held(record: Record) -> Iterator[Case]:
    """A graph that no backward pass goes through: a running total of outputs, a list of losses of evaluations."""
    full = _lasting(record.held)
    held = record.held if full else record.held_graphs
    if not full and not _lasting(held):
        return
    # Without its activations a graph is small: a list of losses, which many keep.
    yield Case(
        ("warning", 0.85) if full else ("note", 0.6),
        *(f"what is made of the output of {root.name}" for root in record.roots[:1]),
        since=held.steps[0],
        series=held,
        evidence=(
            "{what} of {share:.0%} of the earlier steps that were looked at are still in memory at step {step}: "
            "something holds on to what was made of them."
        ),
        remedy="total += value.item()  # or value.detach(): a tensor with its graph keeps all it was made of",
        what="Activations" if full else "The graphs",
        share=held.last,
        step=held.steps[-1],
    )


def _lasting(held: Series) -> bool:
    return len(held) >= 2 * LOOKS and held.median(len(held) // 2) >= 0.9


def _longest(loss: Loss) -> tuple[int, int]:
    """The longest run of looks in each of which the graph of the look before is still there, with more added to it.

    Longer sequences make larger graphs too, but new ones.
    """
    nodes, carried = loss.nodes.values, loss.carried.values
    best, first = (0, 0), 0
    for i in range(1, len(nodes)):
        # What only the loss of the look before was made of is not carried; half of a small graph may be that.
        more = carried[i] > carried[i - 1] or nodes[i] == nodes[i - 1] >= COUNTED
        if not (nodes[i] >= nodes[i - 1] and more and carried[i] >= 0.3 * nodes[i - 1]):
            first = i
        elif i - first > best[1] - best[0]:
            best = first, i
    return best
