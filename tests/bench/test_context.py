"""Long contexts: a GPT trained by each kind of attention on the same batches, and refused where they are not."""

import copy

import pytest
from rich.console import Console

from gradlab.bench.language.context import ContextRow, ContextTrained, bench_context, check_same_work
from gradlab.cli.benchmarks.language import show_context
from gradlab.errors import GradlabError

SMALL = {
    "device": "cpu",
    "tokens": 64,
    "held_out": 256,
    "text": 20_000,
    "sizes": {"dim": 16, "layers": 1, "heads": 2},
}


def answer(loss=5.5, batches="a", tokens=64, held_out=32):
    return {"losses": {"initial": loss}, "work": {"tokens": tokens, "held_out": held_out, "batches": batches}}


def test_trainings_of_other_work_are_not_compared():
    same = {(64, "softmax"): answer(), (64, "linear"): answer(5.51), (32, "softmax"): answer(batches="b")}
    check_same_work(same)
    check_same_work({**same, (32, "linear"): {"losses": None, "work": None}})  # one without enough memory
    for other, message in (
        (answer(loss=6.0), "linear at context 64 does other work than softmax: its loss before the first step is 6.0"),
        (answer(batches="c"), "linear at context 64 does other work than softmax: its batches"),
        (answer(tokens=128), "read 64 and 128 tokens"),
        (answer(held_out=48), "evaluated on 32 and 48 tokens"),
    ):
        changed = copy.deepcopy(same) | {(64, "linear"): other}
        with pytest.raises(GradlabError, match=message):
            check_same_work(changed)


def test_kinds_train_on_the_same_batches_at_each_context():
    result = bench_context(lambda text: None, (16, 32), attentions=("softmax", "performer"), steps=8, **SMALL)
    rows = {(row.context, row.attention): row for row in result.rows}
    assert list(rows) == [(16, "softmax"), (16, "performer"), (32, "softmax"), (32, "performer")]
    assert result.tokens == 8 * 64
    assert all(row.tokens_per_second > 0 for row in result.rows)
    assert all(row.validation_loss < row.initial_loss for row in result.rows)  # it learns
    first, second = rows[16, "softmax"], rows[16, "performer"]
    assert first.initial_loss == pytest.approx(second.initial_loss, rel=0.02)
    assert first.training_loss != second.training_loss  # they are two kinds


@pytest.mark.parametrize(
    ("contexts", "options", "message"),
    [
        ((48,), {}, "must divide the 64 tokens of a step.*48 does not"),
        ((0,), {}, "0 does not"),
        ((16,), {"steps": 3}, "--steps must be even.*got 3"),
        ((16,), {"attentions": ["sofmax"]}, "Did you mean 'softmax'"),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(contexts, options, message):
    started = []
    with pytest.raises(GradlabError, match=message):
        bench_context(started.append, contexts, **{**SMALL, **options})
    assert started == []


def test_a_training_without_enough_memory_stands_in_the_table():
    def row(attention, speed):
        figures = {"gibibytes": speed, "before": speed, "initial_loss": speed}
        losses = {"training_loss": speed, "validation_loss": speed}
        return ContextRow(attention=attention, context=65536, tokens_per_second=speed, **figures, **losses)

    rows = [row("softmax", None), row("linear", 2.0)]
    about = {"model": "m", "device": "d", "versions": "v", "steps": 2, "tokens": 4, "held_out": 8}
    screen = Console(width=160, record=True)
    show_context(screen, [ContextTrained(**about, rows=rows)])
    softmax, linear = (line for line in screen.export_text().splitlines() if "65,536" in line)
    assert "out of memory" in softmax
    assert "2.000" in linear
