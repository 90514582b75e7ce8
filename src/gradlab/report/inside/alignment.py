"""Where a model of pairs looked in its source, as a picture: a row for each token that it wrote."""

from typing import Any

import numpy as np

from gradlab.data.pairs.sentences import SPECIAL
from gradlab.markup import Html, quiet, section, tag
from gradlab.probes import Inspection
from gradlab.probes.alignment import Alignment
from gradlab.report.charts import CARD, HEAT, chart, charts, heatmap
from gradlab.report.inside.text import places_of, token_axis
from gradlab.report.looks import LEGEND, looks_card


def section_of(seen: Inspection) -> Html:
    """Nothing for a model that writes no targets."""
    if seen.written is None:
        return Html()
    said = tag("figure", tag("pre", seen.written, style="white-space: pre-wrap"))
    if seen.alignment is not None and seen.alignment.picture is not None:
        return section("What it writes", said, quiet(LEGEND), charts(looks_card("Where it looked", seen.alignment)))
    if seen.alignment is None or not seen.alignment.source:
        return section("What it writes", said)
    words = "Each row is a token that it writes, and shows how much each token of the source counts for it."
    return section("What it writes", said, quiet(words), charts(alignment_chart("Alignment", seen.alignment)))


def alignment_chart(title: str, alignment: Alignment, note: str = "") -> Html:
    """Tokens of the source from left to right, those of the target from top to bottom."""
    columns, rows = places_of(alignment.source), places_of(alignment.target)
    hover = "%{y} looks at %{x}: %{z:.3f}<extra></extra>"
    weights = np.round(alignment.weights.double().numpy(), 4)
    trace = heatmap(weights, [(0, CARD), (1, HEAT)], hover, x=columns, y=rows, zmin=0, zmax=1)
    ticks: dict[str, Any] = {"ticks": "", "tickfont": {"size": 11}}
    letters = all(len(text) == 1 or text in SPECIAL for text in alignment.source)
    upright: dict[str, Any] = {"tickangle": 0} if letters else {}
    return chart(
        title,
        [trace],
        note,
        height=max(240, 90 + 22 * len(rows)),
        xaxis=token_axis(columns, **ticks, side="top", **upright),
        yaxis=token_axis(rows, autorange="reversed", **ticks, tickangle=0),
        margin={"l": 30, "r": 10, "t": 40, "b": 12},
    )
