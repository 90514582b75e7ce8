"""Time and memory against the length: the fit, the limits, and the models that are measured."""

import pytest
import torch

from gradlab.bench.attention import lengths as bench
from gradlab.bench.attention.lengths import MECHANISMS, Point, bench_attention, exponent, measure_point
from gradlab.bench.attention.model import one_layer
from gradlab.errors import GradlabError

LENGTHS = [256 * 2**i for i in range(8)]


@pytest.mark.parametrize("power", [0.5, 1, 2, 3])
def test_the_exponent_of_a_power_is_found_again(power):
    assert exponent([(n, 1e-6 * n**power) for n in LENGTHS]) == pytest.approx(power, abs=0.005)


def test_what_a_call_costs_does_not_hide_the_exponent():
    constant = exponent([(n, 3.0 + 1e-6 * n**2) for n in LENGTHS])
    assert constant == pytest.approx(2, abs=0.1)  # over all lengths it would be 1.3


def test_lengths_without_a_figure_do_not_count():
    known = [(n, float(n)) for n in LENGTHS]
    assert exponent([*known, (2 * LENGTHS[-1], None)]) == 1
    assert exponent([(256, 1.0), (512, None)]) is None


def test_written_out_attention_is_softmax_attention():
    torch.manual_seed(0)
    fused = one_layer("softmax", vocabulary=11, dim=8, heads=2)
    written_out = one_layer("written-out", vocabulary=11, dim=8, heads=2)
    written_out.load_state_dict(fused.state_dict())
    tokens = torch.randint(11, (1, 9))
    torch.testing.assert_close(written_out(tokens), fused(tokens))
    others = [one_layer(name, vocabulary=11, dim=8, heads=2)(tokens) for name in ("linear", "performer")]
    assert [other.shape for other in others] == [(1, 9, 11)] * 2


def pretended(milliseconds):
    """A machine on which a step takes so long, or finds no memory for it."""
    return lambda name, length, device, memory: Point(
        length=length, milliseconds=milliseconds(length), mebibytes=milliseconds(length)
    )


def test_lengths_double_until_the_longest(monkeypatch):
    monkeypatch.setattr(bench, "measure_point", pretended(lambda n: float(n)))
    (growth,) = bench_attention(["linear"], lambda text: None, longest=3000, seconds=100)
    assert [p.length for p in growth.points] == [256, 512, 1024, 2048]
    assert (growth.ended, growth.time_exponent, growth.memory_exponent) == ("length", 1, 1)


def test_a_step_that_takes_too_long_is_the_last(monkeypatch):
    monkeypatch.setattr(bench, "measure_point", pretended(lambda n: float(n)))
    (growth,) = bench_attention(["linear"], lambda text: None, seconds=1)
    assert [p.length for p in growth.points] == [256, 512, 1024]
    assert growth.ended == "time"


def test_a_step_without_memory_is_the_last(monkeypatch):
    monkeypatch.setattr(bench, "measure_point", pretended(lambda n: None if n > 600 else float(n)))
    (growth,) = bench_attention(["linear"], lambda text: None)
    assert [(p.length, p.milliseconds) for p in growth.points] == [(256, 256), (512, 512), (1024, None)]
    assert growth.ended == "memory"


@pytest.mark.slow
def test_written_out_softmax_runs_out_of_the_memory_that_suffices_for_linear_attention():
    assert measure_point("written-out", 2048, "cpu", memory=0.15).milliseconds is None
    fits = measure_point("linear", 2048, "cpu", memory=0.15)
    assert fits.milliseconds > 0
    # Its features and sums take some 50 MiB; all weights of four heads, a float each, would take 64 for themselves.
    assert 15 < fits.mebibytes < 150


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanisms": ["sofmax"]}, "There is no kind of attention 'sofmax'. Did you mean 'softmax'"),
        ({"mechanisms": MECHANISMS, "memory": 0}, "must be positive, got 0"),
        ({"mechanisms": MECHANISMS, "seconds": -1}, "must be positive"),
        ({"mechanisms": MECHANISMS, "longest": 100}, "at least 256"),
    ],
)
def test_bad_requests_are_refused_before_anything_starts(arguments, message):
    started = []
    with pytest.raises(GradlabError, match=message):
        bench_attention(**arguments, progress=started.append)
    assert started == []


@pytest.mark.slow
def test_a_process_that_fails_is_told():
    with pytest.raises(GradlabError, match="'linear' at length 16 failed: RuntimeError"):
        measure_point("linear", 16, "no-such-device", memory=1)
