"""What is known of transformer layers."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.attention.cache import KeyValueCache
from gradlab.nn.attention.multihead import MultiheadAttention
from gradlab.nn.normalisation import LayerNorm
from gradlab.nn.position import RotaryPosition
from gradlab.nn.transformer import EncoderDecoder, GatedMLP
from gradlab.scratch import Tensor as Twin
from gradlab.scratch import transformer
from gradlab.scratch.transformer import AttentionWeights, LayerWeights, MLPWeights, NormWeights
from gradlab.verification.calls import accepts
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law, tied
from gradlab.verification.comparing import array, difference

ATTENTION = ("in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias")
AFFINE = ("weight", "bias")
LAYER = [
    *(f"attention.{name}" for name in ATTENTION),
    *(f"{norm}.{name}" for norm in ("norm1", "norm2") for name in AFFINE),
    *(f"mlp.{linear}.{name}" for linear in ("linear1", "linear2") for name in AFFINE),
]
CROSS = [*(f"cross_attention.{name}" for name in ATTENTION), *(f"norm3.{name}" for name in AFFINE)]

ENCODER, DECODER, BOTH = "transformer.encoder", "transformer.decoder", "transformer.encoder_decoder"


def layer_settings(case: Case) -> dict[str, Any]:
    fixed = case.subject.drawn_as
    counts = [heads for heads in (1, 2, 3) if fixed.get("embed_dim", heads) % heads == 0]
    heads = case.choice("num_heads", counts)
    return {
        "embed_dim": case.integer("embed_dim", 2, 6, multiple_of=heads),
        "num_heads": heads,
        "hidden": case.integer("hidden", 1, 5),
        "norm_first": case.choice("norm_first", (True, False)),
    }


def layer(case: Case, **settings: Any) -> tuple[Any, Tensor]:
    """A layer, and positions for it."""
    settings = {**layer_settings(case), **settings}
    block = case.build(**settings)
    if case.subject.foreign:
        _with_our_eps(block)
    x = case.tensor("x", case.integer("batch", 1, 2), case.integer("n", 1, 4), settings["embed_dim"])
    return (block.eval() if isinstance(block, nn.Module) else block), x


def _with_our_eps(block: nn.Module) -> None:
    """The ε of norms within a layer is no setting of the layer: theirs are given ours."""
    for part in block.modules():
        for name in ("eps", "epsilon", "variance_epsilon"):
            if type(getattr(part, name, None)) is float:
                setattr(part, name, LayerNorm(1).eps)


def key_mask(case: Case, x: Tensor) -> Tensor:
    """True at positions that may be looked at."""
    return case.mask("mask", *x.shape[:2])


def pair(case: Case) -> tuple[Any, Tensor, Tensor]:
    """An encoder-decoder, a source and a target."""
    settings = layer_settings(case)
    depths = {name: case.integer(name, 1, 2) for name in ("num_encoder_layers", "num_decoder_layers")}
    block, batch, d = case.build(**settings, **depths), case.integer("batch", 1, 2), settings["embed_dim"]
    source = case.tensor("source", batch, case.integer("n", 1, 4), d)
    return block.eval(), source, case.tensor("target", batch, case.integer("m", 1, 4), d)


# Twins and peers


def _mlp(*weights: str, biases: Sequence[str] = ()) -> Draw:
    """Calls with the weights, and with the biases where a block can be without."""

    def draw(case: Case) -> Call:
        d, hidden = case.integer("embed_dim", 1, 5), case.integer("hidden", 1, 5)
        settings = {"bias": case.flag("bias")} if biases else {}
        block = case.build(embed_dim=d, hidden=hidden, **settings)
        x = case.tensor("x", case.integer("n", 1, 5), d)
        return Call(block, (x,), case.weights(block, *weights, *(biases if settings.get("bias") else ())))

    return draw


MLP = [f"{linear}.{name}" for linear in ("linear1", "linear2") for name in AFFINE]
conform("transformer.mlp", _mlp(*MLP), twin=transformer.mlp)
GATED = ("gate", "linear1", "linear2")
bent = Fault(forward=lambda self, x: self.linear2(self.activation(self.gate(x)) * self.activation(self.linear1(x))))
gated = _mlp(*(f"{linear}.weight" for linear in GATED), biases=[f"{linear}.bias" for linear in GATED])
conform("transformer.gated_mlp", gated, twin=transformer.gated_mlp, fault=bent)


def _torch_name(name: str, decoder: bool) -> str:
    """Ours is `mlp.linear1`, and in a decoder the norms have another order."""
    theirs = {"attention": "self_attn", "cross_attention": "multihead_attn", "mlp": ""}
    if decoder:
        theirs |= {"norm2": "norm3", "norm3": "norm2"}
    part, _, rest = name.partition(".")
    return f"{theirs.get(part, part)}.{rest}".lstrip(".")


def _torch_stack_name(name: str) -> str:
    """`decoder.0.mlp.linear1.bias` is `decoder.layers.0.linear1.bias`, `encoder_norm.bias` is `encoder.norm.bias`."""
    half, _, rest = name.partition(".")
    if half.endswith("_norm"):
        return f"{half.removesuffix('_norm')}.norm.{rest}"
    i, _, rest = rest.partition(".")
    return f"{half}.layers.{i}.{_torch_name(rest, half == 'decoder')}"


def _stack_names(block: Any) -> list[str]:
    """The parameters of an encoder-decoder: its layers from the first to the last, then its norms."""
    return [
        *(f"encoder.{i}.{name}" for i in range(len(block.encoder)) for name in LAYER),
        *(f"decoder.{i}.{name}" for i in range(len(block.decoder)) for name in [*LAYER, *CROSS]),
        *(f"{half}_norm.{name}" for half in ("encoder", "decoder") for name in AFFINE),
    ]


def _call(case: Case, block: Any, call: Any, inputs: Sequence[Tensor], names: dict[str, str], **options: Any) -> Call:
    """A call whose weights have the names of torch."""
    weights = {names[name]: weight for name, weight in case.weights(block, *names).items()}
    return Call(call, inputs, weights, options | {n: case.drawn[n] for n in ("num_heads", "norm_first")}, case.drawn)


def _encoder(case: Case) -> Call:
    block, x = layer(case)
    mask, names = key_mask(case, x), {name: _torch_name(name, False) for name in LAYER}
    if case.subject.foreign and not accepts(block, "mask"):
        return _call(case, block, lambda x: block(x), (x,), names, mask=torch.ones_like(mask))
    pairs = mask[:, None].expand(-1, x.shape[1], -1) if case.subject.foreign else mask[:, None]
    return _call(case, block, lambda x: block(x, pairs), (x,), names, mask=mask)


def _decoder(*crosses: bool) -> Draw:
    """A decoder layer, which looks at a memory or does not."""

    def draw(case: Case) -> Call:
        cross = case.choice("cross", crosses)
        block, x = layer(case, cross=cross)
        names = {name: _torch_name(name, True) for name in [*LAYER, *CROSS * cross]}
        if not cross:
            return _call(case, block, block, (x,), names, mask=None)
        memory = case.tensor("memory", len(x), case.integer("m", 1, 4), x.shape[-1])
        mask = key_mask(case, memory)
        if case.subject.foreign and not accepts(block, "memory_mask"):
            return _call(case, block, block, (x, memory), names, mask=torch.ones_like(mask))
        return _call(case, block, lambda x, m: block(x, m, memory_mask=mask[:, None]), (x, memory), names, mask=mask)

    return draw


def _stack(case: Case) -> Call:
    block, *inputs = pair(case)
    mask, names = key_mask(case, inputs[0]), {name: _torch_stack_name(name) for name in _stack_names(block)}
    encoders = len(block.encoder)
    return _call(case, block, lambda s, t: block(s, t, mask), inputs, names, mask=mask, encoders=encoders)


def _weights(of: Sequence[Twin]) -> LayerWeights:
    """The twelve tensors of a layer, sorted to its parts."""
    return LayerWeights(AttentionWeights(*of[:4]), NormWeights(*of[4:6]), NormWeights(*of[6:8]), MLPWeights(*of[8:12]))


def _cross_weights(of: Sequence[Twin]) -> tuple[AttentionWeights, NormWeights]:
    """Those of the cross-attention, after the twelve."""
    return AttentionWeights(*of[12:16]), NormWeights(*of[16:18])


def _encoder_twin(x: Twin, *weights: Twin, num_heads: int, norm_first: bool, mask: Tensor) -> Twin:
    return transformer.encoder_layer(x, num_heads, _weights(weights), array(mask[:, None, None]), norm_first)


def _decoder_twin(x: Twin, *rest: Twin, num_heads: int, norm_first: bool, mask: Tensor | None) -> Twin:
    if mask is None:
        return transformer.decoder_layer(x, num_heads, _weights(rest), norm_first=norm_first)
    memory, *weights = rest
    cross, visible = _cross_weights(weights), array(mask[:, None, None])
    return transformer.decoder_layer(x, num_heads, _weights(weights), memory, cross, visible, norm_first)


def _stack_twin(*of: Twin, num_heads: int, norm_first: bool, mask: Tensor, encoders: int) -> Twin:
    source, target, *layers, g1, s1, g2, s2 = of
    cut = encoders * len(LAYER)
    encoder = [_weights(layers[i:]) for i in range(0, cut, len(LAYER))]
    starts = range(cut, len(layers), len(LAYER) + len(CROSS))
    decoder = [(_weights(layers[i:]), _cross_weights(layers[i:])) for i in starts]
    norms, visible = (NormWeights(g1, s1), NormWeights(g2, s2)), array(mask[:, None, None])
    return transformer.encoder_decoder(source, target, num_heads, encoder, decoder, norms, visible, norm_first)


def _torchs(kind: Any, target: bool, *masks: str) -> dict[str, Callable[[Call], Any]]:
    """Torch's own layer, with a causal mask for a target and with these masks of keys."""

    def wanted(call: Call) -> Any:
        numbers = ("embed_dim", "num_heads", "num_encoder_layers", "num_decoder_layers", "hidden")
        sizes = [call.settings[name] for name in numbers if name in call.settings]
        fixed = {"dropout": 0.0, "activation": "gelu", "batch_first": True}
        theirs = tied(kind(*sizes, **fixed, norm_first=call.settings["norm_first"]), call.weights)
        n = call.inputs[0 if kind is nn.TransformerDecoderLayer else -1].shape[1]
        causal = {"tgt_mask": torch.ones(n, n, dtype=torch.bool).triu(1)} if target else {}
        return theirs(*call.inputs, **causal, **dict.fromkeys(masks, ~call.options["mask"]))

    return {f"torch.nn.{kind.__name__}": wanted}


conform(
    ENCODER,
    _encoder,
    twin=transformer.encoder_layer,
    twin_call=_encoder_twin,
    peer=_torchs(nn.TransformerEncoderLayer, False, "src_key_padding_mask"),
    fault=[
        Fault(_add=lambda self, x, part, norm: x + part(x)),
        Fault(forward=lambda self, x, mask=None: self.right(x)),
    ],
)
conform(DECODER, _decoder(False, True), twin=transformer.decoder_layer, twin_call=_decoder_twin)
conform(
    DECODER,
    _decoder(True),
    peer=_torchs(nn.TransformerDecoderLayer, True, "memory_key_padding_mask"),
    fault=Fault(forward=lambda self, x, memory, *args, **more: self.right(x, memory.cumsum(1), *args, **more)),
)
conform(
    BOTH,
    _stack,
    twin=transformer.encoder_decoder,
    twin_call=_stack_twin,
    peer=_torchs(nn.Transformer, True, "src_key_padding_mask", "memory_key_padding_mask"),
    fault=[
        Fault(encode=lambda self, source, mask=None: EncoderDecoder.encode(self, source.cumsum(1), mask)),
        Fault(forward=lambda self, source, target, *masks: self.right(source, target)),
    ],
)
example(
    "transformer.mlp",
    "transformer.gated_mlp",
    call=lambda n, d, h: ({"embed_dim": d, "hidden": h}, (torch.randn(n, d),)),
    n=5,
    d=4,
    h=6,
)
example(
    ENCODER,
    DECODER,
    call=lambda n, d, h: ({"embed_dim": d, "num_heads": 2, "hidden": h}, (torch.randn(1, n, d),)),
    n=5,
    d=8,
    h=6,
)


def _stack_example(n: int, m: int, d: int, h: int, l: int) -> Any:  # noqa: E741
    settings = {"embed_dim": d, "num_heads": 2, "num_encoder_layers": l, "num_decoder_layers": l, "hidden": h}
    return settings, (torch.randn(1, n, d), torch.randn(1, m, d))


example(BOTH, call=_stack_example, n=5, m=4, d=8, h=6, l=1)

# Laws of layers


no_way_past = Fault(_add=lambda self, x, part, norm: part(norm(x)) if self.norm_first else norm(part(x)))


@law(ENCODER, DECODER, fault=no_way_past)
def parts_that_give_nothing_leave_the_identity(case: Case) -> float:
    """f(x) = x, and so ∂f/∂x = I, if the last maps of attention and mlp are 0, with norms first"""
    block, x = layer(case, norm_first=True)
    last = [f"{part}.{name}" for part in ("attention.out_proj", "mlp.linear2") for name in AFFINE]
    case.set(block, **dict.fromkeys(last, 0.0))
    return difference(block(x), 1 * x, [x])


@law(ENCODER, fault=Fault(forward=lambda self, x, mask=None: self.right(x + torch.arange(x.shape[-2])[:, None], mask)))
def permuted_positions_give_permuted_results(case: Case) -> float:
    """f(X[τ]) = f(X)[τ]"""
    block, x = layer(case)
    order = case.permutation("order", x.shape[1])
    return difference(block(x[:, order]), block(x)[:, order])


def _looks_ahead(self: Any, x: Tensor, *_: Any, **__: Any) -> Any:
    return self._add(self._add(x, self.attention, self.norm1), self.mlp, self.norm2)


@law(DECODER, fault=Fault(forward=_looks_ahead))
def nothing_depends_on_what_comes_later(case: Case) -> float:
    """f(X)ᵢ is the same for whatever stands after i"""
    block, x = layer(case)
    cut = case.integer("cut", 1, x.shape[1])
    other = torch.cat([x[:, :cut], case.tensor("other", *x[:, cut:].shape)], 1)
    return difference(block(other)[:, :cut], block(x)[:, :cut])


@law(DECODER, fault=Fault(forward=lambda self, x, *args, cache=None, **options: self.right(x, *args, **options)))
def a_cache_changes_nothing(case: Case) -> float:
    """positions one after the other, with a cache, get what they get together; also if they turn queries and keys"""
    heads, cut = case.integer("num_heads", 1, 2), case.integer("cut", 1, 4)
    d = case.integer("embed_dim", 2, 8, multiple_of=2 * heads)
    parts: dict[str, Any] = {"hidden": case.integer("hidden", 1, 5)}
    if case.flag("rotary and gated"):
        parts = {"attention": MultiheadAttention(d, heads, position=RotaryPosition(d // heads)), "mlp": GatedMLP(d)}
    block, cache = case.build(embed_dim=d, num_heads=heads, **parts).eval(), KeyValueCache()
    x = case.tensor("x", case.integer("batch", 1, 2), case.integer("n", 1, 4), d)
    return difference(torch.cat([block(part, cache=cache) for part in torch.split(x, cut, 1)], 1), block(x))


@law("transformer.mlp", "transformer.gated_mlp", fault=Fault(forward=lambda self, x: self.right(x - x.mean(0))))
def each_position_is_changed_by_itself(case: Case) -> float:
    """f(X)ᵢ = f(xᵢ)"""
    d, hidden = case.integer("embed_dim", 1, 4), case.integer("hidden", 1, 4)
    block, x = case.build(embed_dim=d, hidden=hidden), case.tensor("x", case.integer("n", 1, 4), d)
    return difference(block(x), torch.cat([block(row[None]) for row in x]))


# Laws of stacks


@law(
    BOTH, fault=Fault(decode=lambda self, *args, caches=None, **options: EncoderDecoder.decode(self, *args, **options))
)
def a_target_may_be_given_step_by_step(case: Case) -> float:
    """decode with caches, one position after the other, gives what it gives at once"""
    block, source, target = pair(case)
    memory, caches = block.encode(source), [KeyValueCache() for _ in block.decoder]
    steps = [block.decode(target[:, i : i + 1], memory, caches=caches) for i in range(target.shape[1])]
    return difference(torch.cat(steps, 1), block(source, target))


@law(BOTH, fault=Fault(decode=lambda self, t, *args: EncoderDecoder.decode(self, t - t.mean(1, True), *args)))
def no_target_depends_on_a_later_one(case: Case) -> float:
    """f(X, T)ᵢ is the same for whatever stands in T after i"""
    block, source, target = pair(case)
    cut = case.integer("cut", 1, target.shape[1])
    other = torch.cat([target[:, :cut], case.tensor("other", *target[:, cut:].shape)], 1)
    return difference(block(source, other)[:, :cut], block(source, target)[:, :cut])
