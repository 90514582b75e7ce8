"""A knob by its dotted key, and values as they are typed."""

import pytest

from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.studies.knobs import find_knob, read_values, typed


@pytest.mark.parametrize(
    ("key", "text", "values"),
    [
        ("train.lr", "1e-3,0.1", [0.001, 0.1]),
        ("train.epochs", "1:3", [1, 2, 3]),
        ("train.batch_size", "8:10", [8, 9, 10]),
        ("train.batch_size", "8,full", [8, "full"]),
        ("train.clip", "none,1", [None, 1.0]),
        ("train.deterministic", "true,false", [True, False]),
        ("train.optimizer", "sgd,adam", ["sgd", "adam"]),
        ("train.optimizer.beta1", "0.8,0.9", [0.8, 0.9]),
        ("model.hidden", "8/8,8", [[8], [8, 8]]),
        ("model.hidden", "64,64", [[64, 64]]),
        ("model.activation", "relu,gelu", ["relu", "gelu"]),
        ("model", "mlp,softmax", ["mlp", "softmax"]),
        ("train.lr", "0.1,0.10,0.2", [0.1, 0.2]),
    ],
)
def test_values_are_read_by_the_type_of_their_knob(key, text, values):
    assert read_values(find_knob(find("digits-mlp"), key), key, text) == values


def test_a_knob_of_a_part_is_found_through_the_part_that_the_recipe_names():
    recipe = find("moons-mlp").override({"train.optimizer": "momentum"})
    assert find_knob(recipe, "train.optimizer.momentum").name == "momentum"
    with pytest.raises(GradlabError, match=r"There is no key in train\.optimizer"):
        find_knob(find("moons-mlp"), "train.optimizer.momentum")


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-300, 5e22, 7, True, None, [64, 64], [0.1]])
def test_what_is_typed_is_read_back_exactly(value):
    text = typed(value)
    read = {"true": True, "none": None}.get(text, text)
    if isinstance(read, str):
        read = [float(part) for part in text.split(",")] if isinstance(value, list) else float(text)
    assert read == value


def test_a_knob_of_an_earlier_version_is_still_found():
    recipe = find("moons-mlp")
    assert find_knob(recipe, "model.batch_norm").annotation is bool
    with pytest.raises(GradlabError, match=r"model\.norm has no keys below it, so there is no model\.norm\.eps"):
        find_knob(recipe, "model.norm.eps")
    assert find_knob(recipe.override({"model.norm": "rms"}), "model.norm.eps").default is None
