"""Pictures with captions as splits: held-out combinations stay apart, and batches are of all lengths."""

import numpy as np
import pytest
import torch

from gradlab.data.captions.captioned import captions
from gradlab.data.captions.drawing import SIZE
from gradlab.data.captions.grammar import parse
from gradlab.data.captions.prepare import prepare_captions
from gradlab.data.captions.shapes import shapes
from gradlab.data.dataset import load
from gradlab.data.examples import Streamed
from gradlab.registry import Part


@pytest.fixture(scope="module")
def data():
    return load(Part("shapes", {"examples": 120, "held_out": 30}), "pairs", None)


def things(split):
    return {thing for text in split.texts for thing in parse(text)}


def test_the_test_split_has_combinations_that_no_other_has(data):
    held = things(data.test)
    assert held
    assert all(thing.held_out for thing in held)
    for split in (data.train, data.validation):
        assert not held & things(split)
        assert not any(thing.held_out for thing in things(split))


def test_captions_come_back_from_their_tokens_and_pixels_are_standardised(data):
    text = data.preprocessing.target
    for split in (data.train, data.test):
        tokens = split.targets[:].tolist()
        assert [text.decode(row[1:]) for row in tokens] == split.texts
    assert data.train.inputs.shape[1:] == (3, SIZE, SIZE)
    assert data.train.inputs.mean((0, 2, 3)).abs().max() < 1e-3
    assert (data.train.inputs.std((0, 2, 3)) - 1).abs().max() < 1e-2


def test_batches_hold_captions_of_all_lengths_and_follow_from_seed_and_epoch(data):
    order = data.train.order(0, 1, 16)
    assert sorted(order.tolist()) == list(range(len(data.train)))
    assert torch.equal(order, data.train.order(0, 1, 16))
    assert not torch.equal(order, data.train.order(0, 2, 16))
    lengths = data.train.targets.lengths
    assert all(len(set(lengths[batch])) > 1 for batch in order[:96].reshape(-1, 16))


def test_the_same_seed_gives_the_same_data_and_another_does_not():
    first, again, other = (shapes(seed, examples=5, held_out=2) for seed in (1, 1, 2))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_pictures_beyond_the_memory_are_read_as_they_are_needed(data, monkeypatch):
    monkeypatch.setattr("gradlab.data.captions.prepare.memory_for_data", lambda: 0)
    streamed = prepare_captions(shapes(0, examples=120, held_out=30), seed=0)
    assert isinstance(streamed.train.inputs, Streamed)
    rows = np.arange(4)
    for part in ("inputs", "targets"):
        assert torch.equal(streamed.train.batch(rows)[part], data.train.batch(rows)[part])


def test_captions_of_one_picture_stay_together(tmp_path, monkeypatch):
    from PIL import Image

    monkeypatch.setenv("GRADLAB_CACHE", str(tmp_path / "cache"))
    lines = ["file,caption"]
    for i in range(12):
        Image.fromarray(np.full((8, 8, 3), 20 * i, dtype=np.uint8)).save(tmp_path / f"{i}.png")
        lines += [f"{i}.png,number {i}", f"{i}.png,it is {i}"]
    (tmp_path / "all.csv").write_text("\n".join(lines))
    made = prepare_captions(captions(0, path=str(tmp_path / "all.csv")), validation=0.25, test=0.25)
    splits = [{text.split()[-1] for text in split.texts} for split in (made.train, made.validation, made.test)]
    assert all(splits)
    assert sum(map(len, splits)) == 12 == len(set.union(*splits))
