"""The learning rate over a whole run, drawn before it starts."""

from math import ceil

from gradlab.training.plan import Plan
from gradlab.training.schedules import schedules
from gradlab.wording import sparkline

_WIDTH = 24
_SAMPLES = 1000  # points of the curve at which the rate is computed, in a run of any length


def preview(plan: Plan, steps: int) -> str:
    """A line that shows how the rate rises and falls, and between what; empty where it does neither.

    >>> from gradlab.registry import Part
    >>> preview(Plan(lr=0.01, schedule=Part("cosine", {"warmup": 100})), 1000)
    '▁▄▇███▇▇▇▆▆▅▅▄▄▃▃▂▂▂▁▁▁▁  0.0001 → 0.01 (step 100) → 0'
    """
    schedule = schedules.build(plan.schedule, steps)
    if schedule.words:
        return schedule.words
    stride = ceil(steps / _SAMPLES)
    sampled = sorted({*range(0, steps, stride), steps - 1})
    factors = [schedule(step) for step in sampled]
    if min(factors) == max(factors):
        return ""
    top = max(sampled, key=schedule)
    peak = max(range(max(0, top - stride), min(steps, top + stride + 1)), key=schedule)  # between two samples
    first, highest, last = (f"{plan.lr * schedule(step):.3g}" for step in (0, peak, steps - 1))
    by = [f"{highest} (step {peak + 1:,})"] if 0 < peak < steps - 1 else []
    return f"{sparkline(factors, _WIDTH)}  {' → '.join([first, *by, last])}"
