"""What of a picture speaks for a class: heat over the picture, one method beside the other."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from gradlab.markup import Html, join, quiet, section, tag
from gradlab.probes import Attribution, Attributions
from gradlab.report.charts import charts
from gradlab.report.pictures import Pixels, finite, heat, picture, resized, to_pixels
from gradlab.wording import quantity

_FULL = 99  # per cent of the pixels, beyond which a colour grows no fuller: one pixel would leave all others pale
_SIDE = 128  # pixels across, at most: a page of large pictures would be heavy

_MEANS = {
    "gradient": "what a brighter pixel would do to the score.",
    "integrated gradients": "the share of each pixel in how the score differs from that of an empty picture.",
    "Grad-CAM": "where the maps of layer {layer} speak for the class; never against it.",
    "occlusion": "how much the score falls where a square is covered.",
}


def attribution_section(attributions: Attributions, *words: Html) -> Html:
    """A card for each picture: what speaks for its predicted class, and for the actual one where that is another."""
    if not attributions.items:
        return Html()
    cards = [_card(list(items)) for _, items in groupby(attributions.items, lambda item: item.example)]
    notes = [quiet(note) for note in attributions.notes]
    return section("What speaks for the class", *words, _legend(attributions), *notes, charts(*cards))


def _legend(attributions: Attributions) -> Html:
    """How to read the cards."""
    colours = tag("span", class_="signs", role="img", **{"aria-label": "from red over grey to blue"})
    means = [
        tag("li", tag("b", method), f": {_MEANS[method].format(layer=attributions.layer)}")
        for method in attributions.items[0].maps
    ]
    return join(
        [
            quiet(
                "The score is the logit of the class. Where the number below a picture is reached, its colour is full: "
                "each picture has a scale of its own."
            ),
            tag("p", "against the class", colours, "for it", class_="quiet"),
            tag("ul", *means, class_="quiet"),
        ]
    )


def _card(items: Sequence[Attribution]) -> Html:
    rows = [_row(item) for item in items]
    if len(rows) > 1:
        rows = [part for item, row in zip(items, rows, strict=True) for part in (quiet(_heading(item)), row)]
    return tag("figure", tag("h3", _title(items[0])), *rows)


def _title(item: Attribution) -> str:
    predicted = f"redicted {item.label} with probability {item.probability:.3f}"
    return f"P{predicted}" if item.actual is None else f"{item.actual}, p{predicted}"


def _heading(item: Attribution) -> str:
    chance = "" if item.actual != item.label else f", which had probability {item.probability:.3f}"
    return f"What speaks for {item.label}{chance}"


def _row(item: Attribution) -> Html:
    image = _image(item)
    drawn = [picture(image, f"the picture: {_title(item)}", "picture")]
    for method, values in item.maps.items():
        numbers = finite(values.double().cpu().numpy())
        full = float(np.percentile(np.abs(numbers), _FULL)) or float(np.abs(numbers).max())
        scale = f"{'±' if numbers.min() < 0 else '+'}{quantity(full, 2)}"
        text = f"{method}: what speaks for {item.label}, where {scale} is in full colour"
        drawn.append(picture(heat(numbers, full, image), text, method, tag("div", scale, class_="quiet")))
    return tag("div", *drawn, class_="methods")


def _image(item: Attribution) -> Pixels:
    image: Pixels = to_pixels(item.picture[None])[0]
    largest = max(image.shape[:2])
    if largest <= _SIDE:
        return image
    height, width = (max(1, round(side * _SIDE / largest)) for side in image.shape[:2])
    return resized(image, height, width)
