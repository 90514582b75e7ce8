"""Worked examples: each is computed, and shown in a terminal, on a page and as JSON."""

import json

import pytest
import torch

from gradlab.explanation.pages import walk_page
from gradlab.explanation.walk import Step, Walk, matrix, rows, walks, worked
from gradlab.verification.course import EXAMPLES


def test_examples_are_those_of_the_course_in_its_order():
    assert list(walks()) == [name for name in EXAMPLES if name in walks()]
    assert {"mean-blur", "conv-worked-example", "pytorch-rnn-demo", "machine-translation"} <= set(walks())


@pytest.mark.parametrize("name", [name for name in walks() if name != "machine-translation"])  # which has its own test
def test_each_has_steps_with_values_and_a_page(name: str):
    walk = Walk.of(name)
    assert walk.steps
    assert any(step.values for step in walk.steps)
    plain = json.loads(json.dumps(walk.plain()))
    assert (plain["name"], plain["title"]) == (name, walk.title)
    assert {*plain["steps"][0]} == {"words", "latex", "values", "unicode"}
    assert plain["code"]["name"].startswith("gradlab.explanation.examples.")
    text = walk_page(walk)
    assert text.count("<li>") == len(walk.steps)
    assert walk.code.name.rpartition(".")[2] in text.replace("<wbr>", "")


def test_what_stands_between_dollars_is_an_equation():
    walk = Walk("x", "X", [Step(r"Of $\sqrt{x}$.", r"\frac{1}{2}", "a < b")], Walk.of("multiply-gate").code)
    (step,) = walk.plain()["steps"]
    assert step["words"] == "Of √x."
    assert step["unicode"].splitlines() == ["1", "─", "2"]
    text = walk_page(walk)
    assert "<msqrt>" in text
    assert "<pre>a &lt; b</pre>" in text


def test_an_unknown_or_second_example_cannot_be_entered():
    with pytest.raises(AssertionError, match="no example of the course"):
        worked("no-such-example", "")
    with pytest.raises(AssertionError, match="two examples 'multiply-gate'"):
        worked("multiply-gate", "")(list)


def test_numbers_of_a_matrix_stand_below_each_other():
    assert rows(torch.tensor([[1.0, -20.5], [-0.0, 3.0]])) == "1  -20.5\n0      3"
    assert rows(torch.tensor([[1, 2]])) == "1  2"
    assert matrix(torch.tensor([[1.0, 0.5]])) == r"\begin{pmatrix} 1 & 0.5 \end{pmatrix}"
