"""Which columns of a table the model needs, and how its predictions follow the two that it needs most."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from gradlab.markup import Html, join, quiet, section
from gradlab.printable import printable
from gradlab.report.charts import ACCENT, INK, PALETTE, SOFT, Trace, axis, bars, chart, charts, dots, label, line
from gradlab.wording import counted, name_of, number

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.run.columns import Effect, Importance

_MOST = 15  # bars
_SHORT = 24  # letters of a name beside its mark
_EFFECTS = 2


def importance_sections(run: "Run") -> Html:
    """Nothing where the inputs have no names or are one column, or where no example was held out."""
    from gradlab.run.columns import columns_of, held_out

    if len(columns_of(run)) < 2 or held_out(run) is None:
        return Html()
    importance = run.importance()
    effects = [effect for column in importance.columns[:_EFFECTS] if (effect := run.effect(column.name)).values]
    return join([_importance(run, importance), _effects(run, effects)])


# Importance.


def _importance(run: "Run", importance: "Importance") -> Html:
    shown = importance.columns[:_MOST]
    spread = {"type": "data", "array": [c.std for c in shown], "visible": importance.repeats > 1}
    bar = bars(
        [column.mean for column in shown],
        list(range(len(shown))),  # two names may be short for the same
        "%{customdata}: %{x:.4~g}<extra></extra>",
        orientation="h",
        customdata=[label(column.name) for column in shown],
        error_x={**spread, "color": INK, "thickness": 1.5, "width": 4},
    )
    worse = "lower" if run.task.higher_is_better(importance.figure) else "higher"
    figure = chart(
        "Permutation importance",
        [bar],
        _note(importance),
        height=110 + 26 * len(shown),
        xaxis=axis(f"{name_of(importance.figure)}, {worse} by"),
        yaxis=_names([column.name for column in shown]),
        showlegend=False,
    )
    return section("Importance of the columns", quiet(_words(run, importance)), charts(figure))


def _words(run: "Run", of: "Importance") -> str:
    # Accuracy hardly tells of a class that is rare.
    telling = next((f for f in ("auroc", run.task.headline) if f in of.figures), of.figure)
    first = of.columns[0]
    permutations = f"the mean of {of.repeats} permutations" if of.repeats > 1 else "one permutation"
    return (
        f"How much the {of.split} {name_of(of.figure)} worsens where a column says nothing any more, its values "
        f"being permuted among {counted(of.rows, 'example')}: {permutations}. With {first.name!r} permuted, the "
        f"{name_of(telling)} of {number(of.figures[telling])} becomes {number(first.figures[telling])}."
    )


def _note(importance: "Importance") -> str:
    whiskers = "Whiskers are the standard deviation over the permutations. " if importance.repeats > 1 else ""
    alike = "Columns that say the same stand in for each other, so that each alone may seem to matter little."
    others = [column.mean for column in importance.columns[_MOST:]]
    if not others:
        return whiskers + alike
    rest = f"{counted(len(others), 'more column')}, none above {number(others[0])}: {number(sum(others))} in all."
    return f"{whiskers}{alike} {rest}"


def _names(names: list[str]) -> dict[str, Any]:
    """An upright axis with a name at each place, the first at the top."""
    short = [label(printable(name, _SHORT)) for name in names]
    return axis("", autorange="reversed", tickvals=list(range(len(names))), ticktext=short, showgrid=False)


# Effects.


def _effects(run: "Run", effects: list["Effect"]) -> Html:
    if not effects:
        return Html()
    what = _predicted(run, effects[0])
    scale = axis(printable(what, 36), range=_range(effects, zero=run.targets.classes is not None))
    words = (
        f"The {what}, averaged over held-out examples, where each has the same value in the column and is otherwise as "
        "it is. It tells what the model does, not what would happen in the world."
    )
    return section("Effect of the most important columns", quiet(words), charts(*(_effect(e, scale) for e in effects)))


def _range(effects: list["Effect"], zero: bool) -> list[float]:
    """One for all, so that a small effect looks small; with zero in it for bars, and for probabilities."""
    values = [value for effect in effects for curve in effect.predictions.values() for value in curve]
    values += [0.0] if zero or any(effect.kind == "category" for effect in effects) else []
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 0.5
    return [low - margin if low else 0.0, high + margin if high else 0.0]


def _predicted(run: "Run", effect: "Effect") -> str:
    names = list(effect.predictions)
    if run.targets.classes is None:
        return f"predicted {names[0]}" if len(names) == 1 else "predicted numbers"
    return f"probability of {names[0]!r}" if len(names) == 1 else "probability of each class"


def _effect(effect: "Effect", scale: dict[str, Any]) -> Html:
    curves = _moving_most(effect.predictions)
    draw = _categories if effect.kind == "category" else _curve
    colors = [ACCENT] if len(curves) == 1 else PALETTE
    return draw(effect, scale, [(name, y, color) for (name, y), color in zip(curves.items(), colors, strict=False)])


def _moving_most(predictions: dict[str, list[float]]) -> dict[str, list[float]]:
    """As many as there are colours, in their order."""
    names = sorted(predictions, key=lambda name: min(predictions[name]) - max(predictions[name]))[: len(PALETTE)]
    return {name: curve for name, curve in predictions.items() if name in names}


def _curve(effect: "Effect", scale: dict[str, Any], curves: list[tuple[str, list[float], str]]) -> Html:
    low, high = effect.values[0], effect.values[-1]
    x = "%{x|%Y-%m-%d}" if effect.kind == "date" else "%{x:.4~g}"
    lines = [line(printable(name, _SHORT), effect.values, y, color, f"{x}: %{{y:.4~g}}") for name, y, color in curves]
    below: Trace = {
        "type": "histogram",
        "x": [value for value in effect.seen if low <= value <= high],
        "yaxis": "y2",
        "marker": {"color": SOFT},
        "opacity": 0.5,
        "hovertemplate": "%{x}: %{y}<extra></extra>",
        "showlegend": False,
    }
    missing = ", ".join(f"{name} {number(effect.missing[name])}" for name, *_ in curves if effect.missing)
    return chart(
        effect.column,
        [*lines, below],
        f"Below, how the examples are distributed.{f' Where it is missing: {missing}.' if missing else ''}",
        height=380,
        showlegend=len(curves) > 1,
        xaxis={"anchor": "y2", **({"type": "date"} if effect.kind == "date" else {})},
        yaxis={**scale, "domain": [0.24, 1]},
        yaxis2={"domain": [0, 0.16], "showticklabels": False, "showgrid": False, "zeroline": False, "fixedrange": True},
        bargap=0.06,
    )


def _categories(effect: "Effect", scale: dict[str, Any], curves: list[tuple[str, list[float], str]]) -> Html:
    counts, places = Counter(effect.seen), list(range(len(effect.values)))
    hover = "%{customdata}: %{x:.4~g}<extra></extra>"
    names = [label(value) for value in effect.values]
    if len(curves) == 1:
        traces = [bars(y, places, hover, orientation="h", customdata=names) for _, y, _ in curves]
    else:
        traces = [
            dots(printable(name, _SHORT), y, places, color, hover, custom=names, size=10) for name, y, color in curves
        ]
    upright = _names(effect.values)
    upright["ticktext"] = [f"{t} ({counts[v]})" for t, v in zip(upright["ticktext"], effect.values, strict=True)]
    rest = len(effect.seen) - sum(counts[value] for value in effect.values)
    return chart(
        effect.column,
        traces,
        "In brackets, how many of the examples have it." + (f" {rest} have one that is not shown." if rest else ""),
        height=max(240, 110 + 30 * len(names)),
        showlegend=len(curves) > 1,
        xaxis=scale,
        yaxis=upright,
    )
