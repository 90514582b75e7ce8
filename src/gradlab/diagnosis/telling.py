"""The verdict as people read it in a terminal."""

import ast
import io
import math
import os
import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from gradlab.diagnosis.finding import Finding, Severity, Verdict, ranks_in_words
from gradlab.diagnosis.series import Series
from gradlab.wording import counted, duration, is_wide, number, sparkline

if TYPE_CHECKING:
    from gradlab.diagnosis.record import Record

_IN_FULL = 3  # findings: with more of them nobody knows where to begin
_PLAIN_WIDTH, _BARS = 100, 40
_STYLES: dict[Severity, str] = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_CODE = "bold green"
_WITHOUT_UNICODE = str.maketrans("▁▂▃▄▅▆▇█–—─…·→×‖∂≥≤", "_.,-~=+#---.->x|d><")


def tell(verdict: Verdict, record: "Record | None" = None, stream: TextIO | None = None) -> None:
    """Write the verdict to a stream, stderr if none is given: in colours to a terminal that has them, else as text."""
    stream = stream or sys.stderr
    if stream is None or getattr(stream, "closed", False):
        return
    console = _console(stream)
    head: list[RenderableType] = [Text(), Rule(Text("gradlab doctor", "bold"), align="left", style="dim")]
    text = _text(console, [*head, *_parts(verdict, record, min(_BARS, console.width // 2))])
    stream.write(encodable(text, stream))
    stream.flush()


def as_text(verdict: Verdict, record: "Record | None" = None) -> str:
    """The same without colours, from the sentence of the verdict on."""
    return _text(_console(io.StringIO()), _parts(verdict, record, _BARS))


def _text(console: Console, parts: Iterable[RenderableType]) -> str:
    with console.capture() as written:
        for part in parts:
            console.print(part)
    return "\n".join(line.rstrip() for line in written.get().splitlines()) + "\n"


def _console(stream: TextIO) -> Console:
    plain = not stream.isatty()
    return Console(
        file=stream,
        highlight=False,
        width=_PLAIN_WIDTH if plain else None,
        no_color=True if plain else None,  # None: as NO_COLOR says
        force_terminal=False if plain else None,
        force_jupyter=False,
    )


def encodable(text: str, stream: TextIO) -> str:
    """What a stream can take of a text."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_WITHOUT_UNICODE).encode(encoding, "replace").decode(encoding)
    return text


def _parts(verdict: Verdict, record: "Record | None", bars: int) -> Iterator[RenderableType]:
    yield Text(verdict.sentence, _style_of(verdict))
    yield Text()
    consequences = [f for f in verdict.findings if f.follows_from is not None]
    causes = [f for f in verdict.findings if f.follows_from is None]
    grave = [f for f in causes if f.severity != "note"]
    for place, finding in enumerate(grave[:_IN_FULL], 1):
        yield _in_full(place, finding, bars)
        yield Text()
    notes = [f for f in causes if f.severity == "note"]
    yield from _listed("What goes with it", map(_follows, consequences))
    yield from _listed("Besides", map(_short, [*grave[_IN_FULL:], *notes]))
    faults = ((Text("–"), Text(fault)) for fault in verdict.faults)
    yield from _listed("Faults of the doctor itself; they did not touch the training", faults)
    yield Text(_cost(verdict, record), "dim")


def _style_of(verdict: Verdict) -> str:
    if verdict.refusal:
        return "bold"
    return _STYLES[verdict.worst] if verdict.worst in ("error", "warning") else "bold green"


def _in_full(place: int, finding: Finding, bars: int) -> RenderableType:
    heading = Text.assemble(
        (f"{place}  ", "dim"),
        (finding.slug, "bold"),
        "  ",
        (finding.severity, _STYLES[finding.severity]),
        (f"  {finding.confidence:.0%} sure", "dim"),
    )
    # The title of the first is the verdict itself.
    title = [Padding(Text(sentence(finding.title), "bold"), (0, 0, 0, 3))] if finding.title and place > 1 else []
    return Group(heading, *title, _grid((Text(key, "dim"), text) for key, text in _rows(finding, bars)))


def _rows(finding: Finding, bars: int) -> Iterator[tuple[str, Text]]:
    if finding.where:
        yield "where", Text(from_here(finding.where))
    if finding.ranks:
        yield "on", Text(ranks_in_words(finding.ranks))
    if finding.since_step >= 0:
        yield "since", Text("the first step" if finding.since_step == 0 else f"step {finding.since_step:,}")
    if finding.evidence:
        yield "measured", with_code(finding.evidence)
    if finding.series:
        yield "", Text(drawn(finding.series, bars))
    if finding.meaning:
        yield "means", with_code(finding.meaning)
    yield "change", with_code(advice(finding))
    if finding.topic:
        yield "more", Text(f"gradlab explain {finding.topic}", _CODE)


def advice(finding: Finding) -> str:
    """What to change: code as it is, words as a sentence."""
    return finding.fix if is_code(finding.fix.partition("\n")[0]) else sentence(finding.fix)


def _listed(title: str, lines: Iterable[tuple[Text, Text]]) -> Iterator[RenderableType]:
    """Under a title, a line for each; nothing where there is none."""
    rows = _grid(lines)
    if rows.row_count:
        yield Text(title, "bold")
        yield rows
        yield Text()


def _grid(rows: Iterable[tuple[Text, Text]]) -> Table:
    """Two columns, a little to the right."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(width=1)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row("", *row)
    return grid


def _follows(finding: Finding) -> tuple[Text, Text]:
    where = f", {from_here(finding.where)}" if finding.where else ""
    text = f"{sentence(finding.title or finding.evidence)}{where}; it goes with {finding.follows_from}."
    return Text(finding.slug, "bold"), Text(text)


def _short(finding: Finding) -> tuple[Text, Text]:
    said = " · ".join(text for text in (sentence(finding.title), from_here(finding.where), finding.evidence) if text)
    text = Text.assemble((finding.slug, "bold"), "  ", _inline(said))
    return Text(finding.severity, _STYLES[finding.severity]), text


def _cost(verdict: Verdict, record: "Record | None") -> str:
    if record is None or record.seconds <= 0:
        return f"Watched for {duration(verdict.seconds)}."
    looks = f", {len(record.looks):,} of them closely" if len(record.looks) < record.steps else ""
    share = record.own_seconds / record.seconds
    own = f"watching took {duration(record.own_seconds)} of it ({share:.0%})"
    return f"Watched {counted(record.steps, 'step')}{looks}, for {duration(record.seconds)}; {own}."


def drawn(series: Series, bars: int = _BARS) -> str:
    """Values over steps as a row of bars, with what it begins and ends with; × stands for what is no number.

    >>> losses = Series()
    >>> for step, loss in enumerate([2.0, 1.5, 1.0, float("nan")]):
    ...     losses.add(step, loss)
    >>> drawn(losses)
    '█▅▁×  2.0000 → nan, steps 0 to 3'
    """
    steps, values = series.thinned(bars)
    finite = [v for v in values if math.isfinite(v)]
    logarithmic = is_wide(values)
    heights = iter(sparkline([math.log(v) if logarithmic else v for v in finite], bars))
    row = "".join(next(heights) if math.isfinite(v) else "×" for v in values)
    ends = number(series.first) if len(series) == 1 else f"{number(series.first)} → {number(series.last)}"
    over = f"step {steps[0]:,}" if len(steps) == 1 else f"steps {series.steps[0]:,} to {series.steps[-1]:,}"
    return f"{row}  {ends}, {over}{', logarithmic' if logarithmic else ''}"


def with_code(text: str) -> Text:
    """Text in which code stands out: what is between backticks, and lines that are Python."""
    lines = text.splitlines()
    indent = "    " if len(lines) > 1 else ""
    return Text("\n").join(_code(indent + line) if is_code(line) else _inline(line) for line in lines)


def _code(line: str) -> Text:
    code, comment = code_and_comment(line)
    return Text.assemble((code, _CODE), comment)


def _inline(line: str) -> Text:
    return Text.assemble(*((part, _CODE if part[:1] == "`" else "") for part in re.split(r"(`[^`]+`)", line)))


def is_code(line: str) -> bool:
    """Whether a line is Python that does something (a call, an assignment, an import, the head of a block), or knobs.

    >>> is_code("optimizer.zero_grad()  # first"), is_code("with torch.no_grad():"), is_code("SGD(…, lr=0.1)")
    (True, True, True)
    >>> is_code("train.keep=best train.patience=5  # end soon after the best")
    True
    >>> is_code("Lower the rate"), is_code("rate"), is_code("train.py:20")
    (False, False, False)
    """
    code = code_and_comment(line)[0].strip().replace("…", "...")
    if code and all("=" in word[1:] for word in code.split()):
        return True
    try:
        statements = ast.parse(f"{code} pass" if code.endswith(":") else code).body
    except (SyntaxError, ValueError):
        return False
    place = ast.AnnAssign  # so Python reads a file with a line
    return any(
        isinstance(s.value, ast.Call) if isinstance(s, ast.Expr) else not isinstance(s, place) for s in statements
    )


def code_and_comment(line: str) -> tuple[str, str]:
    """
    >>> code_and_comment("model.train()  # every epoch")
    ('model.train()', '  # every epoch')
    """
    code, gap, comment = line.partition("  # ")
    return code, gap + comment


def sentence(text: str) -> str:
    """With a capital letter in front.

    >>> sentence("gradients are never cleared")
    'Gradients are never cleared'
    """
    return text[:1].upper() + text[1:]


def from_here(where: str) -> str:
    """Paths below the working folder without it."""
    try:
        return where.replace(f"{os.getcwd()}{os.sep}", "")
    except OSError:  # the script has removed it
        return where
