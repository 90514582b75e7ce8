"""Estimators in folders, without pickle."""

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from torch import nn

import gradlab as gl
from gradlab.errors import GradlabError
from gradlab.estimators.plain import plain, restored
from gradlab.models import models

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
FRAME = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(NAMES), when=pd.Timestamp("2020-02-02"))


def classifier(**parameters):
    return gl.Classifier(**{"hidden": (8, 4), "epochs": 5, "random_state": 0, **parameters})


CASES = [
    (classifier(class_weight={"setosa": 2.0}), X, NAMES),
    (classifier(class_weight={0: 2.0}), X.astype(np.float32), Y),
    (classifier(dropout=0.2, batch_norm=True, plan={"schedule": "cosine"}), X, NAMES.astype(object)),
    (classifier(model={"name": "linear", "degree": 2}, plan={"ema": 0.9}), X, Y == 1),
    (classifier(validation=0.2, patience=2, optimizer={"name": "momentum", "momentum": 0.5}), FRAME, NAMES),
    (classifier(optimizer="lbfgs", lr=0.5), X, Y),
    (gl.Regressor(epochs=5, random_state=np.int64(3)), X[:, 1:], X[:, 0]),
    (gl.Regressor(epochs=5), FRAME, X[:, :2]),
]


def same(first, second):
    return all(map(torch.equal, first.model_.state_dict().values(), second.model_.state_dict().values()))


@pytest.fixture
def no_pickle(monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("something was unpickled")

    for module, name in [(pickle, "load"), (pickle, "loads"), (torch, "load")]:
        monkeypatch.setattr(module, name, refuse)


@pytest.fixture
def saved(tmp_path):
    classifier().fit(X, NAMES).save(tmp_path / "iris")
    return tmp_path / "iris"


@pytest.mark.parametrize(("estimator", "inputs", "targets"), CASES)
def test_what_was_saved_comes_back_whole_and_goes_on_learning(estimator, inputs, targets, tmp_path, no_pickle):
    estimator.fit(inputs, targets).save(tmp_path / "kept")
    loaded = type(estimator).load(tmp_path / "kept")
    assert loaded.get_params() == estimator.get_params()
    assert vars(loaded).keys() == vars(estimator).keys()
    assert same(loaded, estimator)
    assert np.array_equal(loaded.predict(inputs), estimator.predict(inputs))
    assert loaded.predict(inputs).dtype == estimator.predict(inputs).dtype
    assert loaded.loss_curve_ == estimator.loss_curve_
    assert loaded.n_iter_ == estimator.n_iter_
    for each in (estimator, loaded):
        each.partial_fit(inputs, targets)
    assert same(loaded, estimator)


def test_either_kind_is_loaded_by_one_function(saved, tmp_path):
    gl.Regressor(epochs=1).fit(X[:, 1:], X[:, 0]).save(tmp_path / "length")
    assert type(gl.load_estimator(saved)) is gl.Classifier
    assert type(gl.load_estimator(str(tmp_path / "length"))) is gl.Regressor
    with pytest.raises(GradlabError, match="holds a Regressor, no Classifier"):
        gl.Classifier.load(tmp_path / "length")


def test_a_new_process_reads_it(saved):
    code = f"import gradlab as gl; print(*gl.load_estimator({str(saved)!r}).predict([[5.0, 3.4, 1.5, 0.2]]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == classifier().fit(X, NAMES).predict([[5.0, 3.4, 1.5, 0.2]]).tolist(), done.stderr


def test_the_files_are_those_of_a_checkpoint_and_no_other(saved):
    assert sorted(p.name for p in saved.iterdir()) == [
        "SHA256SUMS",
        "model.safetensors",
        "optimizer.safetensors",
        "state.json",
    ]
    assert subprocess.run(["sha256sum", "-c", "--strict", "SHA256SUMS"], cwd=saved, capture_output=True).returncode == 0
    assert json.loads((saved / "state.json").read_text())["estimator"]["parameters"]["epochs"] == 5


@pytest.mark.parametrize("name", ["SHA256SUMS", "model.safetensors", "optimizer.safetensors", "state.json"])
def test_a_flipped_byte_is_found(saved, name):
    content = bytearray((saved / name).read_bytes())
    for place in (0, len(content) // 2, len(content) - 1):
        content[place] ^= 1
        (saved / name).write_bytes(content)
        with pytest.raises(GradlabError, match=str(saved)):
            gl.load_estimator(saved)
        content[place] ^= 1


@pytest.mark.parametrize("name", ["SHA256SUMS", "model.safetensors", "optimizer.safetensors", "state.json"])
def test_a_missing_file_is_told(saved, name):
    (saved / name).unlink()
    with pytest.raises(GradlabError, match=str(saved)):
        gl.load_estimator(saved)


def resealed(folder: Path, change) -> None:
    """Change what the folder says of itself, and make its sums right again."""
    state = json.loads((folder / "state.json").read_text())
    change(state)
    (folder / "state.json").write_text(json.dumps(state))
    sums = subprocess.run(
        ["sha256sum", "model.safetensors", "optimizer.safetensors", "state.json"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    (folder / "SHA256SUMS").write_text(sums.stdout)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda s: s["estimator"].update(format=99), "whose format is another"),
        (lambda s: s["estimator"].update(kind="Pickler"), "holds a Pickler"),
        (lambda s: s.update(estimator=[]), "not a saved estimator"),
        (lambda s: s.pop("estimator"), "not a saved estimator"),
        (lambda s: s["estimator"]["parameters"].update(hiden=3), "of this version"),
        (lambda s: s["estimator"]["parameters"].update(model="os.system"), "of this version"),
        (lambda s: s["estimator"]["parameters"].update(hidden=9), "of this version"),
        (lambda s: s["estimator"]["learner"].update(dtype="object"), "of this version"),
        (lambda s: s["estimator"]["learner"].pop("seed"), "of this version"),
        (lambda s: s["estimator"]["known"].pop("classes_"), "of this version"),
        (lambda s: s["estimator"].pop("known"), "of this version"),
    ],
)
def test_a_folder_that_says_something_else_is_refused(saved, change, says):
    resealed(saved, change)
    with pytest.raises(GradlabError, match=says):
        gl.load_estimator(saved)


def test_what_is_no_saved_estimator_is_refused(tmp_path):
    for path in (tmp_path / "nowhere", tmp_path, Path(__file__)):
        with pytest.raises(GradlabError, match="not a saved estimator"):
            gl.load_estimator(path)


def test_an_estimator_is_replaced_but_nothing_else_is(saved, tmp_path):
    other = classifier(epochs=9).fit(X, NAMES)
    other.save(saved)
    assert gl.load_estimator(saved).n_iter_ == 9
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "mine", tmp_path / "file"):
        with pytest.raises(GradlabError, match="exists already"):
            other.save(path)
    assert (tmp_path / "mine" / "thesis.txt").exists()


def test_a_save_that_fails_leaves_the_old_one_and_no_litter(saved, tmp_path, monkeypatch):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GradlabError, match=r"cannot be written: No space left"):
        classifier(epochs=9).fit(X, NAMES).save(saved)
    assert gl.load_estimator(saved).n_iter_ == 5
    assert [p.name for p in tmp_path.iterdir()] == ["iris"]


def test_folders_above_it_are_made(tmp_path):
    classifier().fit(X, Y).save(tmp_path / "a" / "b")
    assert gl.load_estimator(tmp_path / "a" / "b").n_iter_ == 5


def make(shape, outputs):
    return nn.Linear(shape[0], outputs)


def test_a_function_cannot_be_saved_but_a_registered_one_can(tmp_path, monkeypatch):
    with pytest.raises(GradlabError, match=r'Register it.*model="my-network"'):
        classifier(model=make).fit(X, Y).save(tmp_path / "own")
    assert not (tmp_path / "own").exists()
    monkeypatch.setitem(models._things, "my-network", lambda inputs, outputs: make(inputs.shape, outputs))
    fitted = classifier(model="my-network").fit(X, Y)
    fitted.save(tmp_path / "own")
    assert np.array_equal(gl.load_estimator(tmp_path / "own").predict(X), fitted.predict(X))


def test_a_generator_cannot_be_saved(tmp_path):
    fitted = classifier(random_state=np.random.RandomState(0)).fit(X, Y)
    with pytest.raises(GradlabError, match="random_state is a generator"):
        fitted.save(tmp_path / "own")
    fitted.set_params(random_state=None).save(tmp_path / "own")


def test_what_is_not_fitted_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        classifier().save(tmp_path / "own")


def test_weights_that_the_user_has_changed_are_the_ones_saved(tmp_path):
    fitted = classifier().fit(X, Y)
    with torch.no_grad():
        fitted.model_[-1].weight.zero_()
    fitted.save(tmp_path / "own")
    assert not gl.load_estimator(tmp_path / "own").model_[-1].weight.any()


@pytest.mark.parametrize(
    "value",
    [
        None,
        (1, (2.5, "x")),
        [True, [None]],
        {1: "a", "b": (2,)},
        {True: 1.0},
        {"$tuple": [1]},
        {"$dict": {"$array": 3}},
    ],
)
def test_values_survive_json(value):
    assert restored(json.loads(json.dumps(plain(value)))) == value


@pytest.mark.parametrize(
    "array", [np.array(["a", "bcd"]), np.array([1, 2], np.int8), np.array([0.1, 1e-300]), np.array(["a", 1], object)]
)
def test_arrays_survive_json_with_their_type(array):
    back = restored(json.loads(json.dumps(plain(array))))
    assert back.dtype == array.dtype
    assert back.tolist() == array.tolist()
