"""What one example is, as a type and in words."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest

from gradlab.data import Preprocessing
from gradlab.data.text.source import Context
from gradlab.data.text.texts import LeadingTokens
from gradlab.specs import Array, Discrete, Environment, Graph, Pair, Picture, Series, Spec, Table, Tokens

SAID = {
    Array((2, 100)): "arrays of 2×100 numbers",
    Table(13): "tables of 13 columns",
    Table(1): "tables of 1 column",
    Picture(3, 32, 48): "pictures of 3×32×48 pixels",
    Series(48, 1): "series of 48 steps with 1 number at each",
    Tokens(256, 4096): "texts of up to 256 tokens of a vocabulary of 4,096",
    Pair(Tokens(8, 10), Tokens(9, 11)): (
        "pairs: texts of up to 8 tokens of a vocabulary of 10, with texts of up to 9 tokens of a vocabulary of 11"
    ),
    Graph(7): "graphs with 7 features of each node",
    Graph(7, 1): "graphs with 7 features of each node and 1 feature of each edge",
    Environment(Table(4), Discrete(2)): "environments with 2 actions and observations of 4 numbers",
}


@pytest.mark.parametrize("spec", SAID, ids=repr)
def test_a_spec_says_what_the_examples_are_and_begins_with_their_kind(spec):
    assert str(spec) == SAID[spec]
    assert SAID[spec].startswith(spec.kind.removesuffix(" of numbers"))
    assert isinstance(spec, Spec)


@pytest.mark.parametrize(
    ("shape", "spec"),
    [((4,), Table(4)), ((3, 8, 9), Picture(3, 8, 9)), ((2, 3), Series(2, 3)), ((1, 2, 3, 4), Array((1, 2, 3, 4)))],
)
def test_an_array_is_of_the_kind_that_its_axes_say(shape, spec):
    made = Array.of(shape)
    assert made == spec
    assert type(made) is type(spec)
    assert made.shape == shape


def test_a_kind_of_array_is_another_spec_than_the_array_of_its_shape():
    assert Table(4) != Array((4,))
    assert repr(Picture(3, 8, 9)) == "Picture(channels=3, height=8, width=9)"
    assert replace(Table(4), features=5).shape == (5,)


def test_a_spec_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        Table(4).features = 5


def test_preprocessing_tells_what_a_model_will_see():
    table = np.array([[0.0, 7.0], [2.0, 8.0], [1.0, 9.0]])
    assert Preprocessing.fit(table, "none", ["size", "kind"], one_hot=["kind"]).spec == Table(4)
    assert Preprocessing.fit(np.zeros((5, 3, 8, 9)), "none", [], []).spec == Picture(3, 8, 9)
    assert Context(16, "{}", 100).spec == LeadingTokens(16, "{}", 100).spec == Tokens(16, 100)


def test_what_a_run_keeps_of_a_text_is_what_it_always_was():
    assert Context(16, "{}", 100).describe() == {"context": 16}
    assert LeadingTokens(16, "{}", 100).describe() == {"context": 16, "vocabulary": 100}
