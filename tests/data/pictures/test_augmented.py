"""Training pictures as an epoch sees them: a pure function of (seed, epoch, example)."""

import numpy as np
import pytest
import torch

from gradlab.data import Epochs, Examples, load, sources
from gradlab.data import streams as streams_module
from gradlab.data.examples import Streamed
from gradlab.data.pictures.augmentation import Augmentation, Augmented
from gradlab.data.preprocessing import Preprocessing
from gradlab.errors import GradlabError
from gradlab.registry import Part

EVERYTHING = {
    "flip": True,
    "translate": 1,
    "crop": 0.8,
    "rotate": 15.0,
    "stretch": 0.1,
    "shear": 0.1,
    "lens": 0.1,
    "brightness": 0.2,
    "contrast": 0.2,
    "saturation": 0.5,
    "cutout": 2,
    "mixup": 0.4,
    "cutmix": 1.0,
}
COUNT = 30


def raw(channels=3, count=COUNT):
    return np.random.default_rng(1).integers(0, 256, (count, channels, 7, 5), dtype=np.uint8)


def augmented(streamed=False, channels=3, count=COUNT, **settings):
    source = raw(channels, count)
    preprocessing = Preprocessing.fit(source, "standardise", [], [])
    rows = np.arange(count)
    inputs = Streamed(source, rows, preprocessing) if streamed else preprocessing(source)
    examples = Examples.of(inputs, torch.arange(count) % 4, rows * 3 + 1)
    return Augmented.over(examples, Augmentation(**settings), preprocessing, 4)


def epoch(view, sizes=(COUNT,), number=0, part=(0, 1), seed=7):
    """Inputs and targets in the order of the examples."""
    sizes = list(sizes)
    stream = Epochs(view, sizes[0], sizes, seed, part)
    batches = list(stream.epoch(number))
    order = torch.cat([rows.tensor_split(part[1])[part[0]] for rows in stream.order(number).split(sizes)])
    whole = {name: torch.cat([batch[name] for batch in batches]) for name in ("inputs", "targets")}
    return {int(row): (whole["inputs"][i], whole["targets"][i]) for i, row in enumerate(order)}


def same(one, other):
    assert one.keys() == other.keys()
    return all(torch.equal(a, b) for row in one for a, b in zip(one[row], other[row], strict=True))


@pytest.mark.parametrize("name", [None, *EVERYTHING])
def test_neither_batches_nor_processes_nor_the_way_of_reading_change_a_bit_of_an_example(name, monkeypatch):
    settings = EVERYTHING if name is None else {name: EVERYTHING[name]}
    view = augmented(**settings)
    whole = epoch(view)
    assert not same(whole, epoch(augmented()))
    assert same(whole, epoch(view, [7, 7, 7, 9]))
    assert same(whole, epoch(view, [10] * 3, part=(0, 2)) | epoch(view, [10] * 3, part=(1, 2)))
    assert same(whole, epoch(augmented(streamed=True, **settings), [11, 19]))
    monkeypatch.setattr(streams_module, "_GATHERED", {})
    assert same(whole, epoch(view, [1] * COUNT))


@pytest.mark.parametrize("name", EVERYTHING)
def test_every_epoch_and_every_seed_has_others(name):
    view = augmented(**{name: EVERYTHING[name]})
    first = epoch(view)
    assert same(first, epoch(view))
    assert not same(first, epoch(view, number=1))
    assert not same(first, epoch(view, seed=8))


def test_torchs_generator_is_left_alone():
    before = torch.random.get_rng_state()
    epoch(augmented(**EVERYTHING))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_one_setting_changes_nothing_of_the_others():
    flipped, both = (epoch(augmented(**s)) for s in ({"flip": True}, {"flip": True, "cutout": 2}))
    for row, (picture, _) in flipped.items():
        covered = both[row][0] == 0
        assert torch.equal(picture.masked_fill(covered, 0), both[row][0])


def test_alternating_flips_show_each_side_in_every_other_epoch():
    view = augmented(flip="alternating", count=200)
    epochs = [epoch(view, [200], number=n) for n in range(4)]
    plain = epoch(augmented(count=200), [200])
    mirrored = 0
    for row, (picture, _) in plain.items():
        seen = [torch.equal(e[row][0], picture) for e in epochs]
        assert seen in ([True, False] * 2, [False, True] * 2)
        assert all(torch.equal(e[row][0], picture if s else picture.flip(2)) for e, s in zip(epochs, seen, strict=True))
        mirrored += not seen[0]
    assert 70 < mirrored < 130


def test_evaluations_have_plain_pictures():
    view, plain = augmented(**EVERYTHING), augmented()
    for now in (view, view.for_epoch(7, 3), view.sample(9).to(torch.device("cpu"))):
        batch = next(iter(now.batches(9)))
        expected = plain.batch(slice(0, 9)) if len(now) == COUNT else plain.sample(9).batch(slice(0, 9))
        assert torch.equal(batch["inputs"], expected["inputs"])
        assert torch.equal(batch["targets"], expected["targets"])
    some = torch.arange(9)
    assert torch.equal(view.select(some, some)["inputs"], plain.batch(some)["inputs"])


def test_mixed_targets_say_what_is_in_the_picture():
    """Pictures of one colour for each class: the colours of a mixture are the shares of its targets."""
    source = np.zeros((40, 4, 8, 8), np.float32)
    classes = np.arange(40) % 4
    source[np.arange(40), classes] = 1
    preprocessing = Preprocessing.fit(source, "none", [], [])
    examples = Examples.of(torch.from_numpy(source), torch.from_numpy(classes))
    for settings in ({"mixup": 0.5}, {"cutmix": 1.0}, {"mixup": 1.0, "cutmix": 0.5}):
        view = Augmented.over(examples, Augmentation(**settings), preprocessing, 4)
        batch = next(Epochs(view, 40, [40], 0).epoch(0))
        torch.testing.assert_close(batch["inputs"].mean((2, 3)), batch["targets"])
        assert batch["targets"].max(1).values.min() < 0.9  # some are mixed


# Knobs.


def digits(**settings):
    return load(sources.resolve(Part("digits", {"augment": Part("", settings)}), "data"))


def test_a_knob_of_the_data_changes_the_training_split_alone():
    dataset = digits(flip="alternating", mixup="0.2")
    assert isinstance(dataset.train, Augmented)
    assert dataset.train.settings == Augmentation(flip="alternating", mixup=0.2)
    assert type(dataset.validation) is type(dataset.test) is Examples


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"translate": 8}, "data.augment.translate=8 can leave nothing of a picture of 8×8 pixels. Take at most 7."),
        ({"cutout": 9}, "data.augment.cutout=9 can leave nothing"),
        ({"translate": -1}, "data.augment.translate=-1 is not valid"),
        ({"rotate": -5}, "data.augment.rotate=-5 is not valid"),
        ({"crop": 0}, "data.augment.crop=0 is not valid"),
        ({"mixup": "nan"}, "data.augment.mixup=nan is not valid"),
        (
            {"saturation": 0.2},
            "data.augment.saturation is for pictures in red, green and blue, but these have 1 channel.",
        ),
        ({"turn": 3}, "There is no key in data.augment, 'turn'"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(GradlabError) as refused:
        digits(**settings)
    assert message in str(refused.value)


def test_tables_are_no_pictures():
    with pytest.raises(GradlabError, match=r"data\.augment is for pictures, but the examples are tables of 2 columns"):
        load(sources.resolve(Part("moons", {"augment": Part("", {"flip": True})}), "data"))
