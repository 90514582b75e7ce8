"""A text as a page: its sizes, what is most common in it, its longest lines, and how it begins."""

from pathlib import Path

from gradlab.data.text.overview import TextOverview
from gradlab.files import write_file
from gradlab.markup import Html, join, quiet, section, table, tag
from gradlab.report.charts import axis, charts, count_bars
from gradlab.report.page import page
from gradlab.wording import counted


def write_text_page(name: str, overview: TextOverview, path: Path) -> None:
    """Write the page of a text."""
    parts = [_head(name, overview), _beginning(overview), _common(overview), _classes(overview), _lines(overview)]
    write_file(path, page(name, join(parts)))


def _head(name: str, overview: TextOverview) -> Html:
    lead = (
        f"{counted(overview.characters, 'character')} ({overview.different_characters:,} different), "
        f"{counted(overview.words, 'word')} ({overview.different_words:,} different), "
        f"{counted(overview.lines, 'line')} in {counted(overview.documents, 'document')}; "
        f"{counted(overview.tokens, 'token')} of a vocabulary of {overview.vocabulary:,} ({overview.tokenizer})."
    )
    notes = [tag("p", note, class_="note") for note in overview.notes]
    return tag("header", tag("p", "Data", class_="over"), tag("h1", name), tag("p", lead, class_="lead"), *notes)


def _beginning(overview: TextOverview) -> Html:
    return section("How it begins", tag("figure", tag("pre", overview.beginning, style="white-space: pre-wrap")))


def _common(overview: TextOverview) -> Html:
    figures = [
        count_bars(title, map(repr, counts), list(counts.values()), words, bar=20, xaxis=axis("times"))
        for title, counts, words in (
            ("Words", overview.common_words, "Letters and digits in a row."),
            ("Tokens", overview.common_tokens, f"What a model would read: data.tokenizer={overview.tokenizer}."),
        )
        if counts
    ]
    return section("Most common", charts(*figures))


def _classes(overview: TextOverview) -> Html:
    if not overview.classes:
        return Html()
    lengths = overview.text_tokens
    words = f"A text has {lengths['least']:,} to {lengths['most']:,} tokens, {lengths['median']:,.0f} in the median."
    names, counts = list(overview.classes), list(overview.classes.values())
    return section("Classes", charts(count_bars("Texts of each class", names, counts, words, xaxis=axis("texts"))))


def _lines(overview: TextOverview) -> Html:
    rows = [[line.document, f"{line.line:,}", f"{line.characters:,}", line.text] for line in overview.longest_lines]
    lines = table(["document", "line", "characters", "how it begins"], rows)
    return section("The longest lines", quiet("A line that is far longer than the others may be no text."), lines)
