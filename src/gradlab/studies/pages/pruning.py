"""The report of a run that was pruned in several rounds."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, card, go_on, section, table, tag
from gradlab.report.charts import ACCENT, SOFT, charts
from gradlab.report.pruning import BEGINNINGS
from gradlab.studies.pages.frame import boxed, cards
from gradlab.studies.pages.frame import report as frame
from gradlab.studies.pages.kept import kept_chart
from gradlab.wording import counted, name_of, number, percent

if TYPE_CHECKING:
    from gradlab.studies.pruning import PruningStudy


def report(result: "PruningStudy") -> Html:
    pruning, name = result.run.finished["pruning"], result.metric
    lead = (
        f"{counted(len(result.rounds), 'round')} of pruning by magnitude, each of the same share of the weights that "
        "were left, and trained by the same recipe after each."
    )
    return frame(
        result.run.recipe.name,
        "Pruning",
        result.path,
        lead,
        cards(
            card(
                "weights kept",
                percent(result.kept),
                {"kept": number(pruning["kept"]), "of": number(pruning["weights"])},
            ),
            card("saved weights", f"{result.bytes['pruned']:,} bytes", {"before": f"{result.bytes['dense']:,} bytes"}),
            card(
                f"{result.split} {name_of(name)}",
                number(result.figures(result.run)[name]),
                {"before": number(result.figures(result.of)[name])},
            ),
        ),
        section("Round by round", charts(_chart(result))),
        _table(result),
        go_on({"Evaluate the smallest": f"gradlab evaluate {result.run.path}"}),
    )


def _chart(result: "PruningStudy") -> Html:
    points = {result.share(run): [result.figures(run)[result.metric]] for run in result.rounds}
    before = [result.figures(result.of)[result.metric]]
    dense = dict.fromkeys((1.0, *points), before)
    return kept_chart(
        name_of(result.metric).capitalize(),
        f"{result.split} {name_of(result.metric)}",
        {"pruned": (points, ACCENT), "before": (dense, SOFT)},
        "",
    )


def _table(result: "PruningStudy") -> Html:
    rows = [
        [
            tag("a", run.path.name, href=f"{run.path.name}/report.html", style="color: var(--accent)"),
            percent(result.share(run)),
            number(run.finished["pruning"]["kept"]),
            number(result.figures(run)[result.metric]),
            number(result.figures(run)["loss"]),
            BEGINNINGS[run.finished["pruning"]["start"]],
        ]
        for run in result.rounds
    ]
    head = [
        "round",
        "kept",
        "weights",
        f"{result.split} {name_of(result.metric)}",
        f"{result.split} loss",
        "began with",
    ]
    return section("The rounds", boxed(table(head, rows, class_="numbers")))
