"""What is known of the encodings of position."""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.scratch import position
from gradlab.verification.case import Case
from gradlab.verification.checks import example, peer, twin
from gradlab.verification.comparing import agreement, difference, same

LONGEST = 12  # offset and length together


def build(case: Case, d: int) -> Any:
    """The block of the case, for vectors of d entries where it is one of vectors."""
    match case.subject.name:
        case "position.learned":
            return case.build(max_length=case.integer("max_length", LONGEST, LONGEST), dim=d)
        case "position.sinusoidal":
            return case.build(dim=d, base=case.real("base", 2, 20000))
        case "position.rotary":
            layout = case.choice("layout", ("interleaved", "halves"))
            return case.build(dim=d, base=case.real("base", 2, 20000), layout=layout)
        case "position.alibi":
            return case.build(num_heads=case.integer("num_heads", 1, 12), is_causal=False)
        case _:
            heads, most = case.integer("num_heads", 1, 3), case.integer("max_distance", 0, 4)
            return case.build(num_heads=heads, max_distance=most)


def vectors(case: Case, name: str = "x") -> Tensor:
    """(…, length, d) with an even d."""
    batch = [case.integer(f"size {axis}", 1, 2) for axis in range(case.integer("axes", 0, 2))]
    return case.tensor(name, *batch, case.integer("length", 1, 6), case.integer("dim", 2, 8, multiple_of=2))


def lengths(case: Case) -> tuple[int, int]:
    return case.integer("n", 1, 6), case.integer("m", 1, 6)


# Twins


@twin("position.learned", position.learned)
def learned_twin(case: Case) -> float:
    x, offset = vectors(case), case.integer("offset", 0, 6)
    block = build(case, x.shape[-1])
    (weight,) = case.weights(block, "weight")
    return agreement(block(x, offset), lambda x, weight: position.learned(x, weight, offset), x, weight)


@twin("position.sinusoidal", position.sinusoidal)
def sinusoidal_twin(case: Case) -> float:
    x, offset = vectors(case), case.integer("offset", 0, 500)
    block = build(case, x.shape[-1])
    return agreement(block(x, offset), lambda x: position.sinusoidal(x, offset, case.drawn["base"]), x)


@twin("position.rotary", position.rotary)
def rotary_twin(case: Case) -> float:
    x, offset = vectors(case), case.integer("offset", 0, 500)
    block = build(case, x.shape[-1])
    base, halves = case.drawn["base"], case.drawn["layout"] == "halves"
    return agreement(block(x, offset), lambda x: position.rotary(x, offset, base, halves=halves), x)


@twin("position.alibi", position.alibi)
def alibi_twin(case: Case) -> float:
    (n, m), block = lengths(case), build(case, 0)
    return difference(block(n, m), torch.from_numpy(position.alibi(case.drawn["num_heads"], n, m)))


@twin("position.relative", position.relative)
def relative_twin(case: Case) -> float:
    (n, m), block = lengths(case), build(case, 0)
    (weight,) = case.weights(block, "weight")
    return agreement(block(n, m), lambda weight: position.relative(weight, n, m), weight)


# Peers. Those of transformers work out their angles and slopes in float32.

FLOAT32: dict[str, Any] = {"tolerance": 1e-5, "needs": "transformers"}


def _transformers(model: str) -> Any:
    return import_module(f"transformers.models.{model}.modeling_{model}")


@peer("position.learned", "torch.nn.Embedding")
def torchs_embedding(case: Case) -> float:
    x, offset = vectors(case), case.integer("offset", 0, 6)
    block = build(case, x.shape[-1])
    (weight,) = case.weights(block, "weight")
    theirs = nn.Embedding(*weight.shape).double()
    theirs.load_state_dict({"weight": weight})
    wanted = x + theirs(torch.arange(offset, offset + x.shape[-2]))
    return same(block(x, offset), wanted, [x, weight], [x, theirs.weight])


@peer("position.sinusoidal", "transformers.models.gptj.create_sinusoidal_positions", **FLOAT32)
def gptjs_table(case: Case) -> float:
    """It has all sines before all cosines."""
    n, d = case.integer("length", 1, 50), case.integer("dim", 2, 8, multiple_of=2)
    code = case.build(dim=d, base=10000.0)(torch.zeros(n, d, dtype=torch.float64))
    table = _transformers("gptj").create_sinusoidal_positions(n, d)
    return difference(torch.cat([code[:, ::2], code[:, 1::2]], 1), table.double())


@peer("position.rotary", "transformers.models.gptj.apply_rotary_pos_emb", **FLOAT32)
def gptjs_rotation(case: Case) -> float:
    """It has the heads behind the length."""
    x, offset = vectors(case), case.integer("offset", 0, 50)
    n, d = x.shape[-2:]
    gptj = _transformers("gptj")
    sin, cos = gptj.create_sinusoidal_positions(offset + n, d)[offset:].double().chunk(2, -1)
    wanted = gptj.apply_rotary_pos_emb(x.reshape(-1, n, d)[:, :, None], sin[None], cos[None]).reshape(x.shape)
    return same(case.build(dim=d, base=10000.0, layout="interleaved")(x, offset), wanted, [x])


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
    return same(case.build(dim=d, base=base, layout="halves")(x, offset), wanted.reshape(x.shape), [x])


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
    (weight,) = case.weights(block, "weight")
    t5, buckets = _transformers("t5"), 4 * (most + 1)
    sizes = {"relative_attention_num_buckets": buckets, "relative_attention_max_distance": 4 * buckets}
    config = t5.T5Config(d_model=4, d_kv=4, num_heads=heads, **sizes)
    theirs = t5.T5Attention(config, has_relative_attention_bias=True).double()
    table = theirs.relative_attention_bias.weight
    with torch.no_grad():
        table[: most + 1] = weight[:, : most + 1].flip(1).T
        table[buckets // 2 + 1 : buckets // 2 + most + 1] = weight[:, most + 1 :].T
    n = most + 1
    return difference(block(n, n), theirs.compute_bias(n, n)[0])


# Examples


@example("position.learned", n=5, d=4)
def learned_example(n: int, d: int) -> Any:
    return {"max_length": n, "dim": d}, (torch.randn(n, d),)


example("position.sinusoidal", n=5, d=4)(lambda n, d: ({"dim": d}, (torch.randn(n, d),)))
example("position.rotary", n=5, d=4)(lambda n, d: ({"dim": d}, (torch.randn(n, d),)))
example("position.alibi", h=3, n=4, m=5)(lambda h, n, m: ({"num_heads": h}, (n, m)))
example("position.relative", h=3, n=4, m=5)(lambda h, n, m: ({"num_heads": h, "max_distance": 2}, (n, m)))
