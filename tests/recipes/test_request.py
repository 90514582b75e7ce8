"""Short requests and what they stand for."""

import pytest

from gradlab.errors import GradlabError
from gradlab.recipes import DEFAULT, find
from gradlab.recipes.keys import complete_changes, recipe_settings
from gradlab.recipes.request import TrainingRequest

COMPLETE = TrainingRequest.complete


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("area,price\n" + "".join(f"{i},{i * 3.5}\n" for i in range(20)))
    return str(path)


def test_nothing_is_the_default_recipe():
    assert COMPLETE(None, {}) == TrainingRequest(DEFAULT, None, {})


@pytest.mark.parametrize("place", ["name", "data"])
def test_a_path_stands_for_its_recipe(table, place):
    request = COMPLETE(table, {"target": "price"}) if place == "name" else COMPLETE(None, {"target": "price"}, table)
    assert request == TrainingRequest("csv", table, {"data.target": "price"})
    assert request.recipe().data.values == {"target": "price", "path": table}


def test_a_recipe_comes_before_a_folder_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wine-mlp").mkdir()
    (tmp_path / "wine-mlp" / "notes.txt").write_text("one two three\n")
    assert COMPLETE("wine-mlp", {}).name == "wine-mlp"
    assert COMPLETE("wine-mlp/", {}).name == "text-gpt"
    assert COMPLETE(None, {}, "wine-mlp").name == "text-gpt"


def test_two_paths_are_refused(table):
    with pytest.raises(GradlabError, match="both say what to learn from"):
        COMPLETE(table, {}, table)


def test_a_run_is_refused_with_how_to_continue_it(tmp_path):
    (tmp_path / "recipe.toml").write_text("")
    with pytest.raises(GradlabError, match=r"is a run\. To continue it: gradlab resume .*\n.*recipe\.toml"):
        COMPLETE(str(tmp_path), {})


def test_a_path_that_is_none_names_close_ones(table):
    with pytest.raises(GradlabError, match=r"no file or folder .*u\.csv, and no recipe.*Did you mean .*t\.csv"):
        COMPLETE(table.replace("t.csv", "u.csv"), {})


@pytest.mark.parametrize(
    ("key", "full"),
    [
        ("lr", "train.lr"),
        ("epochs", "train.epochs"),
        ("hidden", "model.hidden"),
        ("target", "data.target"),
        ("weight-decay", "train.weight_decay"),
        ("train.lr", "train.lr"),
        ("model", "model"),
        ("doctor", "doctor"),
    ],
)
def test_a_short_key_is_written_out(key, full):
    assert list(complete_changes(find("csv"), {key: "mlp"} if key == "model" else {key: "1"})) == [full]


def test_a_short_key_may_be_of_a_part_that_another_change_chooses():
    changes = {"momentum": "0.9", "train.optimizer": "momentum", "degree": "2", "model": "linear"}
    written = ["train.optimizer.momentum", "train.optimizer", "model.degree", "model"]
    assert list(complete_changes(find("csv"), changes)) == written


def test_a_key_of_two_parts_is_refused_with_both():
    with pytest.raises(GradlabError, match=r"seed could be data\.seed or train\.seed"):
        complete_changes(find("csv"), {"seed": "1"})


def test_an_unknown_key_names_close_ones():
    with pytest.raises(GradlabError, match=r"'epoch'\. Did you mean 'epochs'"):
        complete_changes(find("csv"), {"epoch": "1"})


def test_settings_have_the_values_of_the_recipe():
    values = {setting.key: setting.value for setting in recipe_settings(find("csv"))}
    assert values["train.lr"] == 3e-3
    assert values["data.target"] is None
    assert values["train.schedule"].name == "one-cycle"
    assert "train.optimizer.beta1" in values
