import sys

import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

from gradlab.nn.blocks import Shape, ShapeError, block, blocks, find_block


@pytest.fixture
def named(monkeypatch):
    """A name under which a block may be entered for one test."""
    monkeypatch.setattr(sys.modules[Shape.__module__], "blocks", dict(blocks))


@pytest.fixture
def pair(named):
    @block("test.pair")
    class Pair(nn.Module):
        def __init__(self, dim):
            super().__init__()
            self.dim = dim

        def forward(
            self,
            queries: Float[Tensor, "*batch n {self.dim}"],
            keys: Float[Tensor, "*batch m {self.dim}"] | None = None,
            values: Float[Tensor, "*batch m 2"] | None = None,
        ):
            return queries

    return Pair(4)


@pytest.mark.parametrize(
    ("shapes", "told"),
    [
        ([(3, 5)], "queries must have shape (…batch, n, dim=4), got (3, 5)."),
        ([(4,)], "queries must have shape (…batch, n, dim=4), got (4,)."),
        ([(3, 4), (5, 4), (6, 2)], "values must have shape (…batch, m=5, 2), got (6, 2)."),
        ([(3, 4), (5, 4), (5, 3)], "values must have shape (…batch, m=5, 2), got (5, 3)."),
    ],
)
def test_a_wrong_shape_names_block_argument_expected_and_got(pair, shapes, told):
    with pytest.raises(ShapeError) as error:
        pair(*map(torch.zeros, shapes))
    assert str(error.value) == f"test.pair: {told}"


def test_right_shapes_pass_with_any_number_of_leading_axes(pair):
    for leading in [(), (2,), (2, 3)]:
        pair(torch.zeros(*leading, 3, 4), values=torch.zeros(*leading, 5, 2), keys=torch.zeros(*leading, 5, 4))


def test_keyword_arguments_are_checked_too(pair):
    with pytest.raises(ShapeError, match=r"keys must have shape \(…batch, m, dim=4\)"):
        pair(torch.zeros(3, 4), keys=torch.zeros(5, 3))


def test_a_function_is_checked_too(named):
    @block("test.dot")
    def dot(x: Float[Tensor, " n"], y: Float[Tensor, " n"]) -> Float[Tensor, ""]:
        return x @ y

    assert dot(torch.ones(3), torch.ones(3)) == 3
    with pytest.raises(ShapeError, match=r"test.dot: y must have shape \(n=3\), got \(4,\)"):
        dot(torch.ones(3), torch.ones(4))


def test_axes_that_may_be_broadcast_need_not_agree(named):
    @block("test.add")
    def add(x: Float[Tensor, "#n d"], y: Float[Tensor, "#n d"]) -> Float[Tensor, "n d"]:
        return x + y

    assert add(torch.ones(1, 2), torch.ones(3, 2)).shape == (3, 2)
    with pytest.raises(ShapeError):
        add(torch.ones(1, 2), torch.ones(3, 3))


def test_a_shape_is_read_off_an_annotation():
    assert str(Shape.of(Float[Tensor, "... n {self.dim} 3"])) == "(…, n, dim, 3)"
    assert Shape.of(int) is None
    assert Shape.of(tuple[Float[Tensor, "n"], int]) is None


def test_an_unknown_block_is_answered_with_the_closest():
    with pytest.raises(ValueError, match=r"no block 'activation.rleu'. Did you mean 'activation.relu'"):
        find_block("activation.rleu")


def test_names_are_a_family_and_a_word():
    for name in blocks:
        family, word = name.split(".")
        assert family.isidentifier()
        assert word.isidentifier()
        assert name.islower()
