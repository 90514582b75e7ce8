"""How forecasts do on the test split: by step ahead, and some of them beside what came."""

from typing import TYPE_CHECKING, Any

import numpy as np

from gradlab.markup import Html, quiet, section
from gradlab.report.charts import ACCENT, INK, PALETTE, SOFT, TRAIN, axis, chart, charts, level, line, ribbon
from gradlab.report.series_page import drawn_times, time_axis
from gradlab.wording import counted, number, percent

if TYPE_CHECKING:
    from gradlab.data.series.lookback import Lookback
    from gradlab.data.series.panel import TimeSeries
    from gradlab.run import Run

_SERIES = 6  # that are drawn
_BEFORE = 3  # times the horizon that is drawn of the past


def backtest_section(run: "Run") -> Html:
    """Errors and coverage by step ahead over all origins of the test split, and the last forecast of some series."""
    backtest = run.finished.get("backtest")
    if backtest is None:
        return Html()
    words = f"{counted(backtest['origins'], 'origin')} that roll through the test split, a step at a time. " + " ".join(
        run.finished["notes"]
    )
    return section("Backtest", quiet(words), charts(_errors(backtest), _coverage(backtest)), _fans(run))


def _errors(backtest: dict[str, Any]) -> Html:
    ahead = list(range(1, len(backtest["mase_by_step"]) + 1))
    lines = [line("model", ahead, backtest["mase_by_step"], ACCENT, "%{x} ahead: %{y:.3f}<extra></extra>", 2.5)]
    for (name, steps), color in zip(backtest["baseline_mase_by_step"].items(), (SOFT, TRAIN), strict=False):
        lines.append(line(name, ahead, steps, color, f"{name}, %{{x}} ahead: %{{y:.3f}}<extra></extra>"))
    note = "1 is what repeating the season was off by in the training part."
    return chart("Error by step ahead", lines, note, xaxis=axis("steps ahead"), yaxis=axis("MASE", rangemode="tozero"))


def _coverage(backtest: dict[str, Any]) -> Html:
    steps, interval = backtest["coverage_by_step"], backtest["interval"]
    ahead = list(range(1, len(steps) + 1))
    drawn = line("within the interval", ahead, steps, ACCENT, "%{x} ahead: %{y:.1%}<extra></extra>", 2.5)
    reached = percent(float(np.mean(steps)))
    note = f"The dotted line is what was asked for, {percent(interval)}; over all steps it is {reached}."
    upright = axis("share of the values", range=[0, 1], tickformat=".0%")
    layout: dict[str, Any] = {"xaxis": axis("steps ahead"), "yaxis": upright, "showlegend": False}
    return chart("Coverage by step ahead", [drawn], note, shapes=[level(interval)], **layout)


def _fans(run: "Run") -> Html:
    """Of each series the last window of the test split."""
    from gradlab.data.series.lookback import Lookback
    from gradlab.data.series.panel import cut

    preparation = run.preprocessing
    assert isinstance(preparation, Lookback)
    panel, horizon = run.dataset.raw, preparation.horizon
    whole = [one for one in panel.series if len(one.values) >= preparation.history + horizon]
    shown = [whole[i] for i in np.linspace(0, len(whole) - 1, min(_SERIES, len(whole))).round().astype(int)]
    if not shown:
        return Html()
    before = np.empty(len(shown), dtype=object)
    before[:] = [cut(one, horizon) for one in shown]
    forecasts = run.describe(before)
    figures = [_fan(*each, preparation) for each in zip(shown, forecasts, strict=True)]
    return charts(*figures)


def _fan(one: "TimeSeries", forecast: dict[str, Any], seen: "Lookback") -> Html:
    past = max(seen.history, _BEFORE * seen.horizon)
    values = one.values[-past - seen.horizon :]
    first = one.end - len(values)
    times = drawn_times(list(range(first, one.end)), seen.spacing)
    hover = "%{x}: %{y:.4~g}<extra></extra>"
    ahead = times[-seen.horizon :]
    error = np.abs(np.array(forecast["value"]) - values[-seen.horizon :]).mean()
    traces = [
        ribbon("interval", ahead, forecast["low"], forecast["high"], ACCENT),
        line("what came", times, values, INK, hover, 1.5),
        line("forecast", ahead, forecast["value"], PALETTE[1], hover, 2.5),
    ]
    note = f"The last {counted(seen.horizon, 'step')}: mean error {number(float(error))}."
    title = one.name or "Forecast of the last steps"
    return chart(title, traces, note, xaxis=time_axis(seen.spacing), yaxis=axis(""))
