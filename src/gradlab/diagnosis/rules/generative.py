"""Models that make things: generators that lose their match, and latent variables that nobody uses."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import adversarial
from gradlab.diagnosis.record import Graph, Loss, Module, Record, Root
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.diagnosis.rules.chains import VIEWS, sources
from gradlab.diagnosis.series import median
from gradlab.wording import number


@rule(
    "gan_imbalance",
    title="generator and discriminator have lost their balance",
    meaning="One of them has won: the other gets nothing to learn from any more.",
)
def gan_imbalance(record: Record) -> Iterator[Seen]:
    if not adversarial(record) or record.steps < 100:
        return
    yield from _overpowered(record)
    yield from _collapsed(record)


def _overpowered(record: Record) -> Iterator[Seen]:
    """The discriminator's loss is next to nothing most of the time, while the generator's has risen."""
    for ours, theirs in _pairs(record):
        late = ours.values.values[len(ours.values) // 3 :]
        # Of losses that are never negative only: those of Wasserstein's kind have no floor.
        if min(ours.values.values) < 0 or min(theirs.values.values) < 0 or not late:
            continue
        won = sum(value < 0.05 for value in late) / len(late)
        # Less than that, and what is made must also be far from the data: good generators of pictures live with it.
        close = won < 0.6 and not (_away(record) and ours.end < 0.3 and theirs.end > 3.5)
        if close or theirs.end < 2.5 * max(theirs.start, 0.3):
            continue
        yield Seen(
            severity="error",
            confidence=0.93,
            where=f"losses at {ours.site} and {theirs.site}",
            since=max(0, ours.values.since(0.05, above=False)),
            evidence=(
                f"The loss at {ours.site} ended at {number(ours.end)} ({won:.0%} of the later steps below 0.05); that "
                f"at {theirs.site} went from {number(theirs.start)} to {number(theirs.end)}."
            ),
            fix=(
                "a lower rate for the discriminator (equal rates to begin with), fewer of its steps, or targets of "
                "0.9 instead of 1"
            ),
            series=theirs.values,
        )
        return


def _pairs(record: Record) -> Iterator[tuple[Loss, Loss]]:
    """Losses of the discriminator and of the generator: the second also depends on the first one's parameters."""
    for ours in record.losses:
        for theirs in record.losses:
            if ours is not theirs and ours.parameters and ours.parameters < theirs.parameters and ours.count >= 50:
                yield ours, theirs


def _away(record: Record) -> bool:
    """Whether what a generator makes is much narrower than the data, or beside them."""
    return any(spread < 0.5 or away > 1 for _, spread, away in _distances(record))


def _distances(record: Record) -> Iterator[tuple[Root, float, float]]:
    """How wide what a generator makes is, and how far from the data, both by the width of the data."""
    for root in record.roots:
        if root.given is None or root.made is None or len(root.given[0]) != len(root.made[0]):
            continue
        if root.made_at < 0.5 * record.steps:  # how it began says nothing
            continue
        typical = max(median(root.given[1]), sum(root.given[1]) / len(root.given[1]), 1e-9)
        spread = (sum(root.made[1]) / len(root.made[1])) / typical
        away = sum(abs(a - b) for a, b in zip(root.given[0], root.made[0], strict=True)) / len(root.given[0]) / typical
        yield root, spread, away


def _collapsed(record: Record) -> Iterator[Seen]:
    """What the generator makes is nowhere near the data: all alike, or elsewhere."""
    for root, spread, away in _distances(record):
        if spread > 0.25 and away < 1.5:
            continue
        assert root.made is not None
        assert root.given is not None
        told = (
            f"spread {spread:.0%} as far as the data"
            if spread <= 0.15
            else f"lie {away:.1f} deviations away from the data"
        )
        yield Seen(
            severity="error",
            confidence=0.9,
            where=f"the inputs of {root.name}",
            since=0,
            evidence=(
                f"What {root.name} is given by the generator {told} at the end; their columns have means of "
                f"{_some(root.made[0])} against {_some(root.given[0])}."
            ),
            fix="one step of the discriminator for each of the generator, equal rates; or a loss of Wasserstein's kind",
        )
        return


def _some(values: list[float]) -> str:
    return ", ".join(f"{v:.2f}" for v in values[:3]) + (", …" if len(values) > 3 else "")


@rule(
    "vae_posterior_collapse",
    title="the latent variables carry nothing",
    meaning="The encoder gives the prior whatever the input: the decoder has learnt to do without it.",
)
def vae_posterior_collapse(record: Record) -> Iterator[Seen]:
    """Means near 0 and log-variances near 0 for every input, of what is sampled and decoded."""
    for loss in record.losses:
        graph = loss.last_graph
        if graph is None or record.steps < 100:
            continue
        heads = _heads(graph)
        modules = [record.modules[path] for path in heads if path in record.modules]
        if not modules or not all(_nothing(m) for m in modules):
            continue
        told = "; ".join(f"{m.path}: mean {m.mean.tail():.3f}, deviation {m.std.tail():.3f}" for m in modules)
        yield Seen(
            severity="error",
            confidence=0.93,
            where=", ".join(m.path for m in modules),
            since=max(0, modules[0].std.since(0.15, above=False)),
            evidence=(
                f"At the end the encoder gives the same for every input ({told}): a divergence from the prior of "
                "next to nothing."
            ),
            fix="loss = reconstruction.sum(1).mean() + beta * kl.sum(1).mean()  # both summed; beta from 0 up to 1",
            series=modules[0].std,
        )
        return


def _nothing(module: Module) -> bool:
    return len(module.std) >= 5 and abs(module.mean.tail()) < 0.2 and module.std.tail() < 0.15


def _heads(graph: Graph) -> set[str]:
    """The layers that give mean and log-variance of what is sampled: an exponential of one of them is decoded."""
    through = VIEWS | {"Mul", "Div", "Clamp", "Neg", "Softplus"}
    decoders = [i for i, _ in graph.named("Addmm", "Convolution", "Mm")]
    found: set[str] = set()
    for index, _ in graph.named("Exp", "Softplus"):
        if not any(index in graph.above(i) for i in decoders if i != index):
            continue
        for inner, node in sources(graph, index, through):
            if node.module is None or node.name not in ("Addmm", "Convolution", "UnsafeView", "View"):
                continue
            found.add(node.module)
            before = set(graph.nodes[inner].inputs)
            # Its sibling: of the same shape, from the same layer.
            for i in decoders:
                other = graph.nodes[i]
                if i != inner and other.shape == node.shape and other.module and before & set(other.inputs):
                    found.add(other.module)
    return found
