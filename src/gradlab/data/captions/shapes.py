"""Pictures of coloured shapes with their captions, as a source."""

import hashlib
from typing import Annotated

import numpy as np

from gradlab.data.captions.drawing import SIZE
from gradlab.data.captions.grammar import caption, named
from gradlab.data.captions.prepare import prepare_captions
from gradlab.data.captions.scenes import example
from gradlab.data.dataset import sources
from gradlab.data.generated import Many, Size
from gradlab.data.pairs.raw import Pairs, Region
from gradlab.data.pictures.reader import PictureReader


@sources.register("shapes", shared=prepare_captions)
def shapes(
    seed: int,
    *,
    examples: Size = 16_000,
    held_out: Annotated[Many, "further pictures for the test, of combinations that no other picture has"] = 1000,
) -> Pairs:
    """Pictures of one to three coloured shapes, and what they show: "a red circle at the top left and a blue …".

    The test split has combinations of shape, colour and place that are in no other picture.
    """
    drawn = [example(seed, i, held_out=False) for i in range(examples)]
    drawn += [example(seed, i, held_out=True) for i in range(held_out)]
    regions = np.empty(len(drawn), dtype=object)
    for i, (scene, picture) in enumerate(drawn):
        regions[i] = list(map(Region, named(scene), picture.boxes))
    pixels = np.stack([picture.pixels for _, picture in drawn])
    return Pairs.of_pictures(
        pixels,
        [caption(scene) for scene, _ in drawn],
        hashlib.sha256(pixels.data).hexdigest(),
        "picture {} (from 0)".format,
        PictureReader(height=SIZE, width=SIZE, channels=3, resize="crop"),
        test_from=examples,
        regions=regions,
    )
