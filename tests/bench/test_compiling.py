"""Cost and gain of compiling."""

import pytest

from gradlab.bench.steps.compiling import bench_compile, pays_after
from gradlab.errors import GradlabError


def test_compiling_pays_after_cost_over_gain():
    assert pays_after(30.0, 0.003, 0.001) == 15_000
    assert pays_after(30.0, 0.001, 0.001) is None
    assert pays_after(30.0, 0.001, 0.002) is None


def test_an_unknown_case_is_refused():
    with pytest.raises(GradlabError, match="There is no case 'gpt'"):
        bench_compile(["gpt"], 1, progress=lambda text: None)


@pytest.mark.slow
def test_eager_and_compiled_steps_are_measured():
    (measured,) = bench_compile(["digits"], 1, progress=lambda text: None)
    assert measured.compile > 0
    assert min(measured.eager_step, measured.compiled_step) > 0
