"""Time to the first step."""

import time

import pytest

from gradlab.bench.steps.start import ENTRANTS, Entrant, bench_start, first_step
from gradlab.errors import GradlabError


def test_the_tutorial_script_leaves_its_stamp_after_the_first_step():
    seconds, cpu = first_step(ENTRANTS["tutorial"])
    assert seconds > 0
    assert cpu > 0


def test_what_a_process_does_after_its_first_step_does_not_count():
    script = "import sys, time; time.sleep(0.3); open(sys.argv[1], 'w').close(); time.sleep(0.5)"
    entrant = Entrant(title="", command=lambda folder: ["-c", script, f"{folder}/stamp"], stamp="stamp")
    began = time.perf_counter()
    seconds, _ = first_step(entrant)
    whole = time.perf_counter() - began
    rounding = 0.05  # of a file's time of change
    assert seconds > 0.3 - rounding
    assert whole - seconds > 0.5 - rounding


def test_a_script_that_fails_is_told_with_its_words():
    entrant = Entrant(title="", command=lambda folder: ["-m", "no_such_module"], stamp="never")
    with pytest.raises(GradlabError, match="no_such_module"):
        first_step(entrant)


def test_rounds_must_be_positive():
    with pytest.raises(GradlabError, match="at least one round"):
        bench_start(0, progress=lambda text: None)
