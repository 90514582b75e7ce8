import pytest
import torch

from gradlab.errors import GradlabError
from gradlab.registry import Part
from gradlab.training.schedules import schedules


def build(name, steps, **values):
    return schedules.build(schedules.resolve(Part(name, values), "schedule"), steps)


def factors(name, steps, **values):
    schedule = build(name, steps, **values)
    return [schedule(step) for step in range(steps)]


def judged(make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize(("every", "factor"), [(7, 0.1), (1, 0.9), (50, 0.5)])
def test_step_is_that_of_torch(every, factor):
    want = judged(lambda o: torch.optim.lr_scheduler.StepLR(o, every, factor), 40)
    assert factors("step", 40, every=every, factor=factor) == pytest.approx(want)


def test_step_drops_twice_in_a_run_by_default():
    assert factors("step", 9) == pytest.approx([1] * 3 + [0.1] * 3 + [0.01] * 3)


@pytest.mark.parametrize(("steps", "floor"), [(40, 0.0), (2, 0.0), (17, 0.3)])
def test_cosine_is_that_of_torch(steps, floor):
    want = judged(lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, steps - 1, floor), steps)
    assert factors("cosine", steps, floor=floor) == pytest.approx(want, abs=1e-12)


def test_cosine_stays_at_its_floor_after_the_end():
    schedule = build("cosine", 10, floor=0.2)
    assert [schedule(step) for step in (9, 10, 1000)] == pytest.approx([0.2] * 3)


@pytest.mark.parametrize("name", schedules.names())
def test_warmup_rises_in_equal_steps_and_then_the_schedule_begins(name):
    got = factors(name, 20, warmup=4)
    assert got[:4] == [0.25, 0.5, 0.75, 1.0]
    assert got[4:] == pytest.approx(factors(name, 16))


def test_warmup_is_the_linear_one_of_torch():
    want = judged(lambda o: torch.optim.lr_scheduler.LinearLR(o, 1 / 5, 1.0, 4), 12)
    assert factors("constant", 12, warmup=5) == pytest.approx(want)


@pytest.mark.parametrize("name", schedules.names())
def test_a_schedule_is_a_pure_function_of_the_step(name):
    schedule = build(name, 30, warmup=3)
    forwards = [schedule(step) for step in range(30)]
    assert [schedule(step) for step in reversed(range(30))] == forwards[::-1]
    assert all(0 <= factor <= 1 for factor in forwards)


@pytest.mark.parametrize("name", schedules.names())
def test_a_run_of_one_step_has_the_full_rate(name):
    assert factors(name, 1) == [1.0]


def test_a_warmup_as_long_as_the_run_leaves_no_cosine():
    with pytest.raises(GradlabError, match=r"train\.schedule\.warmup=10 leaves nothing of the 10 steps"):
        build("cosine", 10, warmup=10)
