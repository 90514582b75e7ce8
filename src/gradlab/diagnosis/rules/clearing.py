"""Gradients that are not cleared, and steps without any."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import stuck
from gradlab.diagnosis.record import Loss, Record
from gradlab.diagnosis.rules.base import Seen, rule
from gradlab.wording import number


@rule(
    "missing_zero_grad",
    title="gradients are never cleared",
    meaning="Each step is taken along the sum of all gradients so far, not along that of its own batch.",
)
def missing_zero_grad(record: Record) -> Iterator[Seen]:
    for optimizer in record.optimizers:
        # One step in five may be stale in a loop that clears every few steps on purpose, never all of them.
        if optimizer.checked >= 5 and optimizer.stale >= 0.9 * optimizer.checked:
            yield Seen(
                severity="error",
                confidence=0.97,
                where=f"{optimizer.kind} made at {optimizer.site}",
                since=optimizer.first_step + 1,
                evidence=(
                    f"In {optimizer.stale} of {optimizer.checked} steps the backward pass began with gradients of "
                    "the step "
                    f"before (norm {number(optimizer.leftover.last)}) still there."
                ),
                fix="optimizer.zero_grad()  # before loss.backward(), in every step",
                series=optimizer.leftover,
            )
    if not record.optimizers and record.hand_checked >= 5 and record.hand_stale >= 0.9 * record.hand_checked:
        yield Seen(
            severity="error",
            confidence=0.95,
            where=f"backward() at {record.main.site if record.main else None}",
            since=1,
            evidence=(
                f"After {record.hand_stale} of {record.hand_checked} updates by hand the next backward pass began with "
                "the old gradients still there."
            ),
            fix="w.grad = None  # of every parameter, after its update",
        )


@rule(
    "step_before_backward",
    title="the optimiser steps before there is a gradient",
    meaning=(
        "The step comes before backward(), or after the gradients were cleared: it changes nothing, or uses old "
        "gradients."
    ),
)
def step_before_backward(record: Record) -> Iterator[Seen]:
    for optimizer in record.optimizers:
        if optimizer.checked < 5 or optimizer.empty < 0.8 * optimizer.checked:
            continue
        # Dead units and cut graphs give zeros too, but then a gradient was there and was zero.
        if not optimizer.none_though_backward:
            continue
        yield Seen(
            severity="error",
            confidence=0.96,
            where=f"{optimizer.kind} made at {optimizer.site}",
            since=optimizer.first_step,
            evidence=(
                f"In {optimizer.empty} of {optimizer.checked} steps there was no gradient, although backward() had "
                "been called "
                f"{'since the step before' if optimizer.empty_though_backward else 'in between'}."
            ),
            fix="optimizer.zero_grad(); loss.backward(); optimizer.step()  # in this order",
        )


@rule(
    "unscaled_accumulation",
    title="accumulated gradients are summed, not averaged",
    meaning="The step is as many times too long as there are parts.",
    follows=("missing_zero_grad",),
)
def unscaled_accumulation(record: Record) -> Iterator[Seen]:
    loss = record.main
    for optimizer in record.optimizers:
        parts = optimizer.backwards.median()
        # A closure is called several times for one step, each time with gradients of its own.
        if loss is None or not parts >= 2 or loss.count < 0.8 * parts * optimizer.steps or optimizer.closure:
            continue
        if _divided(record, loss):
            continue
        part = loss.values.head(5)
        # Optimisers that divide by the gradient's size do not mind its scale.
        minds = not any(name in optimizer.kind for name in ("Ada", "RMS", "Adam", "Lion", "Rprop"))
        harm = stuck(record) or loss.values.largest > 3 * loss.start
        yield Seen(
            severity="error" if harm and minds else "note",
            confidence=0.94 if harm and minds else 0.5,
            where=f"backward() at {loss.site}",
            since=optimizer.first_step,
            evidence=(
                f"{parts:g} backward passes make a step, each of the whole loss ({number(part)}): the gradient is "
                f"{parts:g} times that of "
                f"their mean."
            ),
            fix=f"(loss / {parts:g}).backward()",
            series=optimizer.gradient,
        )


def _divided(record: Record, loss: Loss) -> bool:
    """Whether what is sent back is a part of the loss, as it should be, or a sum that may be divided anyhow."""
    judged = next((j for j in record.judged if j.training and j.values), None)
    if judged is not None:
        whole, part = judged.values.head(5), loss.values.head(5)
        return judged.settings.get("reduction") == "sum" or not part > 0.9 * whole
    last = loss.graphs[0].nodes[0].name if loss.graphs and loss.graphs[0].nodes else "Div"
    return last not in ("Mean", "Sum", "Add", "Neg")
