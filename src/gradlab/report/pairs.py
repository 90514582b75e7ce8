"""What a model of pairs writes for sources of the test split."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from gradlab.data import PairedExamples, Pairing
from gradlab.data.pairs.sentences import Sentences
from gradlab.markup import Html, quiet, section, table
from gradlab.report.captions import captions_section
from gradlab.report.charts import axis, bars, chart, charts
from gradlab.report.inside.alignment import alignment_chart
from gradlab.wording import number

if TYPE_CHECKING:
    from gradlab.run import Run
    from gradlab.tasks.seq2seq import Seq2Seq
    from gradlab.tasks.written import Written

_SHOWN, _DRAWN = 20, 2  # texts in the table, and of those the ones whose alignment is drawn
_WRITTEN = 200  # of which the figures by length are made
_LONGEST = 60  # tokens of a source that is drawn
_GROUPS = 6  # of lengths


def pairs_section(run: "Run") -> Html:
    """Sources, what was written for them and what should have been, the wrong ones first; and where it looked."""
    task: Seq2Seq = run.task  # type: ignore[assignment]
    test, pairing = run.dataset.test, run.preprocessing
    if not len(test) or not isinstance(pairing, Pairing):
        return Html()
    if not isinstance(pairing.source, Sentences):
        return captions_section(run)
    some = test.sample(_WRITTEN)
    written = task.write(run.model, some.inputs)
    sources = [str(run.dataset.raw.inputs[row]) for row in some.rows]
    wrong = [one.text != reference for one, reference in zip(written, some.texts, strict=True)]
    order = np.argsort([not mistake for mistake in wrong], kind="stable")[:_SHOWN]
    rows = [[sources[i], written[i].text, some.texts[i] if wrong[i] else "✓", number(written[i].score)] for i in order]
    words = (
        f"{sum(wrong):,} of {len(some):,} texts of the test split differ from their reference; those are first. The "
        "score is the mean log-probability of a token."
    )
    shown = table(["source", "written", "reference", "score"], rows)
    figures = [_by_length(some, wrong), *_alignments(run, pairing, some, written)]
    return section("What it writes", quiet(words), shown, charts(*figures))


def _by_length(some: PairedExamples, wrong: Sequence[bool]) -> Html:
    lengths = some.inputs.lengths
    groups = np.array_split(np.argsort(lengths, kind="stable"), min(_GROUPS, len(lengths)))
    names = [_range(lengths[group]) for group in groups]
    right = [100 * (1 - float(np.mean(np.asarray(wrong)[group]))) for group in groups]
    trace = bars(names, right, "%{x} tokens: %{y:.0f} % exactly right<extra></extra>")
    axes: dict[str, Any] = {"xaxis": axis("tokens of the source", type="category"), "yaxis": axis("% exact")}
    return chart("Exact matches by length of the source", [trace], showlegend=False, **axes)


def _range(lengths: Any) -> str:
    low, high = int(lengths.min()), int(lengths.max())
    return f"{low}" if low == high else f"{low}–{high}"


def _alignments(run: "Run", pairing: Pairing, some: PairedExamples, written: Sequence["Written"]) -> list[Html]:
    from gradlab.probes.alignment import alignment_of

    short = [row for row in range(len(some)) if some.inputs.lengths[row] <= _LONGEST][:_DRAWN]
    alignments = [alignment_of(run.model, pairing, some.inputs[row : row + 1], written[row]) for row in short]
    return [alignment_chart("Where it looked", one) for one in alignments if one is not None]
