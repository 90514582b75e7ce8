"""A network of pictures: what speaks for a class, what its convolutions make of an image, and what they look for."""

from torch import Tensor

from gradlab.markup import Html, join
from gradlab.probes import Inspection
from gradlab.report.attributions import attribution_section
from gradlab.report.feature_maps import feature_map_section, picture_row
from gradlab.report.pictures import is_picture, picture, to_pixels, weight_pixels

_FILTERS = 24  # that are drawn


def section_of(seen: Inspection) -> Html:
    """Nothing for a model that is not given pictures."""
    return join([attribution_section(seen.attributions), feature_map_section(seen.feature_maps, *_first(seen))])


def _first(seen: Inspection) -> list[Html]:
    """The first example, and the filters of the first convolution."""
    if not seen.feature_maps:
        return []
    x, first = seen.inputs, seen.feature_maps[0]
    weights = first.filters[:_FILTERS].float().cpu().numpy()
    filters = [picture(weight_pixels(each), f"filter {i}") for i, each in enumerate(weights)]
    rows = [picture_row("The input", [_image(seen)])] if isinstance(x, Tensor) and is_picture([*x.shape[1:]]) else []
    return [
        *rows,
        picture_row(f"The filters of layer {first.name or 'of the output'}{_words(weights.shape[1])}", filters),
    ]


def _words(channels: int) -> str:
    return {1: "", 3: ", in colours: grey is 0"}.get(channels, ", mean over their input channels")


def _image(seen: Inspection) -> Html:
    """As it is in the world, where that is known."""
    if seen.attributions.items:
        return picture(to_pixels(seen.attributions.items[0].picture[None])[0], "the input")
    return picture(to_pixels(seen.inputs[:1].detach().float().cpu().numpy())[0], "the input")
