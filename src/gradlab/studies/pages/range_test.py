"""The report of a learning-rate range test."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.markup import Html, card, go_on, section, tag
from gradlab.report.charts import ACCENT, GOOD, INK, axis, chart, charts
from gradlab.studies.pages.frame import cards
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import counted, number

if TYPE_CHECKING:
    from gradlab.studies.range_test import RangeTest


def report(result: "RangeTest", recipe: str, path: Path, command: str) -> Html:
    lead = (
        f"A copy of the fresh model, trained for {counted(len(result.rates), 'step')} while the learning rate rose "
        f"from {result.rates[0]:.1g} to {result.rates[-1]:.2g}, where {result.stopped} ended it."
    )
    best = min(range(len(result.smoothed)), key=result.smoothed.__getitem__)
    suggestion = "none" if result.suggestion is None else f"{result.suggestion:g}"
    return frame(
        recipe,
        "Learning-rate range test",
        path,
        lead,
        cards(
            card(
                "suggested learning rate",
                suggestion,
                {"rule": "steepest descent"},
                "better" if result.suggestion else "",
            ),
            card("lowest loss", number(result.smoothed[best]), {"at the rate": f"{result.rates[best]:.2g}"}),
            card("loss of the fresh model", number(result.losses[0]), {"at the rate": f"{result.rates[0]:.1g}"}),
        ),
        section("Loss against learning rate", tag("p", _words(result), class_="quiet"), charts(_curve(result))),
        go_on({"Train with it": f"{command} train.lr={suggestion}"}) if result.suggestion else "",
    )


def _words(result: "RangeTest") -> str:
    if result.suggestion is None:
        return "No rate lowered the loss: look at the data, the initialisation and the model first, with --check."
    return (
        "Far to the left a step is too short to change anything; far to the right it overshoots. The suggestion is the "
        "middle of the tenfold range over which the loss falls fastest, and so lies well below the rates at which it "
        "is lowest here, where training is about to become unstable."
    )


def _curve(result: "RangeTest") -> Html:
    low, high = min(result.smoothed), max(result.smoothed[: result.smoothed.index(min(result.smoothed)) + 1])
    room = 0.12 * (high - low)
    marks: dict[str, Any] = {}
    if result.suggestion is not None:
        x = math.log10(result.suggestion)  # plotly places shapes and notes on a log axis by the exponent
        line = {"type": "line", "x0": result.suggestion, "x1": result.suggestion, "yref": "paper", "y0": 0, "y1": 1}
        words = {
            "x": x,
            "yref": "paper",
            "y": 1,
            "yanchor": "top",
            "xanchor": "right",
            "xshift": -6,
            "showarrow": False,
        }
        marks = {
            "shapes": [{**line, "line": {"color": GOOD, "width": 2}}],
            "annotations": [words | {"text": f"suggested: {result.suggestion:g}", "font": {"color": GOOD, "size": 13}}],
        }
    return chart(
        "Loss after each step",
        [
            {**_trace(result, result.losses, "each step"), "line": {"color": ACCENT, "width": 1}, "opacity": 0.45},
            {**_trace(result, result.smoothed, "smoothed"), "line": {"color": INK, "width": 2.5}},
        ],
        height=420,
        xaxis=axis("learning rate", type="log", exponentformat="power", dtick=1),
        yaxis=axis("loss", range=[low - room, high + 3 * room]),
        **marks,
    )


def _trace(result: "RangeTest", losses: list[float], name: str) -> dict[str, Any]:
    shown = {"x": result.rates, "y": losses, "mode": "lines", "hovertemplate": "rate %{x:.2~g}: %{y:.4~g}"}
    return {"name": name, **shown}
