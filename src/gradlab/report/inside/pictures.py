"""Convolutions as pictures: what they make of an image, and what the first of them looks for."""

from torch import Tensor

from gradlab.probes import FeatureMaps, Inspection
from gradlab.report.markup import Html, quiet, section, tag
from gradlab.report.pictures import is_picture, picture, signed, to_pixels

_LAYERS, _MAPS = 8, 24  # that are drawn


def section_of(seen: Inspection) -> Html:
    """Nothing for a model without convolutions over pictures."""
    if not seen.feature_maps:
        return Html()
    x, first = seen.inputs, seen.feature_maps[0]
    filters = f"The filters of {first.name or 'the layer'}, mean over their input channels"
    rows = [
        _row("The input", [_image(x[0])]) if isinstance(x, Tensor) and is_picture(list(x.shape[1:])) else "",
        _row(filters, _signed(first.filters.mean(1), "filter")),
        *(_row(_title(layer), _signed(layer.maps, "map")) for layer in seen.feature_maps[:_LAYERS]),
    ]
    words = "The first example, and what each convolution makes of it, before its activation: blue above 0, red below."
    return section("Feature maps", quiet(words), tag("figure", *rows))


def _row(title: str, drawn: list[Html]) -> Html:
    return tag("div", tag("h3", title), tag("div", *drawn, class_="pictures small"), class_="maps")


def _title(layer: FeatureMaps) -> str:
    channels, height, width = layer.maps.shape
    some = f", of which {_MAPS} are shown" if channels > _MAPS else ""
    return f"{layer.name or 'output'}: {channels} maps of {height}×{width}{some}"


def _signed(maps: Tensor, noun: str) -> list[Html]:
    return [picture(signed(m.float().cpu().numpy()), f"{noun} {i}") for i, m in enumerate(maps[:_MAPS])]


def _image(image: Tensor) -> Html:
    return picture(to_pixels(image[None].detach().float().cpu().numpy())[0], "the input")
