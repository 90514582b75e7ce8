import math

import pytest
import torch
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError
from gradlab.nn.attention import DotAttention, HardAttention, ScaledDotAttention, causal_mask

FUSED = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default


class Watch(TorchDispatchMode):
    """Notes what is called."""

    def __init__(self):
        super().__init__()
        self.called = set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.called.add(function)
        return function(*args, **(kwargs or {}))


def triple(*batch, n=3, m=4, d=8, e=8):
    made = (torch.randn(*batch, length, size, dtype=torch.float64) for length, size in ((n, d), (m, d), (m, e)))
    return [x.requires_grad_() for x in made]


def by_hand(q, k, v, mask=None, bias=0.0):
    scores = q @ k.mT / math.sqrt(q.shape[-1]) + bias
    weights = torch.softmax(scores if mask is None else scores.masked_fill(~mask, -torch.inf), -1)
    return weights.nan_to_num(0.0) @ v


def test_a_table_that_is_looked_up():
    keys, values = torch.eye(6), torch.randn(6, 4)
    query = (keys[3] + 2 * keys[5])[None]
    assert_close(DotAttention().score(query, keys) @ values, (values[3] + 2 * values[5])[None])
    assert_close(DotAttention().weights(keys[3:4], keys)[0, 3].item(), math.e / (math.e + 5))
    assert_close(HardAttention()(keys[3:4], keys, values), values[3:4])


def test_without_the_root_long_vectors_see_one_key_only():
    q, k = torch.randn(500, 256), torch.randn(50, 256)

    def entropy(weights):
        return -torch.special.xlogy(weights, weights).sum(-1).mean().item()

    assert entropy(DotAttention().weights(q, k)) < 0.5
    assert entropy(ScaledDotAttention().weights(q, k)) > 3.3
    assert math.log(50) < 3.92


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3), (1, 2, 1, 2)], ids=str)
@pytest.mark.parametrize("e", [8, 5])
def test_any_number_of_leading_axes(batch, e):
    q, k, v = triple(*batch, e=e)
    masks = [None, torch.rand(3, 4) < 0.6, torch.rand(*batch, 3, 4) < 0.6, torch.rand(*batch, 1, 4) < 0.6]
    for mask in masks:
        for bias in (None, torch.randn(3, 4).double(), torch.randn(*batch, 3, 4).double()):
            got = ScaledDotAttention()(q, k, v, mask, bias=bias)
            assert_close(got, ScaledDotAttention().weights(q, k, mask, bias=bias) @ v)
            if mask is None:
                assert_close(got, by_hand(q, k, v, None, 0.0 if bias is None else bias))


@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (3, 4), (3, 1, 1), (1, 2, 3, 1, 4), (2, 1, 1, 3, 4)], ids=str)
def test_a_mask_is_spread_over_many_leading_axes(shape):
    q, k, v = triple(2, 2, 3)
    mask = torch.rand(shape) < 0.6
    assert_close(ScaledDotAttention()(q, k, v, mask), ScaledDotAttention().weights(q, k, mask) @ v)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3), (2, 1, 3)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_the_fused_kernel_is_reached(batch, masked):
    q, k, v = triple(*batch)
    with Watch() as watch:
        ScaledDotAttention()(q, k, v, torch.ones(*batch, 3, 4, dtype=torch.bool) if masked else None)
    assert FUSED in watch.called


@pytest.mark.parametrize(("n", "m"), [(3, 3), (2, 5), (1, 4), (5, 2), (3, 1)])
def test_causal_queries_are_the_last_ones(n, m):
    q, k, v = triple(2, n=n, m=m)
    attention = ScaledDotAttention()
    wanted = by_hand(q, k, v, causal_mask(n, m))
    assert_close(attention(q, k, v, is_causal=True), wanted)
    assert_close(attention.weights(q, k, is_causal=True) @ v, wanted)
    mask = torch.rand(2, n, m) < 0.6
    assert_close(attention(q, k, v, mask, is_causal=True), by_hand(q, k, v, mask & causal_mask(n, m)))
    bias = torch.randn(n, m).double()
    assert_close(attention(q, k, v, is_causal=True, bias=bias), by_hand(q, k, v, causal_mask(n, m), bias))


def test_square_causal_attention_needs_no_mask():
    q, k, v = triple(2, n=4)
    with Watch() as watch:
        ScaledDotAttention()(q, k, v, is_causal=True)
    assert FUSED in watch.called
    assert not {function for function in watch.called if "tril" in str(function)}


@pytest.mark.parametrize("e", [8, 5], ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("biased", [False, True])
def test_a_query_that_may_look_nowhere_gets_zeros_on_every_path(e, dtype, biased):
    inputs = [x.detach().to(dtype).requires_grad_() for x in triple(2, e=e)]
    mask = torch.ones(2, 3, 4, dtype=torch.bool)
    mask[0, 1] = False
    bias = torch.randn(3, 4, dtype=dtype) if biased else None
    result = ScaledDotAttention()(*inputs, mask, bias=bias)
    assert not result[0, 1].any()
    gradients = torch.autograd.grad(result.float().square().sum(), inputs)
    assert all(gradient.isfinite().all() for gradient in gradients)
    assert not gradients[0][0, 1].any()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("size", [8, 64])
def test_a_query_that_may_look_nowhere_gets_zeros_on_cuda(dtype, size):
    """cuDNN's kernel, left to itself, gives such a query a mean of all values, and NaN for its gradient."""
    inputs = [x.detach().to("cuda", dtype).requires_grad_() for x in triple(2, 2, n=64, m=64, d=size, e=size)]
    mask = torch.rand(2, 1, 64, 64, device="cuda") < 0.6
    mask[:, :, 0] = False
    result = ScaledDotAttention()(*inputs, mask)
    gradients = torch.autograd.grad(result.float().square().sum(), inputs)
    assert not result[:, :, 0].any()
    assert not gradients[0][:, :, 0].any()
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_a_bias_that_is_learned_gets_its_gradient():
    q, k, v = triple(2, 2)
    bias = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    mask = torch.rand(3, 4) < 0.7
    got, wanted = (
        ScaledDotAttention()(q, k, v, mask, bias=bias),
        ScaledDotAttention().weights(q, k, mask, bias=bias) @ v,
    )
    assert_close(torch.autograd.grad(got.square().sum(), bias), torch.autograd.grad(wanted.square().sum(), bias))


@pytest.mark.parametrize(("n", "m"), [(3, 0), (0, 4), (0, 0)])
@pytest.mark.parametrize("kind", [DotAttention, ScaledDotAttention, HardAttention])
def test_nothing_to_look_at_gives_zeros(kind, n, m):
    q, k, v = triple(2, n=n, m=m)
    result = kind()(q, k, v)
    assert result.shape == (2, n, 8)
    assert not result.any()
    assert kind().weights(q, k, torch.ones(n, m, dtype=torch.bool)).shape == (2, n, m)


def test_tensors_need_not_be_contiguous():
    q, k, v = (x.detach().mT.contiguous().mT for x in triple(2))
    assert_close(ScaledDotAttention()(q, k, v), by_hand(q, k, v))


def test_weights_are_dropped_in_training_only():
    q, k = torch.randn(2, 1000, 8)
    attention = ScaledDotAttention(dropout=0.4)
    values = torch.ones(1000, 8)
    kept = attention(q, k, values)
    assert kept.std() > 0
    assert abs(kept.mean().item() - 1) < 0.01  # what is kept is made larger, so that the mean stays
    assert_close(attention.eval()(q, k, values), torch.ones(1000, 8))


def test_equally_good_keys_share_the_weight_of_hard_attention():
    keys, values = torch.tensor([[1.0], [1.0], [0.5]]), torch.tensor([[2.0], [4.0], [9.0]])
    query = torch.tensor([[3.0]], requires_grad=True)
    assert HardAttention()(query, keys, values).tolist() == [[3.0]]
    assert HardAttention()(query, keys, values, torch.tensor([[False, False, True]])).tolist() == [[9.0]]
    assert HardAttention()(query, keys, values, torch.tensor([[False, False, False]])).tolist() == [[0.0]]
    assert not HardAttention()(query, keys, values).requires_grad


def test_shapes_that_do_not_fit_are_told():
    q, k, v = triple(2)
    with pytest.raises(
        ShapeError, match=r"attention.scaled_dot: keys must have shape \(…batch, m, d=8\), got \(2, 4, 7\)"
    ):
        ScaledDotAttention()(q, k[..., :7], v)
    with pytest.raises(ShapeError, match=r"attention.scaled_dot: values must have shape \(…batch, m=4, e\)"):
        ScaledDotAttention()(q, k, v[:, :3])
    with pytest.raises(ShapeError, match="cannot be spread over scores of shape"):
        ScaledDotAttention()(q, k, v, torch.ones(2, 1, 3, 4, dtype=torch.bool))
    with pytest.raises(GradlabError, match="must be boolean"):
        ScaledDotAttention()(q, k, v, torch.ones(3, 4))


@pytest.mark.parametrize("settings", [{"scale": math.inf}, {"dropout": 1.0}, {"dropout": -0.1}])
def test_bad_settings_are_told(settings):
    with pytest.raises(GradlabError, match=r"^attention.scaled_dot: \w+ must be "):
        ScaledDotAttention(**settings)
