"""The report of a cross-validation."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, go_on
from gradlab.studies.pages.frame import cards
from gradlab.studies.pages.frame import report as frame
from gradlab.studies.pages.spread import every_figure, every_training, mean_cards, spread_section

if TYPE_CHECKING:
    from gradlab.studies.folds import CrossValidation


def report(result: "CrossValidation") -> Html:
    count = len(result.folds)
    lead = (
        f"The same recipe trained {count} times; each time another part of the examples was held out for testing, "
        "and everything, preprocessing included, was learned from the rest."
    )
    shared = "Folds share most of their training examples, so the standard error is somewhat too small."
    words = "Figures on each fold's own test split; the name leads to its report."
    return frame(
        result.recipe,
        f"Cross-validation, {count} folds",
        result.path,
        lead,
        cards(*mean_cards(result)),
        spread_section(result, "How much it depends on the split", shared),
        every_figure(result),
        every_training(result, "The folds", words, "trained on", [fold.examples for fold in result.folds]),
        go_on({"Look at one of them": f"gradlab evaluate {result.path / result.folds[0].name}"}),
    )
