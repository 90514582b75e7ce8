"""The report of a study of lottery tickets."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, card, go_on, quiet, section, table
from gradlab.report.charts import PALETTE, SOFT, charts
from gradlab.studies.pages.frame import boxed, cards
from gradlab.studies.pages.frame import report as frame
from gradlab.studies.pages.kept import kept_chart
from gradlab.wording import counted, name_of, number, percent

if TYPE_CHECKING:
    from gradlab.studies.tickets import Row, Tickets, Way

WORDS: "dict[Way, str]" = {"dense": "dense", "ticket": "ticket", "reinit": "reinitialised"}
_COLORS: "dict[Way, str]" = {"ticket": PALETTE[0], "reinit": PALETTE[1]}


def report(result: "Tickets") -> Html:
    lead = (
        f"With each of {counted(len(result.seeds), 'seed')} a dense network was trained, pruned by magnitude and "
        "rewound to its first weights, round after round. A ticket is what is left, trained from those first weights; "
        "its control has the same mask and other first weights."
    )
    smallest = [result.row("dense", 1.0), *(result.row(way, result.shares[-1]) for way in _COLORS)]
    return frame(
        result.recipe,
        "Lottery tickets",
        result.path,
        lead,
        cards(*(_card(result, row) for row in smallest)),
        section("Figures against the weights that are kept", quiet(result.verdict), charts(_chart(result))),
        _table(result),
        _gains(result),
        go_on({"Look at the smallest ticket": f"gradlab evaluate {result.path / result.smallest}"}),
    )


def _card(result: "Tickets", row: "Row") -> Html:
    beside = {"standard deviation": number(row.spread.std), "weights kept": percent(row.kept)}
    return card(f"{WORDS[row.way]}, {result.split} {name_of(result.metric)}", number(row.spread.mean), beside)


def _chart(result: "Tickets") -> Html:
    dense = result.row("dense", 1.0).values
    series = {
        WORDS[way]: ({share: result.row(way, share).values for share in result.shares}, color)
        for way, color in _COLORS.items()
    }
    return kept_chart(
        f"{result.split.capitalize()} {name_of(result.metric)}",
        f"{result.split} {name_of(result.metric)}",
        {WORDS["dense"]: (dict.fromkeys((1.0, *result.shares), dense), SOFT), **series},
        "Lines are means over the seeds, bands one standard deviation either way.",
    )


def _table(result: "Tickets") -> Html:
    head = [
        "",
        "weights kept",
        "mean",
        "standard deviation",
        "standard error",
        *(f"seed {seed}" for seed in result.seeds),
    ]
    rows = [
        [
            WORDS[row.way],
            percent(row.kept),
            *map(number, (row.spread.mean, row.spread.std, row.spread.standard_error, *row.values)),
        ]
        for row in result.rows
    ]
    title = f"{result.split.capitalize()} {name_of(result.metric)}"
    return section(title, boxed(table(head, rows, class_="numbers")))


def _gains(result: "Tickets") -> Html:
    """Pair by pair: with the same seed and the same mask, the first weights alone differ."""
    words = "How much better a ticket is than its control, which has the same mask, data and order of the examples."
    gains = ((share, result.gain(share)) for share in result.shares)
    rows = [[percent(share), *map(number, (g.mean, g.std, g.standard_error))] for share, g in gains]
    head = ["weights kept", "mean gain", "standard deviation", "standard error"]
    return section("Tickets against their controls", quiet(words), boxed(table(head, rows, class_="numbers")))
