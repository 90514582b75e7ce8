"""Convolutions as pictures: what they make of an image."""

from gradlab.markup import Html, quiet, section, tag
from gradlab.probes import FeatureMaps
from gradlab.report.charts import thinned
from gradlab.report.pictures import picture, signed

_LAYERS, _MAPS = 6, 16  # that are drawn


def feature_map_section(layers: list[FeatureMaps], *above: Html) -> Html:
    """What convolutions make of one example, of many some from the first to the last; nothing where there are none."""
    if not layers:
        return Html()
    drawn = [layers[0], *thinned(layers[1:], _LAYERS - 1)]
    some = f" {len(drawn)} of {len(layers)} are shown." if len(drawn) < len(layers) else ""
    words = f"One example, and what each convolution makes of it, before its activation: blue above 0, red below.{some}"
    return section("Feature maps", quiet(words), tag("figure", *above, *(_row(layer) for layer in drawn)))


def picture_row(title: str, drawn: list[Html]) -> Html:
    """Small pictures beside each other, with a title."""
    return tag("div", tag("h3", title), tag("div", *drawn, class_="pictures small"), class_="maps")


def _row(layer: FeatureMaps) -> Html:
    channels, height, width = layer.maps.shape
    some = f", of which {_MAPS} are shown" if channels > _MAPS else ""
    maps = layer.maps[:_MAPS].float().cpu().numpy()
    drawn = [picture(signed(each), f"map {i} of layer {layer.name}") for i, each in enumerate(maps)]
    return picture_row(f"Layer {layer.name or 'of the output'}: {channels} maps of {height}×{width}{some}", drawn)
