"""What a notebook shows of results: small, well-formed and escaped HTML, and a short line as text."""

from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from gradlab.diagnosis.finding import Finding, Findings, Spot, Verdict
from gradlab.diagnosis.series import Series
from gradlab.errors import GradlabError
from gradlab.inline import COLORS, TRAIN, VALIDATION, InlineResult, bar_rows, figures_table, inline, line_chart
from gradlab.run.columns import ColumnImportance, Effect, Importance
from gradlab.run.results import BaselineFigures, Metrics, TrainingLog
from gradlab.studies.folds import CrossValidation
from gradlab.studies.learning_curve import LearningCurve
from gradlab.studies.members import Member
from gradlab.studies.range_test import RangeTest
from gradlab.studies.seeds import Seeds
from gradlab.studies.sweep import Sweep, SweepTrial
from gradlab.studies.tickets import Tickets
from gradlab.studies.vary import Variations
from gradlab.tasks.ranking import Ranking
from gradlab.training.fit import Fit

HOSTILE = '<b>&"x'


class Elements(HTMLParser):
    """The elements of a piece of HTML, which must be closed in the order in which they were opened."""

    def __init__(self, html: str):
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.open.append(tag)
        self.names.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def lines(steps: Sequence[int] = (0, 5, 10)) -> TrainingLog:
    each = [
        {"step": step, "split": split, "loss": 2.0 - step / 10} for step in steps for split in ("train", "validation")
    ]
    return TrainingLog([{**line, HOSTILE: 0.5} for line in each])


def finding() -> Finding:
    series = Series()
    for step in range(5):
        series.add(step, float(step))
    words = {"evidence": HOSTILE, "fix": HOSTILE, "title": HOSTILE}
    place = (Spot(HOSTILE),)
    return Finding(
        slug="dead_units", severity="error", confidence=0.9, since_step=0, place=place, series=series, **words
    )


def member(name: str = "seed-0", **changes: Any) -> Member:
    figures = {"loss": 0.5, HOSTILE: 0.9}
    splits = dict.fromkeys(("train", "validation", "test"), figures)
    changes = changes or {"train.seed": 0, HOSTILE: HOSTILE}
    return Member(name=name, changes=changes, examples=9, ended="finished", baseline={"name": HOSTILE}, **splits)


def tickets() -> Tickets:
    ways = [("dense", 1.0), ("ticket", 0.5), ("reinit", 0.5)]
    members = [member(f"{way}-{seed}", way=way, kept=kept) for way, kept in ways for seed in (0, 1)]
    figures = {"split": "test", "metric": HOSTILE, "higher_is_better": True}
    return Tickets(recipe=HOSTILE, of="run", path=Path(HOSTILE), seeds=[0, 1], shares=[0.5], members=members, **figures)


STUDY: dict[str, Any] = {"recipe": HOSTILE, "path": Path(HOSTILE)}
REPEATED: dict[str, Any] = {**STUDY, "members": [member(), member()], "higher": {HOSTILE: True}}
COLUMN = ColumnImportance(name=HOSTILE, mean=0.5, std=0.1, figures={"loss": 1.0})
SAMPLE: dict[str, Any] = {"split": "test", "figure": HOSTILE, "rows": 9, "repeats": 2, "figures": {"loss": 0.5}}
TRIAL = SweepTrial(number=0, changes={HOSTILE: HOSTILE}, ended="complete", value=0.5)
SWEEP: dict[str, Any] = {"metric": HOSTILE, "higher_is_better": True, "space": {HOSTILE: "1:2"}, "fixed": {}, "log": []}
RESULTS: dict[str, Any] = {
    "metrics": lambda: Metrics({HOSTILE: 0.5}),
    "baselines": lambda: BaselineFigures({HOSTILE: {HOSTILE: 0.5}}),
    "log": lines,
    "finding": finding,
    "findings": lambda: Findings([finding()]),
    "no findings": Findings,
    "verdict": lambda: Verdict(findings=Findings([finding()]), steps=9, seconds=1.0),
    "fit": lambda: Fit(torch.nn.Linear(300, 3), lines(), 10, 0.5, Metrics({HOSTILE: 0.5}), Findings([finding()])),
    "column": lambda: COLUMN,
    "importance": lambda: Importance(**SAMPLE, columns=[COLUMN] * 50),
    "effect of a number": lambda: effect("number", [1.0, 2.0]),
    "effect of a category": lambda: effect("category", [HOSTILE, "b"]),
    "ranking": lambda: Ranking.of(np.linspace(0, 1, 5000), np.arange(5000) % 3 == 0),
    "seeds": lambda: Seeds(**REPEATED),
    "folds": lambda: CrossValidation(**REPEATED),
    "learning curve": lambda: LearningCurve(**STUDY, metric=HOSTILE, higher_is_better=True, points=[member()] * 3),
    "variations": lambda: Variations(**STUDY, metric=HOSTILE, knobs={HOSTILE: [HOSTILE]}, members=[member()]),
    "sweep": lambda: Sweep(**STUDY, **SWEEP, trials=[TRIAL] * 100, importance={}),
    "tickets": tickets,
    "range test": lambda: RangeTest(
        rates=[1e-3, 1e-2], losses=[1.0, 2.0], smoothed=[1.0, 2.0], suggestion=1e-3, stopped=HOSTILE
    ),
}


def effect(kind: str, values: list[Any]) -> Effect:
    return Effect(column=HOSTILE, kind=kind, values=values, predictions={HOSTILE: [0.1, 0.2]}, missing={}, seen=values)


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_is_small_and_escaped_html(kind: str) -> None:
    html = RESULTS[kind]()._repr_html_()
    elements = Elements(html)
    assert len(html) < 25_000
    assert HOSTILE not in html
    assert "script" not in elements.names
    assert HOSTILE in elements.text or kind in ("no findings", "ranking"), elements.text


@pytest.mark.parametrize("kind", sorted(RESULTS.keys() - {"metrics", "baselines"}))
def test_a_result_is_one_short_line_of_text(kind: str) -> None:
    text = repr(RESULTS[kind]())
    assert text.startswith(f"{type(RESULTS[kind]()).__name__}(")
    assert "\n" not in text
    assert len(text) < 250


@pytest.mark.parametrize("error", [GradlabError, OSError])
def test_unreadable_files_break_no_repr(error: type[Exception]) -> None:
    class Damaged(InlineResult):
        _name = "runs/x"

        def _facts(self) -> list[str]:
            raise error("gone")

    assert repr(Damaged()) == "Damaged(runs/x)"
    assert Damaged()._repr_html_() is None


def test_metrics_remain_a_dictionary() -> None:
    assert Metrics(loss=0.5) == {"loss": 0.5}
    assert repr(Metrics(loss=0.5)) == "{'loss': 0.5}"


# Charts and tables.


def test_line_chart_leaves_out_what_is_not_finite() -> None:
    chart = line_chart("loss", {"a": ([0, 1, 2, 3], [1.0, float("nan"), float("inf"), 2.0])})
    assert "nan" not in chart
    assert "inf" not in chart
    assert chart.count("L") == 1  # one line between the two finite points


@pytest.mark.parametrize("points", [([], []), ([1], [2.0]), ([0, 1], [float("nan"), 2.0])])
def test_line_chart_of_fewer_than_two_points_is_empty(points: Any) -> None:
    assert line_chart("loss", {"a": points}) == ""


def test_line_chart_has_a_logarithmic_axis_where_values_span_decades() -> None:
    steps = [0, 1, 2]
    assert ", logarithmic" in line_chart("loss", {"a": (steps, [1.0, 0.01, 1e-4])})
    assert ", logarithmic" not in line_chart("loss", {"a": (steps, [1.0, 0.5, 0.4])})
    middle = line_chart("loss", {"a": (steps, [1.0, 0.01, 1e-4])}).split("L")[1].split(" ")[1]
    assert float(middle) == pytest.approx((6 + 106) / 2)  # halfway in the logarithm


def test_line_chart_keeps_the_color_of_a_curve_where_another_is_empty() -> None:
    both = ([0, 1], [1.0, 2.0])
    alone = line_chart("loss", {"train": ([], []), "validation": both})
    assert COLORS[1] in alone
    assert COLORS[0] not in alone


def test_line_chart_of_many_points_ends_at_the_last() -> None:
    chart = line_chart("loss", {"a": (range(100_000), [float(i) for i in range(100_000)]), "b": ([0, 1], [0.0, 1.0])})
    assert len(chart) < 8_000
    assert "a 99,999" in chart


def test_a_long_table_shows_its_first_rows_and_how_many_more_there_are() -> None:
    text = Elements(RESULTS["sweep"]()._repr_html_()).text
    assert text.count("0.5000") == 21  # the best, and 20 rows
    assert text.endswith("… and 80 more")


def test_bars_are_as_long_as_values_are_large() -> None:
    rows = bar_rows(["", ""], {"a": 2.0, "b": 1.0, "c": -1.0, "d": float("nan")})
    assert [f"width: {width}px" in rows for width in (160, 80, 0)] == [True] * 3


def test_figures_table_marks_missing_figures() -> None:
    table = figures_table({"test": {"loss": 0.5}, "validation": {"accuracy": 0.25}})
    assert Elements(table).text == "testvalidationloss0.5000–accuracy–0.2500"
    assert figures_table({"test": {}}) == ""


def test_training_log_draws_train_and_validation_in_fixed_colors() -> None:
    everything, validation = lines(), TrainingLog(line for line in lines() if line["split"] == "validation")
    assert TRAIN in everything.charts()
    assert VALIDATION in validation.charts()
    assert TRAIN not in validation.charts()


def test_the_style_is_within_its_own_class() -> None:
    style = inline("").split("<style>")[1].split("</style>")[0]
    assert all(rule.strip().startswith(".gradlab ") for rule in style.split("}") if rule.strip())


def test_a_notebook_is_a_kernel_that_is_loaded_already(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    from gradlab.inline import notebook_display

    monkeypatch.setitem(sys.modules, "IPython", None)
    assert notebook_display() is None
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: SimpleNamespace()))  # a terminal
    assert notebook_display() is None
