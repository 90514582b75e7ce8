import json
import os
import shutil
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from gradlab.data import load, sources
from gradlab.data.pictures import images as module
from gradlab.errors import GradlabError
from gradlab.registry import Part


@pytest.fixture
def draw(tmp_path):
    """`draw("cat/1.png", …)`: pictures in the folder, each of its own noise."""

    def make(*names, size=(8, 8), mode="L"):
        for name in names:
            path = tmp_path / "pictures" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            shape = (*size, {"L": 1, "RGB": 3}[mode])
            pixels = np.random.default_rng([*name.encode()]).integers(0, 256, shape).astype(np.uint8)
            Image.fromarray(pixels.squeeze(-1) if mode == "L" else pixels).save(path)
        return tmp_path / "pictures"

    return make


@pytest.fixture
def read(tmp_path):
    def build(**knobs):
        part = sources.resolve(Part("images", {"path": str(tmp_path / "pictures"), **knobs}), "data")
        return sources.build(part, 0)

    return build


def refused(read, **knobs):
    with pytest.raises(GradlabError) as caught:
        read(**knobs)
    return str(caught.value)


def pixels(path):
    with Image.open(path) as image:
        return np.asarray(image)


def test_each_folder_is_a_class_and_its_pictures_are_its_examples(draw, read):
    folder = draw("dog/1.png", "cat/b.png", "cat/a.png", "Zebra/1.png")
    raw = read()
    assert raw.classes == ["Zebra", "cat", "dog"]
    assert raw.targets.tolist() == [0, 1, 1, 2]
    want = [pixels(folder / name) for name in ("Zebra/1.png", "cat/a.png", "cat/b.png", "dog/1.png")]
    assert np.array_equal(raw.inputs[:, 0], want)
    assert raw.inputs.dtype == np.uint8
    assert raw.test_from is None
    assert raw.notes == []


def test_pictures_in_folders_of_a_class_belong_to_it(draw, read):
    draw("cat/2023/summer/1.png", "cat/2024/1.png", "cat/0.png", "dog/1.png")
    assert read().targets.tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    "names", [("train", "val", "test"), ("Training", "Validation", "Testing"), ("train", "dev", "test")]
)
def test_folders_of_splits_are_the_splits(draw, read, names):
    train, validation, test = names
    draw(
        f"{test}/dog/1.png", f"{train}/dog/1.png", f"{train}/cat/1.png", f"{train}/cat/2.png", f"{validation}/cat/1.png"
    )
    raw = read()
    assert raw.classes == ["cat", "dog"]
    assert (raw.validation_from, raw.test_from) == (3, 4)
    assert raw.targets.tolist() == [0, 0, 1, 0, 1]


def test_own_splits_are_used_as_they_are(draw, tmp_path):
    names = [
        f"{split}/{name}/{i}.png" for split in ("train", "val", "test") for name in ("cat", "dog") for i in range(3)
    ]
    folder = draw(*names)
    data = load(sources.resolve(Part("images", {"path": str(folder)}), "data"))
    assert [data.split(s).rows.tolist() for s in ("train", "validation", "test")] == [
        list(range(6)), list(range(6, 12)), list(range(12, 18)),
    ]  # fmt: skip


def test_a_test_folder_alone_leaves_the_validation_to_be_held_out(draw, tmp_path):
    folder = draw(*(f"{split}/{name}/{i}.png" for split in ("train", "test") for name in ("a", "b") for i in range(10)))
    data = load(sources.resolve(Part("images", {"path": str(folder), "validation": 0.2}), "data"))
    assert data.test.rows.tolist() == list(range(20, 40))
    assert len(data.validation) == 4


def test_a_folder_of_a_split_that_is_empty_is_no_split_and_is_told(draw, read):
    folder = draw("train/cat/1.png", "train/dog/1.png")
    (folder / "test").mkdir()
    raw = read()
    assert raw.test_from is None
    assert raw.notes == ["The folder test has no pictures of classes: it is no split."]


def test_a_class_that_only_the_test_has_is_refused(draw, read):
    draw("train/cat/1.png", "train/dog/1.png", "test/bird/1.png")
    assert "bird/1.png: the class 'bird' has no picture to train on" in refused(read)


def test_stray_files_and_folders_are_noted_and_hidden_ones_are_not(draw, read):
    folder = draw("cat/1.png", "dog/1.png", "loose.png", ".git/1.png", "dog/.thumbs/1.png", "dog/.1.png")
    (folder / "dog" / "notes.txt").write_text("a stray")
    (folder / "readme.md").write_text("a stray")
    (folder / "bird").mkdir()
    raw = read()
    assert len(raw.inputs) == 2
    assert raw.notes == [
        "Left out the folder bird: it has no picture.",
        "Passed over loose.png and 2 other files: not pictures of a class.",
    ]


def test_what_stands_beside_the_folders_of_splits_is_noted(draw, read):
    folder = draw("train/cat/1.png", "train/dog/1.png", "test/dog/1.png", "extra/cat/1.png")
    (folder / "labels.csv").write_text("a stray")
    assert read().notes == [
        "Left out the folder extra: it stands beside the one to train on.",
        "Passed over labels.csv: not pictures of a class.",
    ]


def test_pictures_of_one_size_keep_it_where_it_is_small(draw, read):
    draw("a/1.png", "b/1.png", size=(20, 30))
    raw = read()
    assert raw.inputs.shape == (2, 1, 20, 30)
    assert raw.notes == []


def test_large_pictures_and_those_of_several_sizes_are_brought_to_one_with_a_note(draw, read):
    draw("a/1.png", "b/1.png", size=(80, 129))
    assert read().inputs.shape == (2, 1, 64, 64)
    draw("a/2.png", size=(10, 10))
    raw = read(resize="pad")
    assert raw.inputs.shape == (3, 1, 64, 64)
    assert raw.notes == ["Pictures of 2 shapes were brought to 64×64 (pad); see data.size, data.resize."]
    assert read(size=16).inputs.shape == (3, 1, 16, 16)


@pytest.mark.parametrize(("resize", "side"), [("crop", 20), ("pad", 31), ("stretch", 20)])
def test_small_pictures_of_several_sizes_are_not_blown_up(draw, read, resize, side):
    draw("a/1.png", "b/1.png", "b/2.png", size=(20, 31))
    draw("a/2.png", size=(12, 12))
    draw("b/3.png", size=(90, 90))
    assert read(resize=resize).inputs.shape == (5, 1, side, side)


def test_a_strip_is_not_blown_up(draw, read):
    draw("a/1.png", "b/1.png", size=(20, 129))
    assert read().inputs.shape == (2, 1, 20, 20)


def test_pictures_are_grey_only_where_all_are(draw, read):
    draw("a/1.png", "b/1.png")
    assert read().inputs.shape[1] == 1
    assert read(colour="rgb").inputs.shape[1] == 3
    draw("b/2.png", mode="RGB")
    assert read().inputs.shape[1] == 3
    assert read(colour="grey").inputs.shape[1] == 1


def test_pictures_of_every_size_and_mode_are_read_together(draw, read):
    folder = draw("a/0.png", "b/0.png", size=(1, 1))
    modes = {"RGB": "png", "RGBA": "png", "P": "gif", "1": "png", "LA": "png", "I;16": "png", "CMYK": "jpg", "F": "tif"}
    for i, (mode, suffix) in enumerate(modes.items()):
        Image.new(mode, (5 + 20 * i, 90 - 10 * i)).save(folder / "ab"[i % 2] / f"{i + 1}.{suffix}")
    raw = read()
    assert raw.inputs.shape == (10, 3, 27, 27)
    assert raw.notes == ["Pictures of 9 shapes were brought to 27×27 (crop); see data.size, data.resize."]


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["cat/1.png", "cat/2.png"], "there is only one class, 'cat'. Classification needs at least two."),
        (["1.png", "2.png"], "has no pictures in folders: it needs a folder for each class"),
        (["cat/1.png", "Cat/1.png"], "the classes 'Cat' and 'cat' differ only in upper and lower case"),
        (["train/cat/1.png", "test/cat/1.png"], "there is only one class, 'cat'"),
    ],
)
def test_folders_that_are_no_classes_are_refused(draw, read, cache, names, says):
    draw(*names)
    assert says in refused(read)
    assert list(cache.iterdir()) == []


def test_what_is_no_folder_is_refused(tmp_path, read):
    assert "pictures is not a folder. Name a folder with a folder of pictures for each class" in refused(read)


def text(path):
    path.write_text("not a picture")


def cut(path):
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64), np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:-2000])


@pytest.mark.parametrize("damage", [text, cut])
@pytest.mark.parametrize("name", ["cat/broken.png", "cat/broken.jpg"])
def test_a_damaged_picture_is_named_and_nothing_is_kept(draw, read, cache, damage, name):
    damage(draw("cat/1.png", "dog/1.png") / name)
    assert f"{name} cannot be read as a picture" in refused(read)
    assert list(cache.rglob("*.npy")) == []


def test_all_damaged_pictures_are_named_at_once(draw, read):
    folder = draw(*(f"{name}/{i}.png" for name in ("cat", "dog") for i in range(3)))
    text(folder / "cat" / "1.png")
    cut(folder / "dog" / "0.png")
    cut(folder / "dog" / "2.jpg")
    said = refused(read)
    assert [word for word in ("cat/0", "cat/1", "cat/2", "dog/0", "dog/1", "dog/2.jpg") if word in said] == [
        "cat/1", "dog/0", "dog/2.jpg",
    ]  # fmt: skip
    for i in range(20):
        text(folder / "dog" / f"x{i}.png")
    assert "… and 13 more" in refused(read)


@pytest.fixture
def conversions(monkeypatch):
    """Grows with each folder that is converted."""
    made, convert = [], module._convert

    def counted(*arguments):
        made.append(arguments)
        convert(*arguments)

    monkeypatch.setattr(module, "_convert", counted)
    return made


def test_the_second_time_pictures_are_read_from_the_cache(draw, read, conversions):
    folder = draw("cat/1.png", "dog/1.png")
    first, again = read(), read()
    assert len(conversions) == 1
    assert np.array_equal(first.inputs, again.inputs)
    assert first.fingerprint() == again.fingerprint()
    folder.rename(folder.with_name("moved"))
    moved = sources.build(sources.resolve(Part("images", {"path": str(folder.with_name("moved"))}), "data"), 0)
    assert moved.fingerprint() == first.fingerprint()
    assert len(conversions) == 1


def test_any_change_to_a_picture_its_class_or_its_size_makes_other_data(draw, read, conversions):
    folder = draw("cat/1.png", "cat/2.png", "dog/1.png")
    prints = {read().fingerprint(), read(size=16).fingerprint()}
    (folder / "cat" / "2.png").rename(folder / "dog" / "2.png")
    prints.add(read().fingerprint())
    Image.new("L", (8, 8)).save(folder / "dog" / "2.png")
    prints.add(read().fingerprint())
    assert len(prints) == len(conversions) == 4


def test_a_folder_that_changes_while_it_is_read_is_refused_and_leaves_nothing(draw, read, cache, monkeypatch):
    folder = draw("cat/1.png", "dog/1.png")
    convert = module._convert

    def interrupted(*arguments):
        convert(*arguments)
        (folder / "dog" / "1.png").write_bytes((folder / "cat" / "1.png").read_bytes() + b"more")

    monkeypatch.setattr(module, "_convert", interrupted)
    assert "pictures changed while it was read" in refused(read)
    assert list((cache / "pictures").iterdir()) == []


def test_folders_and_files_whose_names_are_no_utf_8_or_steer_the_terminal_are_classes_that_can_be_saved(draw, read):
    folder = draw("cat/1.png", "dog/1.png")
    for name in (b"caf\xe9", b"\x1b[31mred"):
        shutil.copytree(folder / "dog", folder / os.fsdecode(name))
    (folder / "cat" / "1.png").rename(folder / "cat" / os.fsdecode(b"\xff.png"))
    raw = read()
    assert raw.classes == [r"\x1b[31mred", r"caf\xe9", "cat", "dog"]
    json.dumps(raw.classes, ensure_ascii=False).encode()
    assert raw.reader.read(str(folder / "cat")).names == [r"\xff.png"]


def test_pictures_that_would_not_fit_on_the_disk_are_refused_before_they_are_read(draw, read, monkeypatch):
    draw("cat/1.png", "dog/1.png")
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=10_000))
    assert "would take 0.0 GB in the cache, where 0.0 are free. Set a smaller data.size" in refused(
        lambda: read(size=200)
    )
    with pytest.raises(GradlabError, match=r"data\.size=100000 is not valid: .* 16384"):
        read(size=100_000)


def test_a_disk_that_is_full_is_told_and_left_as_it_was(draw, read, cache, full_disk):
    draw("cat/1.png", "dog/1.png")
    with full_disk(40_000):
        assert "cannot be written: File too large. Set GRADLAB_CACHE" in refused(lambda: read(size=200))
    assert list((cache / "pictures").iterdir()) == []


def test_a_flipped_bit_of_the_cache_is_told_and_the_pictures_converted_again(draw, read, cache, capsys):
    draw("cat/1.png", "dog/1.png")
    want = np.array(read().inputs)
    (file,) = (cache / "pictures").glob("*/inputs.npy")
    content = bytearray(file.read_bytes())
    content[-5] ^= 1
    file.write_bytes(content)
    np.testing.assert_array_equal(read().inputs, want)
    assert f"{file} is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("resize", ["crop", "pad", "stretch"])
def test_the_same_picture_is_the_same_pixels_in_training_and_in_prediction(draw, read, resize):
    folder = draw("cat/1.png", size=(9, 30), mode="RGB")
    draw("cat/2.png", "dog/1.png", size=(12, 8))
    raw = read(resize=resize)
    whole = raw.reader.read(str(folder))
    assert whole.names == ["cat/1.png", "cat/2.png", "dog/1.png"]
    assert np.array_equal(whole.values, raw.inputs)
    for row, name in enumerate(whole.names):
        assert np.array_equal(raw.reader.read(str(folder / name)).values[0], raw.inputs[row])
