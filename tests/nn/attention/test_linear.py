import pytest
import torch
from jaxtyping import TypeCheckError
from torch.nn import functional as F
from torch.testing import assert_close
from torch.utils.flop_counter import FlopCounterMode

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError
from gradlab.nn.attention import LinearAttention, MultiheadAttention, PerformerAttention, PositiveFeatures, length_mask

CHUNK = 8


def blocks():
    return [
        LinearAttention(chunk_size=CHUNK),
        PerformerAttention(4, 6, chunk_size=CHUNK),
        PerformerAttention(4, 6, form="cosh", chunk_size=CHUNK),
    ]


def triple(*before, n=10, m=10, d=4):
    return torch.randn(*before, n, d), torch.randn(*before, m, d), torch.randn(*before, m, 3)


def by_the_matrix(block, q, k, v, mask=None, is_causal=False):
    """All weights written out."""
    root = 4**0.25 if isinstance(block, PerformerAttention) else 1.0
    weights = block.feature_map(q / root) @ block.feature_map(k / root).mT
    weights = weights if mask is None else weights * mask
    weights = weights.tril(k.shape[-2] - q.shape[-2]) if is_causal else weights
    divisor = weights.sum(-1, keepdim=True)
    return weights @ v / torch.where(divisor == 0, 1, divisor)


@pytest.mark.parametrize("block", blocks(), ids=str)
@pytest.mark.parametrize(("n", "m"), [(1, 1), (7, 7), (8, 8), (9, 9), (20, 20), (3, 12), (12, 3), (5, 0), (0, 5)])
def test_causal_attention_of_any_lengths(block, n, m):
    q, k, v = triple(2, n=n, m=m)
    assert_close(block(q, k, v, is_causal=True), by_the_matrix(block, q, k, v, is_causal=True), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("block", blocks(), ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_a_mask_of_lengths_for_all_heads(block, is_causal):
    q, k, v = triple(3, 2)
    mask = length_mask(torch.tensor([10, 4, 0])[:, None, None], 10)
    got = block(q, k, v, mask, is_causal=is_causal)
    assert_close(got, by_the_matrix(block, q, k, v, mask, is_causal), atol=1e-5, rtol=1e-4)
    assert not got[2].any()
    assert_close(got[1, :, -1], block(q[1], k[1, :, :4], v[1, :, :4])[:, -1], atol=1e-5, rtol=1e-4)


def test_a_mask_for_each_pair_is_refused():
    q, k, v = triple()
    with pytest.raises((ShapeError, TypeCheckError), match="mask") as error:
        LinearAttention()(q, k, v, torch.ones(10, 10, dtype=torch.bool))
    if error.type is ShapeError:
        told = "attention.linear: mask must have shape (…batch, 1, keys=10), got (10, 10)."
        assert str(error.value) == told


def test_a_mask_of_another_batch_is_refused():
    q, k, v = triple(2)
    with pytest.raises((ShapeError, TypeCheckError), match="mask"):
        LinearAttention()(q, k, v, torch.ones(3, 1, 10, dtype=torch.bool))


def test_a_mask_of_numbers_is_refused():
    q, k, v = triple()
    with pytest.raises((GradlabError, TypeCheckError), match="mask"):
        LinearAttention()(q, k, v, torch.ones(1, 10))


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_decoding_goes_on_from_a_state_of_any_place(block):
    q, k, v = triple(2, n=20, m=20)
    wanted, state = block(q, k, v, is_causal=True), None
    for i in range(20):
        output, state = block.step(q[:, i], k[:, i], v[:, i], state)
        assert_close(output, wanted[:, i], atol=1e-5, rtol=1e-4)
    assert state.total.shape == (2, state.weight.shape[-1], 3)


def saved_for_backward(block, n):
    """How many numbers the graph keeps."""
    q, k, v = (x.requires_grad_() for x in triple(n=n, m=n))
    kept = {}

    def keep(x):
        kept[x.untyped_storage().data_ptr(), x.storage_offset(), x.shape] = x.numel()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        outputs = block(q, k, v, is_causal=True)
    return sum(kept.values()) if outputs.requires_grad else 0


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_what_is_kept_for_the_backward_pass_grows_with_the_length_and_not_its_square(block):
    once, twice, four_times = (saved_for_backward(block, n) for n in (128, 256, 512))
    assert four_times - twice == pytest.approx(2 * (twice - once), rel=1e-3)  # a scan has a level more


@pytest.mark.parametrize("block", blocks(), ids=str)
@pytest.mark.parametrize("is_causal", [False, True])
def test_work_grows_with_the_length_and_not_its_square(block, is_causal):
    def work(n):
        with FlopCounterMode(display=False) as counter:
            block(*triple(n=n, m=n), is_causal=is_causal)
        return counter.get_total_flops()

    assert work(1024) == 2 * work(512)


def test_work_of_the_causal_form_is_as_said():
    n, d, c = 64, 4, CHUNK
    with FlopCounterMode(display=False) as counter:
        LinearAttention(chunk_size=c)(*torch.randn(3, n, d), is_causal=True)
    assert counter.get_total_flops() == 4 * n * d**2 + 2 * n * d + 4 * n * c * d + 2 * n * (c + d)


def test_softmax_attention_costs_the_square():
    def work(n):
        with FlopCounterMode(display=False) as counter:
            F.scaled_dot_product_attention(*torch.randn(3, 1, 1, n, 4))
        return counter.get_total_flops()

    assert work(512) == 4 * work(256)


@pytest.mark.parametrize("block", blocks(), ids=str)
@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0, 100.0])
def test_outputs_and_gradients_are_numbers_whatever_the_size_of_the_inputs(block, scale):
    inputs = [(scale * x).requires_grad_() for x in triple(n=20, m=20)]
    for is_causal in (False, True):
        outputs = block(*inputs, is_causal=is_causal)
        assert outputs.isfinite().all()
        assert all(g.isfinite().all() for g in torch.autograd.grad(outputs.square().sum(), inputs))


@pytest.mark.parametrize("chunk_size", [4, 16])
def test_a_loud_key_that_comes_later_does_not_drown_the_earlier_ones(chunk_size):
    """Their features are e^200 apart, more than float32 holds."""
    k = torch.full((9, 4), -200.0)
    k[8] = 5.0
    v = torch.arange(9.0)[:, None]
    outputs = LinearAttention(chunk_size=chunk_size)(torch.zeros(9, 4), k, v, is_causal=True)
    assert_close(outputs[:8, 0], torch.arange(8) / 2)  # the mean of 0, …, i
    assert_close(outputs[8], torch.tensor([8.0]))


@pytest.mark.parametrize("block", blocks(), ids=str)
def test_sums_of_many_keys_are_not_rounded_in_bf16(block):
    """Added up in bf16, a sum stops to grow at 256 equal terms."""
    x = torch.zeros(2000, 4, dtype=torch.bfloat16)
    v = (torch.arange(2000) >= 1000).to(torch.bfloat16)[:, None]
    outputs = block.bfloat16()(x, x, v, is_causal=True)
    block.float()
    assert outputs.dtype == torch.bfloat16
    assert_close(outputs[-1].float(), torch.tensor([0.5]), atol=0.01, rtol=0)


def test_any_positive_map_can_be_put_in():
    features = PositiveFeatures(4, 6)
    q, k, v = triple()
    weights = features(q) @ features(k).mT
    wanted = weights @ v / weights.sum(-1, keepdim=True)
    assert_close(LinearAttention(features)(q, k, v), wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("is_causal", [False, True])
def test_it_can_be_the_attention_of_many_heads(is_causal):
    x, mask = torch.randn(2, 10, 8), length_mask(torch.tensor([[10], [6]]), 10)
    many = MultiheadAttention(8, num_heads=2, attention=LinearAttention())
    got = many(x, mask=mask, is_causal=is_causal)
    assert_close(got[1, :6], many(x[1:, :6], is_causal=is_causal)[0])


def test_entries_may_lie_anywhere_in_memory():
    q, k, v = (x.transpose(0, 1).contiguous().transpose(0, 1) for x in triple())
    assert_close(LinearAttention()(q, k, v), LinearAttention()(*(x.contiguous() for x in (q, k, v))))


def test_new_features_give_another_estimate():
    q, k, v = triple()
    block = PerformerAttention(4, 6)
    before = block(q, k, v)
    block.redraw(torch.Generator().manual_seed(1))
    assert not torch.allclose(before, block(q, k, v))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: LinearAttention(chunk_size=0), "attention.linear: chunk_size must be int ≥ 1"),
        (lambda: PerformerAttention(4, 0), "attention.performer: num_features must be int ≥ 1"),
    ],
)
def test_settings_that_make_no_sense_are_refused(make, said):
    with pytest.raises(GradlabError) as error:
        make()
    assert str(error.value).startswith(said)


def test_an_unknown_form_is_refused():
    with pytest.raises((GradlabError, TypeCheckError), match="cosh"):
        PerformerAttention(4, form="cos")
