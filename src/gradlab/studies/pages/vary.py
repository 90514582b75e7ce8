"""The report of a study that varies one knob, or two."""

import math
from itertools import cycle
from typing import TYPE_CHECKING, Any

from gradlab.markup import Html, card, go_on, quiet, section, table, tag
from gradlab.report.charts import ACCENT, INK, PALETTE, TRAIN, VALIDATION, Trace, axis, chart, charts, label
from gradlab.studies.knobs import typed
from gradlab.studies.members import Member
from gradlab.studies.pages.frame import boxed, cards, grid, trainings
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.studies.vary import Choice, FittedCurve, Variations

_WIDE = 50  # times from the smallest value to the largest: a log axis shows them better


def report(result: "Variations", command: str) -> Html:
    first = next(iter(result.knobs))
    lead = f"The same recipe trained {len(result.members)} times, with other values of {' and '.join(result.knobs)}"
    lead += "." if result.seeds == 1 else f", each with {counted(result.seeds, 'seed')}."
    best = result.best
    chosen = "" if best is None else " ".join(f"{key}={typed(value)}" for key, value in best.changes.items())
    return frame(
        result.recipe,
        f"Varying {' and '.join(result.knobs)}",
        result.path,
        lead,
        cards(*_cards(result, best)) if best is not None else "",
        section(
            f"Loss against {first}",
            tag("p", _WORDS, class_="quiet"),
            charts(_losses(result, first)),
        ),
        _curves(result) if result.fits else "",
        _means(result) if result.seeds > 1 else "",
        _table(result),
        go_on({"Train the best of them": f"{command} {chosen}"}) if best is not None else "",
    )


_WORDS = (
    "Where both losses are high, the model has not learned the data: it underfits. Where the training loss is low and "
    "the held-out loss is high, it has learned its examples by heart: it overfits. The best lies in between."
)


def _cards(result: "Variations", best: "Choice") -> list[Html]:
    split = result.held_out
    name = result.metric if result.metric in best.figures(split) else "loss"
    values = [card(key, typed(value), {"best by": f"{split} loss"}, "better") for key, value in best.changes.items()]
    there = best.spread(split)[name]
    others = {"on the training examples": "train", "test": "test"}
    spreads = {words: best.spread(s).get(name) for words, s in others.items() if s != split}
    beside = {} if there.std is None else {"standard deviation": number(there.std)}
    beside |= {words: number(None) if spread is None else spread.words for words, spread in spreads.items()}
    return [*values, card(f"{split} {name_of(name)} there", number(there.mean), beside)]


def _losses(result: "Variations", first: str) -> Html:
    """Training and held-out loss against the first knob; a pair of lines for each value of the second."""
    second = next(iter(list(result.knobs)[1:]), None)
    placed = _axis_of(result.knobs[first])
    traces: list[Trace] = []
    colors = cycle(PALETTE)
    for value in result.knobs[second] if second else [None]:
        choices = [c for c in result.choices if second is None or c.changes[second] == value]
        color = next(colors) if second else None
        beside = f", {second.split('.')[-1]}={typed(value)}" if second else ""
        traces += [
            _line(placed, first, choices, "train", f"train{beside}", color or TRAIN, "dot"),
            _line(placed, first, choices, result.held_out, f"{result.held_out}{beside}", color or VALIDATION, "solid"),
        ]
    losses = _loss_axis([y for trace in traces[1::2] for y in trace["y"]])
    for trace in traces:
        trace["cliponaxis"] = "range" in losses  # a dot at the edge is seen whole
        trace["showlegend"] = second is None or trace["line"]["dash"] == "solid"
    return chart(
        "Loss",
        traces,
        "Dotted: on the training examples. " * (second is not None)
        + "The bars are one standard deviation over the seeds, either way." * (result.seeds > 1),
        height=420,
        xaxis=axis(first, **placed),
        yaxis=axis("loss", **losses),
    )


def _axis_of(values: list[Any]) -> dict[str, Any]:
    """A number line, a logarithmic one, or names side by side."""
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    ticks = {"tickvals": numbers, "ticktext": [f"{v:g}" for v in numbers]} if len(numbers) <= 12 else {}
    if len(numbers) < len(values) or not numbers:
        return {"type": "category"}
    if min(numbers) > 0:
        return {"type": "log" if max(numbers) > _WIDE * min(numbers) else "linear", **ticks}
    smallest = min((abs(v) for v in numbers if v), default=1)
    return {"type": "category"} if max(map(abs, numbers)) > _WIDE * smallest else {"type": "linear", **ticks}


def _loss_axis(losses: list[float]) -> dict[str, Any]:
    """Scaled by the held-out losses: those of the training may be as near to zero as they like."""
    positive = [v for v in losses if v > 0 and math.isfinite(v)]
    if not positive or max(positive) < 30 * min(positive):
        return {}
    ends = [math.log10(min(positive) / 10), math.log10(1.5 * max(positive))]
    return {"type": "log", "range": ends, "exponentformat": "power", "dtick": 1}


def _line(
    placed: dict[str, Any], key: str, choices: "list[Choice]", split: str, name: str, color: str, dash: str
) -> Trace:
    evaluated = [c for c in choices if "loss" in c.figures(split)]
    spreads = [c.spread(split)["loss"].std for c in evaluated]
    bars = {"error_y": {"type": "data", "array": [std or 0 for std in spreads]}} if any(spreads) else {}
    named = placed["type"] == "category"
    return {
        "name": label(name),
        "x": [typed(c.changes[key]) if named else c.changes[key] for c in evaluated],
        "y": [c.figures(split)["loss"] for c in evaluated],
        **bars,
        "mode": "lines+markers",
        "line": {"color": color, "width": 2.5, "dash": dash},
        "marker": {"size": 8, "color": color},
        "hovertemplate": "%{x}: %{y:.4~g}",
    }


def _curves(result: "Variations") -> Html:
    values = [y for fit in result.fits.values() for y in (*fit.train[1], *fit.validation[1])]
    room = 0.15 * (max(values) - min(values))
    ends = [min(values) - room, max(values) + room]
    shown = [member for member in result.members if member.name in result.fits]
    words = "The curve that each training drew, and the points it learned from; the fainter points are held out."
    figures = grid(*(_fit(result, result.fits[member.name], member, ends) for member in shown))
    return section("The fitted curves", tag("p", words, class_="quiet"), figures)


def _fit(result: "Variations", fit: "FittedCurve", member: Member, ends: list[float]) -> Html:
    title = ", ".join(f"{key.split('.')[-1]} {typed(value)}" for key, value in member.changes.items())
    losses = {split: member.figures(split).get("loss") for split in ("train", result.held_out)}
    dots = {"mode": "markers", "hovertemplate": "%{x:.3~g}: %{y:.4~g}<extra></extra>"}
    size = 8 if len(fit.train[0]) <= 60 else 5
    return chart(
        title + (" · best" if result.best and member in result.best.members else ""),
        [
            {**_points(fit.validation), **dots, "marker": {"color": ACCENT, "size": 4, "opacity": 0.3}},
            {**_points(fit.train), **dots, "marker": {"color": TRAIN, "size": size}},
            {**_points(fit.curve), **dots, "mode": "lines", "line": {"color": INK, "width": 2.5}},
        ],
        ", ".join(f"{split} loss {number(loss)}" for split, loss in losses.items() if loss is not None),
        height=220,
        margin={"l": 36, "r": 8, "t": 6, "b": 36},
        xaxis=axis(fit.axis),
        yaxis={"range": ends},
        showlegend=False,
    )


def _points(points: list[list[float]]) -> Trace:
    return {"x": points[0], "y": points[1]}


def _figures(result: "Variations") -> list[tuple[str, str]]:
    """The loss and the most telling metric on each split."""
    names = list(dict.fromkeys(("loss", result.metric)))
    return [(s, n) for n in names for s in ("train", "validation", "test") if any(m.figures(s) for m in result.members)]


def _means(result: "Variations") -> Html:
    """A row for each value, or pair of values."""
    columns = _figures(result)
    rows = []
    for choice in result.choices:
        spreads = [choice.spread(split).get(name) for split, name in columns]
        finished = len(choice.members) - choice.diverged
        cells = [number(None) if spread is None else spread.words for spread in spreads]
        rows.append([*map(typed, choice.changes.values()), str(finished), *cells])
    head = [*result.knobs, "seeds", *(f"{s} {name_of(n)}" for s, n in columns)]
    words = quiet("Mean ± standard deviation over the seeds that came to an end.")
    return section("Over the seeds", words, boxed(table(head, rows, class_="numbers")))


def _table(result: "Variations") -> Html:
    columns = _figures(result)
    head = [", ".join(result.members[0].changes), "parameters", *(f"{s} {name_of(n)}" for s, n in columns), "time"]
    rows = []
    for m in result.members:
        title = ", ".join(typed(v) for v in m.changes.values()) + (" (diverged)" if m.diverged else "")
        rows.append((m, [title, m.parameters, *(m.figures(s).get(n) for s, n in columns), duration(m.seconds)]))
    return trainings("The trainings", head, rows, "Each leads to its own report.")
