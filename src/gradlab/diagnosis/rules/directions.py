"""Steps that go nowhere, or uphill."""

from collections.abc import Iterator
from typing import Any

from gradlab.diagnosis.finding import Spot
from gradlab.diagnosis.progress import without_aim
from gradlab.diagnosis.record import Loss, LossCall, Record
from gradlab.diagnosis.rules.base import LOOKS, Case, Rule, at, creation
from gradlab.diagnosis.rules.chains import VIEWS, sources
from gradlab.diagnosis.series import Series

_SOME, _MOST = 0.02, 0.3  # shares of the steps
_ALWAYS = 0.9
_SUMS = VIEWS | {"Mean", "Sum", "Div", "Neg", "Add"}


@Rule(
    slug="rate_not_positive",
    title="the learning rate is zero or below",
    meaning="A step of length zero changes nothing, and one of negative length goes up the slope.",
    evidence=(
        "The rate was {what} in {count} of {steps} steps, for the first time at step {first} ({rate:.3g}); it began at "
        "{start:.3g}."
    ),
    remedy="print(optimizer.param_groups[0]['lr'])  # in the loop: a // for a /, or a schedule that runs past its end",
)
def rate_not_positive(record: Record) -> Iterator[Case]:
    for optimizer in record.optimizers:
        rate = optimizer.rate
        below = [step for step, value in rate if value < 0]
        zero = [step for step, value in rate if value == 0]
        # Warm-ups begin at zero and schedules end there; neither stays long.
        if len(rate) < LOOKS or (len(below) < _SOME * len(rate) and len(zero) < _MOST * len(rate)):
            continue
        wrong = below or zero
        positive = next((value for value in rate.values if value > 0), None)
        if not below and positive is not None and zero[0] > rate.steps[0]:
            continue  # it was lowered to zero on its way: `lr_decayed_to_zero`
        yield Case(
            ("error", 0.97),
            creation(optimizer),
            since=wrong[0],
            series=rate,
            what="below zero" if below else "zero",
            count=len(wrong),
            steps=len(rate),
            first=wrong[0],
            rate=rate.values[rate.steps.index(wrong[0])],
            start=rate.first,
        )
        return


@Rule(
    slug="uphill_steps",
    title="the steps go uphill",
    meaning="Each step is taken along the gradient, not against it: the loss is made as large as possible.",
    remedy="w -= lr * w.grad  # against the gradient; no maximize=True and no minus before a loss that should fall",
    follows="rate_not_positive",
)
def uphill_steps(record: Record) -> Iterator[Case]:
    loss = record.main
    if loss is None or len(record.losses) > 1 or without_aim(record):
        return
    call = next((j for j in record.loss_calls if j.training and len(j.values) >= LOOKS), None)
    values = call.values if call else loss.values
    # What somebody wrote may be meant to rise: a reward, a likelihood. A square of differences is not.
    if not _risen(values) or not (call or _residual(loss)) or _attacks(record):
        return
    place = [at("loss", call.site if call else loss.site)]
    for where, cosines in _ways(record):
        if len(cosines) >= LOOKS and sum(c > 0 for c in cosines.values) >= _ALWAYS * len(cosines):
            what = "Steps and gradients point the same way (cosine {cosine:.2f} in a typical step)"
            yield _case(values, what, where, *place, cosine=cosines.median())
            return
    if call and _turned(loss, call):
        yield _case(values, "What is sent back is the loss with its sign turned", at("backward()", loss.site), *place)


def _case(values: Series, what: str, *place: Spot, **measured: Any) -> Case:
    evidence = f"{what}; the loss went from {{start}} to {{end}}."
    start, end = values.first, values.tail()
    return Case(("error", 0.95), *place, series=values, evidence=evidence, start=start, end=end, **measured)


def _residual(loss: Loss) -> bool:
    """Whether a loss is made of squares or sizes of differences, or of logarithms."""
    for graph in (graph for graph in loss.graphs[:1] if graph.nodes):  # none, where a leaf is the loss
        for index in [0, *(i for i, _ in sources(graph, 0, _SUMS))]:
            name = graph.nodes[index].name
            differs = any(n.name in ("Sub", "Rsub") for _, n in sources(graph, index))
            if "Log" in name or (name in ("Pow", "Abs", "Mul") and differs):
                return True
    return False


def _attacks(record: Record) -> bool:
    """Whether it is an input that is moved uphill, while the weights that a loss depends on stay as they are."""
    reached = [p for p in record.parameters.values() if p.reached]
    return sum(p.size for p in reached if p.changed) < 0.5 * sum(p.size for p in reached)


def _risen(values: Series) -> bool:
    """Whether a loss has ended far above its beginning, or nowhere."""
    return not values.tail() < 1.3 * values.head(3)


def _ways(record: Record) -> Iterator[tuple[Spot, Series]]:
    """How steps lay beside gradients: of optimisers, and of updates by hand."""
    for optimizer in record.optimizers:
        yield creation(optimizer), optimizer.uphill
    if not record.optimizers:
        yield at("the update after backward()", record.main.site if record.main else None), record.hand_uphill


def _turned(loss: Loss, call: LossCall) -> bool:
    """Whether the loss of backward() is minus what a loss function gave, at every look."""
    sent = dict(loss.values)
    both = [(sent[step], value) for step, value in call.values if step in sent]
    alike = [abs(a + b) < 0.05 * abs(b) for a, b in both if b > 0]
    return len(alike) >= LOOKS and sum(alike) >= _ALWAYS * len(alike)
