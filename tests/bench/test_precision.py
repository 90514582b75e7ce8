"""Steps in bf16 beside steps in float32."""

import pytest

from gradlab.bench.steps.precision import bench_precision
from gradlab.errors import GradlabError


@pytest.mark.parametrize(
    ("cases", "rounds", "says"), [(["gpt"], 1, "There is no case 'gpt'"), (["digits"], 0, "round")]
)
def test_what_cannot_be_measured_is_refused(cases, rounds, says):
    with pytest.raises(GradlabError, match=says):
        bench_precision(cases, rounds, progress=lambda text: None)


def test_both_precisions_are_measured_on_the_same_work():
    (measured,) = bench_precision(["digits"], 1, progress=lambda text: None)
    assert measured.case == "digits"
    assert min(measured.float32, measured.bf16) > 0
    assert measured.ratio == measured.bf16 / measured.float32
