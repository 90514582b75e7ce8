"""What a model says of pictures of the test split, and where it looked for each word."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradlab.data import PairedExamples, Pairing
from gradlab.markup import Html, join, quiet, section, tag
from gradlab.report.charts import charts
from gradlab.report.looks import LEGEND, looks_card
from gradlab.report.pictures import picture, to_pixels

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks.seq2seq import Seq2Seq
    from gradlab.tasks.written import Written

_WRITTEN, _SHOWN, _DRAWN = 200, 12, 4  # captions that are compared, pictures of them, and those whose words are drawn


def captions_section(run: "Run") -> Html:
    """Pictures with what was written and, where that is wrong, what should have been; those are first."""
    task: Seq2Seq = run.task  # type: ignore[assignment]
    some: PairedExamples = run.dataset.test.sample(_WRITTEN)
    written = task.write(run.model, some.inputs)
    right = [one.text == reference for one, reference in zip(written, some.texts, strict=True)]
    order = np.argsort(right, kind="stable")
    drawn = [_captioned(run, some, written, row) for row in order[:_SHOWN].tolist()]
    words = (
        f"{len(right) - sum(right):,} of {len(right):,} captions of the test split differ from their reference; those "
        "are first, with the reference below."
    )
    grid = tag("figure", tag("div", *drawn, class_="pictures"))
    return join([section("What it writes", quiet(words), charts(grid)), _looked(run, some, written)])


def _captioned(run: "Run", some: PairedExamples, written: Sequence["Written"], row: int) -> Html:
    said, reference = written[row].text, some.texts[row]
    below = [] if said == reference else [tag("div", reference, class_="quiet")]
    return picture(to_pixels(_raw(run, some, row)[None])[0], said, said, *below)


def _looked(run: "Run", some: PairedExamples, written: Sequence["Written"]) -> Html:
    from gradlab.probes.alignment import alignment_of

    pairing = run.preprocessing
    assert isinstance(pairing, Pairing)
    cards = []
    for row in np.linspace(0, len(some) - 1, min(_DRAWN, len(some))).astype(int).tolist():
        source = some.inputs[row : row + 1]
        alignment = alignment_of(run.model, pairing, source, written[row], _raw(run, some, row))
        if alignment is None:
            return Html()
        cards.append(looks_card(written[row].text, alignment))
    return section("Where it looked", quiet(LEGEND), *map(quiet, (run.finished or {}).get("notes", [])), charts(*cards))


def _raw(run: "Run", some: PairedExamples, row: int) -> Any:
    return np.asarray(run.dataset.raw.inputs[some.rows[row]])
