"""The report of a sweep."""

from typing import TYPE_CHECKING, Any

from gradlab.markup import Html, card, go_on, section, table, tag
from gradlab.report.charts import ACCENT, GOOD, SOFT, Trace, axis, chart, charts
from gradlab.studies.knobs import typed
from gradlab.studies.pages.frame import boxed, cards
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.studies.sweep import Sweep, SweepTrial

_SHOWN = 15  # of the best trials


def report(result: "Sweep", command: str) -> Html:
    stopped = len(result.trials) - len(result.ranked)
    lead = (
        f"{counted(len(result.trials), 'trial')} over {' and '.join(result.space)}, judged by the "
        f"{name_of(result.metric)} on the validation split; {stopped} of them were stopped early."
    )
    lead += f" {result.tie[0].upper()}{result.tie[1:]}." if result.tie else ""
    best = result.best
    if best is None:
        return frame(result.recipe, "Sweep", result.path, lead, tag("p", "No trial has come to its end."))
    commands = {"Train the best again, to the bit": f"{command} {result.overrides}"}
    if result.best_run is not None:
        commands["Use the best run as it is"] = f"gradlab predict {result.best_run} INPUT"
    return frame(
        result.recipe,
        "Sweep",
        result.path,
        lead,
        cards(*_cards(result, best)),
        section("How the search went", charts(_history(result))),
        section(
            f"{name_of(result.metric)[0].upper()}{name_of(result.metric)[1:]} against each knob",
            charts(*(_against(result, key) for key in result.space)),
        ),
        _table(result),
        go_on(commands),
    )


def _cards(result: "Sweep", best: "SweepTrial") -> list[Html]:
    beside = {"trial": str(best.number)}
    if result.metric in best.test:
        beside["on the test split"] = number(best.test[result.metric])
    cards_ = [
        card(f"best validation {name_of(result.metric)}", number(best.value), beside, "" if result.tie else "better")
    ]
    for key, value in best.changes.items():
        words = {"searched": result.space[key]}
        if key in result.importance:
            words["importance"] = f"{result.importance[key]:.0%}"
        cards_.append(card(key, _short(value), words))
    return cards_


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else typed(value)


def _history(result: "Sweep") -> Html:
    """Every trial, and the best so far."""
    best_so_far: list[float] = []
    ends: list[int] = []
    better = max if result.higher_is_better else min
    for trial in result.trials:
        if trial.complete and trial.value is not None:
            best_so_far.append(better([trial.value, *best_so_far[-1:]]))
            ends.append(trial.number)
    line = {"color": GOOD, "width": 2, "shape": "hv"}
    best = {"name": "best so far", "x": ends, "y": best_so_far, "mode": "lines", "line": line, "hoverinfo": "skip"}
    return chart(
        "Trials in their order",
        [best, *_dots(result, lambda trial: trial.number)],
        "Hollow: stopped early, at the last value it reached.",
        height=340,
        xaxis=axis("trial"),
        yaxis=axis(f"validation {name_of(result.metric)}"),
    )


def _against(result: "Sweep", key: str) -> Html:
    log = key in result.log
    numeric = all(isinstance(trial.changes.get(key), (int, float)) for trial in result.trials)
    scale = {"type": "log" if log else "linear"} if numeric else {"type": "category"}
    return chart(
        key,
        _dots(result, lambda trial: trial.changes.get(key)),
        f"Importance {result.importance[key]:.0%}: its share in what separates good trials from bad ones."
        if key in result.importance
        else "",
        height=280,
        xaxis=axis(key, **scale),
        yaxis=axis(f"validation {name_of(result.metric)}"),
        showlegend=False,
    )


def _dots(result: "Sweep", place: Any) -> list[Trace]:
    complete = [t for t in result.trials if t.complete and t.value is not None]
    stopped = [t for t in result.trials if not t.complete and t.value is not None]
    hollow = {"color": "rgba(0,0,0,0)", "size": 8, "line": {"color": SOFT, "width": 1.5}}
    kinds = [("complete", complete, {"color": ACCENT, "size": 9}), ("stopped early", stopped, hollow)]
    best = [("best", [result.best], {"color": GOOD, "size": 14, "symbol": "star"})] if result.best else []
    return [
        {
            "name": name,
            "x": [place(trial) for trial in trials if trial],
            "y": [trial.value for trial in trials if trial],
            "mode": "markers",
            "marker": marker,
            "text": [f"trial {trial.number}" for trial in trials if trial],
            "hovertemplate": "%{text}: %{y:.4~g} at %{x}<extra></extra>",
        }
        for name, trials, marker in [*kinds, *best]
    ]


def _table(result: "Sweep") -> Html:
    head = ["trial", f"validation {name_of(result.metric)}", *result.space, "steps", "time"]
    rows = [
        [
            str(trial.number),
            number(trial.value),
            *(_short(trial.changes.get(key)) for key in result.space),
            number(trial.steps),
            duration(trial.seconds) if trial.seconds is not None else "–",
        ]
        for trial in result.ranked[:_SHOWN]
    ]
    words = "The best trials. The run of the first is kept in full, of the others recipe, metrics and figures."
    return section("The best", tag("p", words, class_="quiet"), boxed(table(head, rows, class_="numbers")))
