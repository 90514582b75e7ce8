"""Models that make things: generators that lose their match, and latent variables that nobody uses."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import adversarial, moving_targets
from gradlab.diagnosis.record import Graph, Loss, Module, Record, Root
from gradlab.diagnosis.rules.base import LOOKS, STEPS, Case, Rule, at, named
from gradlab.diagnosis.rules.chains import VIEWS, sources
from gradlab.diagnosis.series import median

_STEPS = 100  # before which nothing has had the time to collapse
_TURNS = 50  # of each player
_WON = 0.05  # a loss of the discriminator below which it knows nearly all
_OF_NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
_NO_SPREAD = 0.15  # the deviation of a code that is the same for every input


@Rule(
    slug="gan_imbalance",
    title="generator and discriminator have lost their balance",
    meaning="One of them has won: the other gets nothing to learn from any more.",
)
def gan_imbalance(record: Record) -> Iterator[Case]:
    # Of a generator that has one step for several of its critic, it is those that count.
    turns = min((o.steps for o in record.optimizers if o.steps > 0.05 * record.steps), default=0)
    if not adversarial(record) or turns < _TURNS or _critic(record):
        return
    yield from _overpowered(record)
    yield from _collapsed(record)


def _critic(record: Record) -> bool:
    """Whether one learns a number for each row, as a critic learns values: actors' losses go through it, too."""
    learnt = (j.first_targets for j in record.loss_calls if j.training and j.kind in _OF_NUMBERS)
    rows = (t for t in learnt if t is not None and t.ndim and t.numel() == len(t) > 1)
    return any(float(targets.float().std()) > 0 for targets in rows)


def _overpowered(record: Record) -> Iterator[Case]:
    """The discriminator's loss is next to nothing most of the time, while the generator's has risen."""
    for ours, theirs in _pairs(record):
        late = ours.values.values[len(ours.values) // 3 :]
        # Of losses that are never negative only: those of Wasserstein's kind have no floor.
        if min(ours.values.values) < 0 or min(theirs.values.values) < 0 or not late:
            continue
        won = sum(value < _WON for value in late) / len(late)
        # Less than that, and what is made must also be far from the data: good generators of pictures live with it.
        close = won < 0.6 and not (_away(record) and ours.end < 0.3 and theirs.end > 3.5)
        if close or theirs.end < 2.5 * max(theirs.start, 0.3):
            continue
        yield Case(
            ("error", 0.93),
            at("loss", ours.site),
            at("loss", theirs.site),
            since=ours.values.since(_WON, above=False),
            series=theirs.values,
            evidence=(
                f"The loss{_line(ours)} ended at {{end}} ({{won:.0%}} of the later steps below {_WON:g}); "
                f"that{_line(theirs)} went from {{other_start}} to {{other_end}}."
            ),
            remedy=(
                "a lower rate for the discriminator (equal rates to begin with), fewer of its steps, or targets of 0.9 "
                "instead of 1"
            ),
            end=ours.end,
            won=won,
            other_start=theirs.start,
            other_end=theirs.end,
        )
        return


def _line(loss: Loss) -> str:
    return f" at {loss.site}" if loss.site else ""


def _pairs(record: Record) -> Iterator[tuple[Loss, Loss]]:
    """Losses of the discriminator and of the generator: the second also depends on the first one's parameters."""
    for ours in record.losses:
        for theirs in record.losses:
            if ours is not theirs and ours.parameters and ours.parameters < theirs.parameters and ours.count >= STEPS:
                yield ours, theirs


def _away(record: Record) -> bool:
    """Whether what a generator makes is much narrower than the data, or beside them."""
    return any(spread < 0.5 or away > 1 for _, spread, away in _distances(record))


def _distances(record: Record) -> Iterator[tuple[Root, float, float]]:
    """How wide what a generator makes is, and how far from the data, both by the width of the data."""
    for root in record.roots:
        if root.from_data is None or root.from_root is None or len(root.from_data[0]) != len(root.from_root[0]):
            continue
        if root.from_root_step < 0.5 * record.steps:  # how it began says nothing
            continue
        (means, deviations), (theirs, widths) = root.from_data, root.from_root
        typical = max(median(deviations), sum(deviations) / len(deviations), 1e-9)
        away = sum(abs(a - b) for a, b in zip(means, theirs, strict=True)) / len(means)
        yield root, sum(widths) / len(widths) / typical, away / typical


def _collapsed(record: Record) -> Iterator[Case]:
    """What the generator makes is nowhere near the data: all alike, or elsewhere."""
    for root, spread, away in _distances(record):
        alike = spread <= 0.25
        elsewhere = away >= 1.5 and _distinguished(record)
        if not (alike or elsewhere) or root.from_root is None or root.from_data is None:
            continue
        how = "spread {spread:.0%} as far as the data" if alike else "lie {away:.1f} deviations away from the data"
        yield Case(
            ("error", 0.9),
            f"the inputs of {root.name}",
            evidence=(
                f"What {{root}} is given by the generator {how} at the end; their columns have means of {{generated}} "
                "against {data}."
            ),
            remedy=(
                "one step of the discriminator for each of the generator, equal rates; or a loss of Wasserstein's kind"
            ),
            root=root.name,
            spread=spread,
            away=away,
            generated=named([f"{v:.2f}" for v in root.from_root[0]]),
            data=named([f"{v:.2f}" for v in root.from_data[0]]),
        )
        return


def _distinguished(record: Record) -> bool:
    """Whether the discriminator has little left to learn. Until then what is made may be far away: it began there."""
    pairs = [(ours, theirs) for ours, theirs in _pairs(record) if min(ours.values.values) >= 0]
    return not pairs or any(ours.end < 0.5 * ours.start for ours, _ in pairs)


@Rule(
    slug="vae_posterior_collapse",
    title="the latent variables carry nothing",
    meaning="The encoder gives the prior whatever the input: the decoder has learnt to do without it.",
    evidence=(
        "At the end the encoder gives the same for every input ({heads}): a divergence from the prior of next to "
        "nothing."
    ),
    remedy="loss = reconstruction.sum(1).mean() + beta * kl.sum(1).mean()  # both summed; beta from 0 up to 1",
)
def vae_posterior_collapse(record: Record) -> Iterator[Case]:
    """Means near 0 and log-variances near 0 for every input, of what is sampled and decoded."""
    if moving_targets(record):  # a policy is sampled too, and its actions are judged by another network
        return
    for loss in record.losses:
        graph = loss.last_graph
        if graph is None or record.steps < _STEPS:
            continue
        modules = [record.modules[path] for path in sorted(_heads(graph)) if path in record.modules]
        if not modules or not all(_nothing(m) for m in modules):
            continue
        heads = [f"{m.path}: mean {m.mean.tail():.3f}, deviation {m.std.tail():.3f}" for m in modules]
        yield Case(
            ("error", 0.93),
            ", ".join(m.path for m in modules),
            since=modules[0].std.since(_NO_SPREAD, above=False),
            series=modules[0].std,
            heads="; ".join(heads),
            largest_mean=max(abs(m.mean.tail()) for m in modules),
            largest_deviation=max(m.std.tail() for m in modules),
        )
        return


def _nothing(module: Module) -> bool:
    return len(module.std) >= LOOKS and abs(module.mean.tail()) < 0.2 and module.std.tail() < _NO_SPREAD


def _heads(graph: Graph) -> set[str]:
    """The layers that give mean and log-variance of what is sampled: an exponential of one of them is decoded."""
    through = VIEWS | {"Mul", "Div", "Clamp", "Neg", "Softplus"}
    decoders = [i for i, _ in graph.named("Addmm", "Convolution", "Mm")]
    heads: set[str] = set()
    for index, _ in graph.named("Exp", "Softplus"):
        if not any(index in graph.above(i) for i in decoders if i != index):
            continue
        for inner, node in sources(graph, index, through):
            if node.module is None or node.name not in ("Addmm", "Convolution", "UnsafeView", "View"):
                continue
            heads.add(node.module)
            before = set(graph.nodes[inner].inputs)
            # Its sibling: of the same shape, from the same layer.
            for i in decoders:
                other = graph.nodes[i]
                if i != inner and other.shape == node.shape and other.module and before & set(other.inputs):
                    heads.add(other.module)
    return heads
