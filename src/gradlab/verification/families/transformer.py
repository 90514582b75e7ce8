"""What is known of transformer layers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.attention.cache import KeyValueCache
from gradlab.nn.attention.multihead import MultiheadAttention
from gradlab.nn.position import RotaryPosition
from gradlab.nn.transformer import DecoderLayer, EncoderDecoder, EncoderLayer, GatedMLP
from gradlab.scratch import Tensor as Twin
from gradlab.scratch import transformer
from gradlab.scratch.transformer import AttentionWeights, LayerWeights, MLPWeights, NormWeights
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, same

ATTENTION = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
AFFINE = ("weight", "bias")
LAYER = [
    *(f"attention.{name}" for name in ATTENTION),
    *(f"{norm}.{name}" for norm in ("norm1", "norm2") for name in AFFINE),
    *(f"mlp.{linear}.{name}" for linear in ("linear1", "linear2") for name in AFFINE),
]
CROSS = [*(f"cross_attention.{name}" for name in ATTENTION), *(f"norm3.{name}" for name in AFFINE)]

BOTH = ("transformer.encoder", "transformer.decoder")


def sizes(case: Case) -> dict[str, int]:
    heads = case.integer("num_heads", 1, 3)
    return {"embed_dim": case.integer("embed_dim", 2, 6, multiple_of=heads), "num_heads": heads}


def layer_settings(case: Case) -> dict[str, Any]:
    return {
        **sizes(case),
        "hidden": case.integer("hidden", 1, 5),
        "norm_first": case.choice("norm_first", (True, False)),
    }


def layer(case: Case, **settings: Any) -> Any:
    """A layer, and positions for it."""
    chosen = {**layer_settings(case), **settings}
    block = case.build(**chosen)
    x = case.tensor("x", case.integer("batch", 1, 2), case.integer("n", 1, 4), chosen["embed_dim"])
    return (block.eval() if isinstance(block, nn.Module) else block), x


def key_mask(case: Case, batch: int, n: int) -> Tensor:
    """True at positions that may be looked at."""
    return case.mask("mask", batch, n)


def twin_weights(weights: Sequence[Twin]) -> LayerWeights:
    """The twelve tensors of a layer, sorted to its parts."""
    a, n1, n2, m = weights[:4], weights[4:6], weights[6:8], weights[8:12]
    return LayerWeights(AttentionWeights(*a), NormWeights(*n1), NormWeights(*n2), MLPWeights(*m))


# Twins


@twin("transformer.mlp", transformer.mlp)
def mlp_twin(case: Case) -> float:
    d, hidden = case.integer("embed_dim", 1, 5), case.integer("hidden", 1, 5)
    block = case.build(embed_dim=d, hidden=hidden)
    x = case.tensor("x", case.integer("n", 1, 5), d)
    weights = case.weights(block, "linear1.weight", "linear1.bias", "linear2.weight", "linear2.bias")
    return agreement(block(x), transformer.mlp, x, *weights)


@twin("transformer.gated_mlp", transformer.gated_mlp)
def gated_mlp_twin(case: Case) -> float:
    d, hidden = case.integer("embed_dim", 1, 5), case.integer("hidden", 1, 5)
    block = case.build(embed_dim=d, hidden=hidden)
    x = case.tensor("x", case.integer("n", 1, 5), d)
    return agreement(
        block(x), transformer.gated_mlp, x, *case.weights(block, "gate.weight", "linear1.weight", "linear2.weight")
    )


@twin("transformer.encoder", transformer.encoder_layer)
def encoder_twin(case: Case) -> float:
    block, x = layer(case)
    mask = key_mask(case, len(x), x.shape[1])
    heads, norm_first = case.drawn["num_heads"], case.drawn["norm_first"]

    def reference(x: Twin, *weights: Twin) -> Twin:
        seen = mask[:, None, None].numpy()
        return transformer.encoder_layer(x, heads, twin_weights(weights), seen, norm_first)

    return agreement(block(x, mask[:, None]), reference, x, *case.weights(block, *LAYER))


@twin("transformer.decoder", transformer.decoder_layer)
def decoder_twin(case: Case) -> float:
    cross = case.flag("cross")
    block, x = layer(case, cross=cross)
    heads, norm_first = case.drawn["num_heads"], case.drawn["norm_first"]
    if not cross:
        return agreement(
            block(x),
            lambda x, *w: transformer.decoder_layer(x, heads, twin_weights(w), norm_first=norm_first),
            x,
            *case.weights(block, *LAYER),
        )
    memory, mask = memory_of(case, x)

    def reference(x: Twin, memory: Twin, *weights: Twin) -> Twin:
        of_cross = AttentionWeights(*weights[12:16]), NormWeights(*weights[16:])
        seen = mask[:, None, None].numpy()
        return transformer.decoder_layer(x, heads, twin_weights(weights), memory, of_cross, seen, norm_first)

    weights = case.weights(block, *LAYER, *CROSS)
    return agreement(block(x, memory, memory_mask=mask[:, None]), reference, x, memory, *weights)


def memory_of(case: Case, x: Tensor) -> tuple[Tensor, Tensor]:
    memory = case.tensor("memory", len(x), case.integer("m", 1, 4), x.shape[-1])
    return memory, key_mask(case, len(x), memory.shape[1])


# Peers


@peer("transformer.encoder", "torch.nn.TransformerEncoderLayer")
def encoder_peer(case: Case) -> float:
    block, x = layer(case)
    mask = key_mask(case, len(x), x.shape[1])
    theirs, leaves, their_leaves = _like_torch(case, block, nn.TransformerEncoderLayer, LAYER)
    got, wanted = block(x, mask[:, None]), theirs(x, src_key_padding_mask=~mask)
    return same(got, wanted, [x, *leaves], [x, *their_leaves])


@peer("transformer.decoder", "torch.nn.TransformerDecoderLayer")
def decoder_peer(case: Case) -> float:
    block, x = layer(case, cross=True)
    memory, mask = memory_of(case, x)
    theirs, leaves, their_leaves = _like_torch(case, block, nn.TransformerDecoderLayer, [*LAYER, *CROSS])
    later = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
    got = block(x, memory, memory_mask=mask[:, None])
    wanted = theirs(x, memory, tgt_mask=later, memory_key_padding_mask=~mask)
    return same(got, wanted, [x, memory, *leaves], [x, memory, *their_leaves])


def _torch_name(name: str, decoder: bool) -> str:
    """Ours is `mlp.linear1`, and in a decoder the norms have another order."""
    theirs = {"attention": "self_attn", "cross_attention": "multihead_attn", "mlp": ""}
    if decoder:
        theirs |= {"norm2": "norm3", "norm3": "norm2"}
    part, _, rest = name.partition(".")
    return f"{theirs.get(part, part)}.{rest}".lstrip(".")


def _like_torch(
    case: Case, block: nn.Module, made: Any, names: Sequence[str]
) -> tuple[nn.Module, list[nn.Parameter], list[nn.Parameter]]:
    """Torch's own layer with the weights of ours, and the parameters of both in one order."""
    drawn = case.drawn
    theirs = made(
        drawn["embed_dim"],
        drawn["num_heads"],
        drawn["hidden"],
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=drawn["norm_first"],
    ).double()
    leaves = case.weights(block, *names)
    decoder = made is nn.TransformerDecoderLayer
    theirs.load_state_dict({_torch_name(n, decoder): w.detach() for n, w in zip(names, leaves, strict=True)})
    found = dict(theirs.named_parameters())
    return theirs, leaves, [found[_torch_name(name, decoder)] for name in names]


def stack_names(block: Any) -> list[str]:
    """The parameters of an encoder-decoder: its layers from the first to the last, then its norms."""
    return [
        *(f"encoder.{i}.{name}" for i in range(len(block.encoder)) for name in LAYER),
        *(f"decoder.{i}.{name}" for i in range(len(block.decoder)) for name in [*LAYER, *CROSS]),
        *(f"{half}_norm.{name}" for half in ("encoder", "decoder") for name in AFFINE),
    ]


def _torch_stack_name(name: str) -> str:
    """`decoder.0.mlp.linear1.bias` is `decoder.layers.0.linear1.bias`, `encoder_norm.bias` is `encoder.norm.bias`."""
    half, _, rest = name.partition(".")
    if half.endswith("_norm"):
        return f"{half.removesuffix('_norm')}.norm.{rest}"
    i, _, rest = rest.partition(".")
    return f"{half}.layers.{i}.{_torch_name(rest, half == 'decoder')}"


@twin("transformer.encoder_decoder", transformer.encoder_decoder)
def encoder_decoder_twin(case: Case) -> float:
    block, source, target = _pair(case)
    mask = key_mask(case, len(source), source.shape[1])
    heads, norm_first, encoders = case.drawn["num_heads"], case.drawn["norm_first"], len(block.encoder)

    def reference(source: Twin, target: Twin, *weights: Twin) -> Twin:
        *layers, g1, s1, g2, s2 = weights
        step, cut = len(LAYER) + len(CROSS), encoders * len(LAYER)
        encoder = [twin_weights(layers[i : i + len(LAYER)]) for i in range(0, cut, len(LAYER))]
        decoder = [
            (
                twin_weights(layers[i:]),
                (AttentionWeights(*layers[i + 12 : i + 16]), NormWeights(*layers[i + 16 : i + 18])),
            )
            for i in range(cut, len(layers), step)
        ]
        norms, seen = (NormWeights(g1, s1), NormWeights(g2, s2)), mask[:, None, None].numpy()
        return transformer.encoder_decoder(source, target, heads, encoder, decoder, norms, seen, norm_first)

    weights = case.weights(block, *stack_names(block))
    return agreement(block(source, target, mask), reference, source, target, *weights)


def _pair(case: Case) -> tuple[Any, Tensor, Tensor]:
    """An encoder-decoder, a source and a target."""
    chosen = {**layer_settings(case), "num_encoder_layers": case.integer("num_encoder_layers", 1, 2)}
    block = case.build(**chosen, num_decoder_layers=case.integer("num_decoder_layers", 1, 2))
    batch, d = case.integer("batch", 1, 2), chosen["embed_dim"]
    source = case.tensor("source", batch, case.integer("n", 1, 4), d)
    return block.eval(), source, case.tensor("target", batch, case.integer("m", 1, 4), d)


@peer("transformer.encoder_decoder", "torch.nn.Transformer")
def encoder_decoder_peer(case: Case) -> float:
    block, source, target = _pair(case)
    mask, drawn = key_mask(case, len(source), source.shape[1]), case.drawn
    theirs = nn.Transformer(
        drawn["embed_dim"],
        drawn["num_heads"],
        drawn["num_encoder_layers"],
        drawn["num_decoder_layers"],
        drawn["hidden"],
        dropout=0.0,
        activation="gelu",
        batch_first=True,
        norm_first=drawn["norm_first"],
    ).double()
    names = {name: _torch_stack_name(name) for name in stack_names(block)}
    leaves = case.weights(block, *names)
    theirs.load_state_dict({name: w.detach() for name, w in zip(names.values(), leaves, strict=True)})
    found = dict(theirs.named_parameters())
    later = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
    wanted = theirs(source, target, tgt_mask=later, src_key_padding_mask=~mask, memory_key_padding_mask=~mask)
    ours = [source, target, *leaves]
    return same(block(source, target, mask), wanted, ours, [source, target, *(found[n] for n in names.values())])


# Laws


class LooksAhead(DecoderLayer):
    """Without its causal mask."""

    def forward(self, x: Tensor, *_: Any, **__: Any) -> Tensor:
        x = self._add(x, self.attention, self.norm1)
        return self._add(x, self.mlp, self.norm2)


class KnowsItsPlace(EncoderLayer):
    """Adds the position to the features."""

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(x + torch.arange(x.shape[-2], dtype=x.dtype)[:, None], mask)


class ForgetsItsInput(EncoderLayer):
    """Has no way past its parts."""

    def _add(self, x: Tensor, part: Any, norm: nn.Module) -> Tensor:
        y: Tensor = part(norm(x)) if self.norm_first else norm(part(x))
        return y


class IgnoresMask(EncoderLayer):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(x)


@law("transformer.encoder", wrong=KnowsItsPlace)
def permuted_positions_give_permuted_results(case: Case) -> float:
    """f(X[τ]) = f(X)[τ]"""
    block, x = layer(case)
    order = case.permutation("order", x.shape[1])
    return difference(block(x[:, order]), block(x)[:, order])


@law("transformer.encoder", wrong=IgnoresMask)
def what_is_masked_does_not_matter(case: Case) -> float:
    """f(X, mask) at true positions is the same for whatever stands at the others"""
    block, x = layer(case)
    mask = key_mask(case, len(x), x.shape[1])
    other = torch.where(mask[..., None], x, case.tensor("other", *x.shape))
    return difference(block(x, mask[:, None])[mask], block(other, mask[:, None])[mask])


class WithoutWay(DecoderLayer):
    _add = ForgetsItsInput._add


@law(*BOTH, wrong={"transformer.encoder": ForgetsItsInput, "transformer.decoder": WithoutWay})
def parts_that_give_nothing_leave_the_identity(case: Case) -> float:
    """f(x) = x if the last maps of attention and mlp are 0, with norms first"""
    block, x = layer(case, norm_first=True)
    silent = case.weights(block, *(f"attention.out_proj.{n}" for n in AFFINE), *(f"mlp.linear2.{n}" for n in AFFINE))
    with torch.no_grad():
        for weight in silent:
            weight.zero_()
    return difference(block(x), x)


@law(*BOTH, wrong={"transformer.encoder": ForgetsItsInput, "transformer.decoder": WithoutWay})
def the_gradient_has_a_way_past_every_part(case: Case) -> float:
    """∂f/∂x = I if the last maps are 0, with norms first"""
    block, x = layer(case, norm_first=True)
    silent = case.weights(block, *(f"attention.out_proj.{n}" for n in AFFINE), *(f"mlp.linear2.{n}" for n in AFFINE))
    with torch.no_grad():
        for weight in silent:
            weight.zero_()
    jacobian = torch.func.jacrev(lambda flat: block(flat.view_as(x)).flatten())(x.detach().flatten())
    return difference(jacobian, torch.eye(x.numel(), dtype=x.dtype))


class NormsNothing(EncoderLayer):
    def _add(self, x: Tensor, part: Any, norm: nn.Module) -> Tensor:
        y: Tensor = x + part(x)
        return y


@law("transformer.encoder", wrong=NormsNothing)
def with_norms_last_every_result_is_normal(case: Case) -> float:
    """mean 0 and variance near 1 over the features of each position, if the last norm has gain 1 and shift 0"""
    block, x = layer(case, norm_first=False)
    gain, shift = case.weights(block, "norm2.weight", "norm2.bias")
    with torch.no_grad():
        gain.fill_(1.0)
        shift.zero_()
    y = block(10 * x)
    return max(float(y.mean(-1).abs().max()), max(0.0, float((y.square().mean(-1) - 1).max())))


@law("transformer.decoder", wrong=LooksAhead)
def nothing_depends_on_what_comes_later(case: Case) -> float:
    """f(X)ᵢ is the same for whatever stands after i"""
    block, x = layer(case)
    cut = case.integer("cut", 1, x.shape[1])
    other = torch.cat([x[:, :cut], case.tensor("other", *x[:, cut:].shape)], 1)
    return difference(block(other)[:, :cut], block(x)[:, :cut])


class StartsAgain(DecoderLayer):
    """Takes each call for the first one."""

    def forward(self, x: Tensor, *args: Any, cache: Any = None, **kwargs: Any) -> Tensor:
        return super().forward(x, *args, **kwargs)


@law("transformer.decoder", wrong=StartsAgain)
def a_cache_changes_nothing(case: Case) -> float:
    """positions given one after the other, with a cache, get what they get together"""
    block, x = layer(case)
    cache, cut = KeyValueCache(), case.integer("cut", 1, 4)
    parts = [block(part, cache=cache) for part in x.split(cut, 1)]
    return difference(torch.cat(parts, 1), block(x))


@law("transformer.decoder", wrong=StartsAgain)
def a_cache_changes_nothing_with_positions(case: Case) -> float:
    """the same, with queries and keys that are turned by their positions, and a gated mlp"""
    heads = case.integer("num_heads", 1, 2)
    d = case.integer("embed_dim", 2, 8, multiple_of=2 * heads)
    parts = {"attention": MultiheadAttention(d, heads, position=RotaryPosition(d // heads)), "mlp": GatedMLP(d)}
    block = case.build(embed_dim=d, num_heads=heads, **parts).eval()
    x = case.tensor("x", case.integer("batch", 1, 2), case.integer("n", 1, 4), d)
    cache = KeyValueCache()
    steps = [block(x[:, i : i + 1], cache=cache) for i in range(x.shape[1])]
    return difference(torch.cat(steps, 1), block(x))


class ReadsMemoryInOrder(DecoderLayer):
    def forward(self, x: Tensor, memory: Tensor | None = None, *args: Any, **kwargs: Any) -> Tensor:
        return super().forward(x, None if memory is None else memory.cumsum(1), *args, **kwargs)


@law("transformer.decoder", wrong=ReadsMemoryInOrder)
def the_memory_is_a_set(case: Case) -> float:
    """f(X, M[τ]) = f(X, M)"""
    block, x = layer(case, cross=True)
    memory, _ = memory_of(case, x)
    order = case.permutation("order", memory.shape[1])
    return difference(block(x, memory[:, order]), block(x, memory))


class Doubled(nn.Module):
    """A gate in which both factors are bent."""

    def __init__(self, embed_dim: int, hidden: int):
        super().__init__()
        self.gate, self.linear1 = nn.Linear(embed_dim, hidden, False), nn.Linear(embed_dim, hidden, False)
        self.linear2 = nn.Linear(hidden, embed_dim, False)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear2(nn.functional.silu(self.gate(x)) * nn.functional.silu(self.linear1(x)))
        return y


@law("transformer.gated_mlp", wrong=Doubled)
def without_a_gate_it_is_linear(case: Case) -> float:
    """f is linear in W₁ x: twice W₁ gives twice f"""
    d = case.integer("embed_dim", 1, 4)
    block = case.build(embed_dim=d, hidden=case.integer("hidden", 1, 4))
    x = case.tensor("x", case.integer("n", 1, 4), d)
    (weight,) = case.weights(block, "linear1.weight")
    once = block(x).detach()
    with torch.no_grad():
        weight.mul_(2.0)
    return difference(block(x), 2 * once)


class MixesPositions(nn.Module):
    def __init__(self, embed_dim: int, hidden: int):
        super().__init__()
        self.linear = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear(x - x.mean(0))
        return y


@law("transformer.mlp", "transformer.gated_mlp", wrong=MixesPositions)
def each_position_is_changed_by_itself(case: Case) -> float:
    """f(X)ᵢ = f(xᵢ)"""
    d = case.integer("embed_dim", 1, 4)
    block = case.build(embed_dim=d, hidden=case.integer("hidden", 1, 4))
    x = case.tensor("x", case.integer("n", 1, 4), d)
    return difference(block(x), torch.cat([block(row[None]) for row in x]))


class ReadsNoSource(EncoderDecoder):
    def encode(self, source: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().encode(source.cumsum(1), mask)


@law("transformer.encoder_decoder", wrong=ReadsNoSource)
def the_source_is_a_set_without_positions(case: Case) -> float:
    """f(X[τ], T) = f(X, T): order must be told by the embeddings"""
    block, source, target = _pair(case)
    order = case.permutation("order", source.shape[1])
    return difference(block(source[:, order], target), block(source, target))


class SeesTheWholeTarget(EncoderDecoder):
    def decode(self, target: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return super().decode(target - target.mean(1, keepdim=True), *args, **kwargs)


@law("transformer.encoder_decoder", wrong=SeesTheWholeTarget)
def no_target_depends_on_a_later_one(case: Case) -> float:
    """f(X, T)ᵢ is the same for whatever stands in T after i"""
    block, source, target = _pair(case)
    cut = case.integer("cut", 1, target.shape[1])
    other = torch.cat([target[:, :cut], case.tensor("other", *target[:, cut:].shape)], 1)
    return difference(block(source, other)[:, :cut], block(source, target)[:, :cut])


class NoMasks(EncoderDecoder):
    def forward(self, source: Tensor, target: Tensor, *_: Any) -> Tensor:
        return super().forward(source, target)


@law("transformer.encoder_decoder", wrong=NoMasks)
def padding_does_not_matter(case: Case) -> float:
    """f(X, T, mask) is the same for whatever stands in X where the mask is false"""
    block, source, target = _pair(case)
    mask = key_mask(case, len(source), source.shape[1])
    other = torch.where(mask[..., None], source, case.tensor("other", *source.shape))
    return difference(block(other, target, mask), block(source, target, mask))


class StepsAlone(EncoderDecoder):
    def decode(self, *args: Any, caches: Any = None, **kwargs: Any) -> Tensor:
        return super().decode(*args, **kwargs)


@law("transformer.encoder_decoder", wrong=StepsAlone)
def a_target_may_be_given_step_by_step(case: Case) -> float:
    """decode with caches, one position after the other, gives what it gives at once"""
    block, source, target = _pair(case)
    memory, caches = block.encode(source), [KeyValueCache() for _ in block.decoder]
    steps = [block.decode(target[:, i : i + 1], memory, caches=caches) for i in range(target.shape[1])]
    return difference(torch.cat(steps, 1), block(source, target))


# Examples


@example("transformer.mlp", n=5, d=4, h=6)
def mlp_example(n: int, d: int, h: int) -> Any:
    return {"embed_dim": d, "hidden": h}, (torch.randn(n, d),)


example("transformer.gated_mlp", n=5, d=4, h=6)(mlp_example)


@example("transformer.encoder", n=5, d=8, h=6)
def layer_example(n: int, d: int, h: int) -> Any:
    return {"embed_dim": d, "num_heads": 2, "hidden": h}, (torch.randn(1, n, d),)


example("transformer.decoder", n=5, d=8, h=6)(layer_example)


@example("transformer.encoder_decoder", n=5, m=4, d=8, h=6, l=1)
def encoder_decoder_example(n: int, m: int, d: int, h: int, l: int) -> Any:  # noqa: E741
    settings = {"embed_dim": d, "num_heads": 2, "num_encoder_layers": l, "num_decoder_layers": l, "hidden": h}
    return settings, (torch.randn(1, n, d), torch.randn(1, m, d))
