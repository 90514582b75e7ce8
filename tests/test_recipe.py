import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.errors import GradlabError
from gradlab.recipe import Recipe
from gradlab.registry import Part
from gradlab.training.experiment import resolve

RECIPE = Recipe("demo", Part("iris"), Part("mlp", {"hidden": [8]}), Part("classify"), {"lr": 0.1})


def test_an_override_changes_one_value_and_nothing_else():
    changed = RECIPE.override({"model.dropout": 0.5})
    assert changed.model == Part("mlp", {"hidden": [8], "dropout": 0.5})
    assert RECIPE.model == Part("mlp", {"hidden": [8]})
    assert (changed.data, changed.task, changed.train) == (RECIPE.data, RECIPE.task, RECIPE.train)


def test_naming_a_part_anew_drops_the_values_of_the_old_one():
    assert RECIPE.override({"model": "softmax"}).model == Part("softmax")


def test_a_path_below_a_part_sets_a_knob_of_that_part():
    changed = RECIPE.override({"train.optimizer": "momentum", "train.optimizer.momentum": "0.5"})
    assert changed.train["optimizer"] == Part("momentum", {"momentum": "0.5"})
    assert resolve(changed).train["optimizer"] == Part("momentum", {"momentum": 0.5, "form": "sum"})


def test_a_path_below_an_unnamed_part_changes_its_default():
    changed = resolve(RECIPE.override({"train.optimizer.beta1": 0.5, "model.activation": "elu"}))
    assert changed.train["optimizer"] == Part("adam", {"beta1": 0.5, "beta2": 0.999, "eps": 1e-8})
    assert changed.model.values["activation"] == Part("elu", {"alpha": 1.0})


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"mdoel.hidden": 3}, "There is no section 'mdoel'. Did you mean 'model'?"),
        ({"train": "x"}, "train is not a name"),
        ({"model.hidden.x": 3}, "hidden must be a name or a table"),
        ({"train.hidden": [3]}, "There is no key in train, 'hidden': it is one of model. Set model.hidden instead."),
        ({"model.lr": 0.1}, "Set train.lr instead"),
        ({"model.hiden": [3]}, "There is no key in model, 'hiden'. Did you mean 'hidden'?"),
        ({"train.lr": "fast"}, "train.lr=fast is not valid"),
        ({"data": "irs"}, "There is no data source 'irs'. Did you mean 'iris'"),
        ({"data.one_hot": "x", "data.limit": -1}, "data.limit=-1 is not valid"),
        ({"train.optimizer.momentum": 0.9}, "There is no key in train.optimizer, 'momentum'"),
    ],
)
def test_an_override_that_does_not_fit_is_told(changes, says):
    with pytest.raises(GradlabError) as caught:
        resolve(RECIPE.override(changes))
    assert says in str(caught.value)


@given(
    lr=st.floats(1e-300, 3e38),
    hidden=st.lists(st.integers(1, 2**62)),
    patience=st.none() | st.integers(1, 2**62),
    decay_all=st.booleans(),
    columns=st.lists(st.text(st.characters(exclude_categories=["Cs"]))),
    beta=st.floats(0, 1, exclude_max=True),
    batch_size=st.just("full") | st.integers(1, 2**62),
)
def test_a_resolved_recipe_goes_through_toml_exactly(lr, hidden, patience, decay_all, columns, beta, batch_size):
    recipe = resolve(
        RECIPE.override(
            {
                "model.hidden": hidden,
                "data.one_hot": columns,
                "train.lr": lr,
                "train.patience": patience,
                "train.decay_all": decay_all,
                "train.batch_size": batch_size,
                "train.optimizer": Part("adamw", {"beta1": beta}),
            }
        )
    )
    text = recipe.to_toml()
    again = resolve(Recipe.from_toml(text, "demo.toml"))
    assert again == recipe
    assert again.to_toml() == text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[data", "demo.toml is damaged: "),
        ("", "demo.toml has no [data] table"),
        ("[dta]\n", "There is no section in demo.toml, 'dta'. Did you mean 'data'"),
        ("data = 'iris'\n", "demo.toml: data must be a table, got 'iris'"),
        ("recipe = 3\n", "demo.toml: recipe must be a name, got 3"),
        ("[data]\npath = 'x'\n[model]\nname = 'mlp'\n[task]\nname = 'classify'", "demo.toml: [data] must be a name"),
    ],
)
def test_a_file_that_is_no_recipe_is_told_where(text, says):
    with pytest.raises(GradlabError) as caught:
        Recipe.from_toml(text, "demo.toml")
    assert says in str(caught.value)


def test_a_part_whose_name_is_no_text_is_told():
    text = RECIPE.to_toml() + "\n[train.optimizer]\nname = 5\n"
    with pytest.raises(GradlabError, match="optimizer"):
        resolve(Recipe.from_toml(text, "demo.toml"))


def test_a_file_without_a_name_takes_that_of_the_file():
    text = RECIPE.to_toml().replace('recipe = "demo"\n', "")
    assert Recipe.from_toml(text, "folder/mine.toml").name == "mine"


def test_a_table_without_a_name_changes_the_default_part():
    text = RECIPE.to_toml() + "\n[train.optimizer]\nbeta1 = 0.5\n"
    assert resolve(Recipe.from_toml(text, "demo.toml")).train["optimizer"].name == "adam"


def test_keys_that_are_far_too_deep_are_refused():
    with pytest.raises(GradlabError, match=r"^train\.a\.a.+… has 5000 keys below its section; there are 8 at most"):
        RECIPE.override({"train" + ".a" * 5000: 1})
    parts = 'data = {name = "moons"}\nmodel = {name = "mlp"}\ntask = {name = "classify"}\n'
    for depth in (500, 5000):
        with pytest.raises(GradlabError, match=r"^deep\.toml "):
            Recipe.from_toml(parts + f"[train{'.a' * depth}]\nb = 1\n", "deep.toml")


@pytest.mark.parametrize(
    ("key", "value"),
    [("train.threads", 10**30), ("train.threads", 10**6), ("train.l1", 1e300), ("train.epochs", 2**63)],
)
def test_numbers_beyond_the_types_are_refused(key, value):
    with pytest.raises(GradlabError, match=rf"^{key}={re.escape(str(value))} is not valid: "):
        resolve(RECIPE.override({key: value}))
