"""The report of a learning-rate range test."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gradlab.report.charts import ACCENT, GOOD, INK, axis, chart, charts
from gradlab.report.markup import Html, card, go_on, section, tag
from gradlab.studies.pages.frame import cards
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import counted, number

if TYPE_CHECKING:
    from gradlab.studies.range_test import RangeTest


def report(found: "RangeTest", path: Path, command: str) -> Html:
    lead = (
        f"A copy of the fresh model, trained for {counted(len(found.rates), 'step')} while the learning rate rose from "
        f"{found.rates[0]:.1g} to {found.rates[-1]:.2g}, where {found.stopped} ended it."
    )
    best = min(range(len(found.smoothed)), key=found.smoothed.__getitem__)
    suggestion = "none" if found.suggestion is None else f"{found.suggestion:g}"
    return frame(
        found.recipe,
        "Learning-rate range test",
        path,
        lead,
        cards(
            card(
                "suggested learning rate",
                suggestion,
                {"rule": "steepest descent"},
                "better" if found.suggestion else "",
            ),
            card("lowest loss", number(found.smoothed[best]), {"at the rate": f"{found.rates[best]:.2g}"}),
            card("loss of the fresh model", number(found.losses[0]), {"at the rate": f"{found.rates[0]:.1g}"}),
        ),
        section("Loss against learning rate", tag("p", _words(found), class_="quiet"), charts(_curve(found))),
        go_on({"Train with it": f"{command} train.lr={suggestion}"}) if found.suggestion else "",
    )


def _words(found: "RangeTest") -> str:
    if found.suggestion is None:
        return "No rate lowered the loss: look at the data, the initialisation and the model first, with --check."
    return (
        "Far to the left a step is too short to change anything; far to the right it overshoots. The suggestion is the "
        "middle of the tenfold range over which the loss falls fastest, and so lies well below the rates at which it "
        "is lowest here, where training is about to become unstable."
    )


def _curve(found: "RangeTest") -> Html:
    low, high = min(found.smoothed), max(found.smoothed[: found.smoothed.index(min(found.smoothed)) + 1])
    room = 0.12 * (high - low)
    marks: dict[str, Any] = {}
    if found.suggestion is not None:
        x = math.log10(found.suggestion)  # plotly places shapes and notes on a log axis by the exponent
        line = {"type": "line", "x0": found.suggestion, "x1": found.suggestion, "yref": "paper", "y0": 0, "y1": 1}
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
            "annotations": [{**words, "text": f"suggested: {found.suggestion:g}", "font": {"color": GOOD, "size": 13}}],
        }
    return chart(
        "Loss after each step",
        [
            {**_trace(found, found.losses, "each step"), "line": {"color": ACCENT, "width": 1}, "opacity": 0.45},
            {**_trace(found, found.smoothed, "smoothed"), "line": {"color": INK, "width": 2.5}},
        ],
        height=420,
        xaxis=axis("learning rate", type="log", exponentformat="power", dtick=1),
        yaxis=axis("loss", range=[low - room, high + 3 * room]),
        **marks,
    )


def _trace(found: "RangeTest", losses: list[float], name: str) -> dict[str, Any]:
    shown = {"x": found.rates, "y": losses, "mode": "lines", "hovertemplate": "rate %{x:.2~g}: %{y:.4~g}"}
    return {"name": name, **shown}
