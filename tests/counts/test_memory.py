"""What is in memory at once, and what is kept for the backward pass, in bytes."""

import pytest
import torch
import torch.nn.functional as F
from counting import Operations, nbytes

from gradlab.kernels.linear_attention import linear_attention
from gradlab.nn import linear_cross_entropy as fused


def kept_by(function, *inputs):
    """Bytes of what autograd keeps besides the inputs."""
    kept, own = {}, {x.data_ptr() for x in inputs}

    def keep(x):
        if x.data_ptr() not in own:
            kept[x.data_ptr()] = nbytes(x)
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        function(*inputs)
    return sum(kept.values())


def last_layer(rows, classes, dim=8):
    return torch.randn(rows, dim).requires_grad_(), torch.randn(classes, dim).requires_grad_()


def plain(x, weight, targets):
    return F.cross_entropy(x @ weight.T, targets, reduction="sum")


def test_the_fused_loss_has_one_chunk_of_logits_at_a_time_and_keeps_the_gradients_alone(monkeypatch):
    rows, classes, chunk = 256, 640, 32
    monkeypatch.setattr(fused, "_LOGITS", chunk * classes)
    (x, weight), targets = last_layer(rows, classes), torch.zeros(rows, dtype=torch.int64)
    sizes = {}
    for loss in (plain, fused.linear_cross_entropy):
        with Operations() as operations:
            torch.autograd.grad(loss(x, weight, targets), (x, weight))
        sizes[loss] = operations.counts.largest
    assert sizes[plain] == 4 * rows * classes
    assert sizes[fused.linear_cross_entropy] == 4 * chunk * classes
    assert kept_by(fused.linear_cross_entropy, x, weight, targets) == nbytes(x) + nbytes(weight)
    assert kept_by(plain, x, weight, targets) >= 4 * rows * classes


OMEGA = torch.randn(40, 16, generator=torch.Generator().manual_seed(0))
MAPS = {"elu": {}, "performer": {"feature_map": "exp", "omega": OMEGA}}


def attend(n, name, is_causal):
    inputs = [torch.randn(1, 2, n, 16).requires_grad_() for _ in range(3)]
    with Operations() as operations:
        outputs, _ = linear_attention(*inputs, is_causal=is_causal, **MAPS[name])
        torch.autograd.grad(outputs.sum(), inputs)
    return operations.counts


@pytest.mark.parametrize("name", MAPS)
def test_attention_in_both_directions_takes_as_many_operations_for_any_length(name):
    short, long = (attend(n, name, is_causal=False) for n in (100, 6400))
    assert short.calls == long.calls
    assert not short.reads


@pytest.mark.parametrize("name", MAPS)
def test_chunks_are_scanned_in_levels_and_not_one_by_one(name):
    counts = {chunks: sum(attend(64 * chunks - 1, name, is_causal=True).calls.values()) for chunks in (15, 31, 127)}
    level = counts[31] - counts[15]  # twice as many chunks are a level more
    assert counts[127] - counts[31] == 2 * level
    assert level < 100


def test_causal_attention_never_has_weights_of_all_pairs_and_reads_nothing():
    once, twice = (attend(n, "elu", is_causal=True) for n in (1023, 2047))
    assert not once.reads
    assert twice.largest < 2.1 * once.largest
