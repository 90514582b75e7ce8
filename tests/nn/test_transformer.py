import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn.attention import LinearAttention, MultiheadAttention
from gradlab.nn.attention.cache import KeyValueCache, MemoryCache, StaticCache
from gradlab.nn.normalisation import RMSNorm
from gradlab.nn.position import ALiBi, RelativePosition, RotaryPosition
from gradlab.nn.transformer import MLP, DecoderLayer, EncoderDecoder, EncoderLayer, GatedMLP

PARTS = {
    "rotary": lambda: MultiheadAttention(8, 2, position=RotaryPosition(4)),
    "alibi": lambda: MultiheadAttention(8, 2, score_bias=ALiBi(2)),
    "relative": lambda: MultiheadAttention(8, 2, score_bias=RelativePosition(2, max_distance=3)),
    "grouped": lambda: MultiheadAttention(8, 2, num_key_value_heads=1, head_dim=6, position=RotaryPosition(6)),
    "linear": lambda: MultiheadAttention(8, 2, attention=LinearAttention()),
    "rotary and linear": lambda: MultiheadAttention(8, 2, attention=LinearAttention(), position=RotaryPosition(4)),
}


@pytest.mark.parametrize("part", PARTS)
def test_any_attention_and_position_can_be_put_in_and_cached_equals_uncached(part):
    layer = DecoderLayer(8, 2, attention=PARTS[part](), mlp=GatedMLP(8), norm=RMSNorm).double().eval()
    x = torch.randn(3, 7, 8, dtype=torch.float64)
    cache = KeyValueCache()
    steps = [layer(chunk, cache=cache) for chunk in x.split([3, 1, 2, 1], 1)]
    assert cache.length == 7
    assert_close(torch.cat(steps, 1), layer(x))


@pytest.mark.parametrize("part", PARTS)
def test_padding_is_hidden_from_any_attention(part):
    layer = EncoderLayer(8, 2, attention=PARTS[part]()).double().eval()
    x = torch.randn(2, 5, 8, dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    alone = layer(x[1:, :3])
    together = layer(x, mask[:, None])
    assert_close(together[1:, :3], alone)
    assert_close(together[:1], layer(x[:1]))


def test_positions_make_the_order_matter():
    x = torch.randn(1, 5, 8, dtype=torch.float64)
    for part in ("rotary", "alibi"):
        layer = EncoderLayer(8, 2, attention=PARTS[part]()).double().eval()
        assert not torch.allclose(layer(x.roll(1, 1)).roll(-1, 1), layer(x))
    layer = EncoderLayer(8, 2).double().eval()
    assert_close(layer(x.roll(1, 1)).roll(-1, 1), layer(x))


def test_sizes_between_have_their_usual_ratios():
    assert MLP(6).hidden == 24
    assert GatedMLP(6).hidden == 16
    assert sum(p.numel() for p in MLP(6, bias=False).parameters()) == sum(p.numel() for p in GatedMLP(6).parameters())


def test_dropout_is_off_when_evaluating_and_on_when_training():
    layer = EncoderLayer(8, 2, dropout=0.5)
    x = torch.randn(1, 5, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_a_decoder_says_whether_it_wants_a_memory():
    x = torch.randn(1, 5, 8)
    with pytest.raises(GradlabError, match="cross=False, so no memory can be given"):
        DecoderLayer(8, 2)(x, x)
    with pytest.raises(GradlabError, match="cross=True, so a memory must be given"):
        DecoderLayer(8, 2, cross=True)(x)


def test_a_hidden_size_beside_an_mlp_is_refused():
    with pytest.raises(GradlabError, match="hidden=3 has no effect, the mlp has its own"):
        EncoderLayer(8, 2, hidden=3, mlp=MLP(8))


@pytest.mark.parametrize("made", [EncoderLayer, DecoderLayer, EncoderDecoder])
def test_heads_must_divide_the_features(made):
    with pytest.raises(GradlabError, match="must be a multiple of num_heads, got 8 and 3"):
        made(8, 3)


def test_layers_with_parts_of_ones_own_can_be_stacked():
    def rotary(make):
        return lambda dim, heads, *sizes, **options: make(
            dim, heads, *sizes, attention=MultiheadAttention(dim, heads, position=RotaryPosition(4)), **options
        )

    model = EncoderDecoder(8, 2, 1, 1, encoder_layer=rotary(EncoderLayer), decoder_layer=rotary(DecoderLayer)).double()
    source, target = torch.randn(1, 5, 8, dtype=torch.float64), torch.randn(1, 3, 8, dtype=torch.float64)
    assert not torch.allclose(model(source.roll(1, 1), target), model(source, target))


def test_a_sequence_that_is_all_padding_has_finite_gradients():
    model = EncoderDecoder(8, 2, 1, 1).double()
    source = torch.randn(2, 3, 8, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 3, [False] * 3])
    result = model(source, torch.randn(2, 4, 8, dtype=torch.float64), mask)
    result.sum().backward()
    assert result.isfinite().all()
    assert source.grad.isfinite().all()
    assert (source.grad[1] == 0).all()


@pytest.mark.parametrize("static", [False, True])
@torch.no_grad()
def test_a_target_may_be_decoded_step_by_step_with_the_memory_projected_once(static):
    model = EncoderDecoder(8, 2, 2, 3).double().eval()
    source, target = torch.randn(3, 5, 8, dtype=torch.float64), torch.randn(3, 4, 8, dtype=torch.float64)
    mask = torch.tensor([[True] * 5, [True] * 2 + [False] * 3, [True] * 4 + [False]])
    memory, wanted = model.encode(source, mask), model(source, target, mask)
    caches = StaticCache(3, 4) if static else [KeyValueCache() for _ in range(3)]
    kept = [MemoryCache() for _ in range(3)]
    first = model.decode(target[:, :1], memory, mask, caches=caches, memory_caches=kept)
    assert_close(first, wanted[:, :1])
    calls = []
    for layer in model.decoder:
        layer.cross_attention.register_forward_pre_hook(lambda module, args: calls.append(args[1]))
    rows = torch.tensor([2, 0, 0, 1])
    for cache in [*kept, caches] if static else kept:
        cache.reorder(rows)
    if not static:
        for cache in caches:
            cache.keys, cache.values = cache.keys[rows], cache.values[rows]
    steps = [model.decode(target[rows, i : i + 1], None, caches=caches, memory_caches=kept) for i in range(1, 4)]
    assert_close(torch.cat(steps, 1), wanted[rows, 1:])
    assert calls == [None] * 9


def test_an_attention_of_ones_own_can_look_at_the_memory():
    own = MultiheadAttention(8, 2, kdim=6, vdim=6)
    layer, memory = DecoderLayer(8, 2, cross=True, cross_attention=own), torch.randn(3, 4, 6)
    assert layer.cross_attention is own
    with pytest.raises(GradlabError, match="memory must have shape"):
        layer(torch.randn(3, 5, 8), memory)
    with pytest.raises(GradlabError, match="cross_attention has no effect with cross=False"):
        DecoderLayer(8, 2, cross_attention=own)
