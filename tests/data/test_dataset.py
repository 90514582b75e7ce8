from dataclasses import replace

import numpy as np
import pytest
import torch

from gradlab.data import Raw, load, sources
from gradlab.data import raw as raw_module
from gradlab.data.dataset import prepare
from gradlab.errors import GradlabError
from gradlab.registry import Part


def dataset(name, **values):
    return load(sources.resolve(Part(name, values), "data"))


@pytest.mark.parametrize("method", ["standardise", "scale"])
def test_the_rows_held_out_have_no_say_in_the_preprocessing(method, rng):
    raw = Raw(inputs=rng.normal(size=(60, 3)), targets=np.arange(60) % 3, features=["a", "b", "c"], classes=list("xyz"))
    before = prepare(raw, preprocess=method)
    changed = raw.inputs.copy()
    changed[before.test.rows] = 1e6
    changed[before.validation.rows] = -1e6
    after = prepare(replace(raw, inputs=changed), preprocess=method)
    assert after.preprocessing == before.preprocessing
    assert torch.equal(after.train.inputs, before.train.inputs)


def test_the_rows_held_out_have_no_say_in_the_spread_of_the_targets(rng):
    raw = Raw(inputs=rng.normal(size=(60, 3)), targets=rng.normal(size=60))
    before = prepare(raw)
    changed = raw.targets.copy()
    changed[[*before.test.rows, *before.validation.rows]] = 1e6
    assert prepare(replace(raw, targets=changed)).targets == before.targets


def test_each_split_holds_the_inputs_and_targets_of_its_rows(rng):
    raw = Raw(inputs=rng.normal(size=(60, 3)), targets=np.arange(60) % 3, classes=list("xyz"))
    data = prepare(raw, preprocess="none")
    for name in ("train", "validation", "test"):
        split = data.split(name)
        assert np.array_equal(split.inputs.numpy(), raw.inputs[split.rows].astype(np.float32))
        assert split.targets.tolist() == raw.targets[split.rows].tolist()
        assert split.targets.dtype == torch.int64
    assert sorted(np.concatenate([data.split(s).rows for s in ("train", "validation", "test")])) == list(range(60))


def test_shares_are_those_asked_for():
    data = dataset("moons", examples=200, test=0.25, validation=0.2)
    assert [len(data.split(s)) for s in ("train", "validation", "test")] == [120, 30, 50]


def test_a_split_may_be_empty():
    data = dataset("moons", examples=50, test=0, validation=0)
    assert [len(data.split(s)) for s in ("train", "validation", "test")] == [50, 0, 0]


def test_a_limit_cuts_the_training_split_alone():
    whole, cut = dataset("iris"), dataset("iris", limit=30)
    assert len(cut.train) == 30
    assert set(cut.train.rows) < set(whole.train.rows)
    assert np.array_equal(cut.test.rows, whole.test.rows)


def test_a_limited_training_split_still_holds_every_class():
    counts = dataset("iris", limit=30).train.targets.bincount(minlength=3)
    assert counts.min() >= 5


def test_the_same_seed_gives_the_same_data_and_another_one_others():
    a, b, c = dataset("moons", seed=3), dataset("moons", seed=3), dataset("moons", seed=4)
    assert a.raw.fingerprint() == b.raw.fingerprint() != c.raw.fingerprint()
    assert torch.equal(a.test.inputs, b.test.inputs)


def test_a_share_for_test_is_refused_where_the_source_has_its_own(rng):
    raw = Raw(inputs=rng.normal(size=(9, 1)), targets=np.arange(9) % 2, classes=["a", "b"], test_from=6)
    with pytest.raises(GradlabError, match=r"data\.test cannot be set"):
        prepare(raw, test=0.5)
    assert prepare(raw).test.rows.tolist() == [6, 7, 8]


def test_numbers_become_float32_targets():
    assert dataset("diabetes").train.targets.dtype == torch.float32


@pytest.mark.parametrize("name", ["moons", "circles", "spirals", "linear", "iris"])
def test_a_seed_is_taken_or_refused_by_its_key(name):
    try:
        dataset(name, seed=2**40)
    except GradlabError as error:
        assert "data.seed" in str(error)  # noqa: PT017


def test_values_are_checked_once_though_there_is_something_to_note(tmp_path, monkeypatch, rng):
    """A table with a column of many categories gets a note after it was divided: a second look would cost seconds."""
    rows = [f"town {town},{x:.3f}" for town, x in zip(rng.integers(0, 5, 200), rng.normal(size=200), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["town,rent", *rows]))
    checked = []
    monkeypatch.setattr(raw_module, "check_finite", lambda values, *rest: checked.append(values.shape))
    dataset = load(Part("csv", {"path": str(tmp_path / "t.csv"), "target": "rent", "levels": 3}))
    assert any("'town' has 5 categories: a vector is learned for each" in note for note in dataset.raw.notes)
    assert checked == [(200, 1), (200,)]


def test_a_choice_of_classes_leaves_each_of_them_divided_as_it_was():
    every, some = dataset("digits"), dataset("digits", classes=["8", "3"])
    assert some.targets.classes == ["3", "8"]
    assert sum(some.targets.counts) == len(some.train)
    for split in ("train", "validation", "test"):
        whole, chosen = every.split(split), some.split(split)
        kept = np.isin(whole.targets.numpy(), [3, 8])
        assert chosen.rows.tolist() == whole.rows[kept].tolist()
        assert [some.targets.classes[t] for t in chosen.targets] == [str(int(t)) for t in whole.targets[kept]]
    assert some.raw.fingerprint() == every.raw.fingerprint()


def test_a_limit_is_of_the_chosen_classes_and_folds_are_of_them_too():
    assert dataset("digits", classes=["0", "1"], limit=10).targets.counts == [5, 5]
    folds = [dataset("iris", classes=["setosa", "virginica"], folds=5, fold=i) for i in range(5)]
    assert sorted(row for fold in folds for row in fold.test.rows) == [*range(50), *range(100, 150)]


@pytest.mark.parametrize(
    ("source", "classes", "message"),
    [
        ("digits", ["3", "x"], "There is no class 'x'"),
        ("digits", ["3", "3"], "leaves one class"),
        ("diabetes", ["3", "4"], "the targets are numbers"),
    ],
)
def test_classes_that_cannot_be_chosen_are_refused(source, classes, message):
    with pytest.raises(GradlabError, match=message):
        dataset(source, classes=classes)
