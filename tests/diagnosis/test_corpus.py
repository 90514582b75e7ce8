"""The corpus of training scripts: its form, and that the doctor names their faults and stays silent on the others."""

import ast
import os
from collections import Counter
from pathlib import Path

import pytest

from gradlab.bench.doctor import Practice, bench_doctor
from gradlab.bench.doctor_corpus import read_corpus
from gradlab.diagnosis.rules import rules

CORPUS = Path(__file__).parent / "corpus"
SCRIPTS = {script.name: script for script in read_corpus(CORPUS)}

# Short ones, of all families in use and of many ways to find a fault.
SAMPLE = [
    "deep/bottleneck_classifier",
    "deep/churn_binary",
    "deep/digits_tower",
    "deep/healthy_ste_function",
    "deep/wine_order",
    "generative/bump_vae",
    "images/transfer_upper_digits",
    "regression/tide_gauge_by_hand",
    "sequences/healthy_stateful_lstm_words",
    "sequences/leaky_sensor_stream",
    "tabular/rare_disease_cosine",
    "tabular/sky_objects",
]


@pytest.fixture(scope="module")
def practice():
    with Practice(jobs=1, seconds=300) as made:
        yield made


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_form_is_a_script_that_does_not_tell_what_it_is(name):
    script = SCRIPTS[name]
    texts = [script.text(form) for form in script.forms]
    assert len(set(texts)) == len(texts)
    for text in texts:
        tree = ast.parse(text)
        assert ast.get_docstring(tree)
        assert "gradlab" not in text
        assert not [mark for mark in ("# fault", "# FAULT", "# REPAIRED") if mark in text]


def test_the_doctor_knows_a_name_for_every_fault():
    assert {script.fault for script in SCRIPTS.values() if script.fault} <= set(rules)


def test_there_are_as_many_as_are_needed_to_judge_a_doctor():
    faulty = [script for script in SCRIPTS.values() if script.fault]
    assert len(faulty) >= 60
    assert len(SCRIPTS) - len(faulty) >= 30
    families = Counter(script.held_out for script in {script.family: script for script in SCRIPTS.values()}.values())
    assert families[True] >= 6


@pytest.mark.parametrize("name", SAMPLE)
def test_the_fault_is_named_and_its_repair_is_silent(practice, name):
    for form in SCRIPTS[name].forms:
        outcome = practice.examine(SCRIPTS[name], form)
        assert outcome.right, outcome.findings
        assert outcome.failures == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_nine_faults_in_ten_are_named_and_nothing_else_is_in_the_whole_corpus():
    parts = bench_doctor(CORPUS, print, jobs=os.cpu_count() or 1, seconds=300, identity=True)
    for part in parts:
        assert part.false_alarms == 0, [o.name for o in part.outcomes if o.fault is None and not o.right]
        assert part.among_first >= 0.9 * part.faulty, [o.name for o in part.outcomes if o.fault and not o.right]
        assert [o.name for o in part.outcomes if o.failures or o.difference] == []
