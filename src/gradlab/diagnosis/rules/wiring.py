"""Parameters that cannot learn: the optimiser does not have them, no loss reaches them, or nobody knows them."""

from collections.abc import Iterable, Iterator
from typing import Any

from gradlab.diagnosis.progress import MOST, poor, stuck
from gradlab.diagnosis.record import Parameter, Record
from gradlab.diagnosis.rules.base import LOOKS, STEPS, Case, Rule, creation, named
from gradlab.wording import count


@Rule(
    slug="unregistered_params",
    title="layers run that the model does not know as its own",
    meaning="model.parameters() leaves them out: no optimiser gets them, no device or state_dict takes them along.",
    evidence=(
        "{parameters} parameters ({numbers} numbers, {share:.0%} of all that the loss depends on) are used in the "
        "forward pass, are not registered, and never change."
    ),
    remedy="self.layers = nn.ModuleList(layers)  # or nn.ModuleDict, nn.Parameter; a plain list is not searched",
)
def unregistered_params(record: Record) -> Iterator[Case]:
    """Parametrised modules inside a root's forward pass that are not among its modules."""
    # A teacher kept outside on purpose is frozen, or has an optimiser of its own, or was trained before.
    without = _without_optimizer(record)
    lost = [p for p in without if not p.registered and (p.owner != "Tensor" or (p.reached >= LOOKS and not p.asked))]
    if lost:
        share = _share(record, lost)
        yield Case(("error" if share > 0.01 else "warning", 0.96), _names(lost), **_sizes(lost), share=share)


@Rule(
    slug="optimizer_missing_params",
    title="the optimiser does not have all of the model's parameters",
    meaning="They stay as they began, whatever gradient they get.",
    evidence=(
        "{parameters} parameters that the loss depends on ({numbers} numbers, {share:.0%}) are in no optimiser and "
        "have not changed in {steps:,} steps."
    ),
    remedy="torch.optim.{optimizer}(model.parameters(), …)  # all of them, of the model that is trained",
    follows="unregistered_params",
)
def optimizer_missing_params(record: Record) -> Iterator[Case]:
    """Leaves that a loss depends on, which want a gradient, are in no optimiser that steps, and never change."""
    optimizer = record.optimizer
    if optimizer is None or record.steps < LOOKS:
        return
    lost = [p for p in _without_optimizer(record) if p.registered and (p.owner != "Tensor" or _weight(record, p))]
    if not lost:
        return
    share = _share(record, lost)
    held = [record.parameters[n] for one in record.optimizers for n in one.parameters if n in record.parameters]
    others = [p.name for p in held if not p.reached]
    yield Case(
        ("error" if share > _SOME else "warning", 0.97),
        creation(optimizer),
        _names(lost),
        besides=" It has {others} others that no loss depends on, such as {other}." if others else "",
        **_sizes(lost),
        share=share,
        steps=record.steps,
        others=len(others),
        other=named(others[:1]),
        optimizer=optimizer.kind,
    )


@Rule(
    slug="frozen_params",
    title="part of the model is frozen at its random start",
    meaning="A frozen layer that was never trained or loaded passes on random features.",
    evidence=(
        "{parameters} weights ({numbers} numbers, {share:.0%} of the model) have requires_grad=False, yet they were "
        "neither trained nor loaded in this process."
    ),
    remedy="for p in model.parameters(): p.requires_grad_(True)  # or load trained weights before freezing",
)
def frozen_params(record: Record) -> Iterator[Case]:
    """Weights used in training that want no gradient, were never loaded, and never changed."""
    yield from _left_out(record)
    used = [p for p in record.parameters.values() if (p.used or p.used_without) and len(p.shape) >= 2]
    fixed = [p for p in used if not p.requires_grad and _first_values(p)]
    frozen = [p for p in fixed if not _set(p) and not _target(record, p)]
    if record.steps < LOOKS:
        return
    if not frozen:
        yield from _not_enough(record, used)
        return
    size = sum(p.size for p in frozen)
    share = size / max(1, size + sum(p.size for p in record.parameters.values() if p.optimizer is not None))
    if share < _PART:
        return
    # Values that no initialiser draws were put there by somebody.
    drawn = sum(p.size for p in frozen if p.drawn) >= 0.5 * size
    yield Case(
        ("error" if stuck(record) else "warning" if drawn else "note", min(0.95, 0.7 + 0.3 * share) if drawn else 0.5),
        _names(frozen),
        **_sizes(frozen),
        share=share,
    )


def _not_enough(record: Record, used: list[Parameter]) -> Iterator[Case]:
    """Most of a model is frozen with values from elsewhere, and what is left of it learns next to nothing."""
    fixed = [p for p in used if not p.requires_grad and not p.changed and not _set(p) and not _target(record, p)]
    share = sum(p.size for p in fixed) / max(1, sum(p.size for p in used))
    if share > 0.5 and record.steps >= STEPS and poor(record, MOST):
        yield Case(
            ("note", 0.5),
            _names(fixed),
            evidence=(
                "{parameters} weights ({numbers} numbers, {share:.0%} of the model) have requires_grad=False, and the "
                "rest of it has hardly learnt more than a constant answer."
            ),
            remedy="nn.Embedding.from_pretrained(vectors, freeze=False), p.requires_grad_(True): let them be trained",
            share=share,
            **_sizes(fixed),
        )


def _left_out(record: Record) -> Iterator[Case]:
    """Where updates are made without an optimiser of torch's: those that get a gradient, and are passed over."""
    reached = [p for p in record.parameters.values() if p.reached and p.requires_grad and len(p.shape) >= 2]
    # Of a table only the rows that occur change: a few of them may not tell.
    still = [p for p in reached if _first_values(p) and p.drawn and not _set(p) and "Embedding" not in p.owner]
    changed = [p for p in reached if p.changed]
    if record.optimizers or record.steps < LOOKS or not still or not changed:
        return
    share = sum(p.size for p in still) / sum(p.size for p in reached)
    if share < _PART:
        return
    yield Case(
        ("error" if stuck(record) else "warning", min(0.95, 0.7 + 0.3 * share)),
        _names(still),
        evidence=(
            "{parameters} weights ({numbers} numbers, {share:.0%} of those that the loss depends on) have their first "
            "random values after {steps:,} updates, which changed {others} others."
        ),
        remedy="update all of them; in Keras layer.trainable = True, or load trained weights before freezing",
        **_sizes(still),
        share=share,
        steps=record.steps,
        others=len(changed),
    )


@Rule(
    slug="broken_graph",
    title="part of the model is cut off from the loss",
    meaning="No gradient reaches it: something on the way (detach, .data, .item(), numpy, no_grad) has cut the graph.",
    evidence=(
        "{parameters} weights ({numbers} numbers, {share:.0%}) run in the forward pass with gradients on, but none of "
        "the {losses:,} losses depends on them."
    ),
    remedy="keep the graph from {module} on: no .detach(), .data, .item(), .numpy() or no_grad() on its output",
)
def broken_graph(record: Record) -> Iterator[Case]:
    """Parameters of modules that run in training, want a gradient, and that no loss ever depends on."""
    unreached = [p for p in record.parameters.values() if p.requires_grad and p.used and not p.reached]
    # Whole layers: a bias or a norm that is not used by its module is no cut.
    weights = [p for p in unreached if p.owner != "Tensor" and _first_values(p) and len(p.shape) >= 2]
    yield from _as_numbers(record, {_module(p) for p in weights})
    if not weights or record.steps < 3:
        return
    lost = [p for p in weights if p.name not in record.probed.unused]
    if not lost:
        yield Case(
            ("note", 0.5),
            _names(weights),
            evidence="{parameters} weights run in the forward pass, but no loss is made of what comes out of them.",
            remedy="leave them out, or use what they give",
            **_sizes(weights),
        )
        return
    share = _share(record, lost)
    yield Case(
        ("error" if share > _SOME else "warning", 0.93),
        _names(lost),
        **_sizes(lost),
        share=share,
        losses=sum(loss.count for loss in record.losses),
        module=lost[-1].name.rpartition(".")[0],
    )


def _as_numbers(record: Record, named_already: set[str]) -> Iterator[Case]:
    """Parameters to be learnt that the loss sees as plain numbers: by `.item()`, or by a copy inside of the model."""
    wanted = [p for p in record.parameters.values() if p.optimizer is not None and p.requires_grad and not p.reached]
    small = [p for p in wanted if len(p.shape) < 2 and _first_values(p) and _module(p) not in named_already]
    lost = [p for p in small if len(p.taken) >= LOOKS or p.name in record.probed.cut]
    if not lost or record.steps < LOOKS:
        return
    looks = max(len(p.taken) for p in lost)
    yield Case(
        ("error", 0.93),
        _names(lost),
        evidence=(
            "The optimiser has {parameters} ({numbers} numbers), but no loss depends on them"
            + (": their value was taken out as a number in {looks} of the steps looked at." if looks else ".")
        ),
        remedy="loss = torch.exp(-s) * loss + s  # with the parameter itself: no .item(), float() or .detach()",
        **_sizes(lost),
        looks=looks,
    )


def _module(parameter: Parameter) -> str:
    return parameter.name.rpartition(".")[0]


_PART = 0.05
_SOME = 0.005  # of the numbers: more than a bias somewhere


def _without_optimizer(record: Record) -> list[Parameter]:
    """Those that a loss depends on and that want a gradient, but that nobody changes."""
    reached = [p for p in record.parameters.values() if p.requires_grad and p.reached]
    return [p for p in reached if p.optimizer is None and _first_values(p)]


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


def _names(parameters: list[Parameter]) -> str:
    return named([p.name for p in parameters])


def _sizes(parameters: list[Parameter]) -> dict[str, Any]:
    return {"parameters": len(parameters), "numbers": count(sum(p.size for p in parameters))}
