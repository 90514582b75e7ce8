"""`gradlab recipes`: what there is, and every knob of it."""

import re
from pathlib import Path

import pytest
from cli_helpers import ForkServer, check_refused, gradlab

from gradlab.cli.cookbook import essential_knobs, list_knobs, recipes
from gradlab.recipes import book, by_subject

NAMES = [
    "digits-mlp", "digits-softmax", "digits-dropout", "iris-softmax", "wine-mlp", "breast-cancer-mlp",
    "diabetes-linear", "diabetes-mlp", "moons-mlp", "circles-mlp", "spirals-mlp", "linear-regression",
    "polynomial-linear", "mnist-mlp", "mnist-lenet", "fashion-mnist-lenet", "npz",
]  # fmt: skip
NEED_DATA = {"mnist-mlp", "mnist-lenet", "fashion-mnist-lenet", "npz"}
SCRIPTABLE = [
    "train.epochs", "train.steps", "train.lr", "train.batch_size", "train.seed", "train.checkpoint_every",
    "train.compile", "model.hidden", "model.activation", "model.dropout",
]  # fmt: skip


def test_the_list_names_every_recipe_and_what_it_is(tmp_path: Path) -> None:
    ended = gradlab("recipes", cwd=tmp_path)
    assert ended.code == 0
    assert "\x1b" not in ended.out
    for name in NAMES:
        assert re.search(rf"^ *{name} +\w", ended.out, re.MULTILINE), name


def test_the_list_has_every_recipe_once_under_its_subject() -> None:
    subjects = by_subject()
    assert sorted(name for names in subjects.values() for name in names) == sorted(book)
    assert all(subjects.values())
    assert "Recipes of your own." not in subjects


def test_the_list_as_json_is_one_object_of_names_and_descriptions(quick: ForkServer, tmp_path: Path) -> None:
    listed = quick("recipes", "--json", cwd=tmp_path).json
    assert set(NAMES) <= set(listed)
    assert all(text.endswith(".") for text in listed.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_knob_of_a_recipe_has_a_type_a_value_and_a_meaning(quick: ForkServer, tmp_path: Path, name: str) -> None:
    shown = quick("recipes", name, "--json", cwd=tmp_path).json
    assert shown["recipe"] == name
    knobs = {knob["key"]: knob for knob in shown["knobs"]}
    assert len(knobs) == len(shown["knobs"])
    for key, knob in knobs.items():
        assert {"key", "value", "default", "type", "doc"} <= set(knob), key
        assert knob["type"], key
        assert knob["doc"], key
    for section in ("data", "model", "task", "train.optimizer", "train.schedule"):
        assert isinstance(knobs[section]["value"], str)
    assert {"train.epochs", "train.lr", "train.seed", "data.validation", "data.seed"} <= set(knobs)
    assert ("data.path" in knobs) == (name in NEED_DATA)


def test_the_knobs_shown_are_those_that_scripts_set(quick: ForkServer, tmp_path: Path) -> None:
    knobs = {knob["key"]: knob for knob in quick("recipes", "digits-mlp", "--json", cwd=tmp_path).json["knobs"]}
    assert set(SCRIPTABLE) <= set(knobs)
    assert knobs["model.hidden"]["value"] == [128]
    assert knobs["model.hidden"]["type"] == "list of int ≥ 1"
    assert knobs["train.epochs"]["value"] == 30
    assert knobs["train.lr"]["value"] == 0.002
    assert knobs["train.lr"]["default"] == 0.001
    assert knobs["train.compile"]["type"] == "auto | on | off"
    assert "gelu" in knobs["model.activation"]["type"]
    assert knobs["train.optimizer.beta2"]["value"] == 0.999


@pytest.mark.parametrize("name", sorted(book))
def test_essentials_of_every_recipe_fit_a_screen(capsys: pytest.CaptureFixture[str], name: str) -> None:
    recipes(name, plain=True)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines[1:-3])) <= 100
    shown = "\n".join(lines)
    for word in ("data", "model", "task", "train.lr", f"gradlab recipes {name} --all", f"gradlab train {name}"):
        assert word in shown


def test_values_that_a_recipe_sets_are_among_its_essentials() -> None:
    keys = [knob["key"] for knob in essential_knobs(list_knobs("digits-dropout"))]
    assert {"model.hidden", "model.dropout", "model.norm", "train.epochs"} <= set(keys)
    assert "data.path" in [knob["key"] for knob in essential_knobs(list_knobs("csv"))]


def test_one_recipe_is_shown_as_a_table_with_all_keys(quick: ForkServer, tmp_path: Path) -> None:
    ended = quick("recipes", "digits-mlp", "--all", cwd=tmp_path)
    for knob in quick("recipes", "digits-mlp", "--json", cwd=tmp_path).json["knobs"]:
        assert knob["key"] in ended.out


def test_a_file_is_shown_like_a_name(quick: ForkServer, iris: Path) -> None:
    knobs = quick("recipes", iris / "recipe.toml", "--json", cwd=iris.parent).json["knobs"]
    assert {"key": "train.epochs", "value": 3}.items() <= next(k for k in knobs if k["key"] == "train.epochs").items()


def test_a_name_that_is_not_there_is_answered_with_the_closest(quick: ForkServer, tmp_path: Path) -> None:
    check_refused(quick("recipes", "digits-mpl", cwd=tmp_path), "digits-mpl", "Did you mean 'digits-mlp'")
