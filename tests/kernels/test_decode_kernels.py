"""The kernels of decoding give what PyTorch's operations give: on a GPU, or in Triton's interpreter."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch

from gradlab.kernels import add_norm as sums
from gradlab.kernels import decode_attention as attention
from gradlab.kernels.peak import write_peak
from gradlab.kernels.product import product
from gradlab.kernels.triton_language import collecting, compile_at_once

TOLERANCES = {torch.float32: {"rtol": 1e-4, "atol": 1e-5}, torch.bfloat16: {"rtol": 4e-2, "atol": 6e-2}}
DTYPES = pytest.mark.parametrize("dtype", TOLERANCES, ids=str)


@pytest.fixture(autouse=True)
def device():
    with torch.device("cuda" if torch.cuda.is_available() else "cpu"):
        yield


def room(rows, heads, length, dim, dtype, extra=9):
    """Keys or values of which those from `length` on were never written."""
    drawn = torch.randn(rows, heads, length + extra, dim).to(dtype)
    drawn[:, :, length:] = torch.nan
    return drawn


@DTYPES
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(
    ("length", "dim", "new"), [(0, 16, 1), (0, 32, 3), (1, 64, 1), (63, 40, 5), (65, 32, 1), (1000, 64, 2)]
)
def test_attention_to_all_positions_so_far(length, dim, new, shared, dtype):
    rows, heads = 3, 2
    q, k, v = torch.randn(3, rows, heads, new, dim).to(dtype)
    keys, values = room(rows, heads, length, dim, dtype), room(rows, heads, length, dim, dtype)
    place = length + torch.arange(new)
    owners = torch.randint(rows, (rows, length + 9)) if shared else None
    # The plain form looks at the whole room, so nothing of it may be NaN.
    clean = [part.nan_to_num() for part in (keys, values)]
    wanted = attention.plain_decode_attention(q, k, v, *clean, place, owners)
    got = attention.decode_attention(q, k, v, keys, values, place, owners)
    torch.testing.assert_close(got, wanted, **TOLERANCES[dtype])
    for mine, other in zip((keys, values), clean, strict=True):
        assert torch.equal(mine[:, :, : length + new], other[:, :, : length + new])  # the new ones are written
        assert mine[:, :, length + new :].isnan().all()  # and nothing behind them


@DTYPES
@pytest.mark.parametrize(("heads", "key_heads"), [(4, 2), (6, 1), (6, 3)])
def test_a_head_of_keys_serves_several_of_queries(heads, key_heads, dtype):
    rows, length, new, dim = 3, 37, 2, 16
    q = torch.randn(rows, heads, new, dim).to(dtype)
    k, v = torch.randn(2, rows, key_heads, new, dim).to(dtype)
    keys, values = room(rows, key_heads, length, dim, dtype), room(rows, key_heads, length, dim, dtype)
    place, owners = length + torch.arange(new), torch.randint(rows, (rows, length + 9))
    clean = [part.nan_to_num() for part in (keys, values)]
    served = heads // key_heads
    whole = [part.repeat_interleave(served, 1) for part in (k, v, *clean)]
    wanted = attention.plain_decode_attention(q, *whole, place, owners)
    plain = attention.plain_decode_attention(q, k, v, *clean, place, owners)
    torch.testing.assert_close(plain, wanted, **TOLERANCES[dtype])
    got = attention.decode_attention(q, k, v, keys, values, place, owners)
    torch.testing.assert_close(got, wanted, **TOLERANCES[dtype])
    assert torch.equal(keys[:, :, : length + new], clean[0][:, :, : length + new])


def test_attention_takes_heads_that_lie_apart_and_a_scale():
    heads = torch.randn(3, 2, 3, 4, 16)  # rows, new, (q, k, v), heads, features: as one product gives them
    q, k, v = heads.transpose(1, 3).unbind(2)
    keys, values, place = torch.zeros(3, 4, 8, 16), torch.zeros(3, 4, 8, 16), torch.arange(2)
    copies = keys.clone(), values.clone()
    for _ in range(3):
        got = attention.decode_attention(q, k, v, keys, values, place, scale=0.7)
        wanted = attention.plain_decode_attention(q, k, v, *copies, place, scale=0.7)
        torch.testing.assert_close(got, wanted)
        place += 1


@DTYPES
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize(("rows", "dim"), [(1, 1), (1, 65), (17, 63), (2, 1000)])
def test_a_sum_is_normalised(rows, dim, norm, dtype):
    x, delta = 3 + torch.randn(2, rows, dim).to(dtype)
    gain, shift = torch.randn(2, dim).to(dtype)
    given = x, delta, norm, gain, shift if norm == "layer" else None, 1e-5
    for got, wanted in zip(sums.add_norm(*given), sums.plain_add_norm(*given), strict=True):
        torch.testing.assert_close(got, wanted, **TOLERANCES[dtype])


@DTYPES
@pytest.mark.parametrize("bend", ["none", "gelu", "gelu_tanh"])
@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize(("rows", "dim", "outputs"), [(1, 1, 1), (1, 65, 63), (3, 63, 65), (2, 1000, 17)])
def test_a_sum_is_normalised_and_mapped(rows, dim, outputs, norm, bend, dtype):
    x, delta = 1 + torch.randn(2, rows, dim).to(dtype)
    gain, shift = torch.randn(2, dim).to(dtype)
    weight, bias = torch.randn(outputs, dim).to(dtype) / dim**0.5, torch.randn(outputs).to(dtype)
    given = x, delta, norm, gain, shift if norm == "layer" else None, 1e-5, weight, bias, bend
    for got, wanted in zip(sums.add_norm_affine(*given), sums.plain_add_norm_affine(*given), strict=True):
        torch.testing.assert_close(got, wanted, **TOLERANCES[dtype])


@DTYPES
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("rows", "dim", "outputs"), [(1, 1, 1), (1, 65, 63), (3, 3000, 17)])
def test_an_affine_map_of_a_few_rows(rows, dim, outputs, biased, dtype):
    x, weight = torch.randn(rows, dim).to(dtype), torch.randn(outputs, dim).to(dtype) / dim**0.5
    bias = torch.randn(outputs).to(dtype) if biased else None
    torch.testing.assert_close(
        sums.affine(x, weight, bias), torch.nn.functional.linear(x, weight, bias), **TOLERANCES[dtype]
    )


@pytest.mark.parametrize("bend", ["none", "gelu", "gelu_tanh"])
@pytest.mark.parametrize(
    ("rows", "dim", "outputs"), [(1, 16, 1), (5, 65, 63), (16, 768, 48), (17, 300, 33), (64, 1100, 17)]
)
def test_a_product_of_more_rows(rows, dim, outputs, bend):
    dtypes = TOLERANCES if torch.cuda.is_available() else [torch.float32]  # the interpreter multiplies no bfloat16
    for dtype in dtypes:
        x, weight = torch.randn(rows, dim).to(dtype), torch.randn(outputs, dim).to(dtype) / dim**0.5
        bias = torch.randn(outputs).to(dtype)
        wanted = torch.nn.functional.linear(x, weight, bias)
        if bend != "none":
            wanted = torch.nn.functional.gelu(wanted, approximate="tanh" if bend == "gelu_tanh" else "none")
        torch.testing.assert_close(product(x, weight, bias, bend), wanted, **TOLERANCES[dtype])
    torch.testing.assert_close(
        product(x, weight, None), torch.nn.functional.linear(x, weight), **TOLERANCES[weight.dtype]
    )


@DTYPES
@pytest.mark.parametrize(("rows", "size"), [(1, 1), (3, 1000), (2, 20011)])
def test_the_largest_logit_is_written(rows, size, dtype):
    logits = torch.randn(rows, size).to(dtype)
    logits[0, size // 2 :] = logits[0].max()  # the first of several
    page, peaks, position = torch.full((rows, 9), -1), torch.zeros(9, rows), torch.tensor([4])
    chosen = torch.zeros(rows, 1, dtype=torch.int64)
    write_peak(logits, page, peaks, position, chosen)
    wanted = logits.float().cpu().argmax(-1).to(page.device)
    assert torch.equal(page[:, 4], wanted)
    assert torch.equal(chosen[:, 0], wanted)
    assert torch.equal(peaks[4], logits.float().amax(-1))
    assert (page[:, [0, 1, 2, 3, 5, 6, 7, 8]] == -1).all()
    assert not peaks[[0, 1, 2, 3, 5, 6, 7, 8]].any()
    logits[:, -1] = torch.nan
    write_peak(logits, page, peaks, position, chosen)
    assert not peaks[4].isfinite().any()
    assert (chosen == size - 1).all()


def test_launches_that_are_the_same_program_are_collected_once():
    x, weight = torch.randn(1, 32), torch.randn(48, 32)
    with collecting() as launches:
        outputs = [sums.affine(x, weight, None) for _ in range(3)]
        sums.affine(x, weight, weight[:, 0].contiguous())
    assert len(launches) == 2
    next(iter(launches.values()))()
    torch.testing.assert_close(outputs[-1], x @ weight.T)  # the last of them is kept


def test_what_is_compiled_is_not_launched_again(monkeypatch):
    monkeypatch.setattr(torch.cuda, "device", lambda device: nullcontext())
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device: None)
    launched, device = [], torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for keys in (["one", "two"], ["two", "three"]):
        compile_at_once({(key,): partial(launched.append, key) for key in keys}, device)
    assert sorted(launched) == ["one", "three", "two"]
