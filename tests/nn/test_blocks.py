import pytest
import torch
from jaxtyping import Float
from torch import Tensor, nn

import gradlab.nn
from gradlab.errors import GradlabError
from gradlab.nn.blocks import Family, Shape, ShapeError, block, blocks, find_block
from gradlab.registry import Count, Part, Positive


@pytest.fixture
def named(monkeypatch):
    """A name under which a block may be entered for one test."""
    monkeypatch.setattr(blocks, "_things", dict(blocks._things))


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


def test_settings_are_checked_by_their_annotations_wherever_they_are_passed(named):
    @block("test.scaled")
    class Scaled(nn.Module):
        def __init__(self, size: Count, scale: Positive | None = None, module: nn.Module | None = None):
            super().__init__()
            self.size, self.scale, self.module = size, scale, module

    @block("test.shifted")
    def shifted(x: Float[Tensor, "*shape"], by: Positive = 1.0) -> Float[Tensor, "*shape"]:
        return x + by

    assert repr(Scaled(2, scale=3)) == "Scaled(size=2, scale=3)"
    assert shifted(torch.zeros(2), 3.0).tolist() == [3.0, 3.0]
    for build, message in [
        (lambda: Scaled(0), "test.scaled: size must be int ≥ 1, got 0."),
        (lambda: Scaled("2"), "test.scaled: size must be int ≥ 1, got '2'."),
        (lambda: Scaled(size=2.0), "test.scaled: size must be int ≥ 1, got 2.0."),
        (lambda: Scaled(True), "test.scaled: size must be int ≥ 1, got True."),
        (lambda: Scaled(2, float("nan")), "test.scaled: scale must be float > 0 | none, got nan."),
        (lambda: Scaled(2, module=nn.ReLU), "test.scaled: module must be Module | none, got <class 'torch.nn."),
        (lambda: shifted(torch.zeros(2), by=-1.0), "test.shifted: by must be float > 0, got -1.0."),
    ]:
        with pytest.raises(GradlabError) as error:
            build()
        assert str(error.value).startswith(message)
    with pytest.raises(TypeError, match="unexpected keyword"):
        Scaled(2, sclae=1.0)


def test_a_family_has_the_blocks_that_can_be_built_of_what_is_given():
    assert Family("norm.{}", "normalized_shape").names() == ["layer", "rms"]
    norms = Family("norm.{}", "num_features", "num_channels", "normalized_shape")
    assert norms.names() == ["batch", "group", "layer", "rms"]
    assert list(norms.schema("group").knobs) == ["num_groups", "eps", "affine"]
    sizes = dict.fromkeys(("num_features", "num_channels", "normalized_shape"), 6)
    assert norms.build(norms.resolve(Part("group", {"num_groups": "3"}), "norm"), **sizes).num_channels == 6
    with pytest.raises(GradlabError, match=r"^norm\.num_groups must be given: of channels"):
        norms.resolve(Part("group"), "norm")
    with pytest.raises(GradlabError, match=r"^There is no pool 'max1d'\. Did you mean 'max'"):
        Family("pool.{}2d", "kernel_size")["max1d"]
    fill = Family("init.{}", makes=object).build(Part("normal", {"std": 0.0, "mean": 2.0}))
    assert fill(torch.empty(2)).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("name", [name for name in blocks if isinstance(blocks[name], type)])
def test_every_class_of_blocks_can_be_imported_from_nn(name):
    definition = blocks[name]
    assert getattr(gradlab.nn, definition.__name__) is definition
    assert definition.__name__ in gradlab.nn.__all__
