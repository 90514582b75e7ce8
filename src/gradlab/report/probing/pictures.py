"""Convolutions as pictures: what they make of an image, and what the first of them looks for."""

from typing import TYPE_CHECKING

from torch import Tensor

from gradlab.probes import FeatureMaps
from gradlab.report.markup import Html, section, tag
from gradlab.report.pictures import picture, signed, to_pixels

if TYPE_CHECKING:
    from gradlab.report.probing.probe import Probe

_LAYERS, _MAPS = 8, 24  # that are drawn


def section_of(probe: "Probe") -> Html:
    """Nothing for a model without convolutions over pictures."""
    if not probe.feature_maps:
        return Html()
    first = probe.feature_maps[0]
    given = [] if probe.picture is None else [_row("The input", [_grey(probe.picture)])]
    filters = [
        picture(signed(f.float().numpy()), f"filter {i}") for i, f in enumerate(first.filters.mean(1)[:_MAPS].cpu())
    ]
    rows = [
        *given,
        _row(f"The filters of {first.name or 'the layer'}, mean over their input channels", filters),
        *(_row(_title(layer), _maps(layer)) for layer in probe.feature_maps[:_LAYERS]),
    ]
    words = "The first example, and what each convolution makes of it, before its activation: blue above 0, red below."
    return section("Feature maps", tag("p", words, class_="quiet"), tag("figure", *rows))


def _row(title: str, drawn: list[Html]) -> Html:
    return tag("div", tag("h3", title), tag("div", *drawn, class_="pictures small"), class_="maps")


def _title(layer: FeatureMaps) -> str:
    channels, height, width = layer.maps.shape
    some = f", of which {_MAPS} are shown" if channels > _MAPS else ""
    return f"{layer.name or 'output'}: {channels} maps of {height}×{width}{some}"


def _maps(layer: FeatureMaps) -> list[Html]:
    return [picture(signed(m.float().cpu().numpy()), f"map {i}") for i, m in enumerate(layer.maps[:_MAPS])]


def _grey(image: Tensor) -> Html:
    return picture(to_pixels(image[None].float().cpu().numpy())[0], "the input")
