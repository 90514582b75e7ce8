"""A source of data as a page: its classes, its columns, and some of its examples."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.overview import Feature, Overview
from gradlab.data.pictures.augmentation import Augmented
from gradlab.data.raw import Raw
from gradlab.data.tables.reader import TableReader
from gradlab.files import write_file
from gradlab.markup import Html, join, quiet, section, table, tag
from gradlab.report.augmentation import augmentation_section
from gradlab.report.charts import PALETTE, axis, chart, charts, count_bars, dots, histogram, thinned
from gradlab.report.page import page
from gradlab.report.pictures import is_picture, picture, to_pixels
from gradlab.wording import counted, quantity

Rows = npt.NDArray[np.int64]

_PICTURES = 60  # examples in the grid
_COLUMNS = 24  # histograms
_VALUES = 20_000  # examples that a histogram is drawn from
_MOST_CLASSES = 60
_CATEGORIES = 15


@dataclass(frozen=True)
class _Source:
    name: str
    raw: Raw
    overview: Overview


def write_data_page(name: str, raw: Raw, overview: Overview, path: Path, view: Augmented | None = None) -> None:
    """Write the page of a source, with what a training sees of its pictures where they are augmented."""
    source = _Source(name, raw, overview)
    seen = Html() if view is None else augmentation_section(view, raw)
    write_file(path, page(name, join([_head(source), seen, _examples(source), _targets(source), _columns(source)])))


def _head(source: _Source) -> Html:
    overview = source.overview
    size = "×".join(map(str, overview.shape))
    own = ", ".join(f"{count:,} {split}" for split, count in overview.splits.items())
    lead = (
        f"{counted(overview.examples, 'example')}, each of shape {size} ({overview.dtype})"
        f"{f', in {len(overview.classes)} classes' if overview.classes else ''}."
        f"{f' Its own splits: {own}.' if own else ''}"
    )
    notes = [tag("p", note, class_="note") for note in overview.notes]
    return tag("header", tag("p", "Data", class_="over"), tag("h1", source.name), tag("p", lead, class_="lead"), *notes)


def _examples(source: _Source) -> Html:
    """A grid of pictures, as many of each class as there is room for; or the first two columns as a plane."""
    raw = source.raw
    if is_picture(source.overview.shape):
        rows = _some_of_each(raw, _PICTURES)
        images = zip(rows, to_pixels(np.asarray(raw.inputs[rows])), strict=True)
        grid = [picture(pixels, _target(raw, row), _target(raw, row)) for row, pixels in images]
        return section("Examples", tag("figure", tag("div", *grid, class_="pictures small")))
    if source.overview.shape == [2] and raw.classes is not None:
        return section("Examples", charts(_plane(raw, *(f.name for f in source.overview.features))))
    return Html()


def _target(raw: Raw, row: int) -> str:
    return raw.classes[raw.targets[row]] if raw.classes is not None else quantity(float(raw.targets[row].ravel()[0]))


def _some_of_each(raw: Raw, most: int) -> Rows:
    """Rows spread evenly over the classes, and over each class."""
    if raw.classes is None:
        return _spread(np.arange(len(raw.inputs)), most)
    members = [np.flatnonzero(raw.targets == i) for i in range(len(raw.classes))]
    each = max(1, most // max(1, len(members)))
    return np.concatenate([_spread(rows, each) for rows in members[:most]])


def _spread(rows: Rows, most: int) -> Rows:
    count = min(most, len(rows))
    return rows[np.arange(count) * len(rows) // max(1, count)]


def _plane(raw: Raw, x: str, y: str) -> Html:
    traces = []
    for i, name in enumerate(raw.classes or []):
        rows = thinned(np.flatnonzero(raw.targets == i).tolist())
        traces.append(dots(name, raw.inputs[rows, 0], raw.inputs[rows, 1], PALETTE[i % len(PALETTE)]))
    return chart("The plane", traces, height=460, xaxis=axis(x), yaxis=axis(y))


def _targets(source: _Source) -> Html:
    overview = source.overview
    if overview.target is not None:
        values = source.raw.targets.reshape(len(source.raw.targets), -1)[:, 0]
        return section("Target", charts(_histogram(overview.target.name, values, overview.target)))
    names, counts = zip(*sorted(overview.classes.items(), key=lambda item: -item[1])[:_MOST_CLASSES], strict=True)
    few, many = min(overview.classes.values()), max(overview.classes.values())
    words = f"The rarest class has {counted(few, 'example')}, the commonest {many:,}."
    figure = count_bars("Examples of each class", names, counts, words, xaxis=axis("examples"))
    return section("Classes", charts(figure))


def _columns(source: _Source) -> Html:
    overview = source.overview
    rows = [
        [
            f.name,
            f.kind,
            *(_categories(f) if f.kind == "category" else _ends(f)),
            f"{f.missing:,}",
        ]
        for f in overview.features
    ]
    figures = table(["", "kind", "least", "mean", "deviation", "most", "missing"], rows, class_="numbers")
    if len(overview.shape) > 1:
        return section("Channels", tag("figure", figures))
    sample = f"Bars are of {_VALUES:,} examples, evenly spread over all {overview.examples:,}."
    words = quiet(sample) if overview.examples > _VALUES else ""
    return section("Columns", tag("figure", figures), words, charts(*_distributions(source)))


def _categories(feature: Feature) -> list[str]:
    return [f"{feature.categories} categories" if feature.categories else "", "", "", ""]


def _ends(feature: Feature) -> list[str]:
    low, mean, high = feature.ends
    return [low, mean, f"{quantity(feature.std)}{' days' if feature.kind == 'date' else ''}", high]


def _distributions(source: _Source) -> list[Html]:
    raw = source.raw
    values = np.asarray(raw.inputs[_spread(np.arange(len(raw.inputs)), _VALUES)])
    return [
        _bars(source, feature, values[:, i])
        if feature.kind == "category"
        else _histogram(feature.name, values[:, i], feature)
        for i, feature in enumerate(source.overview.features[:_COLUMNS])
    ]


def _histogram(title: str, values: npt.NDArray[Any], feature: Feature) -> Html:
    numbers = values.astype(float)
    missing = f"; {feature.missing:,} missing" if feature.missing else ""
    low, mean, high = feature.ends
    words = f"{low} to {high}, mean {mean}{missing}."
    return histogram(title, numbers[~np.isnan(numbers)], words, dates=feature.kind == "date", height=220)


def _bars(source: _Source, feature: Feature, codes: npt.NDArray[Any]) -> Html:
    columns = source.raw.reader.inputs if isinstance(source.raw.reader, TableReader) else []
    names = next((c.values for c in columns if c.name == feature.name), [])
    values, counts = np.unique(codes, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    texts = [names[int(v)] if 0 <= v < len(names) else "missing" for v in values[top]]
    more = f", of which the commonest {_CATEGORIES} are shown" if len(values) > _CATEGORIES else ""
    return count_bars(feature.name, texts, counts[top], f"{len(values)} different{more}.", bar=20)
