"""What is known of the encodings of position."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gradlab.nn import position as ours
from gradlab.scratch import position
from gradlab.verification.calls import accepts
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law, peer
from gradlab.verification.comparing import difference

VECTORS = ("position.learned", "position.sinusoidal", "position.rotary")
BIASES = ("position.alibi", "position.relative", "position.bucketed")
LONGEST = 12  # offset and length together
FURTHEST = 100  # offset of what others have written, whose tables may end soon after


def build(case: Case, d: int = 0, *, layouts: bool = False) -> Any:
    """The block of the case, for vectors of d entries where it is one of vectors."""
    match case.subject.name:
        case "position.learned":
            settings: dict[str, Any] = {"max_length": case.integer("max_length", LONGEST, LONGEST), "dim": d}
        case "position.sinusoidal":
            settings = {"dim": d, "base": case.real("base", 2, 20000)}
            if layouts:
                settings["layout"] = case.choice("layout", ("interleaved", "halves"))
        case "position.rotary":
            layout = case.choice("layout", ("interleaved", "halves"))
            settings = {"dim": d, "base": case.real("base", 2, 20000), "layout": layout}
        case "position.alibi":
            settings = {"num_heads": case.integer("num_heads", 1, 12), "is_causal": False}
        case "position.bucketed":
            settings = _buckets(case)
        case _:
            heads, most = case.integer("num_heads", 1, 3), case.integer("max_distance", 0, 4)
            settings = {"num_heads": heads, "max_distance": most}
    return _made(case, **settings)


def _made(case: Case, **settings: Any) -> Any:
    """The block; a user's takes a single sequence as a batch of one."""
    block = case.build(**settings)
    if case.subject.foreign and case.subject.name in VECTORS and isinstance(block, nn.Module):
        block.forward = _in_a_batch(block.forward)
    return block


def _in_a_batch(forward: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(forward)
    def call(x: Tensor, *more: Any) -> Any:
        return forward(x[None], *more)[0] if x.ndim == 2 else forward(x, *more)

    return call


def _buckets(case: Case, most: int = 12) -> dict[str, Any]:
    buckets, is_causal = case.integer("num_buckets", 4, most, multiple_of=2), case.flag("is_causal")
    exact = buckets // 2 if is_causal else buckets // 4
    distances = {"num_buckets": buckets, "max_distance": exact + case.integer("wide", 1, 30)}
    return {"num_heads": case.integer("num_heads", 1, 3), "is_causal": is_causal, **distances}


def vectors(case: Case) -> Tensor:
    """(…, length, d) with an even d; of a user's, the length is behind one axis, since others read it off there."""
    batch = [case.integer("batch", 1, 2)] if case.subject.foreign else case.sizes(2, (0, 2))
    return case.tensor(
        "x", *batch, case.integer("length", 1, min(6, _longest(case))), case.integer("dim", 2, 8, multiple_of=2)
    )


def _longest(case: Case) -> int:
    """Offset and length together, where positions end."""
    longest: int = case.subject.drawn_as.get("max_length", LONGEST)
    return longest


def lengths(case: Case) -> tuple[int, int]:
    return case.integer("n", 1, 6), case.integer("m", 1, 6)


# Twins and peers. Peers of transformers work out their angles and slopes in float32.


def _at_offset(most: int, *weights: str) -> Draw:
    def draw(case: Case) -> Call:
        x = vectors(case)
        block = build(case, x.shape[-1], layouts=True)
        furthest = min(most, FURTHEST) if case.subject.foreign else most
        room = _longest(case) - x.shape[-2] if case.subject.name == "position.learned" else furthest
        offset = case.integer("offset", 0, min(furthest, room)) if accepts(block, "offset") else 0
        options = {name: case.drawn[name] for name in case.drawn if name in ("base", "layout")} | {"offset": offset}
        return Call(lambda x: block(x, offset), (x,), case.weights(block, *weights), options)

    return draw


def _turned(x: Any, offset: int, base: float, layout: str) -> Any:
    return position.rotary(x, offset, base, halves=layout == "halves")


def _waves(x: Any, offset: int, base: float, layout: str) -> Any:
    return position.sinusoidal(x, offset, base, halves=layout == "halves")


def _bias(*weights: str) -> Draw:
    def draw(case: Case) -> Call:
        (n, m), block = lengths(case), build(case)
        options = {"queries": n, "keys": m} | ({} if weights else {"num_heads": case.drawn["num_heads"]})
        return Call(lambda: block(n, m), (), case.weights(block, *weights), options)

    return draw


def _bucket_bias(case: Case) -> Call:
    (n, m), settings = lengths(case), _buckets(case)
    block = case.build(**settings)
    options = {"queries": n, "keys": m, "most": settings["max_distance"], "causal": settings["is_causal"]}
    return Call(lambda: block(n, m), (), case.weights(block, "weight"), options)


def _looked_up(call: Call) -> Any:
    (x,), offset = call.inputs, call.options["offset"]
    return x + F.embedding(torch.arange(offset, offset + x.shape[-2]), call.weights["weight"])


nothing = Fault(forward=lambda self, x, offset=0: x)
one_layout = [nothing, lambda dim, base, layout: ours.RotaryPosition(dim, base)]
times = Fault(forward=lambda self, x, offset=0: x * self.right(torch.zeros_like(x), offset))
alike = Fault(forward=lambda self, n, m: self.right(1, m).expand(-1, n, m))
conform("position.learned", _at_offset(6, "weight"), twin=position.learned, fault=[nothing, times])
conform("position.learned", _at_offset(6, "weight"), peer={"torch.embedding": _looked_up}, fault=nothing)
in_pairs = [nothing, times, lambda dim, base, layout: ours.SinusoidalPosition(dim, base)]
conform("position.sinusoidal", _at_offset(500), twin=position.sinusoidal, twin_call=_waves, fault=in_pairs)
conform("position.rotary", _at_offset(500), twin=position.rotary, twin_call=_turned, fault=one_layout)
conform("position.relative", _bias("weight"), twin=position.relative, fault=alike)
conform("position.bucketed", _bucket_bias, twin=position.bucketed, fault=alike)
conform(
    "position.alibi",
    _bias(),
    twin=position.alibi,
    twin_call=lambda queries, keys, num_heads: position.alibi(num_heads, queries, keys),
    fault=alike,
)


FLOAT32: dict[str, Any] = {"tolerance": 1e-5, "needs": "transformers"}


def _transformers(model: str) -> Any:
    return import_module(f"transformers.models.{model}.modeling_{model}")


@peer("position.sinusoidal", "transformers.models.gptj.create_sinusoidal_positions", **FLOAT32)
def gptjs_table(case: Case) -> float:
    """It has all sines before all cosines."""
    n, d = case.integer("length", 1, 50), case.integer("dim", 2, 8, multiple_of=2)
    code = _made(case, dim=d, base=10000.0)(torch.zeros(n, d, dtype=torch.float64))
    table = _transformers("gptj").create_sinusoidal_positions(n, d)
    return difference(torch.cat([code[:, ::2], code[:, 1::2]], 1), table.double())


@peer("position.sinusoidal", "transformers.models.marian.MarianSinusoidalPositionalEmbedding", needs="transformers")
def marians_table(case: Case) -> float:
    n, d = case.integer("length", 1, 50), case.integer("dim", 2, 8, multiple_of=2)
    code = _made(case, dim=d, base=10000.0, layout="halves", rounded=True)(torch.zeros(n, d, dtype=torch.float64))
    return difference(code, _transformers("marian").MarianSinusoidalPositionalEmbedding(n, d).create_weight().double())


@peer("position.rotary", "transformers.models.gptj.apply_rotary_pos_emb", **FLOAT32)
def gptjs_rotation(case: Case) -> float:
    """It has the heads behind the length."""
    x, offset = vectors(case), case.integer("offset", 0, 50)
    n, d = x.shape[-2:]
    gptj = _transformers("gptj")
    sin, cos = gptj.create_sinusoidal_positions(offset + n, d)[offset:].double().chunk(2, -1)
    wanted = gptj.apply_rotary_pos_emb(x.reshape(-1, n, d)[:, :, None], sin[None], cos[None]).reshape(x.shape)
    return difference(_made(case, dim=d, base=10000.0, layout="interleaved")(x, offset), wanted, [x])


@peer("position.rotary", "transformers.models.llama.LlamaRotaryEmbedding", **FLOAT32)
def llamas_rotation(case: Case) -> float:
    x, offset, base = vectors(case), case.integer("offset", 0, 50), case.real("base", 100, 20000)
    n, d = x.shape[-2:]
    llama = _transformers("llama")
    rope = {"rope_type": "default", "rope_theta": base}
    config = llama.LlamaConfig(hidden_size=d, num_attention_heads=1, head_dim=d, rope_parameters=rope)
    cos, sin = llama.LlamaRotaryEmbedding(config)(x, torch.arange(offset, offset + n)[None])
    stacked = x.reshape(-1, 1, n, d)
    wanted, _ = llama.apply_rotary_pos_emb(stacked, stacked, cos, sin)
    return difference(_made(case, dim=d, base=base, layout="halves")(x, offset), wanted.reshape(x.shape), [x])


@peer("position.alibi", "transformers.models.bloom.build_alibi_tensor", **FLOAT32)
def blooms_bias(case: Case) -> float:
    """It grows from the first key, which is the same after a causal softmax."""
    heads, n = case.integer("num_heads", 1, 12), case.integer("n", 1, 6)
    theirs = _transformers("bloom").build_alibi_tensor(torch.ones(1, n, dtype=torch.long), heads, torch.float64)
    later = torch.ones(n, n, dtype=torch.bool).triu(1)
    wanted = theirs.expand(heads, n, n).masked_fill(later, -torch.inf)
    return difference(case.build(num_heads=heads, is_causal=True)(n, n).softmax(-1), wanted.softmax(-1))


@peer("position.relative", "transformers.models.t5.T5Attention", needs="transformers")
def t5s_bias(case: Case) -> float:
    """Its buckets are single differences up to a quarter of their number; later keys are in the second half of them."""
    heads, most = case.integer("num_heads", 1, 3), case.integer("max_distance", 1, 5)
    block = case.build(num_heads=heads, max_distance=most)
    weight, t5, buckets = case.weight(block), _transformers("t5"), 4 * (most + 1)
    sizes = {"relative_attention_num_buckets": buckets, "relative_attention_max_distance": 4 * buckets}
    config = t5.T5Config(d_model=4, d_kv=4, num_heads=heads, **sizes)
    theirs = t5.T5Attention(config, has_relative_attention_bias=True).double()
    table = theirs.relative_attention_bias.weight
    with torch.no_grad():
        table[: most + 1] = weight[:, : most + 1].flip(1).T
        table[buckets // 2 + 1 : buckets // 2 + most + 1] = weight[:, most + 1 :].T
    return difference(block(most + 1, most + 1), theirs.compute_bias(most + 1, most + 1)[0])


@peer("position.bucketed", "transformers.models.t5.T5Attention", needs="transformers")
def t5s_buckets(case: Case) -> float:
    n, settings = case.integer("n", 1, 200), _buckets(case, 32)
    block = case.build(**settings)
    weight, t5 = case.weight(block), _transformers("t5")
    sizes = {f"relative_attention_{name}": settings[name] for name in ("num_buckets", "max_distance")}
    heads, is_decoder = settings["num_heads"], settings["is_causal"]
    config = t5.T5Config(d_model=4, d_kv=4, num_heads=heads, is_decoder=is_decoder, **sizes)
    theirs = t5.T5Attention(config, has_relative_attention_bias=True).double()
    with torch.no_grad():
        theirs.relative_attention_bias.weight.copy_(weight.T)
    return difference(block(n, n), theirs.compute_bias(n, n)[0])


example("position.learned", call=lambda n, d: ({"max_length": n, "dim": d}, (torch.randn(n, d),)), n=5, d=4)
example("position.sinusoidal", "position.rotary", call=lambda n, d: ({"dim": d}, (torch.randn(n, d),)), n=5, d=4)
example("position.alibi", call=lambda h, n, m: ({"num_heads": h}, (n, m)), h=3, n=4, m=5)
example("position.relative", call=lambda h, n, m: ({"num_heads": h, "max_distance": 2}, (n, m)), h=3, n=4, m=5)
example("position.bucketed", call=lambda h, n, m: ({"num_heads": h, "num_buckets": 8}, (n, m)), h=3, n=4, m=5)

# Laws of vectors


@law(*VECTORS, fault=Fault(forward=lambda self, x, offset=0: self.right(x)))
def an_offset_is_a_place_in_a_longer_sequence(case: Case) -> float:
    """f(x[s:], offset = s) = f(x)[s:]"""
    x = vectors(case)
    block, s = build(case, x.shape[-1]), case.integer("s", 0, x.shape[-2])
    return difference(block(x[..., s:, :], s), block(x)[..., s:, :])


def _code(case: Case, length: int) -> Tensor:
    """pe of the first positions."""
    d = case.integer("dim", 2, 8, multiple_of=2)
    code: Tensor = build(case, d)(torch.zeros(length, d, dtype=torch.float64))
    return code


def _sines_only(self: Any, x: Tensor, offset: int = 0) -> Tensor:
    """Each entry has a speed of its own, and no cosine beside it."""
    positions = torch.arange(offset, offset + x.shape[-2]).to(x)[:, None]
    return x + torch.sin(positions * self.base ** (-torch.arange(self.dim).to(x) / self.dim))


@law("position.sinusoidal", id="sincos-rotation-law", fault=Fault(forward=_sines_only))
def a_step_is_a_rotation_whatever_the_position(case: Case) -> float:
    """pe_(p+s) = M_s pe_p, where M_s turns pair i by s θᵢ"""
    length, s = case.integer("length", 1, 6), case.integer("s", 0, 6)
    code = _code(case, length + s)
    d = code.shape[-1]
    turn = s * case.drawn["base"] ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    sine, cosine = code[:length, ::2], code[:length, 1::2]
    wanted = sine * turn.cos() + cosine * turn.sin(), cosine * turn.cos() - sine * turn.sin()
    return difference((code[s:, ::2], code[s:, 1::2]), wanted)


@law("position.sinusoidal", id="sincos-rotation-law", fault=Fault(forward=_sines_only))
def all_codes_have_the_same_length(case: Case) -> float:
    """‖pe_p‖² = d/2"""
    code = _code(case, case.integer("length", 1, 6))
    squares = code.square().sum(-1)
    return difference(squares, torch.full_like(squares, code.shape[-1] / 2))


# Laws of rotations


def _mixed(self: Any, x: Tensor, offset: Any = 0) -> Any:
    """Pairs of neighbours, with the angles of pairs that are d/2 apart."""
    positions = torch.arange(offset, offset + x.shape[-2]).to(x)[:, None]
    angles = (positions * self.base ** (-torch.arange(0, self.dim, 2).to(x) / self.dim)).repeat(1, 2)
    return x * angles.cos() + torch.stack([-x[..., 1::2], x[..., ::2]], -1).flatten(-2) * angles.sin()


@law("position.rotary", id="rope-relative-law", fault=Fault(forward=_mixed))
def a_rotation_keeps_lengths(case: Case) -> float:
    """‖R_p x‖ = ‖x‖"""
    x = vectors(case)
    offset = case.integer("offset", 0, FURTHEST if case.subject.foreign else 500)
    return difference(build(case, x.shape[-1])(x, offset).norm(dim=-1), x.norm(dim=-1))


@law("position.rotary", id="rope-relative-law", fault=Fault(forward=_mixed))
def rotations_add_up(case: Case) -> float:
    """R_p R_q = R_(p+q)"""
    x, p, q = vectors(case), case.integer("p", 0, 50), case.integer("q", 0, 50)
    block, first = build(case, x.shape[-1]), x[..., :1, :]
    return difference(block(block(first, p), q), block(first, p + q))


@law("position.rotary", id="rope-relative-law", fault=Fault(forward=_mixed))
def scores_depend_on_the_distance_alone(case: Case) -> float:
    """⟨R_p q, R_r k⟩ = ⟨q, R_(r-p) k⟩"""
    d, p, away = case.integer("dim", 2, 8, multiple_of=2), case.integer("p", 0, 20), case.integer("r - p", 0, 20)
    q, k, block = case.tensor("q", 1, d), case.tensor("k", 1, d), build(case, d)
    return difference((block(q, p) * block(k, p + away)).sum(), (q * block(k, away)).sum())


@law("position.rotary", id="rope-relative-law", fault=lambda dim, base, **_: ours.SinusoidalPosition(dim, base))
def moving_all_positions_leaves_attention_as_it_is(case: Case) -> float:
    """attention(R_(p+s) Q, R_(p+s) K, V) = attention(R_p Q, R_p K, V)"""
    n, d = case.integer("length", 1, 6), case.integer("dim", 2, 8, multiple_of=2)
    q, k, v = (case.tensor(name, n, d) for name in "qkv")
    block, s = build(case, d), case.integer("s", 1, 50)
    here, there = (F.scaled_dot_product_attention(block(q, p), block(k, p), v) for p in (0, s))
    return difference(there, here, [q, k, v])


# Laws of biases


def _first_aligned(self: Any, n: int, m: int) -> Any:
    """The first query stands at the first key."""
    return self.right(m, m)[:, :n] if n <= m else self.right(n, m)


@law(*BIASES, fault=Fault(forward=_first_aligned))
def the_last_query_stands_at_the_last_key(case: Case) -> float:
    """f(n, m) = the last n rows of f(m, m)"""
    (n, m), block = sorted(lengths(case)), build(case)
    return difference(block(n, m), block(m, m)[:, m - n :])


@law(
    "position.alibi",
    fault=[Fault(forward=lambda self, n, m: self.right(n, m) / 2), Fault(forward=lambda self, n, m: -self.right(n, m))],
)
def slopes_are_a_geometric_sequence(case: Case) -> float:
    """with 2ᵖ heads, 2^(-8/2ᵖ) to 2^(-8), each the first times the one before"""
    heads = 2 ** case.integer("log2 of num_heads", 0, 5)
    slopes = -case.build(num_heads=heads)(1, 2)[:, 0, 0]
    return difference(slopes, 2 ** (-8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads))


@law("position.alibi", fault=lambda num_heads, **_: ours.ALiBi(num_heads))
def a_causal_bias_has_nothing_after_the_query(case: Case) -> float:
    """-∞ for later keys, and else the same"""
    (n, m), heads = lengths(case), case.integer("num_heads", 1, 12)
    open_, causal = (case.build(num_heads=heads, is_causal=is_causal)(n, m) for is_causal in (False, True))
    later = torch.ones(n, m, dtype=torch.bool).triu(m - n + 1)
    return difference(causal, open_.masked_fill(later, -torch.inf))


def _wrapping(self: Any, n: Any, m: Any) -> Any:
    """A larger difference begins the table anew."""
    away = torch.arange(m) - torch.arange(m - n, m)[:, None] + self.max_distance
    return self.weight[:, away % self.weight.shape[1]]


@law("position.relative", fault=Fault(forward=_wrapping))
def what_is_farther_than_the_table_counts_as_its_end(case: Case) -> float:
    """b = w_D for j - p > D, and w_(-D) for j - p < -D"""
    block = build(case)
    weight, most = case.weight(block), case.drawn["max_distance"]
    length = most + case.integer("beyond", 1, 4)
    b = block(length + 1, length + 1)
    ends = weight[:, -1:].expand(-1, length + 1 - most), weight[:, :1].expand(-1, length - most)
    return difference((b[:, 0, most:], b[:, -1, : length - most]), ends)


@law("position.bucketed", fault=Fault(bucket=lambda self, d: d.clamp(max=0).abs().clamp(max=self.num_buckets - 1)))
def buckets_grow_with_the_distance_and_end_at_the_largest(case: Case) -> float:
    """b(r) ≤ b(r + 1) ≤ b(r) + 1 among single distances, and b(D) = b(D + r) is the last"""
    settings = _buckets(case)
    block, most = case.build(**settings), settings["max_distance"]
    found = block.bucket(-torch.arange(most + 5))
    last = settings["num_buckets"] // (1 if settings["is_causal"] else 2)
    exact = torch.arange(last // 2)
    falls = (found.diff() < 0).sum()
    return float(falls) + difference((found[: last // 2], found[most:]), (exact, torch.full((5,), last - 1)))
