"""Weights that stand still: nobody steps, there is no slope, or only some batches are learnt from."""

from collections.abc import Iterator

from gradlab.diagnosis.progress import left, moving_targets
from gradlab.diagnosis.record import Loss, LossCall, Parameter, Record
from gradlab.diagnosis.rules.base import ANY, LOOKS, Case, Rule, at, course, creation, named
from gradlab.diagnosis.rules.chains import first_graphs

_TIMES = 20  # that a loss was sent back, before anybody can expect a step
_UNUSED = 5  # losses for each that is sent back
_NODES = {
    "cross_entropy": ("NllLoss", "NllLoss2D", "NllLossNd"),
    "nll_loss": ("NllLoss", "NllLoss2D", "NllLossNd"),
    "mse_loss": ("MseLoss",),
    "l1_loss": ("Abs", "Mean"),
    "smooth_l1_loss": ("SmoothL1Loss",),
    "huber_loss": ("HuberLoss",),
    "binary_cross_entropy": ("BinaryCrossEntropy",),
    "binary_cross_entropy_with_logits": ("BinaryCrossEntropyWithLogits",),
}


def _waiting(record: Record) -> list[Parameter]:
    """Weights that losses depend on and that still are as they were drawn; none where they need not be learnt, since
    it is an input whose gradient is wanted."""
    reached = [p for p in record.parameters.values() if p.reached and p.requires_grad]
    if any(p.asked for p in reached) or any(p.changed or p.loaded or p.inherited for p in reached):
        return []
    modules = [p for p in reached if p.owner != "Tensor"]
    return modules if len(modules) == len(reached) or not modules else []


@Rule(
    slug="never_updated",
    title="no weight ever changes",
    meaning="Gradients are computed, and then nothing is done with them: the model stays as it was drawn.",
    evidence=(
        "backward() was called {times:,} times and left gradients (norm {norm}) at {weights} weights, such as {name}; "
        "none of them has changed. The loss went from {start} to {end}."
    ),
    remedy="optimizer.step()  # after loss.backward(); by hand: p -= lr * p.grad, in place, under no_grad()",
)
def never_updated(record: Record) -> Iterator[Case]:
    loss, times = record.main, sum(one.count for one in record.losses)
    weights = _waiting(record)
    if record.steps or loss is None or times < _TIMES or not weights or all(r.trained_in_eval for r in record.roots):
        return
    norm = record.hand_gradient.median()
    if norm > 0:
        names = [p.name for p in weights]
        yield Case(
            ("error", 0.95),
            at("backward()", loss.site),
            series=loss.values,
            times=times,
            norm=norm,
            weights=len(names),
            name=named(names, 1),
            **course(loss),
        )


@Rule(
    slug="zero_gradient",
    title="the loss has no slope",
    meaning="It does not change when the weights do: what is cut off or always the same teaches nothing.",
    evidence=(
        "The gradient was exactly zero in {zero} of {looks} looks, and the loss went from {start} to {end}, though it "
        "depends on {weights} weights."
    ),
    remedy="look at the last operations before the loss: a clamp, a rounding, a share of one, a ReLU with nothing left",
    follows=ANY,
)
def zero_gradient(record: Record) -> Iterator[Case]:
    loss, optimizer = record.main, record.optimizer
    norms = record.hand_gradient if optimizer is None else optimizer.gradient
    if loss is None or len(record.losses) > 1 or len(norms) < LOOKS or loss.count < _TIMES or moving_targets(record):
        return
    zero = sum(value == 0 for value in norms.values)
    weights = sum(p.reached > 0 for p in record.parameters.values())
    # What has been learnt may have no slope any more, as a hinge that all examples are beyond.
    if zero < 0.9 * len(norms) or norms.first > 0 or not weights or (optimizer and optimizer.none_though_backward):
        return
    yield Case(
        ("error", 0.9),
        at("backward()", loss.site),
        series=loss.values,
        zero=zero,
        looks=len(norms),
        weights=weights,
        **course(loss),
    )


@Rule(
    slug="batches_unused",
    title="most batches are never learnt from",
    meaning="Their losses are computed and forgotten: only some, such as the last of each epoch, are sent back.",
    evidence=(
        "{calls:,} losses were computed with gradients on, and {sent:,} were sent back, {each} in each: {unused:.0%} "
        "of the batches taught nothing."
    ),
    remedy="loss.backward(); optimizer.step()  # inside of the loop over batches, not after it",
)
def batches_unused(record: Record) -> Iterator[Case]:
    yield from _cleared(record)
    sent = sum(loss.count for loss in record.losses)
    if sent < LOOKS or moving_targets(record) or len(record.losses) > 1:
        return
    for call in record.loss_calls:
        if not call.training or call.kind not in _NODES or call.count < _UNUSED * sent:
            continue
        each = max((_inside(loss, call) for loss, _ in first_graphs(record)), default=0)
        if each > 0 and call.count >= _UNUSED * each * sent:
            yield Case(
                ("error", 0.93) if left(record) > 0.1 else ("warning", 0.85),
                at("backward()", record.losses[0].site),
                at("loss", call.site),
                series=record.losses[0].values,
                calls=call.count,
                sent=sent,
                each=each,
                unused=1 - each * sent / call.count,
            )
            return


def _cleared(record: Record) -> Iterator[Case]:
    """Gradients of one batch that are thrown away before the next: accumulation that begins anew each time."""
    for optimizer in record.optimizers:
        # A closure is asked for gradients as often as its optimiser likes.
        if optimizer.closure or optimizer.checked < LOOKS or optimizer.discarded < 0.8 * optimizer.checked:
            continue
        yield Case(
            ("error", 0.93),
            creation(optimizer),
            at("backward()", record.main.site if record.main else None),
            evidence=(
                "In {checked} steps, the gradients of {discarded} earlier backward passes of the same loss had been "
                "cleared before the step: only the last batch counts."
            ),
            remedy="optimizer.zero_grad()  # after optimizer.step(), inside of the same if",
            checked=optimizer.checked,
            discarded=optimizer.discarded,
        )
        return


def _inside(loss: Loss, call: LossCall) -> int:
    """How many losses of a kind a graph has in it: those of all steps of a sequence, or of parts that were summed."""
    return max((sum(1 for _ in graph.named(*_NODES[call.kind])) for graph in loss.graphs), default=0)
