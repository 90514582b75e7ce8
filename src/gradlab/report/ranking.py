"""A classifier at every threshold: the curves of ROC and of precision and recall, and what a better threshold gives."""

from typing import TYPE_CHECKING, Any

from gradlab.errors import GradlabError
from gradlab.markup import Html, quiet, section
from gradlab.printable import printable
from gradlab.report.charts import (
    ACCENT,
    GOOD,
    PALETTE,
    TRAIN,
    Trace,
    axis,
    chart,
    charts,
    diagonal,
    dots,
    level,
    line,
    thinned,
)
from gradlab.report.predictions import Predictions

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks import Ranking
    from gradlab.tasks.ranking import Outcome

_SHORT = 24  # letters of a class name in the legend
_SHARE: dict[str, Any] = {"range": [-0.02, 1.03], "dtick": 0.2}


def ranking_section(run: "Run", predictions: Predictions) -> Html:
    """How well probabilities separate a class from the others; nothing where the test split has one class alone."""
    from gradlab.tasks import rankings

    ranked = rankings(predictions.probabilities, predictions.actual, run.targets)
    if not ranked:
        return Html()
    if len(predictions.classes) > 2:
        return section("Thresholds", quiet(_of_classes(ranked)), _charts(_hardest(ranked), []))
    ((name, ranking),) = ranked.items()
    outcomes = _outcomes(run, ranking)
    return section("Thresholds", quiet(_of_two(name, ranking, outcomes)), _charts(ranked, outcomes))


def _hardest(ranked: dict[str, "Ranking"]) -> dict[str, "Ranking"]:
    """As many classes as there are colours, in their order."""
    names = sorted(ranked, key=lambda name: ranked[name].auroc)[: len(PALETTE)]
    return {name: ranking for name, ranking in ranked.items() if name in names}


def _of_classes(ranked: dict[str, "Ranking"]) -> str:
    areas, precisions = ([getattr(r, name) for r in ranked.values()] for name in ("auroc", "average_precision"))
    words = (
        f"Each class against all others: AUROC from {min(areas):.3f} to {max(areas):.3f}, average precision from "
        f"{min(precisions):.3f} to {max(precisions):.3f}."
    )
    if len(ranked) <= len(PALETTE):
        return words
    return f"{words} Of {len(ranked)} classes the {len(PALETTE)} with the lowest AUROC are shown."


def _outcomes(run: "Run", ranking: "Ranking") -> list["Outcome"]:
    """At 0.5, and at the best threshold of the validation split, where there is one."""
    try:
        return [ranking.at(0.5), ranking.at(run.threshold)]
    except GradlabError:
        return [ranking.at(0.5)]


def _of_two(name: str, ranking: "Ranking", outcomes: list["Outcome"]) -> str:
    usual, *best = (f"recall {o.recall:.2f}, precision {_figure(o.precision)}, F1 {o.f1:.2f}" for o in outcomes)
    words = (
        f"The positive class is {name!r}, the rarer one: {ranking.share:.1%} of the test examples. AUROC "
        f"{ranking.auroc:.3f} (a guess has 0.5), average precision {ranking.average_precision:.3f} (a guess has "
        f"{ranking.share:.3f}). At a probability of 0.5: {usual}"
    )
    if best:
        words += f"; at {outcomes[1].threshold:.3g}, which has the best F1 on the validation split: {best[0]}"
    return f"{words}."


def _figure(share: float) -> str:
    return f"{share:.2f}" if share == share else "–"


def _charts(ranked: dict[str, "Ranking"], outcomes: list["Outcome"]) -> Html:
    """Both curves of each class, with the thresholds of a single one."""
    colors = [ACCENT] if len(ranked) == 1 else PALETTE
    drawn = [(name, ranking, color) for (name, ranking), color in zip(ranked.items(), colors, strict=False)]
    guess = [level(ranking.share) for ranking in ranked.values()] if len(ranked) == 1 else []
    return charts(
        chart(
            "ROC",
            [
                diagonal(0, 1),
                *(_roc(*one) for one in drawn),
                *(_mark(o, color, o.false_alarms, o.recall) for o, color in zip(outcomes, (TRAIN, GOOD), strict=False)),
            ],
            "Recall: how much of the class is found. False alarms: how much of the others is taken for it. On the "
            "dotted line is a guess.",
            height=400,
            xaxis=axis("false alarms", **_SHARE),
            yaxis=axis("recall", **_SHARE),
        ),
        chart(
            "Precision and recall",
            [
                *(_precision_recall(*one) for one in drawn),
                *(_mark(o, color, o.recall, o.precision) for o, color in zip(outcomes, (TRAIN, GOOD), strict=False)),
            ],
            "Precision: how often a prediction of the class is right. Beside its name, the average precision."
            f"{' On the dotted line is a guess.' if guess else ''}",
            height=400,
            xaxis=axis("recall", **_SHARE),
            yaxis=axis("precision", **_SHARE),
            shapes=guess,
        ),
    )


def _roc(name: str, ranking: "Ranking", color: str) -> Trace:
    some = thinned(range(len(ranking.threshold)))
    x, y = ([0.0, *rate[some]] for rate in (ranking.false_alarms, ranking.recall))
    hover = "from %{customdata:.3f} on: recall %{y:.3f}, false alarms %{x:.3f}<extra></extra>"
    return line(
        f"{printable(name, _SHORT)}: AUROC {ranking.auroc:.3f}",
        x,
        y,
        color,
        hover,
        customdata=[1.0, *ranking.threshold[some]],
    )


def _precision_recall(name: str, ranking: "Ranking", color: str) -> Trace:
    some = thinned(range(len(ranking.threshold)))
    hover = "from %{customdata:.3f} on: precision %{y:.3f}, recall %{x:.3f}<extra></extra>"
    title = f"{printable(name, _SHORT)}: {ranking.average_precision:.3f}"
    return line(title, ranking.recall[some], ranking.precision[some], color, hover, customdata=ranking.threshold[some])


def _mark(outcome: "Outcome", color: str, x: float, y: float) -> Trace:
    hover = f"precision {_figure(outcome.precision)}, recall {outcome.recall:.2f}, F1 {outcome.f1:.2f}"
    return dots(f"at {outcome.threshold:.3g}", [x], [y], color, hover, size=11)
