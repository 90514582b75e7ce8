"""From a finished run to its report.html."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gradlab.errors import GradlabError, TrainingError
from gradlab.files import REMEDY, write_file
from gradlab.markup import Html, join, section, tag
from gradlab.report import (
    classification,
    closing,
    columns,
    curves,
    headline,
    language,
    pruning,
    regression,
    weights,
)
from gradlab.report.findings import findings_section
from gradlab.report.page import page

if TYPE_CHECKING:
    from gradlab.run import Run

Section = Callable[["Run"], Html]


def _forecast(run: "Run") -> Html:
    from gradlab.report.forecast import backtest_section  # which loads torch, and so only where there is a model

    return backtest_section(run)


def _pairs(run: "Run") -> Html:
    from gradlab.report.pairs import pairs_section

    return pairs_section(run)


def _samples(run: "Run") -> Html:
    from gradlab.report.generated import samples_section

    return samples_section(run)


def _reconstructions(run: "Run") -> Html:
    from gradlab.report.generated import reconstructions_section

    return reconstructions_section(run)


def _margin(run: "Run") -> Html:
    from gradlab.report.margins import margin_section

    return margin_section(run)


def _playing(run: "Run") -> Html:
    from gradlab.report.playing import playing_section

    return playing_section(run)


sections: dict[str, Section] = {
    "margin": _margin,
    "classes": classification.test_section,
    "numbers": regression.test_section,
    "counts": regression.counts_section,
    "written": language.written_section,
    "filled in": language.filled_section,
    "pairs": _pairs,
    "forecast": _forecast,
    "samples": _samples,
    "reconstructions": _reconstructions,
    "playing": _playing,
}
"""By the names that tasks have for them."""

_TITLES = {"margin": "Margin", "samples": "Samples", "reconstructions": "Reconstructions", "playing": "Playing"}


def write_report(run: "Run") -> Path:
    """Write `report.html` into the folder of a finished run, whole or not at all."""
    has_curve = run.finished["steps"] > 1  # counting n-grams is one step
    parts = [
        headline.headline(run),
        findings_section("What the doctor says", [f for f in run.findings or [] if f.severity != "note"]),
        pruning.pruning_section(run),
        curves.learning_section(run) if has_curve else Html(),
        *(
            _or_reason(_TITLES.get(name, "Test split"), sections[name], run)
            for name in run.task.sections
            if name in sections
        ),
        _or_reason("Importance of the columns", columns.importance_sections, run),
        curves.health_section(run) if has_curve else Html(),
        closing.columns_section(run),
        _or_reason("First layer", weights.weights_section, run),
        _or_reason("Augmentation", _augmentation, run),
        closing.recipe_section(run),
        closing.next_section(run),
    ]
    path = run.output("report.html")
    write_file(
        path, page(" · ".join(run.names), join(parts)), f"{REMEDY}, then: gradlab resume {run.path}", TrainingError
    )
    return path


def _augmentation(run: "Run") -> Html:
    """What the training saw of its pictures; nothing where they were plain."""
    if run.recipe.data.values.get("augment") is None:
        return Html()
    from gradlab.data.pictures.augmentation import Augmented
    from gradlab.report.augmentation import augmentation_section

    view = run.dataset.train
    assert isinstance(view, Augmented)
    return augmentation_section(view, run.dataset.raw, run.recipe.train["seed"])


def _or_reason(title: str, draw: Section, run: "Run") -> Html:
    """A section that needs the data or the model; where they are gone, the reason stands in its place."""
    try:
        return draw(run)
    except GradlabError as error:
        return section(title, tag("p", f"Left out of this report: {error}", class_="note"))
