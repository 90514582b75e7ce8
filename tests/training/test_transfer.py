"""Trainings that start from the weights of a finished run."""

import hashlib
import shutil

import numpy as np
import pytest
import torch

import gradlab as gl
from gradlab import api
from gradlab.errors import GradlabError

QUICK = {"model.hidden": [16], "train.steps": 30, "doctor": False}
FIRST, LAST = list("01234"), list("56789")
SMALL = {**QUICK, "data.limit": 40}


@pytest.fixture(scope="module")
def trunk(tmp_path_factory):
    """A run of the digits 0 to 4; the tests look."""
    return gl.train("digits-mlp", {**QUICK, "data.classes": FIRST}, out=tmp_path_factory.mktemp("source") / "trunk")


def prepared(run, classes=LAST, **changes):
    return api.prepare("digits-mlp", {**SMALL, "data.classes": classes, **changes}, device="cpu", from_run=run)


def head(model):
    return {name: value for name, value in model.state_dict().items() if name.startswith("3.")}


def test_other_classes_have_the_trunk_of_the_run_and_a_head_of_their_own_seed(trunk):
    found, fresh = prepared(trunk), api.prepare("digits-mlp", {**SMALL, "data.classes": LAST}, device="cpu")
    assert torch.equal(found.model[1].weight, trunk.model[1].weight)
    assert not torch.equal(found.model[1].weight, fresh.model[1].weight)
    for name, value in head(fresh.model).items():
        assert torch.equal(value, head(found.model)[name])


def test_the_same_classes_keep_their_head_unless_a_new_one_is_asked_for(trunk):
    kept, new = prepared(trunk, FIRST), prepared(trunk, FIRST, **{"train.new_head": True})
    assert kept.recipe.train["new_head"] is False
    assert torch.equal(kept.model[3].weight, trunk.model[3].weight)
    assert not torch.equal(new.model[3].weight, trunk.model[3].weight)


def test_the_recipe_says_by_its_sum_which_weights_it_starts_from(trunk):
    recipe = prepared(trunk).recipe
    file = trunk.path / "checkpoints" / trunk.newest_checkpoint().chosen_file
    assert recipe.train["from_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert recipe.train["from_run"] == str(trunk.path.absolute())
    assert recipe.train["new_head"] is True


def test_inputs_are_prepared_as_the_weights_know_them(trunk):
    found = prepared(trunk)
    assert found.dataset.preprocessing == trunk.preprocessing
    own = api.prepare("digits-mlp", {**SMALL, "data.classes": LAST}, device="cpu")
    assert own.dataset.preprocessing != trunk.preprocessing


def test_a_run_needs_the_other_one_no_longer_when_it_is_used(trunk, tmp_path):
    source = shutil.copytree(trunk.path, tmp_path / "source")
    run = gl.train("digits-mlp", {**SMALL, "data.classes": LAST}, from_run=source, freeze="trunk", out=tmp_path / "run")
    shutil.rmtree(source)
    again = gl.load_run(run.path)
    assert again.evaluate() == again.test
    assert again.dataset.preprocessing == trunk.preprocessing
    assert torch.equal(again.model[1].weight, trunk.model[1].weight)


def test_naming_another_run_forgets_what_was_noted_of_the_last(trunk, tmp_path):
    noted = prepared(trunk).recipe
    other = gl.train("digits-mlp", {**SMALL, "data.classes": FIRST, "train.seed": 5}, out=tmp_path / "other")
    again = api.prepare(noted, {"train.from_run": str(other.path)}, device="cpu").recipe
    assert again.train["from_sha256"] not in (None, noted.train["from_sha256"])


def test_weights_that_do_not_fit_are_listed(trunk):
    with pytest.raises(GradlabError) as caught:
        prepared(trunk, **{"model.hidden": [8]})
    assert "1.weight (16×64 there, 8×64 here), 1.bias (16 there, 8 here)" in str(caught.value)
    with pytest.raises(GradlabError) as caught:
        prepared(trunk, **{"model.norm": "batch"})
    message = str(caught.value)
    assert "Not in that run: 2.weight, 2.bias, 2.running_mean, 2.running_var, 2.num_batches_tracked." in message
    assert "Only in that run: 3.bias, 3.weight." in message


def test_inputs_of_another_unit_are_noted(trunk, tmp_path):
    raw = trunk.dataset.raw
    np.savez(tmp_path / "bright.npz", x=raw.inputs * 16, y=raw.whole.targets)
    changes = {**SMALL, "data.path": str(tmp_path / "bright.npz"), "task": "classify"}
    notes = api.prepare("npz", changes, device="cpu", from_run=trunk).notes
    assert any("Are they in the same unit?" in note for note in notes)
    assert not any("unit" in note for note in prepared(trunk).notes)


def test_pictures_of_another_size_are_standardised_alike_where_the_network_takes_them(tmp_path, rng):
    def pictures(side):
        path = tmp_path / f"{side}.npz"
        np.savez(path, x=rng.normal(5, 2, size=(60, 1, side, side)), y=np.arange(60) % 3)
        return {"data.path": str(path), "model": "resnet20", "model.width": 2, "train.steps": 2, "doctor": False}

    run = gl.train("npz", pictures(8), out=tmp_path / "run")
    larger = api.prepare("npz", pictures(12), device="cpu", from_run=run)
    assert larger.dataset.preprocessing.shift == run.preprocessing.shift
    assert larger.dataset.train.inputs.shape[1:] == (1, 12, 12)


def test_texts_are_cut_by_the_tokenizer_of_the_run(tmp_path):
    def texts(name, words):
        rows = [f"{words[i % 4]} {words[i % 3]},{words[i % 2]}" for i in range(60)]
        (tmp_path / name).write_text("\n".join(["text,kind", *rows]))
        named = {"data.path": str(tmp_path / name), "data.text": "text", "data.target": "kind"}
        return {"data": "texts", **named, "data.context": 16, "model": "text-bag", "train.steps": 3, "doctor": False}

    run = gl.train("text-classifier", texts("a.csv", ["sun", "rain", "snow", "wind"]), out=tmp_path / "run")
    changes = texts("b.csv", ["rain", "hail", "fog", "sun"])
    found = api.prepare("text-classifier", changes, device="cpu", from_run=run)
    assert found.dataset.preprocessing == run.preprocessing
    assert torch.equal(found.model.embedding.weight, run.model.embedding.weight)
    with pytest.raises(GradlabError, match=r"Set data\.context=16"):
        api.prepare("text-classifier", {**changes, "data.context": 8}, device="cpu", from_run=run)


def write_table(path, colours):
    rows = [f"{i},{colours[i % len(colours)]},{'ab'[i % 2]}" for i in range(60)]
    path.write_text("\n".join(["size,colour,kind", *rows]))
    return {"data.path": str(path), "data.target": "kind", "train.steps": 2, "doctor": False}


def test_a_table_with_other_categories_is_refused(tmp_path):
    run = gl.train("csv", write_table(tmp_path / "a.csv", ["red", "blue", "green"]), out=tmp_path / "run")
    api.prepare("csv", write_table(tmp_path / "b.csv", ["green", "red", "blue"]), device="cpu", from_run=run)
    with pytest.raises(GradlabError, match="'colour' has the categories black, red, white, but those of"):
        api.prepare("csv", write_table(tmp_path / "c.csv", ["red", "white", "black"]), device="cpu", from_run=run)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data.preprocess": "scale"}, r"Set data\.preprocess=standardise"),
        ({"data": "iris", "data.limit": None}, "was trained on pictures of 1×8×8 pixels, and these"),
        ({"train.from_sha256": "0" * 64}, "are not those of train.from_sha256"),
        ({"train.from_sha256": "short"}, "train.from_sha256=short is not valid"),
    ],
)
def test_what_does_not_go_with_the_run_is_refused(trunk, changes, message):
    with pytest.raises(GradlabError, match=message):
        api.prepare("digits-mlp", {**SMALL, **changes}, device="cpu", from_run=trunk)


# Encoders that have learned without labels.

CODES = {"model.dims": 8, "model.hidden": [32], "train.steps": 60, "doctor": False}
ON_CODES = {"model.of.dims": 8, "model.of.hidden": [32], "doctor": False}


@pytest.fixture(scope="module")
def autoencoder(tmp_path_factory):
    """A run that has seen digits, and no label; the tests look."""
    return gl.train("digits-denoising", CODES, out=tmp_path_factory.mktemp("source") / "autoencoder")


def on_codes(run, **changes):
    return api.prepare("digits-encoder", {**ON_CODES, **changes}, device="cpu", from_run=run)


def test_a_classifier_takes_the_encoder_of_an_autoencoder_and_has_a_head_of_its_own(autoencoder):
    found, fresh = on_codes(autoencoder), api.prepare("digits-encoder", ON_CODES, device="cpu")
    for name, value in autoencoder.model.encoder.state_dict().items():
        assert torch.equal(found.model.encoder.state_dict()[name], value)
    assert torch.equal(found.model.head.weight, fresh.model.head.weight)
    assert not torch.equal(found.model.encoder[1].weight, fresh.model.encoder[1].weight)
    assert found.recipe.train["new_head"] is True
    file = autoencoder.path / "checkpoints" / autoencoder.newest_checkpoint().chosen_file
    assert found.recipe.train["from_sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    assert found.dataset.preprocessing == autoencoder.preprocessing


def test_a_frozen_encoder_stays_and_a_classifier_on_it_can_be_started_from_in_turn(autoencoder, tmp_path):
    changes = {**ON_CODES, "train.steps": 5}
    run = gl.train("digits-encoder", changes, from_run=autoencoder.path, freeze="trunk", out=tmp_path / "run")
    for name, value in autoencoder.model.encoder.state_dict().items():
        assert torch.equal(run.model.encoder.state_dict()[name], value)
    again = on_codes(run)
    assert again.recipe.train["new_head"] is False
    assert torch.equal(again.model.head.weight, run.model.head.weight)


def test_an_autoencoder_goes_on_from_another(autoencoder):
    found = api.prepare("digits-autoencoder", CODES, device="cpu", from_run=autoencoder)
    other = api.prepare("digits-autoencoder", {**CODES, "train.seed": 4}, device="cpu", from_run=autoencoder)
    for name, value in autoencoder.model.encoder.state_dict().items():
        assert torch.equal(found.model.encoder.state_dict()[name], value)
    assert torch.equal(other.model.encoder[1].weight, found.model.encoder[1].weight)


def test_numbers_to_predict_do_not_keep_an_encoder_from_being_taken(tmp_path, rng):
    """What an autoencoder has seen need not have classes."""
    np.savez(tmp_path / "a.npz", x=rng.normal(size=(60, 5)), y=rng.normal(size=60))
    np.savez(tmp_path / "b.npz", x=rng.normal(size=(60, 5)), y=np.arange(60) % 3)
    quick = {"model.dims": 2, "model.hidden": [4], "train.steps": 2, "doctor": False}
    first = {"data.path": str(tmp_path / "a.npz"), "model": "autoencoder", "task": "reconstruct"}
    run = gl.train("npz", {**first, **quick}, out=tmp_path / "run")
    then = {"data.path": str(tmp_path / "b.npz"), "model": "encoder-classifier", "task": "classify", "doctor": False}
    of = {"model.of.dims": 2, "model.of.hidden": [4]}
    found = api.prepare("npz", {**then, **of}, device="cpu", from_run=run)
    assert torch.equal(found.model.encoder[0].weight, run.model.encoder[0].weight)


@pytest.mark.parametrize(
    ("recipe", "changes", "message"),
    [
        ("digits-encoder", {"model.of.dims": 4}, r"Of another shape: 3\.weight \(8×32 there, 4×32 here\)"),
        ("digits-encoder", {"model.of": "conv-autoencoder"}, r"model=encoder-classifier with model\.of=autoencoder"),
        ("digits-encoder", {"data.preprocess": "standardise"}, r"Set data\.preprocess=scale"),
        (
            "digits-mlp",
            {"data.preprocess": "scale"},
            r"Take model=encoder-classifier with model\.of=autoencoder, as its",
        ),
    ],
)
def test_an_encoder_that_does_not_fit_is_told(autoencoder, recipe, changes, message):
    of = ON_CODES if recipe == "digits-encoder" and "model.of" not in changes else {}
    with pytest.raises(GradlabError, match=message):
        api.prepare(recipe, {**of, **changes}, device="cpu", from_run=autoencoder)


def test_a_run_without_an_encoder_is_told(trunk):
    with pytest.raises(GradlabError, match=r"has no encoder to take: its model is mlp\. Take a run of model\.of=auto"):
        on_codes(trunk, **{"data.preprocess": "standardise"})


def test_five_labels_of_each_digit_go_further_on_an_encoder_that_has_seen_many_digits(tmp_path):
    seen = gl.train("digits-denoising", {"doctor": False, "train.epochs": 30}, out=tmp_path / "seen")

    def accuracy(**start):
        return gl.train("digits-encoder", {"doctor": False}, out=tmp_path / str(len(start)), **start).test["accuracy"]

    assert accuracy(from_run=seen.path, freeze="trunk") > accuracy() + 0.04
