"""How many kernels a call launches, and how many bytes it keeps: numbers that follow from the work alone."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch
from counting import Operations, nbytes

from gradlab.kernels.cross_entropy import surprise
from gradlab.kernels.linear_attention import linear_attention
from gradlab.models.language import TransformerLanguageModel
from gradlab.nn import linear_cross_entropy as fused
from gradlab.sampling import captured

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="counts what Triton's interpreter launches")


@pytest.fixture
def launched(monkeypatch):
    """Kernels of ours by name, as often as they are launched. They are not run: what counts is known without."""
    from triton.runtime.interpreter import GridExecutor

    names = Counter()
    monkeypatch.setattr(GridExecutor, "__call__", lambda self, *a, **k: names.update([self.fn.__name__]))
    return names


def attention(n, **options):
    """Queries, keys and values, and attention over them."""
    inputs = [torch.randn(1, 2, n, 16).requires_grad_() for _ in range(3)]
    return inputs, partial(linear_attention, *inputs, **options)


OMEGA = torch.randn(40, 16, generator=torch.Generator().manual_seed(0))
SUMS = {"sums": 1, "scan_sums": 1}
RANDOM = {"scales": 2, "running_maximum": 1}
CASES = {
    "causal": ({"is_causal": True}, {**SUMS, "outputs": 1}),
    "both directions": ({}, {**SUMS, "outputs": 1}),
    "performer": ({"feature_map": "exp", "omega": OMEGA, "is_causal": True}, {**RANDOM, **SUMS, "outputs": 1}),
    "performer, both directions": ({"feature_map": "exp", "omega": OMEGA}, {**RANDOM, **SUMS, "outputs": 1}),
}


@pytest.mark.parametrize("n", [64, 1000, 70_000])
@pytest.mark.parametrize("name", CASES)
def test_linear_attention_launches_as_many_kernels_for_any_length(name, n, launched):
    options, forward = CASES[name]
    _, attend = attention(n, **options)
    with Operations() as operations:
        outputs, _ = attend()
    assert launched == forward
    random = "omega" in options  # which are brought into the kernels' unit; and there is a top before the first key
    assert operations.counts.launches == 2 * random
    launched.clear()
    with Operations() as operations:
        torch.autograd.grad(outputs, attend.args, torch.ones_like(outputs))
    assert launched == {**SUMS, "gradients": 1}
    assert operations.counts.launches == 1 + random  # the ones; the top before the first key


@pytest.mark.parametrize("lengths", [[70], [1, 63, 65, 171], [100] * 50], ids=len)
def test_packed_texts_take_no_more_launches_than_one(lengths, launched):
    inputs, attend = attention(sum(lengths), is_causal=True, lengths=lengths)
    outputs, _ = attend()
    torch.autograd.grad(outputs, inputs, torch.ones_like(outputs))
    assert launched == {"sums": 2, "scan_sums": 2, "outputs": 1, "gradients": 1}


def saved(n, **options):
    """Bytes that autograd keeps of tensors that are not the inputs."""
    kept = {}
    _, attend = attention(n, **options)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.update({x.data_ptr(): nbytes(x)}) or x, lambda x: x):
        attend()
    return sum(kept.values())


@pytest.mark.parametrize("name", CASES)
def test_what_is_kept_for_the_backward_pass_doubles_with_the_length(name, launched):
    once, twice, four_times = (saved(n, **CASES[name][0]) for n in (1024, 2048, 4096))
    # Exactly, but for what does not depend on the length: random directions, the sums of all keys.
    assert 0 < twice - once == (four_times - twice) / 2


def decoding(launched, rows, layers, tokens=1, dtype=torch.bfloat16, **settings):
    """Kernels of ours, and operations of torch that compute, for some tokens."""
    model = TransformerLanguageModel(300, 64, dim=16, layers=layers, heads=2, **settings).to(dtype).eval()
    with torch.inference_mode():
        cache = model.new_cache(rows, 64)
        cache.read(torch.zeros(rows, 5, dtype=torch.int64), last=1)
        step = captured.CapturedStep(cache, rows, torch.device("cpu"), reordered=False)
        launched.clear()
        with Operations() as operations:
            for _ in range(tokens):
                cache.step(step.tokens)
    return np.array([launched.total(), operations.counts.launches])


LLAMA = {"position": "rotary", "norm": "rms", "gated": True, "bias": False}


@pytest.mark.parametrize(
    ("rows", "settings", "own", "others"),
    [
        (1, {}, 5, 0),
        (1, {"dtype": torch.float32}, 5, 0),
        (16, {}, 7, 0),
        (16, {"dtype": torch.float32}, 3, 5),  # products of matrices by a library
        (1, LLAMA, 6, 29),
        (1, {"attention": "linear"}, 4, 61),
    ],
    ids=str,
)
def test_each_layer_adds_as_many_launches_and_each_token_takes_as_many(rows, settings, own, others, launched):
    one, two, three = (decoding(launched, rows, layers, **settings) for layers in (1, 2, 3))
    assert (decoding(launched, rows, 2, tokens=5, **settings) == 5 * two).all()
    assert (two - one == three - two).all()
    kernels, operations = two - one
    assert kernels == own
    assert operations <= others


def test_the_launches_of_a_fused_loss_go_with_its_chunks(launched, monkeypatch):
    x, weight = torch.randn(64, 8).requires_grad_(), torch.randn(100, 8).requires_grad_()
    targets, counts = torch.zeros(64, dtype=torch.int64), {}
    monkeypatch.setattr(fused, "_surprise", lambda logits, targets, classes, sums: surprise(logits, targets, classes))
    for chunks in (1, 2, 4):
        monkeypatch.setattr(fused, "_LOGITS", 64 * 128 // chunks)
        launched.clear()
        with Operations() as operations:
            fused.linear_cross_entropy(x, weight, targets)
        assert launched == {"_surprise": chunks}
        counts[chunks] = operations.counts
    assert counts[4].launches - counts[2].launches == 2 * (counts[2].launches - counts[1].launches)
    assert counts[2].launches - counts[1].launches <= 5  # three products, a sum of gradients, and a cast of one of them
    assert not counts[4].reads
