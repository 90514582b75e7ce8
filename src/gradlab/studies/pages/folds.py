"""The report of a cross-validation."""

from typing import TYPE_CHECKING, Any

from gradlab.report.charts import ACCENT, axis, chart, charts
from gradlab.report.markup import Html, section, table, tag
from gradlab.studies.pages.frame import boxed, card, cards, go_on, trainings
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import duration, name_of, number

if TYPE_CHECKING:
    from gradlab.studies.folds import CrossValidation


def report(found: "CrossValidation") -> Html:
    test = found.test
    every = [name for name in (*found.higher, "loss") if name in test]
    shown = list(dict.fromkeys((every[0], "loss")))  # the most telling metric, and what was trained
    count = len(found.folds)
    lead = (
        f"The same recipe trained {count} times; each time another part of the examples was held out for testing, "
        "and everything, preprocessing included, was learned from the rest."
    )
    return frame(
        found.recipe,
        f"Cross-validation, {count} folds",
        found.path,
        lead,
        cards(*(_card(found, name) for name in shown)),
        _spread(found, shown),
        _every(found, every),
        _table(found, every),
        go_on({"Look at one of them": f"gradlab evaluate {found.path / found.folds[0].name}"}),
    )


def _card(found: "CrossValidation", name: str) -> Html:
    spread, baseline = found.test[name], found.baseline.get(name)
    beside = {"standard deviation": number(spread.std), "standard error": number(spread.standard_error)}
    verdict = ""
    if baseline is not None:
        better = spread.mean > baseline if found.higher.get(name, False) else spread.mean < baseline
        beside[found.baseline_name] = number(baseline)
        verdict = "better" if better else "poor"
    return card(f"test {name_of(name)}, mean", number(spread.mean), beside, verdict)


def _spread(found: "CrossValidation", shown: list[str]) -> Html:
    words = (
        "A dot for each fold; the line is their mean, the band one standard deviation either way. Folds share most of "
        "their training examples, so the standard error is somewhat too small."
    )
    figures = charts(*(_dots(found, name) for name in shown))
    return section("How much it depends on the split", tag("p", words, class_="quiet"), figures)


def _dots(found: "CrossValidation", name: str) -> Html:
    spread = found.test[name]
    numbers = list(range(1, len(found.folds) + 1))
    ends = {"xref": "paper", "x0": 0, "x1": 1}
    band = {"type": "rect", **ends, "y0": spread.mean - spread.std, "y1": spread.mean + spread.std}
    mean = {"type": "line", **ends, "y0": spread.mean, "y1": spread.mean, "line": {"color": ACCENT, "width": 1.5}}
    shapes: list[dict[str, Any]] = [
        {**band, "fillcolor": ACCENT, "opacity": 0.12, "line": {"width": 0}, "layer": "below"},
        mean,
    ]
    dots = {
        "x": numbers,
        "y": [fold.test[name] for fold in found.folds],
        "mode": "markers",
        "marker": {"color": ACCENT, "size": 11},
        "hovertemplate": "fold %{x}: %{y:.4~g}<extra></extra>",
    }
    return chart(
        name_of(name)[0].upper() + name_of(name)[1:],
        [dots],
        xaxis=axis("fold", tickvals=numbers, range=[0.5, len(numbers) + 0.5]),
        yaxis=axis(f"test {name_of(name)}"),
        shapes=shapes,
        showlegend=False,
        height=260,
    )


def _every(found: "CrossValidation", names: list[str]) -> Html:
    head = ["", "mean", "standard deviation", "standard error", found.baseline_name]
    rows = [
        [name_of(n), *map(number, (s.mean, s.std, s.standard_error, found.baseline.get(n)))]
        for n, s in ((n, found.test[n]) for n in names)
    ]
    return section("Every figure", boxed(table(head, rows, class_="numbers")))


def _table(found: "CrossValidation", shown: list[str]) -> Html:
    rows = [
        (fold.name, [f"fold {i}", fold.examples, *(fold.test[n] for n in shown), duration(fold.seconds)])
        for i, fold in enumerate(found.folds, 1)
    ]
    head = ["", "trained on", *(name_of(n) for n in shown), "time"]
    return trainings("The folds", head, rows, "Figures on each fold's own test split; the name leads to its report.")
