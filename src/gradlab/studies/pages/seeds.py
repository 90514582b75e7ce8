"""The report of a recipe that was trained with several seeds."""

from typing import TYPE_CHECKING

from gradlab.markup import Html, card, go_on, section, tag
from gradlab.report.bands import band_chart
from gradlab.report.charts import TRAIN, VALIDATION, charts
from gradlab.studies.pages.frame import cards
from gradlab.studies.pages.frame import report as frame
from gradlab.studies.pages.spread import every_figure, every_training, mean_cards, spread_section
from gradlab.wording import counted, name_of

if TYPE_CHECKING:
    from gradlab.studies.seeds import Seeds

_COLORS = {"train": TRAIN, "validation": VALIDATION}
_TITLES = {"train": "Training", "validation": "Validation"}


def report(result: "Seeds") -> Html:
    held = "What depends on which examples are held out is not in it: cross-validation, --folds, shows that."
    words = f"Figures on the {result.split} split, which is the same for all; the name leads to a seed's own report."
    return frame(
        result.recipe,
        f"Spread over {counted(len(result.members), 'seed')}",
        result.path,
        _lead(result),
        cards(*mean_cards(result), *_diverged(result)),
        _learning(result),
        spread_section(result, "How much it depends on the seed", held),
        every_figure(result),
        every_training(result, "The seeds", words, "steps", [member.steps for member in result.members]),
        go_on({"Look at one of them": f"gradlab evaluate {result.path / result.finished[0].name}"}),
    )


def _lead(result: "Seeds") -> str:
    lead = (
        f"The same recipe trained with {counted(len(result.members), 'seed')}. Only train.seed differs, and with it "
        "the first weights and all that training draws; the data and their split stay as they are."
    )
    return lead + (f" The figures are of {result.basis}." if result.diverged else "")


def _diverged(result: "Seeds") -> list[Html]:
    if not result.diverged:
        return []
    which = ", ".join(map(str, result.diverged))
    return [card("finished seeds", f"{len(result.finished)} of {len(result.members)}", {"diverged": which}, "poor")]


def _learning(result: "Seeds") -> Html:
    """The curves of all seeds, with their mean and band."""
    if not result.curves:
        return Html()
    figures = [
        band_chart(
            f"{_TITLES[split]} {name_of(name)}", name_of(name), curves, _COLORS[split], "seed", loss=name == "loss"
        )
        for (split, name), curves in result.curves.items()
    ]
    return section("Learning", tag("p", _words(result), class_="quiet"), charts(*figures))


def _words(result: "Seeds") -> str:
    """How the curves are to be read."""
    words = (
        "The line is the mean of the seeds, the band one standard deviation either way; the thin lines are the seeds. "
        "The untrained models, before the first step, are not drawn."
    )
    steps = [member.steps for member in result.finished]
    if min(steps) < max(steps):
        words += (
            f" They stopped after {min(steps):,} to {counted(max(steps), 'step')}: mean and band at a step are of the "
            "seeds that reached it, and end where fewer than two did."
        )
    drawn = max(map(len, result.curves.values()))
    if drawn < len(result.finished):
        words += f" The folders of {len(result.finished) - drawn} are gone, and their curves with them."
    return words + (" Seeds that diverged are not drawn either." if result.diverged else "")
