"""How much of a model's attention falls on what it names: models that look in known ways, and a count of pixels."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.captions.grammar import COLOURS, SHAPES
from gradlab.data.captions.prepare import prepare_captions
from gradlab.data.captions.shapes import shapes
from gradlab.data.text.tokenizer import Tokenizer
from gradlab.models import build_model
from gradlab.registry import Part
from gradlab.tasks.regions import attention_on_shape, covered, spans

SIDE = 36


@pytest.fixture(scope="module")
def data():
    return prepare_captions(shapes(3, examples=30, held_out=12))


def model_that(looks, data):
    """A model of cells of a pixel each, whose attention is given."""
    model = build_model(Part("caption-rnn", {"dim": 4, "hidden": 4}), data.preprocessing.spec, data.targets.tokens)
    model.encoder.grid = (SIDE, SIDE)
    model.alignment = looks
    return model


def everywhere(x, y):
    return torch.full((*y.shape, SIDE * SIDE), 1 / SIDE**2)


def test_who_looks_everywhere_alike_has_as_much_as_by_chance(data):
    found = attention_on_shape(model_that(everywhere, data), data.test, data.preprocessing.target)
    boxes = [region.box for row in data.test.rows for region in data.test.regions[row]]
    areas = [(right - left) * (bottom - top) / SIDE**2 for left, top, right, bottom in boxes]
    assert found.mass == pytest.approx(found.area) == pytest.approx(np.mean(areas))
    assert found.ratio == pytest.approx(1.0)
    assert found.words == 2 * len(boxes)  # a colour and a shape each


def test_who_looks_at_the_named_shape_has_all_of_it_there(data):
    """Only where a colour or a shape comes next is it asked: at all other tokens it looks away."""
    text = data.preprocessing.target
    naming = {int(text.encoder.encode(word)[0]) for word in (*COLOURS, *SHAPES)}
    written = {tuple(text.encode([str(data.test.references[row])])[0].tolist()): row for row in data.test.rows}

    def looks(x, y):
        weights = torch.zeros(*y.shape, SIDE, SIDE)
        for i, tokens in enumerate(y.tolist()):
            whole, row = next((w, row) for w, row in written.items() if [*w[:-1]] == tokens[: len(w) - 1])
            boxes = iter([region.box for region in data.test.regions[row] for _ in range(2)])
            for t, following in enumerate(whole[1:]):
                left, top, right, bottom = next(boxes) if following in naming else (0, 0, 1, 1)
                weights[i, t, top:bottom, left:right] = 1 / ((right - left) * (bottom - top))
        return weights.flatten(2)

    found = attention_on_shape(model_that(looks, data), data.test, text)
    assert found.mass == pytest.approx(1.0)
    assert found.ratio == pytest.approx(1 / found.area)


def test_who_does_not_look_has_no_figure(data):
    assert attention_on_shape(model_that(lambda x, y: None, data), data.test, data.preprocessing.target) is None


SIDES = st.integers(0, 12)


@given(SIDES, SIDES, SIDES, SIDES, st.sampled_from([(1, 1), (2, 3), (4, 4), (12, 6)]))
def test_a_cell_is_covered_by_as_many_pixels_as_lie_within_the_box(left, right, top, bottom, grid):
    (left, right), (top, bottom) = sorted((left, right)), sorted((top, bottom))
    pixels = np.zeros((12, 12))
    pixels[top:bottom, left:right] = 1
    rows, columns = grid
    counted = pixels.reshape(rows, 12 // rows, columns, 12 // columns).mean((1, 3))
    np.testing.assert_allclose(covered((left, top, right, bottom), grid, (12, 12)), counted)


@pytest.mark.parametrize("kind", ["word", "char", "bpe", "byte"])
def test_tokens_of_every_kind_know_their_characters(kind):
    text = "a red ring at the top, a blue cross on the left and an orange ring in the centre"
    tokenizer = Tokenizer.train(kind, [text])
    found = spans(tokenizer, text)
    assert len(found) == len(tokenizer.encode(text))
    assert [text[s].strip() for s in found] == [tokenizer.decode([int(t)]).strip() for t in tokenizer.encode(text)]
