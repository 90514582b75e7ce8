"""Copying, delayed recall and adding: answers read off the inputs by another way, and splits that share nothing."""

import re

import pytest

from gradlab.data import load, sources
from gradlab.errors import GradlabError
from gradlab.registry import Part


def raw(name, seed=0, **values):
    return sources.build(sources.resolve(Part(name, values), "data"), seed)


def splits(name, **values):
    dataset = load(sources.resolve(Part(name, values), "data"))
    return dataset, (dataset.train, dataset.validation, dataset.test)


@pytest.mark.parametrize("name", ["copy", "recall", "adding"])
def test_as_many_examples_as_asked_for_and_a_pure_function_of_the_seed(name):
    a, b, c = raw(name, 1, examples=40), raw(name, 1, examples=40), raw(name, 2, examples=40)
    assert len(a.inputs) == 40
    assert a.fingerprint() == b.fingerprint() != c.fingerprint()


def test_what_is_copied_is_the_source_without_its_delay():
    data = raw("copy", examples=300, symbols=5, shortest=3, longest=7, delay=4)
    for source, target in zip(data.inputs, data.targets, strict=True):
        assert re.fullmatch(r"[a-e]{3,7}\.{4}", source)
        assert target == source.rstrip(".")
    assert {len(target) for target in data.targets} == {3, 4, 5, 6, 7}


def test_the_class_of_a_recall_is_its_first_symbol_and_the_fillers_tell_nothing():
    data = raw("recall", examples=300, symbols=3, delay=6, fillers=4)
    texts = [document.read() for document in data.inputs]
    assert all(re.fullmatch(r"[abc]( [0-3]){6}", text) for text in texts)
    assert [data.classes[target] for target in data.targets] == [text[0] for text in texts]
    fillers = {symbol: {text[2:] for text in texts if text[0] == symbol} for symbol in "abc"}
    assert all(len(kinds) > 50 for kinds in fillers.values())


@pytest.mark.parametrize("length", [2, 3, 20])
def test_two_numbers_are_marked_one_in_each_half_and_the_target_is_their_sum(length):
    data = raw("adding", examples=200, length=length)
    for series, target in zip(data.inputs, data.targets, strict=True):
        first, second = (t for t in range(length) if series[t, 1] == 1)
        assert first < length // 2 <= second
        assert target == pytest.approx(float(series[first, 0]) + float(series[second, 0]))
    assert (data.inputs[..., 1].sum(1) == 2).all()


def test_to_answer_1_is_wrong_by_a_sixth():
    errors = (raw("adding", examples=20_000, length=10).targets - 1) ** 2
    assert errors.mean() == pytest.approx(1 / 6, rel=0.03)


@pytest.mark.parametrize(("name", "values"), [("copy", {"longest": 3, "symbols": 3}), ("recall", {"delay": 2})])
def test_equal_texts_are_in_one_split_alone(name, values):
    dataset, parts = splits(name, examples=400, **values)
    read = [str(one) if name == "copy" else one.read() for one in dataset.raw.inputs]
    seen = [{read[row] for row in part.rows} for part in parts]
    assert len(set(read)) < 200, "many of them are equal"
    assert all(seen)
    assert not seen[0] & seen[1]
    assert not seen[0] & seen[2]
    assert not seen[1] & seen[2]


def test_lengths_the_wrong_way_round_are_refused():
    with pytest.raises(GradlabError, match=r"data.shortest=5 is more than data.longest=4"):
        raw("copy", shortest=5, longest=4)
