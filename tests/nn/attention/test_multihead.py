import pytest
import torch
from torch import nn
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError
from gradlab.nn.attention import (
    AdditiveAttention,
    GaussianAttention,
    LinearAttention,
    MultiheadAttention,
    ScaledDotAttention,
    causal_mask,
    length_mask,
)
from gradlab.nn.attention.cache import KeyValueCache, MemoryCache
from gradlab.nn.position import ALiBi, RelativePosition, RotaryPosition


def of_torch(ours, **settings):
    """PyTorch's module with our weights."""
    theirs = nn.MultiheadAttention(ours.embed_dim, ours.num_heads, batch_first=True, **settings).eval()
    theirs.load_state_dict(ours.state_dict())
    return theirs


def randomised(module):
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    return module


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(("kdim", "vdim"), [(None, None), (6, None), (None, 5), (6, 5), (6, 6)])
def test_weights_are_interchangeable_with_those_of_torch(bias, kdim, vdim):
    ours = randomised(MultiheadAttention(8, 2, bias=bias, kdim=kdim, vdim=vdim))
    theirs = of_torch(ours, bias=bias, kdim=kdim, vdim=vdim)
    assert {k: v.shape for k, v in ours.state_dict().items()} == {k: v.shape for k, v in theirs.state_dict().items()}
    q, k, v = torch.randn(3, 4, 8), torch.randn(3, 5, kdim or 8), torch.randn(3, 5, vdim or 8)
    seen = torch.rand(4, 5) < 0.7
    seen[:, 0] = True
    wanted, shares = theirs(q, k, v, attn_mask=~seen, average_attn_weights=False)
    assert_close(ours(q, k, v, seen), wanted)
    assert_close(ours.weights(q, k, seen), shares)


def test_it_begins_like_that_of_torch():
    torch.manual_seed(3)
    ours = MultiheadAttention(8, 2)
    assert not ours.in_proj_bias.any()
    assert not ours.out_proj.bias.any()
    bound = (6 / (8 + 24)) ** 0.5
    assert 0.9 * bound < ours.in_proj_weight.abs().max() <= bound


def test_every_batch_has_its_own_mask():
    attention, x = randomised(MultiheadAttention(6, 3)), torch.randn(4, 5, 6)
    mask = torch.rand(4, 5, 5) < 0.6
    alone = torch.cat([attention(x[i : i + 1], mask=mask[i]) for i in range(4)])
    assert_close(attention(x, mask=mask), alone)
    padded = length_mask(torch.tensor([[1], [5], [0], [2]]), 5)
    assert_close(attention(x, mask=padded), attention(x, mask=padded.expand(4, 5, 5)))
    assert_close(attention(x, mask=padded)[2], attention.out_proj.bias.expand(5, 6))


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
def test_any_number_of_leading_axes(batch):
    attention, x = randomised(MultiheadAttention(6, 2)), torch.randn(*batch, 5, 6)
    mask = torch.rand(*batch, 5, 5) < 0.7
    flat = attention(x.reshape(-1, 5, 6), mask=mask.reshape(-1, 5, 5))
    assert_close(attention(x, mask=mask).reshape(flat.shape), flat)
    assert attention.weights(x, mask=mask).shape == (*batch, 2, 5, 5)


def test_the_flag_is_the_causal_mask():
    attention, x, memory = randomised(MultiheadAttention(6, 2)), torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    assert_close(attention(x, is_causal=True), attention(x, mask=causal_mask(3)))
    assert_close(attention(x, memory, is_causal=True), attention(x, memory, mask=causal_mask(3, 5)))
    assert_close(attention.weights(x, is_causal=True), attention.weights(x, mask=causal_mask(3)))


def test_a_value_that_is_not_given_is_the_key():
    attention, x, memory = randomised(MultiheadAttention(6, 2)), torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    assert_close(attention(x, memory), attention(x, memory, memory))


@pytest.mark.parametrize("part", [GaussianAttention(2.0), AdditiveAttention(3, 3, 4), ScaledDotAttention(scale=1.0)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_another_attention_can_be_put_in(part, is_causal):
    attention = randomised(MultiheadAttention(6, 2, attention=part))
    x = torch.randn(2, 4, 6)
    heads = [
        h.reshape(2, 4, 2, 3).transpose(1, 2)
        for h in (x @ attention.in_proj_weight.T + attention.in_proj_bias).chunk(3, -1)
    ]
    wanted = part(*heads, causal_mask(4) if is_causal else None)
    got = attention(x, is_causal=is_causal)
    assert_close(got, attention.out_proj(wanted.transpose(1, 2).reshape(2, 4, 6)))
    weights = attention.weights(x, is_causal=is_causal)
    assert_close(weights.sum(-1), torch.ones(2, 2, 4))


def test_linear_attention_can_be_put_in():
    attention, x = randomised(MultiheadAttention(6, 2, attention=LinearAttention())), torch.randn(2, 5, 6)
    all_at_once = attention(x, is_causal=True)
    assert_close(attention(x[:, :3], is_causal=True), all_at_once[:, :3])
    padded = length_mask(torch.tensor([[3], [3]]), 5)
    assert_close(attention(x, mask=padded)[:, :3], attention(x[:, :3]))


def test_a_plain_function_can_be_put_in():
    attention = MultiheadAttention(4, 2, attention=lambda q, k, v, mask: v.mean(-2, keepdim=True).expand_as(q))
    x = torch.randn(2, 3, 4)
    assert_close(attention(x), attention(x).mean(1, keepdim=True).expand(2, 3, 4))


def test_rotated_attention_knows_differences_of_positions_only():
    rotated = randomised(MultiheadAttention(8, 2, position=RotaryPosition(4)))
    plain = MultiheadAttention(8, 2)
    plain.load_state_dict(rotated.state_dict())
    x = torch.randn(2, 5, 8)
    assert not torch.allclose(rotated(x), plain(x), atol=1e-3)
    shifted = MultiheadAttention(8, 2, position=lambda x, positions: rotated.position(x, positions + 7))
    shifted.load_state_dict(rotated.state_dict())
    assert_close(shifted(x), rotated(x), atol=1e-5, rtol=1e-4)


def test_alibi_is_added_to_the_scores():
    attention, x = randomised(MultiheadAttention(8, 2, score_bias=ALiBi(2))), torch.randn(2, 5, 8)
    plain = MultiheadAttention(8, 2)
    plain.load_state_dict(attention.state_dict())
    q, k, _ = plain._heads(x, x, x)
    scores = q @ k.mT / 2 + ALiBi(2)(5, 5)
    assert_close(attention.weights(x), scores.softmax(-1))
    assert_close(attention.weights(x, is_causal=True), scores.masked_fill(~causal_mask(5), -torch.inf).softmax(-1))


def test_a_bias_that_is_learned_learns():
    attention = randomised(MultiheadAttention(8, 2, score_bias=RelativePosition(2, 3)))
    attention(torch.randn(2, 5, 8), mask=torch.rand(5, 5) < 0.8).square().sum().backward()
    assert attention.score_bias.weight.grad.abs().sum() > 0


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"position": RotaryPosition(4)},
        {"score_bias": ALiBi(2)},
        {"position": RotaryPosition(4), "score_bias": RelativePosition(2, 2)},
        {"attention": GaussianAttention()},
        {"attention": LinearAttention()},
    ],
    ids=lambda parts: ",".join(parts),
)
@pytest.mark.parametrize("steps", [[1] * 6, [4, 1, 1], [2, 3, 1]], ids=str)
def test_with_a_cache_tokens_may_come_one_by_one(parts, steps):
    attention, x, cache = randomised(MultiheadAttention(8, 2, **parts)), torch.randn(2, 6, 8), KeyValueCache()
    pieces = [attention(part, is_causal=True, cache=cache) for part in x.split(steps, 1)]
    assert_close(torch.cat(pieces, 1), attention(x, is_causal=True), atol=1e-5, rtol=1e-4)


def test_a_mask_with_a_cache_covers_all_keys():
    attention, x, cache = randomised(MultiheadAttention(8, 2)), torch.randn(2, 6, 8), KeyValueCache()
    real = length_mask(torch.tensor([[6], [4]]), 6)
    attention(x[:, :4], cache=cache)
    assert_close(attention(x[:, 4:], mask=real, cache=cache), attention(x[:, 4:], x, mask=real))


def test_it_drops_weights_in_training_only():
    attention, x = randomised(MultiheadAttention(8, 2, dropout=0.5)), torch.randn(2, 6, 8)
    assert not torch.equal(attention(x), attention(x))
    attention.eval()
    assert_close(attention(x), attention(x))
    assert attention.attention.dropout == 0.5


def test_nothing_to_look_at_and_nobody_to_look():
    attention = randomised(MultiheadAttention(8, 2))
    nothing = attention(torch.randn(2, 3, 8), torch.randn(2, 0, 8))
    assert_close(nothing, attention.out_proj.bias.expand(2, 3, 8))
    assert attention(torch.randn(2, 0, 8)).shape == (2, 0, 8)
    assert attention(torch.randn(0, 3, 8)).shape == (0, 3, 8)
    assert attention(torch.randn(1, 1, 8)).shape == (1, 1, 8)


def test_it_compiles_with_a_causal_mask_and_a_bias():
    torch._dynamo.reset()
    attention, x = randomised(MultiheadAttention(8, 2, score_bias=ALiBi(2))), torch.randn(2, 5, 8)
    mask = torch.rand(2, 1, 5) < 0.8
    compiled = torch.compile(attention, fullgraph=True, backend="aot_eager")
    assert_close(compiled(x, mask=mask, is_causal=True), attention(x, mask=mask, is_causal=True))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"num_heads": 3}, "embed_dim must be a multiple of num_heads, got 8 and 3"),
        ({"num_key_value_heads": 3}, "num_heads must be a multiple of num_key_value_heads, got 2 and 3"),
        ({"head_dim": 0}, r"head_dim must be int ≥ 1 \| none, got 0"),
        ({"num_heads": 0}, "num_heads must be int ≥ 1, got 0"),
        ({"kdim": 0}, r"kdim must be int ≥ 1 \| none, got 0"),
        ({"dropout": 0.5, "attention": GaussianAttention()}, "dropout=0.5 has no effect, the attention has its own"),
        ({"score_bias": ALiBi(2), "attention": GaussianAttention()}, "score_bias needs an attention that takes a bias"),
    ],
)
def test_bad_settings_are_told(settings, told):
    with pytest.raises(GradlabError, match=f"^attention.multihead: {told}"):
        MultiheadAttention(**{"embed_dim": 8, "num_heads": 2, **settings})


def test_inputs_that_do_not_fit_are_told():
    attention, x = MultiheadAttention(8, 2, kdim=6, vdim=5), torch.randn(2, 3, 8)
    with pytest.raises(ShapeError, match=r"attention.multihead: key must be given, since kdim=6"):
        attention(x)
    with pytest.raises(ShapeError, match=r"attention.multihead: value must be given, since vdim=5"):
        attention(x, torch.randn(2, 3, 6))
    with pytest.raises(
        ShapeError, match=r"attention.multihead: key must have shape \(…batch, m, kdim=6\), got \(2, 3, 7\)"
    ):
        attention(x, torch.randn(2, 3, 7), torch.randn(2, 3, 5))
    with pytest.raises(
        ShapeError, match=r"A mask of shape \(2, 1, 3, 3\) cannot be spread over scores of shape \(2, 3, 3\)"
    ):
        MultiheadAttention(8, 2)(x, mask=torch.ones(2, 1, 3, 3, dtype=torch.bool))


def repeated(grouped):
    """The same function with a head of keys for each of queries: rows of keys and values once for each they serve."""
    served = grouped.num_heads // grouped.num_key_value_heads
    whole = MultiheadAttention(
        grouped.embed_dim,
        grouped.num_heads,
        attention=grouped.attention,
        position=grouped.position,
        score_bias=grouped.score_bias,
        head_dim=grouped.head_dim,
    )

    def spread(rows):
        q, k, v = rows.split(grouped.rows)
        k, v = (x.unflatten(0, (-1, grouped.head_dim)).repeat_interleave(served, 0).flatten(0, 1) for x in (k, v))
        return torch.cat([q, k, v])

    state = grouped.state_dict()
    whole.load_state_dict(state | {name: spread(state[name]) for name in ("in_proj_weight", "in_proj_bias")})
    return whole


GROUPED = {
    "plain": dict,
    "rotary": lambda: {"position": RotaryPosition(6)},
    "alibi": lambda: {"score_bias": ALiBi(4)},
    "linear": lambda: {"attention": LinearAttention()},
    "unscaled": lambda: {"attention": ScaledDotAttention(scale=1.0)},
}


@pytest.mark.parametrize("part", GROUPED)
@pytest.mark.parametrize("key_heads", [1, 2, 4])
def test_a_head_of_keys_may_serve_several_of_queries(part, key_heads):
    grouped = randomised(MultiheadAttention(8, 4, num_key_value_heads=key_heads, head_dim=6, **GROUPED[part]()))
    assert grouped.in_proj_weight.shape == ((4 + 2 * key_heads) * 6, 8)
    assert grouped.out_proj.weight.shape == (8, 24)
    whole, x = repeated(grouped).double(), torch.randn(2, 5, 8, dtype=torch.float64)
    grouped.double()
    assert_close(grouped(x, is_causal=True), whole(x, is_causal=True))
    if part != "linear":
        mask = torch.rand(2, 1, 5) < 0.8
        assert_close(grouped(x, mask=mask), whole(x, mask=mask))
        assert_close(grouped.weights(x, mask=mask), whole.weights(x, mask=mask))


@pytest.mark.parametrize("part", GROUPED)
@torch.no_grad()
def test_caches_of_grouped_queries_have_the_heads_of_keys_alone(part):
    grouped = randomised(MultiheadAttention(8, 4, num_key_value_heads=2, head_dim=6, **GROUPED[part]())).double()
    x = torch.randn(2, 6, 8, dtype=torch.float64)
    wanted, steps = grouped(x, is_causal=True), [3, 1, 2]
    for cache in (KeyValueCache(), grouped.new_cache(2, 9)):
        got = torch.cat([grouped(part, is_causal=True, cache=cache) for part in x.split(steps, 1)], 1)
        assert_close(got, wanted)
    cache = grouped.new_cache(2, 9)
    step = grouped.decoding(nn.Identity(), cache)
    assert_close(torch.cat([step(part.clone(), None, None)[1] for part in x.split(steps, 1)], 1), wanted)
    if part != "linear":
        assert cache.rooms[0].shape == (2, 2, 9, 6)


def test_keys_and_values_of_other_sizes_may_be_grouped_too():
    attention = randomised(MultiheadAttention(8, 4, kdim=5, vdim=3, num_key_value_heads=2))
    assert attention.k_proj_weight.shape == (4, 5)
    assert attention(torch.randn(2, 3, 8), torch.randn(2, 6, 5), torch.randn(2, 6, 3)).shape == (2, 3, 8)


def memory_of(attention, padded=True):
    x, memory = torch.randn(2, 3, 8, dtype=torch.float64), torch.randn(2, 5, 8, dtype=torch.float64)
    mask = length_mask(torch.tensor([[5], [2]]), 5) if padded else None
    return attention.double(), x, memory, mask


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("key_heads", [1, 2])
def test_a_memory_is_projected_once(padded, key_heads):
    made = randomised(MultiheadAttention(8, 2, num_key_value_heads=key_heads))
    attention, x, memory, mask = memory_of(made, padded)
    wanted, cache = attention(x, memory, mask=mask), MemoryCache()
    assert_close(attention(x[:, :1], memory, mask=mask, cache=cache), wanted[:, :1])
    assert cache.kept[0].shape == (2, key_heads, 5, 8 // 2)
    assert cache.length == 5
    assert_close(attention(x[:, 1:], cache=cache), wanted[:, 1:])
    assert_close(attention(x[:, 1:], torch.full_like(memory, torch.nan), cache=cache), wanted[:, 1:])
    cache.reorder(torch.tensor([1, 0, 1]))
    assert_close(attention(x[[1, 0, 1], 1:], cache=cache), wanted[[1, 0, 1], 1:])


def test_what_a_memory_cannot_be_is_told():
    attention, x, memory, _ = memory_of(MultiheadAttention(8, 2))
    each = torch.ones(3, 5, dtype=torch.bool)
    with pytest.raises(GradlabError, match="The mask of a memory is the same for every query, got one for 3"):
        attention(x, memory, mask=each, cache=MemoryCache())
    turned = memory_of(MultiheadAttention(8, 2, position=RotaryPosition(4)))[0]
    with pytest.raises(GradlabError, match="a memory that is cached has no positions"):
        turned(x, memory, cache=MemoryCache())
