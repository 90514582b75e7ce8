import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from gradlab.errors import GradlabError
from gradlab.registry import Part
from gradlab.training.schedules import Trace, schedules

WARMED = [name for name in schedules if "warmup" in schedules.schema(name).knobs]


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


@pytest.mark.parametrize(("steps", "power"), [(40, 1.0), (2, 1.0), (17, 2.5), (30, 0.5)])
def test_polynomial_is_that_of_torch(steps, power):
    want = judged(lambda o: torch.optim.lr_scheduler.PolynomialLR(o, steps - 1, power), steps)
    assert factors("polynomial", steps, power=power) == pytest.approx(want, abs=1e-12)


def test_polynomial_ends_at_its_floor_and_stays_there():
    schedule = build("polynomial", 10, floor=0.2, power=3.0)
    assert schedule(0) == 1.0
    assert [schedule(step) for step in (9, 10, 1000)] == pytest.approx([0.2] * 3)
    assert schedule(5) == pytest.approx(0.2 + 0.8 * (4 / 9) ** 3)


@pytest.mark.parametrize(
    ("steps", "values"),
    [
        (100, {}),
        (1170, {}),
        (37, {"warmup_share": 0.25}),  # a peak between two steps
        (20, {"warmup_share": 0.9, "start": 0.5, "end": 0.01}),
        (5, {"end": 0.2}),
    ],
)
def test_one_cycle_is_that_of_torch(steps, values):
    share, start, end = values.get("warmup_share", 0.3), values.get("start", 1 / 25), values.get("end", 1e-4)

    def theirs(optimizer):
        # Their last factor is counted from the first, ours from the peak.
        return torch.optim.lr_scheduler.OneCycleLR(
            optimizer, 1.0, steps, pct_start=share, div_factor=1 / start, final_div_factor=start / end
        )

    assert factors("one-cycle", steps, **values) == pytest.approx(judged(theirs, steps), rel=1e-9, abs=1e-12)


@given(st.integers(1, 200), st.floats(0, 0.99), st.floats(0, 0.99), st.floats(0, 0.99))
def test_one_cycle_rises_and_falls_once_within_its_bounds(steps, share, start, end):
    got = factors("one-cycle", steps, warmup_share=share, start=start, end=end)
    top = got.index(max(got))
    assert got[: top + 1] == sorted(got[: top + 1])
    assert got[top:] == sorted(got[top:], reverse=True)
    assert min(start, end) - 1e-9 <= min(got)
    assert max(got) <= 1
    if top:
        assert got[0] == pytest.approx(start, abs=1e-9)


LOSSES = st.lists(
    st.sampled_from([0.1, 0.98, 0.9999, 0.99995, 1.0, 20.0, 19.5, 18.0, float("nan")]), min_size=1, max_size=40
)


@given(
    LOSSES,
    st.integers(0, 4),
    st.sampled_from([0.1, 0.5]),
    st.sampled_from([0.0, 1e-4, 0.05]),
    st.sampled_from([0, 0.02]),
)
@example([20.0, 19.5, 19.2], 0, 0.5, 0.05, 0)  # better, but by less than a twentieth
def test_plateau_is_that_of_torch_given_the_same_losses(losses, patience, factor, threshold, floor):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    judge = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=factor, patience=patience, threshold=threshold, min_lr=floor, eps=0.0
    )
    ours = build("plateau", 100, factor=factor, patience=patience, threshold=threshold, floor=floor)
    trace = Trace()
    for loss in losses:
        judge.step(loss)
        trace = ours.follow(loss, trace)
        assert trace.factor == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)


@pytest.mark.parametrize("name", WARMED)
def test_warmup_rises_in_equal_steps_and_then_the_schedule_begins(name):
    got = factors(name, 20, warmup=4)
    assert got[:4] == [0.25, 0.5, 0.75, 1.0]
    assert got[4:] == pytest.approx(factors(name, 16))


@pytest.mark.parametrize("name", WARMED)
@pytest.mark.parametrize(("steps", "warmup"), [(2000, 100), (1000, 100), (480, 48), (15, 1), (9, 0)])
def test_by_itself_the_warmup_is_at_most_a_tenth_of_the_run(name, steps, warmup):
    assert factors(name, steps, warmup="auto") == factors(name, steps, warmup=warmup)


def test_warmup_is_the_linear_one_of_torch():
    want = judged(lambda o: torch.optim.lr_scheduler.LinearLR(o, 1 / 5, 1.0, 4), 12)
    assert factors("constant", 12, warmup=5) == pytest.approx(want)


def test_only_one_cycle_has_a_warmup_of_its_own():
    assert set(schedules) - set(WARMED) == {"one-cycle"}


@pytest.mark.parametrize("name", schedules.names())
def test_a_schedule_is_a_pure_function_of_the_step(name):
    schedule = build(name, 30, **({"warmup": 3} if name in WARMED else {}))
    forwards = [schedule(step) for step in range(30)]
    assert [schedule(step) for step in reversed(range(30))] == forwards[::-1]
    assert all(0 <= factor <= 1 for factor in forwards)


@pytest.mark.parametrize("name", schedules.names())
def test_a_run_of_one_step_has_the_full_rate(name):
    assert factors(name, 1) == [1.0]


@pytest.mark.parametrize("name", ["cosine", "polynomial"])
def test_a_warmup_as_long_as_the_run_leaves_no_fall(name):
    with pytest.raises(GradlabError, match=r"train\.schedule\.warmup=10 leaves nothing of the 10 steps"):
        build(name, 10, warmup=10)
