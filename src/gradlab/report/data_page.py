"""A source of data as a page: its classes, its columns, and some of its examples."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gradlab.data.overview import Feature, Overview
from gradlab.data.raw import Raw
from gradlab.data.tables.reader import TableReader
from gradlab.files import write_file
from gradlab.report.charts import ACCENT, PALETTE, axis, chart, charts, label, thinned
from gradlab.report.markup import Html, join, section, table, tag
from gradlab.report.page import page
from gradlab.report.pictures import is_picture, picture, to_pixels
from gradlab.wording import counted, quantity

_PICTURES = 60  # examples in the grid
_COLUMNS = 24  # histograms
_VALUES = 20_000  # examples that a histogram is drawn from
_BARS = 40
_MOST_CLASSES = 60
_CATEGORIES = 15


@dataclass(frozen=True)
class _Source:
    name: str
    raw: Raw
    overview: Overview


def write_data_page(name: str, raw: Raw, overview: Overview, path: Path) -> None:
    """Write the page of a source."""
    source = _Source(name, raw, overview)
    body = join([_head(source), _examples(source), _targets(source), _columns(source)])
    write_file(path, page(name, body))


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
        grid = [picture(pixels, _label(raw, row), _label(raw, row)) for row, pixels in images]
        return section("Examples", tag("figure", tag("div", *grid, class_="pictures small")))
    if source.overview.shape == [2] and raw.classes is not None:
        return section("Examples", charts(_plane(source)))
    return Html()


def _label(raw: Raw, row: int) -> str:
    return raw.classes[raw.targets[row]] if raw.classes is not None else quantity(float(raw.targets[row].ravel()[0]))


def _some_of_each(raw: Raw, most: int) -> npt.NDArray[np.int64]:
    """Rows spread evenly over the classes, and over each class."""
    if raw.classes is None:
        return _spread(np.arange(len(raw.inputs)), most)
    present = [np.flatnonzero(raw.targets == i) for i in range(len(raw.classes))]
    each = max(1, most // max(1, len(present)))
    return np.concatenate([_spread(rows, each) for rows in present[:most]])


def _spread(rows: npt.NDArray[np.int64], most: int) -> npt.NDArray[np.int64]:
    count = min(most, len(rows))
    return rows[np.arange(count) * len(rows) // max(1, count)]


def _plane(source: _Source) -> Html:
    raw, names = source.raw, [f.name for f in source.overview.features]
    traces = []
    for i, name in enumerate(raw.classes or []):
        rows = thinned(np.flatnonzero(raw.targets == i).tolist())
        traces.append(
            {
                "name": label(name),
                "x": raw.inputs[rows, 0].tolist(),
                "y": raw.inputs[rows, 1].tolist(),
                "mode": "markers",
                "marker": {"color": PALETTE[i % len(PALETTE)], "size": 6},
            }
        )
    return chart("The plane", traces, height=460, xaxis=axis(names[0]), yaxis=axis(names[1]))


def _targets(source: _Source) -> Html:
    overview = source.overview
    if overview.target is not None:
        values = source.raw.targets.reshape(len(source.raw.targets), -1)[:, 0]
        return section("Target", charts(_histogram("Target", values.astype(float), _range(overview.target))))
    counts = dict(sorted(overview.classes.items(), key=lambda item: -item[1])[:_MOST_CLASSES])
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [label(name) for name in counts],
        "x": list(counts.values()),
        "marker": {"color": ACCENT},
        "hovertemplate": "%{y}: %{x}<extra></extra>",
    }
    few = min(overview.classes.values())
    words = f"The rarest class has {counted(few, 'example')}, the commonest {max(overview.classes.values()):,}."
    height = 120 + 24 * len(counts)
    ticks = {"autorange": "reversed", "type": "category"}
    drawn = chart(
        "Examples of each class",
        [bars],
        words,
        height=height,
        xaxis=axis("examples"),
        yaxis=axis("", **ticks),
        showlegend=False,
    )
    return section("Classes", charts(drawn))


def _columns(source: _Source) -> Html:
    overview = source.overview
    rows = [
        [
            f.name,
            f.kind,
            *(_categories(f) if f.kind == "category" else [quantity(v) for v in (f.low, f.mean, f.std, f.high)]),
            f"{f.missing:,}",
        ]
        for f in overview.features
    ]
    figures = table(["", "kind", "least", "mean", "deviation", "most", "missing"], rows, class_="numbers")
    drawn = [] if is_picture(overview.shape) or len(overview.shape) > 1 else _histograms(source)
    title = "Columns" if len(overview.shape) == 1 else "Channels"
    return section(title, tag("figure", figures), charts(*drawn) if drawn else "")


def _categories(feature: Feature) -> list[str]:
    return [f"{feature.categories} categories" if feature.categories else "", "", "", ""]


def _histograms(source: _Source) -> list[Html]:
    raw = source.raw
    chosen = _spread(np.arange(len(raw.inputs)), _VALUES)
    values = np.asarray(raw.inputs[chosen])
    shown = []
    for i, feature in enumerate(source.overview.features[:_COLUMNS]):
        if feature.kind == "category":
            shown.append(_bars(source, feature, values[:, i]))
        else:
            column = values[:, i].astype(float)
            shown.append(_histogram(feature.name, column[~np.isnan(column)], _range(feature)))
    return shown


def _range(feature: Feature) -> str:
    gaps = f"; {feature.missing:,} missing" if feature.missing else ""
    return f"{quantity(feature.low)} to {quantity(feature.high)}, mean {quantity(feature.mean)}{gaps}."


def _histogram(title: str, values: npt.NDArray[np.float64], words: str) -> Html:
    counts, edges = _counts(values)
    bars = {
        "type": "bar",
        "x": ((edges[1:] + edges[:-1]) / 2).tolist(),
        "y": counts.tolist(),
        "width": float(edges[1] - edges[0]),
        "marker": {"color": ACCENT},
        "hovertemplate": "%{x:.4~g}: %{y}<extra></extra>",
    }
    return chart(title, [bars], words, height=220, showlegend=False)


def _counts(values: npt.NDArray[np.float64]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    if len(values) == 0:
        return np.zeros(1), np.array([0.0, 1.0])
    try:
        return np.histogram(values, bins=_BARS)
    except ValueError:  # they lie so near each other that no edges fit between them
        return np.array([len(values)]), np.array([values.min(), values.max()])


def _bars(source: _Source, feature: Feature, codes: npt.NDArray[Any]) -> Html:
    reader = source.raw.reader
    names = (
        next((c.values for c in reader.inputs if c.name == feature.name), []) if isinstance(reader, TableReader) else []
    )
    values, counts = np.unique(codes, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    texts = [names[int(v)] if 0 <= v < len(names) else "missing" for v in values[top]]
    bars = {
        "type": "bar",
        "orientation": "h",
        "y": [label(text) for text in texts],
        "x": counts[top].tolist(),
        "marker": {"color": ACCENT},
        "hovertemplate": "%{y}: %{x}<extra></extra>",
    }
    more = f", of which the commonest {_CATEGORIES} are shown" if len(values) > _CATEGORIES else ""
    words = f"{len(values)} different{more}."
    ticks = {"autorange": "reversed", "type": "category"}
    return chart(feature.name, [bars], words, height=120 + 20 * len(top), yaxis=axis("", **ticks), showlegend=False)
