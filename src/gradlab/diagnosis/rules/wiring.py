"""Parameters that cannot learn: the optimiser does not have them, no loss reaches them, or nobody knows them."""

from collections.abc import Iterable, Iterator

from gradlab.diagnosis.progress import stuck
from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.wording import count


@rule(
    "unregistered_params",
    title="layers run that the model does not know as its own",
    meaning="model.parameters() leaves them out: no optimiser gets them, no device or state_dict takes them along.",
)
def unregistered_params(record: Record) -> Iterator[Seen]:
    """Parametrised modules inside a root's forward pass that are not among its modules."""
    lost = [
        p
        for p in record.parameters.values()
        # A teacher kept outside on purpose is frozen, or has an optimiser of its own, or was trained before.
        if not p.registered and p.requires_grad and p.reached and p.optimizer is None and _first_values(p)
    ]
    if not lost:
        return
    share = _share(record, lost)
    yield Seen(
        severity="error" if share > 0.01 else "warning",
        confidence=0.96,
        where=_told(lost),
        since=0,
        evidence=(
            f"{len(lost)} parameters ({count(sum(p.size for p in lost))} numbers, {share:.0%} of all that the loss "
            "depends on) "
            "are used in the forward pass, are not registered, and never change."
        ),
        fix="self.layers = nn.ModuleList(layers)  # or nn.ModuleDict, nn.Parameter; a plain list is not searched",
    )


@rule(
    "optimizer_missing_params",
    title="the optimiser does not have all of the model's parameters",
    meaning="They stay as they began, whatever gradient they get.",
    follows=("unregistered_params",),
)
def optimizer_missing_params(record: Record) -> Iterator[Seen]:
    """Leaves that a loss depends on, which want a gradient, are in no optimiser that steps, and never change."""
    if not record.optimizers or record.steps < 5:
        return
    lost = [
        p
        for p in record.parameters.values()
        if p.registered
        and p.requires_grad
        and p.reached
        and p.optimizer is None
        and _first_values(p)
        and (p.owner != "Tensor" or _weight(record, p))
    ]
    if not lost:
        return
    share = _share(record, lost)
    strangers = [
        n
        for optimizer in record.optimizers
        for n in optimizer.parameters
        if n in record.parameters and not record.parameters[n].reached
    ]
    besides = f" It has {len(strangers)} others that no loss depends on, such as {strangers[0]}." if strangers else ""
    optimizer = max(record.optimizers, key=lambda o: o.steps)
    yield Seen(
        severity="error" if share > 0.005 else "warning",
        confidence=0.97,
        where=f"{optimizer.kind} made at {optimizer.site}; {_told(lost)}",
        since=0,
        evidence=(
            f"{len(lost)} parameters that the loss depends on ({count(sum(p.size for p in lost))} numbers, "
            f"{share:.0%}) are in no "
            f"optimiser and have not changed in {record.steps:,} steps.{besides}"
        ),
        fix=f"torch.optim.{optimizer.kind}(model.parameters(), …)  # all of them, of the model that is trained",
    )


@rule(
    "frozen_params",
    title="part of the model is frozen at its random start",
    meaning="A frozen layer that was never trained or loaded passes on random features.",
)
def frozen_params(record: Record) -> Iterator[Seen]:
    """Weights used in training that want no gradient, were never loaded, and never changed."""
    frozen = [
        p
        for p in record.parameters.values()
        if not p.requires_grad
        and _first_values(p)
        and len(p.shape) >= 2
        and (p.used or p.used_without)
        and not _set(p)
        and not _target(record, p)
    ]
    trained = [p for p in record.parameters.values() if p.optimizer is not None]
    if not frozen or record.steps < 5:
        return
    share = sum(p.size for p in frozen) / max(1, sum(p.size for p in [*frozen, *trained]))
    if share < 0.05:
        return
    # Values that no initialiser draws were put there by somebody.
    drawn = sum(p.size for p in frozen if p.drawn) >= 0.5 * sum(p.size for p in frozen)
    yield Seen(
        severity="error" if stuck(record) else "warning" if drawn else "note",
        confidence=min(0.95, 0.7 + 0.3 * share) if drawn else 0.5,
        where=_told(frozen),
        since=0,
        evidence=(
            f"{len(frozen)} weights ({count(sum(p.size for p in frozen))} numbers, {share:.0%} of the model) have "
            "requires_grad=False, yet they were neither trained nor loaded in this process."
        ),
        fix="for p in model.parameters(): p.requires_grad_(True)  # or load trained weights before freezing",
    )


@rule(
    "broken_graph",
    title="part of the model is cut off from the loss",
    meaning="No gradient reaches it: something on the way (detach, .data, .item(), numpy, no_grad) has cut the graph.",
)
def broken_graph(record: Record) -> Iterator[Seen]:
    """Parameters of modules that run in training, want a gradient, and that no loss ever depends on."""
    lost = [
        p
        for p in record.parameters.values()
        if p.requires_grad and p.used and not p.reached and p.owner != "Tensor" and _first_values(p)
    ]
    # Whole layers: a bias or a norm that is not used by its module is no cut.
    lost = [p for p in lost if len(p.shape) >= 2]
    if not lost or record.steps < 3:
        return
    unused = [p for p in lost if p.name in record.probed.unused]
    if len(unused) == len(lost):
        yield Seen(
            severity="note",
            confidence=0.5,
            where=_told(lost),
            since=0,
            evidence=f"{len(lost)} weights run in the forward pass, but no loss is made of what comes out of them.",
            fix="leave them out, or use what they give",
        )
        return
    lost = [p for p in lost if p not in unused]
    reached = [p for p in record.parameters.values() if p.reached]
    share = sum(p.size for p in lost) / max(1, sum(p.size for p in [*lost, *reached]))
    yield Seen(
        severity="error" if share > 0.005 else "warning",
        confidence=0.93,
        where=_told(lost),
        since=0,
        evidence=(
            f"{len(lost)} weights ({count(sum(p.size for p in lost))} numbers, {share:.0%}) run in the forward pass "
            "with gradients on, "
            f"but none of the {sum(loss.count for loss in record.losses):,} losses depends on them."
        ),
        fix=(
            f"keep the graph from {lost[-1].name.rpartition('.')[0]} on: no .detach(), .data, .item(), .numpy() or "
            "no_grad() on its output"
        ),
    )


def _first_values(parameter: Parameter) -> bool:
    """Whether it still is as it was drawn: neither trained, now or before, nor loaded, nor a copy of another."""
    return not (parameter.changed or parameter.loaded or parameter.inherited)


def _weight(record: Record, leaf: Parameter) -> bool:
    """Whether a leaf of no module is a weight, not an input whose gradient is wanted (saliency, physics, attacks)."""
    alike = (record.parameters.get(name) for one in record.optimizers for name in one.parameters)
    return leaf.reached >= 5 and not leaf.asked and any(p is not None and p.owner == "Tensor" for p in alike)


def _target(record: Record, parameter: Parameter) -> bool:
    """Whether its whole root is frozen and given what a trained one is given: what it makes is to be learnt."""
    name = parameter.name.split(".")[0]
    trained = {p.name.split(".")[0] for p in record.parameters.values() if p.optimizer is not None}
    return name not in trained and any(root.name == name and root.beside & trained for root in record.roots)


def _set(parameter: Parameter) -> bool:
    """Whether somebody gave it its values on purpose: a fixed filter, an identity, a table of positions."""
    return parameter.std == 0 or parameter.rows_equal


def _share(record: Record, lost: Iterable[Parameter]) -> float:
    known = {p.name: p.size for p in record.parameters.values() if p.reached}
    missing = {p.name: p.size for p in lost}
    return sum(missing.values()) / max(1, sum((known | missing).values()))


def _told(lost: list[Parameter]) -> str:
    """The first few names, and where they came into being."""
    return ", ".join(p.name for p in lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
