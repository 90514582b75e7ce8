"""Functions of `maths` are explained by what is written at them."""

import doctest

import pytest

from gradlab.cli.explaining import _page, _subject
from gradlab.explanation.mathematics import FunctionExplanation, functions
from gradlab.explanation.names import find, summaries
from gradlab.explanation.words import ALSO
from gradlab.verification.subject import subjects


def test_all_that_is_verified_is_among_them_and_each_says_what_it_is():
    assert {name for name in subjects if name.startswith("maths.")} <= set(functions())
    assert {"maths.Normal", "maths.JointTable", "maths.argmin", "maths.wolfe"} <= set(functions())
    assert not {"maths.tensor", "maths.takes_arrays"} & set(functions())
    listed = summaries()
    assert all(len(listed[name]) > 10 for name in functions())


@pytest.mark.parametrize("name", sorted(functions()))
def test_its_example_runs_as_it_is_shown(name):
    shown = FunctionExplanation.of(name).example
    if not shown:
        assert "." in name.removeprefix("maths.") or name == "maths.weighted_bound"
        return
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    said: list[str] = []
    runner.run(doctest.DocTestParser().get_doctest(shown, {}, name, None, 0), out=said.append)
    assert not runner.failures, "".join(said)


@pytest.mark.parametrize("name", ["maths.isserlis", "maths.normal.condition", "maths.bfgs", "maths.KeyValueStore"])
def test_a_page_has_its_equation_its_laws_and_its_code(name):
    subject = _subject(find(name))
    assert isinstance(subject, FunctionExplanation)
    page, plain = _page(subject).replace("<wbr>", ""), subject.plain()
    assert plain["code"]["name"] in page
    assert all(law in page for law in subject.laws)
    assert ("<math" in page) == bool(plain["equations"])
    assert plain["laws"] or name in ("maths.bfgs", "maths.KeyValueStore")


def test_words_of_the_course_lead_to_what_there_is():
    listed = summaries()
    assert {word: name for word, name in ALSO.items() if name not in listed} == {}
    assert [find(word) for word in ("rope", "mvn-density", "Self-Attention")] == [
        "position.rotary", "maths.normal.log_density", "attention.multihead",
    ]  # fmt: skip
