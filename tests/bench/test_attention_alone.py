"""Attention by itself: measured on the CPU at small sizes, as it would be on a GPU."""

import re
from xml.etree import ElementTree

import pytest
import torch
from rich.console import Console

from gradlab.bench.attention import alone as bench
from gradlab.bench.attention import alone_worker as worker
from gradlab.bench.attention.alone import (
    FEATURES,
    KINDS,
    SPREADS,
    Exponents,
    Pass,
    bench_attention_alone,
    crossover,
    exponents,
    least_operations,
)
from gradlab.bench.attention.peers import in_chunks
from gradlab.bench.attention.pictures import write_pictures
from gradlab.cli.benchmarks.attention import show_attention
from gradlab.errors import GradlabError
from gradlab.nn.attention import LinearAttention

SMALL = {"tokens": 64, "heads": 2, "dim": 8, "device": "cpu"}


def taking(lengths, **times):
    about = {"heads": 2, "dim": 8, "dtype": "float32", "floor": 0.5, "replayed": None, "error": 0.0, "reason": None}
    return [
        Pass(kind=kind.replace("_", "-"), title=kind, length=n, milliseconds=t, gibibytes=t, **about)
        for kind, figures in times.items()
        for n, t in zip(lengths, figures, strict=True)
    ]


def test_the_crossover_lies_where_both_take_as_long():
    def meeting(softmax, linear):
        return crossover(taking([1024 * 4**i for i in range(len(softmax))], softmax=softmax, linear_causal=linear))

    assert meeting([1, 4, 16], [2, 2, 2]) == pytest.approx(1024 * 4 ** (1 / 3))
    assert meeting([1, 1], [2, 2]) is None
    assert meeting([3, 9], [2, 2]) == 1024
    assert meeting([1, None], [2, 2]) is None


def test_exponents_are_those_of_one_text():
    # As many texts as make up the tokens: what costs the square of the length doubles with it, in all.
    passes = taking([1024, 2048, 4096], softmax=[1.0, 2.0, 4.0], linear_causal=[3.0, 3.0, None])
    assert exponents(passes, "softmax", 4096) == Exponents(time=2, memory=2)
    assert exponents(passes, "linear-causal", 4096) == Exponents(time=1, memory=1)


def test_the_least_operations_are_those_of_the_products():
    n, d = 64, 8
    assert least_operations("softmax", n, n, 1, d) == least_operations("flex", n, n, 1, d) == 7 * 2 * (n * n / 2) * d
    assert least_operations("chunks", n, n, 1, d) == least_operations("linear", n, n, 1, d) == 6 * 2 * n * d * d
    assert least_operations("performer-causal", n, n, 3, d) == 3 * 10 * 2 * n * d * bench.NUM_FEATURES


@pytest.mark.parametrize("length", [64, 256, 384])
def test_plain_chunks_are_linear_attention(length):
    q, k, v = torch.randn(3, 2, 2, length, 8, dtype=torch.float64)
    torch.testing.assert_close(in_chunks(q, k, v), LinearAttention()(q, k, v, is_causal=True), rtol=1e-5, atol=1e-6)


@pytest.fixture
def other_peer(monkeypatch):
    """A peer that leaves out the divisor, or fails."""

    def replace(function):
        worker._other_work.cache_clear()
        monkeypatch.setattr(worker, "peer", lambda name, compiled: function)

    yield replace
    worker._other_work.cache_clear()


def test_a_peer_of_other_work_has_no_time(other_peer):
    asked = {"kind": "chunks", "length": 32, "dtype": "float32", **SMALL}
    same = worker.one_pass(**asked)
    assert same["milliseconds"] > 0
    assert same["reason"] is None
    assert same["error"] < 1e-5
    other_peer(lambda q, k, v: 2 * in_chunks(q, k, v))
    refused = worker.one_pass(**asked)
    assert refused["milliseconds"] is None
    assert refused["reason"] == "does other work: in float32 its error is 1"


def test_a_peer_that_fails_leaves_the_others_their_figures(other_peer):
    def fail(q, k, v):
        raise ValueError("no such layout")

    other_peer(fail)
    answer = worker.one_pass(kind="fla", length=32, dtype="float32", **SMALL)
    assert answer["reason"] == "failed: no such layout"


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_flex_attention_does_the_work_of_softmax_attention(monkeypatch, other_peer):
    # On the CPU torch refuses Flex's gradients, which only its compiled form lacks there.
    monkeypatch.setattr("torch.nn.attention.flex_attention._validate_device", lambda *tensors: None)
    asked = {"kind": "flex", "length": 32, "dtype": "float32", **SMALL}
    same = worker.one_pass(**asked)
    assert same["reason"] is None
    assert same["milliseconds"] > 0
    assert same["error"] < 1e-5
    other_peer(in_chunks)  # which is linear attention
    assert worker.one_pass(**asked)["reason"].startswith("does other work")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_flex_attention_is_compiled_on_a_gpu():
    sizes = {"tokens": 1024, "heads": 2, "dim": 64, "device": "cuda"}
    answer = worker.one_pass(kind="flex", length=512, dtype="bfloat16", **sizes)
    assert answer["reason"] is None
    assert answer["error"] < 0.02


def test_a_peer_that_takes_the_process_with_it_leaves_the_others_their_figures(monkeypatch):
    class Dying(bench.Worker):
        def ask(self, question):
            if question.get("kind") == "flex":
                self.process.kill()
                self.process.wait()
            return super().ask(question)

    monkeypatch.setattr(bench, "Worker", Dying)
    result = bench_attention_alone(lambda text: None, lengths=(16, 32), others=(), dtype="float32", **SMALL)
    reasons = {(one.kind, one.length): one.reason for one in result.passes if one.kind in {*KINDS, "chunks", "flex"}}
    assert {kind for (kind, _), reason in reasons.items() if reason} == {"flex"}
    assert reasons["flex", 32].startswith("Attention on cpu failed: ")
    assert result.estimates


def test_a_kind_of_ours_that_is_wrong_is_refused(monkeypatch):
    wrong = lambda kind, dim, device: (lambda q, k, v: q + k + v, in_chunks)  # noqa: E731
    monkeypatch.setattr(worker, "_attention", wrong)
    answer = worker.one_pass(kind="linear-causal", length=32, dtype="float32", **SMALL)
    shape = {"heads": 2, "dim": 8, "dtype": "float32", "floor": 1.0}
    with pytest.raises(GradlabError, match="linear, causal at 32 tokens is wrong on this device"):
        bench._checked(Pass(kind="linear-causal", title="linear, causal", length=32, **shape, **answer))


def test_every_kind_is_measured_shown_and_drawn(tmp_path):
    lengths = (16, 32, 64)
    result = bench_attention_alone(
        lambda text: None, lengths=lengths, others=((4, "float32"), (8, "bfloat16")), dtype="float32", **SMALL
    )
    kinds = {one.kind for one in result.passes}
    assert {*KINDS, "chunks"} <= kinds
    assert {(one.kind, one.length) for one in result.passes} == {(kind, n) for kind in kinds for n in lengths}
    figures = [one for one in result.passes if one.reason is None]
    assert {*KINDS, "chunks"} <= {one.kind for one in figures}
    assert all(one.milliseconds > 0 and one.floor > 0 and one.error < 1e-4 for one in figures)
    ours = [one for one in result.others if one.kind == "linear-causal"]
    assert [(one.heads, one.dim, one.dtype, one.length) for one in ours] == [
        (4, 4, "float32", 32),
        (2, 8, "bfloat16", 32),
    ]
    assert result.products.keys() == {"float32", "bfloat16"}
    for spread in SPREADS:
        errors = [one.error for one in result.estimates if one.spread == spread]
        assert len(errors) == len(FEATURES)
        assert errors == sorted(errors, reverse=True)  # more features come closer
    screen = Console(width=160, record=True)
    show_attention(screen, [result])
    text = screen.export_text()
    assert "PyTorch chunks, compiled" in text
    assert "Flex attention, compiled, 16 tokens: failed: FlexAttention does not support backward on CPU" in text
    assert re.search(r"Linear, causal, is (not )?faster than softmax", text)
    paths = write_pictures([result], tmp_path)
    assert [path.name for path in paths] == ["attention-time.svg", "attention-memory.svg"]
    words = ["".join(e.itertext()) for e in ElementTree.parse(paths[0]).iter("{http://www.w3.org/2000/svg}text")]
    grown = f"n^{result.exponents['linear-causal'].time:.2f}"
    assert f"linear, causal ∝ {grown}" in words
    assert {"16", "32", "64"} <= {*words}
