"""Where a model looked in a picture while it wrote a text about it: the picture once for each token."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, quiet, tag
from gradlab.report.pictures import picture, resized, spotlight, to_pixels

if TYPE_CHECKING:
    from gradlab.probes.alignment import Alignment

LEGEND = "For each token that is written, the picture is shown as it is where the model looks, and pale elsewhere."
_SIDE = 144  # pixels across at least, so that what lies between cells is smooth


def looks(alignment: "Alignment", *captions: str) -> Html:
    """A row of small pictures, the first without any attention."""
    assert alignment.picture is not None
    image = to_pixels(alignment.picture[None])[0]
    scale = max(1, -(-_SIDE // max(image.shape[:2])))
    image = resized(image, image.shape[0] * scale, image.shape[1] * scale)
    drawn = [picture(image, "the picture", *captions)]
    for token, weights in zip(alignment.target, alignment.maps().numpy(), strict=True):
        text = f"where it looked for {token!r}"
        drawn.append(picture(spotlight(weights, image), text, token))
    return tag("div", *drawn, class_="pictures small")


def looks_card(title: str, alignment: "Alignment", note: str = "") -> Html:
    return tag("figure", tag("h3", title), *([quiet(note)] if note else []), looks(alignment, "picture"))
