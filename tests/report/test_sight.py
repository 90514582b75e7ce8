"""The report of a picture classifier shows what speaks for its classes, its feature maps, filters and augmentation."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from gradlab.registry import Part
from gradlab.report.pictures import heat, resized, weight_pixels
from gradlab.report.writing import write_report

BLUE, RED = (47, 109, 179), (214, 84, 66)


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """Coloured pictures of three classes: which channel is bright where. Some are of another class than it seems."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 3
    x = rng.integers(0, 60, (120, 3, 16, 16)).astype(np.uint8)
    x[np.arange(120), y, 4:10, 4:10] += 150
    path = tmp_path_factory.mktemp("data") / "pictures.npz"
    np.savez(path, x=x, y=np.where(np.arange(120) % 17 == 0, (y + 1) % 3, y))
    return Part("npz", {"path": str(path)})


@pytest.fixture(scope="session")
def coloured(train, pictures):
    augment = Part("", {"flip": True, "translate": 2, "mixup": 0.5})
    return train(Part("npz", {**pictures.values, "augment": augment}), "cifar-cnn", name="coloured")


def images(html):
    return [
        (alt, np.asarray(Image.open(io.BytesIO(base64.b64decode(content)))))
        for content, alt in re.findall(r'<img src="data:image/png;base64,([^"]+)" alt="([^"]*)"', html)
    ]


def part_of(page, title):
    return page.path.read_text().partition(f"<h2>{title}</h2>")[2].partition("</section>")[0]


def test_recognised_examples_come_first_and_then_the_mistakes_for_both_classes(coloured, read):
    page = read(coloured)
    shown = part_of(page, "What speaks for the class")
    cards = re.findall(r"<figure><h3>(.*?)</h3>", shown)
    pairs = [re.fullmatch(r"(\d), predicted (\d) with probability ([\d.]+)", card).groups() for card in cards]
    right = [actual == predicted for actual, predicted, _ in pairs]
    assert right == sorted(right, reverse=True)
    assert len({actual for (actual, _, _), is_right in zip(pairs, right, strict=True) if is_right}) == sum(right)
    assert shown.count("What speaks for ") == 2 * right.count(False)
    assert shown.count('class="methods"') == len(cards) + right.count(False)
    assert "layer bend2 speak" in shown


def test_the_pictures_are_those_of_the_data_and_each_method_lies_over_them(coloured, read):
    drawn = images(part_of(read(coloured), "What speaks for the class"))
    names = [alt.partition(":")[0] for alt, _ in drawn[:5]]
    assert names == ["the picture", "gradient", "integrated gradients", "Grad-CAM", "occlusion"]
    inputs = np.moveaxis(coloured.dataset.raw.inputs[coloured.dataset.test.rows], 1, -1)
    assert any(np.array_equal(drawn[0][1], pixels) for pixels in inputs)
    assert {pixels.shape for _, pixels in drawn} == {(16, 16, 3)}
    assert all("speaks for" in alt for alt, _ in drawn if not alt.startswith("the picture"))


def test_a_report_that_is_written_again_is_the_same(coloured):
    assert write_report(coloured).read_bytes() == write_report(coloured).read_bytes()


def test_feature_maps_of_one_picture_and_filters_in_colours(coloured, read):
    page = read(coloured)
    maps = images(part_of(page, "Feature maps"))
    assert [len([alt for alt, _ in maps if alt.endswith(f"layer conv{i}")]) for i in (1, 2)] == [6, 16]
    filters = images(part_of(page, "First layer"))
    weight = next(coloured.model.parameters()).detach().numpy()
    assert len(filters) == 6
    strongest = int(filters[0][0].rpartition(" ")[2])
    np.testing.assert_array_equal(filters[0][1], weight_pixels(weight[strongest]))


def test_each_augmentation_of_the_recipe_is_shown_by_itself(coloured, read, digits_page):
    shown = part_of(read(coloured), "Augmentation")
    heads = ["plain", "flip=true", "translate=2", "mixup=0.5", "epoch 0", "epoch 1", "epoch 2"]
    assert re.findall(r"<th>(.*?)</th>", shown) == heads
    drawn = [pixels for _, pixels in images(shown)]
    rows = [drawn[i : i + 7] for i in range(0, len(drawn), 7)]
    mirrored = [np.array_equal(row[1], row[0][:, ::-1]) for row in rows]
    assert [np.array_equal(row[1], row[0]) for row in rows] == [not is_mirrored for is_mirrored in mirrored]
    assert 0 < sum(mirrored) < len(rows)
    assert "Augmentation" not in digits_page.titles


def test_a_model_without_places_has_all_but_grad_cam(digits_page):
    text = digits_page.path.read_text()
    assert "There is no Grad-CAM" in text
    assert "occlusion: what speaks for" in text
    assert "<h2>Feature maps</h2>" not in text


def test_tables_have_none_of_it(train, read):
    text = read(train(Part("iris"), "softmax")).path.read_text()
    assert "What speaks for the class" not in text


@pytest.mark.parametrize("model", ["softmax", "highway", "vgg", "resnet20", "densenet", "vit"])
def test_every_network_of_pictures_is_shown(train, pictures, read, model):
    settings = (
        {"layers": [1, 1], "growth": 4} if model == "densenet" else {"dim": 8, "heads": 2} if model == "vit" else {}
    )
    page = read(train(pictures, Part(model, settings), epochs=1))
    drawn = images(part_of(page, "What speaks for the class"))
    assert len(drawn) >= 3 * (4 if model in ("softmax", "highway") else 5)


def test_colours_say_how_much_and_in_which_direction():
    image = np.full((1, 4, 1), 255, np.uint8)
    shown = heat(np.array([[2.0, -2.0, 0.0, 9.0]]), 2.0, image)
    assert [tuple(pixel) for pixel in shown[0]] == [BLUE, RED, (255, 255, 255), BLUE]
    half = heat(np.array([[1.0, -1.0, 0.0, 0.0]]), 2.0, image)
    np.testing.assert_array_equal(half[0, 0], np.round((np.array(BLUE) + 255) / 2))
    assert not np.isnan(heat(np.zeros((1, 4)), 0.0, image)).any()


def test_maps_of_fewer_places_are_spread_over_the_picture():
    wide = resized(np.array([[0.0, 1.0]], np.float32), 2, 8)
    assert wide.shape == (2, 8)
    assert (np.diff(wide, axis=1) >= 0).all()
    assert wide[0, 0] == 0
    assert wide[0, -1] == 1
    assert resized(np.zeros((4, 6, 3), np.uint8), 2, 3).shape == (2, 3, 3)


def test_filters_of_colours_are_grey_where_they_are_zero():
    weight = np.zeros((3, 2, 2))
    weight[0, 0, 0], weight[2, 1, 1] = 2.0, -2.0
    assert weight_pixels(weight).tolist() == [[[255, 128, 128], [128] * 3], [[128] * 3, [128, 128, 0]]]
