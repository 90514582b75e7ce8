"""The verdict as text: what stands first, what is told in full, and that every stream can take it."""

import io
import math
import re
from collections.abc import Iterable
from typing import Any

import pytest

from gradlab.diagnosis.finding import Finding, Spot, Verdict, ranked
from gradlab.diagnosis.record import Record
from gradlab.diagnosis.series import Series
from gradlab.diagnosis.telling import drawn, is_code, tell


def series(values: Iterable[float]) -> Series:
    made = Series()
    for step, value in enumerate(values):
        made.add(step, value)
    return made


def finding(slug: str, severity: Any = "error", **more: Any) -> Finding:
    usual = {
        "confidence": 0.9,
        "place": (Spot(f"net.{slug}"),),
        "since_step": 7,
        "evidence": f"{slug} was measured.",
        "fix": f"repair_{slug}()",
        "title": f"{slug} is wrong",
        "meaning": f"{slug} matters.",
    }
    return Finding(slug=slug, severity=severity, **(usual | more))


def verdict(*findings: Finding, **more: Any) -> Verdict:
    return Verdict(findings=ranked(findings), steps=200, seconds=12.0, **more)


def told(said: Verdict, record: Record | None = None, stream: io.StringIO | None = None) -> str:
    stream = stream or io.StringIO()
    tell(said, record, stream)
    return stream.getvalue()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    return Terminal()


def test_the_verdict_comes_first_and_then_the_findings_in_their_order() -> None:
    text = told(verdict(finding("late", "warning"), finding("first", confidence=0.97, topic="norm.batch")))
    assert text.splitlines()[2] == "First is wrong, and 1 more (200 steps watched)."
    assert text.index("1  first  error  97% sure") < text.index("2  late  warning  90% sure")
    for words in (
        "where     net.first",
        "since     step 7",
        "measured  first was measured.",
        "means     first matters.",
    ):
        assert words in text
    assert "change    repair_first()" in text
    assert "more      gradlab explain norm.batch" in text


def test_three_are_told_in_full_and_the_rest_in_a_line_each() -> None:
    text = told(verdict(*map(finding, "abcd"), finding("e", "note")))
    assert "repair_c()" in text
    besides = text.partition("Besides\n")[2].splitlines()
    assert besides[:2] == [
        "   error  d  D is wrong · net.d · d was measured.",
        "   note   e  E is wrong · net.e · e was measured.",
    ]
    assert "repair_d()" not in text


def test_what_follows_from_another_is_told_in_a_line_that_says_so() -> None:
    text = told(verdict(finding("cause"), finding("consequence", "note", follows_from="cause")))
    assert "consequence  Consequence is wrong, net.consequence; it goes with cause." in text
    assert "repair_consequence()" not in text


def test_a_healthy_training_is_told_in_a_line() -> None:
    text = told(verdict(finding("small", "note")))
    assert "Looks healthy" in text
    assert "note  small" in text
    assert "% sure" not in text


def test_why_nothing_can_be_said() -> None:
    assert "No training was seen." in told(verdict(refusal="No training was seen."))


def test_faults_of_the_doctor_and_the_cost_of_watching_come_last() -> None:
    record = Record(steps=200, looks=list(range(38)), seconds=12.0, own_seconds=0.6)
    text = told(verdict(finding("a"), faults=["rule b: KeyError: 'x'"]), record)
    assert text.index("repair_a()") < text.index("rule b: KeyError: 'x'")
    assert text.endswith("Watched 200 steps, 38 of them closely, for 12 s; watching took 0.6 s of it (5%).\n")


def test_the_series_is_drawn_beside_the_evidence() -> None:
    assert "▁▂▃▄▅▆▇█  0.0000 → 7.0000, steps 0 to 7" in told(verdict(finding("a", series=series(map(float, range(8))))))


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0], "█  1.0000, step 0"),
        ([2.0, 2.0], "██  2.0000 → 2.0000, steps 0 to 1"),
        ([1.0, math.inf, 0.0], "█×▁  1.0000 → 0.0000, steps 0 to 2"),
        ([math.nan, math.nan], "××  nan → nan, steps 0 to 1"),
        ([1e-6, 1e-3, 1.0], "▁▅█  1e-06 → 1.0000, steps 0 to 2, logarithmic"),
        ([0.0, 1e-6, 1.0], "▁▁█  0.0000 → 1.0000, steps 0 to 2"),
    ],
)
def test_every_series_can_be_drawn(values: list[float], shown: str) -> None:
    assert drawn(series(values)) == shown


def test_a_long_series_is_as_wide_as_a_short_one() -> None:
    assert len(drawn(series(map(float, range(3000)))).split("  ")[0]) == 40


def test_a_pipe_gets_plain_text_of_a_hundred_columns() -> None:
    text = told(verdict(finding("a", evidence="measured " * 60, series=series([1.0, 2.0]))))
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert all(line == line.rstrip() for line in text.splitlines())


def test_a_terminal_gets_colours(terminal: Terminal) -> None:
    text = told(verdict(finding("a", fix="Take less:\nlr = 0.1  # or so")), stream=terminal)
    assert "\x1b[1;31m" in text
    assert "\x1b[1;32m    lr = 0.1\x1b[0m" in text


def test_no_color_is_respected(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[1;31m" not in told(verdict(finding("a")), stream=terminal)


def test_a_narrow_terminal_is_not_overrun(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "46")
    text = told(verdict(finding("a", series=series(map(float, range(99))), fix="x" * 70)), stream=terminal)
    assert max(map(len, re.sub(r"\x1b\[[\d;]*m", "", text).splitlines())) <= 46


def test_a_stream_without_unicode_can_take_it() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    tell(verdict(finding("a", series=series([1.0, 2.0]), place=(Spot("net.größe"),))), None, stream)
    assert "_#  1.0000 > 2.0000" in raw.getvalue().decode("ascii")


def test_a_closed_stream_is_left_alone() -> None:
    stream = io.StringIO()
    stream.close()
    tell(verdict(finding("a")), None, stream)


def test_brackets_of_a_user_are_no_markup() -> None:
    assert "net[bold].weight" in told(verdict(finding("a", place=(Spot("net[bold].weight"),))))


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("optimizer.zero_grad()  # before loss.backward()", True),
        ("return logits  # drop the softmax", True),
        ("torch.optim.SGD(model.parameters(), …)", True),
        ("for p in model.parameters(): p.requires_grad_(True)", True),
        ("with torch.no_grad():", True),
        ("lr=0.01", True),
        ("keep the graph: no .detach() on its output", False),
        ("train.py:20", False),
        ("standardise", False),
        ("a, b", False),
        ("", False),
        ("nul\0byte()", False),
    ],
)
def test_code_is_told_from_words(line: str, code: bool) -> None:
    assert is_code(line) is code
