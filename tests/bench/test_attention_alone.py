"""Attention by itself: measured on the CPU at small sizes, as it would be on a GPU."""

import pytest
from rich.console import Console

from gradlab.bench.attention_alone import FEATURES, KINDS, Pass, bench_attention_alone, crossover
from gradlab.cli.benchmark_tables import show_attention


def taking(softmax, linear):
    lengths = [1024 * 4**i for i in range(len(softmax))]
    return [
        Pass(kind=kind, title=kind, length=n, milliseconds=t, gibibytes=0.0, error=0.0)
        for kind, times in (("softmax", softmax), ("linear-causal", linear))
        for n, t in zip(lengths, times, strict=True)
    ]


def test_the_crossover_lies_where_both_take_as_long():
    assert crossover(taking([1, 4, 16], [2, 2, 2])) == pytest.approx(1024 * 4 ** (1 / 3))
    assert crossover(taking([1, 1], [2, 2])) is None
    assert crossover(taking([3, 9], [2, 2])) == 1024
    assert crossover(taking([1, None], [2, 2])) is None


def test_every_kind_is_measured_and_shown():
    small = {"lengths": (16, 64), "tokens": 64, "heads": 2, "dim": 8, "dtype": "float32", "device": "cpu"}
    result = bench_attention_alone(lambda text: None, **small)
    assert {(one.kind, one.length) for one in result.passes} == {(kind, n) for kind in KINDS for n in (16, 64)}
    assert all(one.milliseconds > 0 and one.error < 1e-4 for one in result.passes)
    errors = list(result.features.values())
    assert list(result.features) == list(FEATURES)
    assert errors == sorted(errors, reverse=True)  # more features come closer
    screen = Console(width=140, record=True)
    show_attention(screen, [result])
    assert "linear, causal" in screen.export_text()
