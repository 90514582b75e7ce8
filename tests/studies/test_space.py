"""What is typed becomes a space, and every end of it is checked against the knob's own schema."""

import pytest

from gradlab.errors import GradlabError
from gradlab.recipes import find
from gradlab.studies.space import Choice, Range, read_space

DIGITS = find("digits-mlp")


@pytest.mark.parametrize(
    ("key", "text", "wanted"),
    [
        ("train.lr", "1e-4:1e-1:log", Range(key="train.lr", low=1e-4, high=0.1, log=True)),
        ("model.dropout", "0:0.5", Range(key="model.dropout", low=0.0, high=0.5)),
        ("train.epochs", "2:8", Range(key="train.epochs", low=2, high=8)),
        ("train.batch_size", "8:64:log", Range(key="train.batch_size", low=8, high=64, log=True)),
        ("train.clip", "0.1:10", Range(key="train.clip", low=0.1, high=10.0)),
        ("train.optimizer", "sgd,adam", Choice(key="train.optimizer", values=["sgd", "adam"])),
        ("train.batch_size", "16,full", Choice(key="train.batch_size", values=["16", "full"])),
        ("model.hidden", "64/128,128", Choice(key="model.hidden", values=["64", "128,128"])),
        ("model.batch_norm", "true,false", Choice(key="model.batch_norm", values=["true", "false"])),
        ("train.optimizer.beta1", "0.8:0.99", Range(key="train.optimizer.beta1", low=0.8, high=0.99)),
        ("train.clip", "none,1", Choice(key="train.clip", values=["none", "1"])),
    ],
)
def test_ranges_and_choices_are_read_by_the_type_of_their_knob(key, text, wanted):
    _, (found,) = read_space(DIGITS, {key: text})
    assert found == wanted
    assert type(getattr(found, "low", None)) is type(getattr(wanted, "low", None))


def test_a_dimension_says_itself_as_it_is_typed():
    texts = {"train.lr": "0.0001:0.1:log", "train.epochs": "2:8", "model.hidden": "64/128,128"}
    _, found = read_space(DIGITS, texts)
    assert {one.key: str(one) for one in found} == texts


def test_a_single_value_is_set_and_not_searched():
    recipe, found = read_space(DIGITS, {"train.epochs": "3", "model.hidden": "32,32", "train.lr": "0.1:1"})
    assert [one.key for one in found] == ["train.lr"]
    assert recipe.train["epochs"] == "3"
    assert recipe.model.values["hidden"] == "32,32"


def test_a_path_with_commas_and_colons_is_one_value():
    recipe, _ = read_space(find("npz"), {"data.path": "/a,b:c.npz", "train.lr": "0.1:1"})
    assert recipe.data.values["path"] == "/a,b:c.npz"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"train.lr": "0:1"}, "train.lr=0 is not valid"),
        ({"train.lr": "0.1:0.01"}, "the lower one first"),
        ({"model.dropout": "0:0.5:log"}, "must start above 0"),
        ({"model.dropout": "0:1"}, "model.dropout=1 is not valid"),
        ({"train.epochs": "1.5:3"}, "train.epochs=1.5 is not valid"),
        ({"train.lr": "1:2:3"}, "is not a range"),
        ({"train.lr": "1e-4:1e-1:lgo"}, "is not a range"),
        ({"train.lr": ":1"}, "is not valid"),
        ({"train.clip": "none:1"}, "must be numbers"),
        ({"train.optimizer": "sgd,adma"}, "Did you mean 'adam'"),
        ({"train.learning_rate": "0.1:1"}, "There is no key in train"),
        ({"train.lr": "0.1,0.1"}, "the same value twice"),
        ({"train.epochs": "3"}, "needs something to search"),
        ({}, "needs something to search"),
        ({"train.optimizer": "sgd,adam", "train.optimizer.beta1": "0.8:0.9"}, "beta1"),
        ({"train.epochs": "x", "train.lr": "0.1:1"}, "train.epochs=x is not valid"),
    ],
)
def test_what_cannot_be_searched_is_refused(texts, message):
    with pytest.raises(GradlabError, match=message):
        read_space(DIGITS, texts)
