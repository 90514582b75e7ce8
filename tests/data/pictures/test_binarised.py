"""Pixels drawn black or white: by their brightness, and as a pure function of (seed, epoch, example)."""

import numpy as np
import pytest
import torch
from scipy import stats

from gradlab.data import Epochs, Examples, load, sources
from gradlab.data import streams as streams_module
from gradlab.data.examples import Streamed
from gradlab.data.hashing import key
from gradlab.data.pictures.binarised import Binarised, binarised, drawn
from gradlab.data.preprocessing import Preprocessing
from gradlab.errors import GradlabError
from gradlab.registry import Part

COUNT = 30


def view(streamed=False, each_epoch=True):
    source = np.random.default_rng(1).integers(0, 256, (COUNT, 1, 7, 5), dtype=np.uint8)
    source[0, 0, 0, :2] = 0, 255
    preprocessing = Preprocessing.fit(source, "scale", [], [])
    rows = np.arange(COUNT)
    inputs = Streamed(source, rows, preprocessing) if streamed else preprocessing(source)
    return binarised(Examples.of(inputs, torch.arange(COUNT) % 4, rows * 3 + 1), each_epoch)


def epoch(examples, sizes=(COUNT,), number=0, part=(0, 1), seed=7):
    """Inputs in the order of the examples."""
    sizes = list(sizes)
    stream = Epochs(examples, sizes[0], sizes, seed, part)
    inputs = torch.cat([batch["inputs"] for batch in stream.epoch(number)])
    order = torch.cat([rows.tensor_split(part[1])[part[0]] for rows in stream.order(number).split(sizes)])
    return {int(row): x for row, x in zip(order, inputs, strict=True)}


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(one[row], other[row]) for row in one)


def digits(**values):
    part = Part("digits", {"preprocess": "scale", **values})
    return load(sources.resolve(part, "data"))


def test_neither_batches_nor_processes_nor_the_way_of_reading_change_a_bit_of_an_example(monkeypatch):
    whole = epoch(view())
    assert same(whole, epoch(view(), [7, 7, 7, 9]))
    assert same(whole, epoch(view(), [10] * 3, part=(0, 2)) | epoch(view(), [10] * 3, part=(1, 2)))
    assert same(whole, epoch(view(streamed=True), [11, 19]))
    assert torch.equal(view().inputs[:], view(streamed=True).inputs[:])
    monkeypatch.setattr(streams_module, "_GATHERED", {})
    assert same(whole, epoch(view(), [1] * COUNT))


def test_training_pictures_are_others_in_every_epoch_and_for_every_seed_and_plain_elsewhere():
    training = view()
    first = epoch(training)
    assert same(first, epoch(training))
    assert not same(first, epoch(training, number=1))
    assert not same(first, epoch(training, seed=8))
    plain = view(each_epoch=False)
    assert torch.equal(training.batch(slice(0, 9))["inputs"], plain.inputs[:9])
    assert torch.equal(training.inputs[torch.arange(3, 8)], plain.inputs[3:8])
    assert torch.equal(training.subset(np.array([4, 2])).inputs[:], plain.inputs[[4, 2]])
    assert same(epoch(plain), epoch(plain, number=1))


def test_pixels_are_white_as_often_as_they_are_bright():
    grey = torch.tensor([[0.0, 1.0, 0.5, 0.25, 0.9, 1 / 255, 254 / 255]]).expand(20_000, 7)
    white = drawn(grey, torch.arange(20_000), 5).sum(0)
    assert white[:2].tolist() == [0, 20_000]
    for count, p in zip(white[2:].tolist(), grey[0, 2:].tolist(), strict=True):
        assert stats.binomtest(int(count), 20_000, p).pvalue > 1e-3


def test_pixels_rows_and_draws_are_independent():
    grey = torch.full((4000, 9), 0.5)
    one, other = (drawn(grey, torch.arange(4000), key(7, epoch, 8)) for epoch in (0, 1))
    following = drawn(grey, torch.arange(1, 4001), key(7, 0, 8))
    table = torch.cat([one, other, following], 1)
    correlation = torch.corrcoef(table.T) - torch.eye(27)
    assert correlation.abs().max() < 4.5 / 4000**0.5


def test_torchs_generator_is_left_alone():
    before = torch.random.get_rng_state()
    epoch(view())
    assert torch.equal(torch.random.get_rng_state(), before)


def test_held_out_pictures_are_drawn_once_and_the_same_by_either_setting():
    grey, once, each = (digits(binarise=how) for how in ("none", "once", "epoch"))
    assert grey.train.inputs.unique().numel() == 17
    for split in ("validation", "test"):
        assert torch.equal(once.split(split).inputs, each.split(split).inputs)
        assert once.split(split).inputs.unique().tolist() == [0.0, 1.0]
        error = (once.split(split).inputs - grey.split(split).inputs).mean()
        assert abs(error) < 0.01
    assert isinstance(each.train, Binarised)
    assert torch.equal(each.train.inputs[:], once.train.inputs)
    # By the row of the source, not of the split: another division of the data draws nothing anew.
    other = digits(binarise="once", seed=3)
    mine = dict(zip(once.test.rows.tolist(), once.test.inputs, strict=True))
    shared = [
        (mine[row], x) for row, x in zip(other.train.rows.tolist(), other.train.inputs, strict=True) if row in mine
    ]
    assert len(shared) > 50
    assert all(torch.equal(a, b) for a, b in shared)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"preprocess": "standardise"}, "Set data.preprocess=scale"),
        ({"preprocess": "none"}, "data.preprocess=none does not"),
        ({"augment": Part("pictures", {"flip": True})}, "data.augment cannot be set together"),
    ],
)
def test_what_are_no_probabilities_is_refused(values, words):
    with pytest.raises(GradlabError, match=words):
        digits(binarise="epoch", **values)


def test_tables_are_refused():
    with pytest.raises(GradlabError, match=r"data\.binarise is for pictures, but the examples are tables"):
        load(sources.resolve(Part("iris", {"preprocess": "scale", "binarise": "once"}), "data"))
