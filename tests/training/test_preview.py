import pytest

from gradlab.training.preview import preview
from gradlab.wording import sparkline


def test_a_rate_that_does_not_change_has_no_curve(make_plan):
    assert preview(make_plan(), 1000) == ""
    assert preview(make_plan(schedule="cosine"), 1) == ""


@pytest.mark.parametrize(
    ("plan", "steps", "says"),
    [
        ({"schedule": "cosine", "lr": 0.01}, 300, "0.01 → 0"),
        ({"schedule": {"name": "constant", "warmup": 50}, "lr": 0.1}, 100, "0.002 → 0.1 (step 50) → 0.1"),
        ({"schedule": {"name": "step", "every": 10}, "lr": 0.1}, 30, "0.1 → 0.001"),
        ({"schedule": {"name": "one-cycle", "end": 0.001}, "lr": 0.5}, 1000, "0.02 → 0.5 (step 300) → 0.0005"),
        ({"schedule": {"name": "one-cycle", "end": 0.001}, "lr": 0.5}, 123_457, "0.02 → 0.5 (step 37,037) → 0.0005"),
    ],
)
def test_the_curve_stands_beside_its_first_highest_and_last_rate(make_plan, plan, steps, says):
    bars, figures = preview(make_plan(**plan), steps).split("  ")
    assert figures == says
    assert len(bars) == 24
    assert "█" in bars


def test_what_the_rate_will_do_on_a_plateau_is_said_in_words(make_plan):
    said = preview(make_plan(schedule={"name": "plateau", "factor": 0.5, "patience": 2}), 1000)
    assert "falls with the validation loss: times 0.5 after 3 evaluations" in said


@pytest.mark.parametrize(
    ("values", "width", "bars"), [([1, 2, 3], 10, "▁▅█"), ([3, 1], 2, "█▁"), ([7], 5, "█"), ([], 5, "")]
)
def test_bars_span_the_values(values, width, bars):
    assert sparkline(values, width) == bars
