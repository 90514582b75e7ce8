"""One caption for each scene, and one scene for each caption."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradlab.data.captions.grammar import (
    COLOURS,
    COMBINATIONS,
    PLACES,
    SHAPES,
    Thing,
    caption,
    in_order,
    named,
    parse,
)
from gradlab.errors import GradlabError

SCENES = st.lists(st.sampled_from(COMBINATIONS), min_size=1, max_size=4, unique_by=lambda thing: thing.place)


@given(SCENES)
def test_a_caption_says_the_scene_and_nothing_else(scene):
    assert parse(caption(scene)) == in_order(scene)
    assert caption(scene) == caption(scene[::-1])


def test_every_pair_of_things_has_a_caption_of_its_own():
    pairs = [pair for pair in combinations(COMBINATIONS, 2) if pair[0].place != pair[1].place]
    assert len({caption(pair) for pair in pairs}) == len(pairs)


@given(SCENES)
def test_the_words_that_name_a_thing_are_its_colour_and_shape(scene):
    text = caption(scene)
    for thing, characters in zip(in_order(scene), named(scene), strict=True):
        assert text[characters] == f"{COLOURS[thing.colour]} {SHAPES[thing.shape]}"
        assert text[characters.stop + 1 :].startswith(PLACES[thing.place])


def test_things_that_begin_alike_are_told_apart():
    scene = [Thing(0, 0, 0), Thing(0, 0, 1)]
    assert caption(scene) == "a red circle at the top left and a red circle at the top"
    assert [characters.start for characters in named(scene)] == [2, 35]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a red dog at the top",
        "a red circle at the top and",
        "a red circle at the top and a red circle at the top left",
        "a red circle at the top left, a red circle at the top",
    ],
)
def test_other_texts_are_no_captions(text):
    with pytest.raises(GradlabError, match="is no caption"):
        parse(text)


def test_a_fifth_is_held_out_and_every_pair_of_properties_is_still_seen():
    seen = [thing for thing in COMBINATIONS if not thing.held_out]
    assert len(COMBINATIONS) - len(seen) == len(COMBINATIONS) / 5
    for one, other in combinations(range(3), 2):
        assert {(t[one], t[other]) for t in seen} == {(t[one], t[other]) for t in COMBINATIONS}
