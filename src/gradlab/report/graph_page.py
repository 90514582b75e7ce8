"""A source of graphs as a page: the graph where it is small, its classes and its degrees."""

from pathlib import Path

from gradlab.data.graphs.overview import GraphOverview
from gradlab.data.graphs.raw import RawGraphs
from gradlab.files import write_file
from gradlab.markup import Html, join, section, tag
from gradlab.report.charts import PALETTE, axis, charts, count_bars, dots, histogram
from gradlab.report.graphs import can_be_drawn, drawing, place_nodes
from gradlab.report.page import page

_MOST_CLASSES = 60


def write_graph_page(name: str, raw: RawGraphs, overview: GraphOverview, path: Path) -> None:
    """Write the page of a source of graphs."""
    lead = f"{overview.size[0].upper()}{overview.size[1:]}. {overview.spread}."
    notes = [tag("p", note, class_="note") for note in overview.notes]
    head = tag("header", tag("p", "Data", class_="over"), tag("h1", name), tag("p", lead, class_="lead"), *notes)
    parts = [head, _graph(raw), section("Figures", charts(_degrees(raw), *_classes(overview)))]
    write_file(path, page(name, join(parts)))


def _degrees(raw: RawGraphs) -> Html:
    return histogram("Degrees", raw.degrees, "How many edges lead to a node.", xaxis=axis("edges"))


def _classes(overview: GraphOverview) -> list[Html]:
    if not overview.classes:
        return []
    names, counts = zip(*sorted(overview.classes.items(), key=lambda one: -one[1])[:_MOST_CLASSES], strict=True)
    return [count_bars("Examples of each class", names, counts, "Of all splits.", xaxis=axis("examples"))]


def _graph(raw: RawGraphs) -> Html:
    if not can_be_drawn(raw) or raw.classes is None or raw.queried is None:
        return Html()
    places = place_nodes(raw.edges, len(raw.nodes))
    x, y = places[raw.queried[:, 0]].T
    marks = []
    for c, name in enumerate(raw.classes):
        of = raw.targets == c
        marks.append(dots(name, x[of], y[of], PALETTE[c % len(PALETTE)], "%{fullData.name}<extra></extra>", size=10))
    return section("Nodes and edges", charts(drawing("The graph", raw, places, marks, "Colours are classes.")))
