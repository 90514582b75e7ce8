"""A graph that grows from step to step."""

from collections.abc import Iterator

from gradlab.diagnosis.record import Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.wording import number


@rule(
    "graph_growth",
    title="each step goes back through all steps before it",
    meaning="Something carries its graph from step to step: time and memory per step grow until the machine gives up.",
)
def graph_growth(record: Record) -> Iterator[Seen]:
    for loss in record.losses:
        nodes = loss.nodes
        if len(nodes) < 6 or nodes.last < 3 * nodes.first or nodes.last < 100:
            continue
        # Variable lengths go up and down; what is carried only goes up, by as much in each step.
        if not all(b >= a for a, b in zip(nodes.values, nodes.values[1:], strict=False)):
            continue
        rate = (nodes.last - nodes.first) / max(1, nodes.steps[-1] - nodes.steps[0])
        yield Seen(
            severity="error",
            confidence=0.96,
            where=f"backward() at {loss.site}",
            since=nodes.steps[1],
            evidence=(
                f"The graph of the loss had {number(int(nodes.first))} operations at step {nodes.steps[0]} and "
                f"{number(int(nodes.last))} at step {nodes.steps[-1]}: {rate:.1f} more in each step; the backward "
                "pass took "
                f"{loss.seconds.head() * 1e3:.1f} ms at first and {loss.seconds.tail() * 1e3:.1f} ms at the end."
            ),
            fix="state = state.detach()  # before the next batch; and add loss.item(), not loss, to running totals",
            series=nodes,
        )
