"""Language models after the same time: how many steps fit, and what is told of them."""

import pytest

from gradlab.bench.language.predicting import affordable_steps, bench_language
from gradlab.errors import GradlabError


def lines(step, evaluation, steps_per_epoch):
    """The metrics of a run of twenty steps that evaluates before the first."""
    judged = [{"step": 0, "epoch": 0.0, "split": split, "seconds": 0.0} for split in ("train-sample", "validation")]
    trained = [
        {"step": n, "epoch": n / steps_per_epoch, "split": "train", "seconds": evaluation + n * step} for n in (10, 20)
    ]
    return [*judged, *trained]


@pytest.mark.parametrize(("step", "evaluation", "steps_per_epoch"), [(0.1, 0.0, 50), (0.1, 3.0, 50), (0.02, 1.0, 400)])
def test_steps_and_evaluations_fill_the_time(step, evaluation, steps_per_epoch):
    steps = affordable_steps(lines(step, evaluation, steps_per_epoch), seconds=60)
    taken = steps * step + (steps / steps_per_epoch + 1) * evaluation
    assert taken == pytest.approx(60, abs=step + 0.1)
    assert taken <= 60


def test_there_is_always_one_step():
    assert affordable_steps(lines(2.0, 5.0, 50), seconds=1) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"recipes": ["pydoc-gtp"], "minutes": 1}, "no recipe in this benchmark 'pydoc-gtp'. Did you mean 'pydoc-gpt'"),
        ({"recipes": ["pydoc-gpt"], "minutes": 0}, "--minutes must be positive"),
        ({"recipes": ["pydoc-gpt"], "minutes": 1, "threads": 0}, "--threads must be at least 1"),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(arguments, message):
    started = []
    with pytest.raises(GradlabError, match=message):
        bench_language(**arguments, progress=started.append)
    assert started == []


@pytest.mark.slow
def test_counting_is_judged_beside_knowing_nothing():
    uniform, trigrams = bench_language(["pydoc-ngram"], minutes=1, progress=lambda text: None, threads=1)
    assert (uniform.recipe, uniform.perplexity) == ("uniform", 256)
    assert uniform.bits_per_byte == pytest.approx(8)
    assert trigrams.recipe == "pydoc-ngram"
    assert 2 < trigrams.bits_per_byte < 3
    assert trigrams.tokens > 300_000


@pytest.mark.slow
def test_a_network_is_trained_for_the_time():
    _, rnn = bench_language(["pydoc-rnn"], minutes=0.25, progress=lambda text: None, threads=1)
    assert rnn.bits_per_byte < 6
    assert rnn.parameters > 0
    assert rnn.tokens == rnn.steps * 32 * 128
