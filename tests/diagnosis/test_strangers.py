"""Trainings as others write them, by others' trainers: the doctor disturbs none and has nothing to say against them."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from gradlab.bench.doctor.corpus import read_corpus
from gradlab.bench.doctor.outcomes import Practice

STRANGERS = {script.name: script for script in read_corpus(Path(__file__).parent / "strangers")}
NEEDS = {
    "plain_tutorial": [],
    "example_with_arguments": [],
    "small_gpt_loop": [],
    "lightning_digits": ["lightning"],
    "huggingface_classifier": ["transformers", "accelerate"],
    "huggingface_language": ["transformers", "accelerate"],
    "skorch_search": ["skorch"],
    "keras_on_torch": ["keras"],
    "cartpole_reinforce": ["gymnasium"],
    "cartpole_dqn": ["gymnasium"],
}


@pytest.fixture(scope="module")
def practice():
    with Practice(jobs=1, seconds=600) as made:
        yield made


def test_each_says_what_it_needs():
    assert set(NEEDS) == set(STRANGERS)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEEDS)
def test_a_strangers_training_runs_as_it_does_without_the_doctor_and_is_called_healthy(practice, name):
    missing = [package for package in NEEDS[name] if find_spec(package) is None]
    if missing:
        pytest.skip(f"needs {' and '.join(missing)}")
    outcome = practice.examine(STRANGERS[name], "healthy", identity=True)
    assert outcome.difference is None
    assert outcome.failures == []
    assert outcome.alarms == [], outcome.findings
    assert outcome.steps > 100
