import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.errors import GradlabError
from gradlab.training.optimizers import SEARCHING
from gradlab.training.plan import Plan


@pytest.mark.parametrize(
    ("values", "examples", "per_step", "per_epoch", "total"),
    [
        ({"batch_size": 32, "epochs": 2}, 100, 32, 4, 8),
        ({"batch_size": 32, "epochs": 2}, 96, 32, 3, 6),
        ({"batch_size": 32, "epochs": 2}, 7, 7, 1, 2),
        ({"batch_size": 32, "epochs": 2}, 97, 32, 3, 6),
        ({"batch_size": 1, "epochs": 2}, 97, 1, 97, 194),
        ({"batch_size": "full", "epochs": 3}, 100, 100, 1, 3),
        ({"batch_size": 32, "epochs": 2, "steps": 5}, 100, 32, 4, 5),
    ],
)
def test_steps_follow_from_examples_and_batch_size(make_plan, values, examples, per_step, per_epoch, total):
    plan = make_plan(**values)
    assert plan.examples_per_step(examples) == per_step
    assert plan.steps_per_epoch(examples) == per_epoch
    assert plan.total_steps(per_epoch) == total


@given(st.integers(1, 300), st.integers(1, 300) | st.just("full"))
def test_the_batches_of_an_epoch_hold_every_example_and_none_is_left_alone(examples, batch_size):
    plan = Plan(batch_size=batch_size)
    sizes, asked = plan.batch_sizes(examples), plan.examples_per_step(examples)
    assert sum(sizes) == examples
    assert len(sizes) == plan.steps_per_epoch(examples)
    assert sizes[:-1] == [asked] * (len(sizes) - 1)
    assert 1 <= sizes[-1] <= asked + 1
    assert 1 not in sizes or asked == 1


def test_a_run_logs_at_most_a_hundred_lines_and_a_short_one_at_least_five(make_plan):
    for steps in (1, 19, 20, 99, 100, 101, 5000, 123_457):
        interval = make_plan(steps=steps).log_interval(steps)
        assert steps / interval <= 100
        assert steps / interval >= min(steps, 5)
        assert interval >= 20 or steps < 200


def test_evaluations_come_once_an_epoch_unless_asked_otherwise(make_plan):
    assert make_plan(batch_size=10).evaluation_interval(10) == 10
    assert make_plan(evaluate_every=3).evaluation_interval(10) == 3


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({"batch_size": 32}, "train.batch_size=32"),
        ({"clip": 1.0}, "train.clip=1.0"),
        ({"precision": "bf16"}, "train.precision=bf16"),
        ({"compile": "on"}, "train.compile=on"),
        ({"l1": 0.1}, "train.l1=0.1"),
        ({"max_norm": 3.0}, "train.max_norm=3.0"),
        ({"ema": 0.9}, "train.ema=0.9"),
        ({"accumulate": 2}, "train.accumulate=2"),
    ],
)
@pytest.mark.parametrize("name", sorted(SEARCHING))
def test_a_search_takes_the_exact_gradient_of_the_full_batch_alone(make_plan, name, value, says):
    with pytest.raises(GradlabError) as caught:
        make_plan(**{"optimizer": name, "batch_size": "full", **value})
    assert f"{says} does not go with {name}" in str(caught.value)


@pytest.mark.parametrize("values", [{"ema": 0.0}, {"ema": 1.0}, {"l1": -1.0}, {"max_norm": 0.0}, {"accumulate": 0}])
def test_values_that_mean_nothing_are_refused(make_plan, values):
    (key,) = values
    with pytest.raises(GradlabError, match=rf"train\.{key}=.* is not valid"):
        make_plan(**values)
