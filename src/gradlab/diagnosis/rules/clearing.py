"""Gradients that are not cleared, and steps without any."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import stuck
from gradlab.diagnosis.record import Loss, Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at, creation

_ALL = 0.9  # of the steps: one in five may be stale in a loop that clears every few steps on purpose, never all of them


@Rule(
    slug="missing_zero_grad",
    title="gradients are never cleared",
    meaning="Each step is taken along the sum of all gradients so far, not along that of its own batch.",
    evidence=(
        "In {stale} of {checked} steps the backward pass began with gradients of the step before (norm {leftover}) "
        "still there."
    ),
    remedy="optimizer.zero_grad()  # before loss.backward(), in every step",
)
def missing_zero_grad(record: Record) -> Iterator[Case]:
    for optimizer in record.optimizers:
        if optimizer.checked >= LOOKS and optimizer.stale >= _ALL * optimizer.checked:
            yield Case(
                ("error", 0.97),
                creation(optimizer),
                since=optimizer.first_step + 1,
                series=optimizer.leftover,
                stale=optimizer.stale,
                checked=optimizer.checked,
                leftover=optimizer.leftover.last,
            )
        elif optimizer.joined >= max(LOOKS, _ALL * optimizer.checked):
            yield Case(
                ("warning", 0.88),
                creation(optimizer),
                since=optimizer.first_step,
                series=optimizer.leftover,
                evidence=(
                    "In {joined} of {checked} steps it was given the sum of two losses' gradients: those of one that "
                    "another optimiser had stepped for (norm {leftover}) were still there."
                ),
                remedy="zero_grad() right before this optimiser's own backward(); and fake.detach() for the other loss",
                joined=optimizer.joined,
                checked=optimizer.checked,
                leftover=optimizer.leftover.median(),
            )
    if not record.optimizers and record.hand_checked >= LOOKS and record.hand_stale >= _ALL * record.hand_checked:
        yield Case(
            ("error", 0.95),
            at("backward()", record.main.site if record.main else None),
            since=1,
            evidence=(
                "After {stale} of {checked} updates by hand the next backward pass began with the old gradients still "
                "there."
            ),
            remedy="w.grad = None  # of every parameter, after its update",
            stale=record.hand_stale,
            checked=record.hand_checked,
        )


@Rule(
    slug="step_before_backward",
    title="the optimiser steps before there is a gradient",
    meaning=(
        "The step comes before backward(), or after the gradients were cleared: it changes nothing, or uses old "
        "gradients."
    ),
    evidence="In {empty} of {checked} steps there was no gradient, although backward() had been called {when}.",
    remedy="optimizer.zero_grad(); loss.backward(); optimizer.step()  # in this order",
)
def step_before_backward(record: Record) -> Iterator[Case]:
    for optimizer in record.optimizers:
        if optimizer.checked < LOOKS or optimizer.empty < 0.8 * optimizer.checked:
            continue
        # Dead units and cut graphs give zeros too, but then a gradient was there and was zero.
        if not optimizer.none_though_backward:
            continue
        yield Case(
            ("error", 0.96),
            creation(optimizer),
            since=optimizer.first_step,
            empty=optimizer.empty,
            checked=optimizer.checked,
            when="since the step before" if optimizer.empty_though_backward else "in between",
        )


@Rule(
    slug="unscaled_accumulation",
    title="accumulated gradients are summed, not averaged",
    meaning="The step is as many times too long as there are parts.",
    evidence=(
        "{parts:g} backward passes make a step, each of the whole loss ({part}): the gradient is {parts:g} times that "
        "of their mean."
    ),
    remedy="(loss / {parts:g}).backward()",
    follows="missing_zero_grad",
)
def unscaled_accumulation(record: Record) -> Iterator[Case]:
    loss = record.main
    for optimizer in record.optimizers:
        parts = optimizer.backwards.median()
        # A closure is called several times for one step, each time with gradients of its own.
        if loss is None or not parts >= 2 or loss.count < 0.8 * parts * optimizer.steps or optimizer.closure:
            continue
        if _divided(record, loss):
            continue
        # Optimisers that divide by the gradient's size do not mind its scale.
        minds = not any(name in optimizer.kind for name in ("Ada", "RMS", "Adam", "Lion", "Rprop"))
        harm = minds and (stuck(record) or loss.values.largest > 3 * loss.start)
        yield Case(
            ("error", 0.94) if harm else ("note", 0.5),
            at("backward()", loss.site),
            since=optimizer.first_step,
            series=optimizer.gradient,
            parts=parts,
            part=loss.start,
        )


def _divided(record: Record, loss: Loss) -> bool:
    """Whether what is sent back is a part of the loss, as it should be, or a sum that may be divided anyhow."""
    call = next((j for j in record.loss_calls if j.training and j.values), None)
    if call is not None:
        return call.settings.get("reduction") == "sum" or not loss.start > 0.9 * call.values.head()
    last = loss.graphs[0].nodes[0].name if loss.graphs and loss.graphs[0].nodes else "Div"
    return last not in ("Mean", "Sum", "Add", "Neg")
