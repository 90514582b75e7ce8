"""Memory spans: what each model is trained on, and how far it is said to remember."""

import pytest

from gradlab.bench.memory import TASKS, TRANSFORMER, bench_memory, changes_for, span
from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.training.experiment import resolve


@pytest.mark.parametrize("name", TASKS)
def test_models_of_a_task_differ_in_their_model_alone(name):
    task = TASKS[name]
    recipes = {
        title: resolve(find(task.recipe).override(changes_for(task, title, 7, 30)))
        for title in ("RNN", "LSTM", "GRU", TRANSFORMER)
    }
    first, *others = recipes.values()
    assert all(other.data == first.data for other in others)
    assert all(other.model != first.model for other in others)
    assert {recipe.train["steps"] for recipe in recipes.values()} == {30}
    assert [recipes[title].model.values["cell"] for title in ("RNN", "LSTM", "GRU")] == ["rnn", "lstm", "gru"]


@pytest.mark.parametrize("name", TASKS)
def test_each_model_is_trained_at_each_delay(name):
    said = []
    small = {"data.examples": 60, "train.batch_size": 16}
    found = bench_memory(name, find(TASKS[name].recipe), said.append, [4, 2], 2, changes=small)
    assert found.delays == [2, 4]
    assert said[:2] == [f"{name}: RNN, delay 2", f"{name}: RNN, delay 4"]
    assert [row.title for row in found.rows] == ["RNN", "LSTM", "GRU", "transformer"]
    assert all(len(row.figures) == 2 and row.seconds > 0 for row in found.rows)


def test_a_span_ends_before_the_first_delay_that_is_not_solved():
    assert span({50: 1.0, 5: 0.9, 10: 0.89}) == 5
    assert span({5: 1.0, 10: 1.0}) == 10


def test_an_unknown_task_is_refused():
    with pytest.raises(GradlabError, match="no memory task 'recal'"):
        bench_memory("recal", find("recall-rnn"), pytest.fail)
