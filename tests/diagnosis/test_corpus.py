"""The corpora of training scripts: their form, and that the doctor names their faults and stays silent on the others.

`corpus` was written to be judged; `met` has the bugs that people ran into, each rewritten, and examples as published.
"""

import ast
import os
from pathlib import Path

import pytest

from gradlab.bench.doctor.corpus import read_corpus
from gradlab.bench.doctor.outcomes import Practice, bench_doctor
from gradlab.diagnosis.rules import rules

CORPORA = {name: Path(__file__).parent / name for name in ("corpus", "met")}
SCRIPTS = {f"{name}/{script.name}": script for name, folder in CORPORA.items() for script in read_corpus(folder)}

# Short ones, of all families in use and of many ways to find a fault.
SAMPLE = [
    "corpus/deep/bottleneck_classifier",
    "corpus/deep/churn_binary",
    "corpus/deep/digits_tower",
    "corpus/deep/healthy_ste_function",
    "corpus/deep/wine_order",
    "corpus/generative/bump_vae",
    "corpus/images/transfer_upper_digits",
    "corpus/regression/tide_gauge_by_hand",
    "corpus/sequences/healthy_stateful_lstm_words",
    "corpus/sequences/leaky_sensor_stream",
    "corpus/tabular/rare_disease_cosine",
    "corpus/tabular/sky_objects",
    "met/rates/whole_numbers",
    "met/heads/token_gate",
    "met/validation/shuffled_windows",
    "met/targets/label_division",
    "met/item/temperature",
    "met/functional/stateless_softmax",
    "met/reshape/healthy_many_views",
    "met/tables/healthy_one_hot",
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


@pytest.mark.parametrize(("name", "faulty", "families", "aside"), [("corpus", 60, 20, 6), ("met", 60, 25, 10)])
def test_there_are_as_many_as_are_needed_to_judge_a_doctor(name, faulty, families, aside):
    scripts = read_corpus(CORPORA[name])
    ill = [script for script in scripts if script.fault]
    assert len(ill) >= faulty
    assert len(scripts) - len(ill) >= 30
    held_out = {script.family: script.held_out for script in scripts}
    assert len(held_out) >= families
    assert sum(held_out.values()) >= aside


@pytest.mark.parametrize("name", SAMPLE)
def test_the_fault_is_named_and_its_repair_is_silent(practice, name):
    for form in SCRIPTS[name].forms:
        outcome = practice.examine(SCRIPTS[name], form)
        assert outcome.right, outcome.findings
        assert outcome.failures == []


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("name", "share"), [("corpus", 0.9), ("met", 0.85)])
def test_most_faults_are_named_and_nothing_else_is_in_a_whole_corpus(name, share):
    parts = bench_doctor(CORPORA[name], print, jobs=os.cpu_count() or 1, seconds=300, identity=True)
    for part in parts:
        assert part.false_alarms == 0, [o.name for o in part.outcomes if o.fault is None and not o.right]
        assert part.among_first >= share * part.faulty, [o.name for o in part.outcomes if o.fault and not o.right]
        assert [o.name for o in part.outcomes if o.failures or o.difference] == []
