"""The report of a sweep."""

from typing import TYPE_CHECKING, Any

from gradlab.report.charts import ACCENT, GOOD, SOFT, Trace, axis, chart, charts
from gradlab.report.markup import Html, card, go_on, section, table, tag
from gradlab.studies.knobs import typed
from gradlab.studies.pages.frame import boxed, cards
from gradlab.studies.pages.frame import report as frame
from gradlab.wording import counted, duration, name_of, number

if TYPE_CHECKING:
    from gradlab.studies.sweep import Sweep, Tried

_SHOWN = 15  # of the best trials


def report(found: "Sweep", command: str) -> Html:
    given_up = len(found.trials) - len(found.ranked)
    lead = (
        f"{counted(len(found.trials), 'trial')} over {' and '.join(found.space)}, judged by the "
        f"{name_of(found.metric)} on the validation split; {given_up} of them were given up early."
    )
    best = found.best
    if best is None:
        return frame(found.recipe, "Sweep", found.path, lead, tag("p", "No trial has come to its end."))
    commands = {"Train the best again, to the bit": f"{command} {found.overrides}"}
    if found.best_run is not None:
        commands["Use the best run as it is"] = f"gradlab predict {found.best_run} INPUT"
    return frame(
        found.recipe,
        "Sweep",
        found.path,
        lead,
        cards(*_cards(found, best)),
        section("How the search went", charts(_history(found))),
        section(
            f"{name_of(found.metric)[0].upper()}{name_of(found.metric)[1:]} against each knob",
            charts(*(_against(found, key) for key in found.space)),
        ),
        _table(found),
        go_on(commands),
    )


def _cards(found: "Sweep", best: "Tried") -> list[Html]:
    beside = {"trial": str(best.number)}
    if found.metric in best.test:
        beside["on the test split"] = number(best.test[found.metric])
    cards_ = [card(f"best validation {name_of(found.metric)}", number(best.value), beside, "better")]
    for key, value in best.changes.items():
        words = {"searched": found.space[key]}
        if key in found.importance:
            words["importance"] = f"{found.importance[key]:.0%}"
        cards_.append(card(key, _short(value), words))
    return cards_


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else typed(value)


def _history(found: "Sweep") -> Html:
    """Every trial, and the best so far."""
    best_so_far: list[float] = []
    ends: list[int] = []
    better = max if found.higher_is_better else min
    for trial in found.trials:
        if trial.complete and trial.value is not None:
            best_so_far.append(better([trial.value, *best_so_far[-1:]]))
            ends.append(trial.number)
    line = {"color": GOOD, "width": 2, "shape": "hv"}
    best = {"name": "best so far", "x": ends, "y": best_so_far, "mode": "lines", "line": line, "hoverinfo": "skip"}
    return chart(
        "Trials in their order",
        [best, *_dots(found, lambda trial: trial.number)],
        "Hollow: given up early, at the last value it reached.",
        height=340,
        xaxis=axis("trial"),
        yaxis=axis(f"validation {name_of(found.metric)}"),
    )


def _against(found: "Sweep", key: str) -> Html:
    log = key in found.log
    numeric = all(isinstance(trial.changes.get(key), (int, float)) for trial in found.trials)
    scale = {"type": "log" if log else "linear"} if numeric else {"type": "category"}
    return chart(
        key,
        _dots(found, lambda trial: trial.changes.get(key)),
        f"Importance {found.importance[key]:.0%}: its share in what tells good trials from bad ones."
        if key in found.importance
        else "",
        height=280,
        xaxis=axis(key, **scale),
        yaxis=axis(f"validation {name_of(found.metric)}"),
        showlegend=False,
    )


def _dots(found: "Sweep", place: Any) -> list[Trace]:
    complete = [t for t in found.trials if t.complete and t.value is not None]
    given_up = [t for t in found.trials if not t.complete and t.value is not None]
    hollow = {"color": "rgba(0,0,0,0)", "size": 8, "line": {"color": SOFT, "width": 1.5}}
    kinds = [("complete", complete, {"color": ACCENT, "size": 9}), ("given up", given_up, hollow)]
    best = [("best", [found.best], {"color": GOOD, "size": 14, "symbol": "star"})] if found.best else []
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


def _table(found: "Sweep") -> Html:
    head = ["trial", f"validation {name_of(found.metric)}", *found.space, "steps", "time"]
    rows = [
        [
            str(trial.number),
            number(trial.value),
            *(_short(trial.changes.get(key)) for key in found.space),
            number(trial.steps),
            duration(trial.seconds) if trial.seconds is not None else "–",
        ]
        for trial in found.ranked[:_SHOWN]
    ]
    words = "The best trials. The run of the first is kept in full, of the others recipe, metrics and figures."
    return section("The best", tag("p", words, class_="quiet"), boxed(table(head, rows, class_="numbers")))
