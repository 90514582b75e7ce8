"""The laws of the encodings of position. Each comes with a version of the block that breaks it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from gradlab.nn import position as ours
from gradlab.verification.case import Case
from gradlab.verification.checks import law
from gradlab.verification.comparing import difference, excess, same
from gradlab.verification.families.position.codes import build, lengths, vectors

ADDED = ("position.learned", "position.sinusoidal")
VECTORS = (*ADDED, "position.rotary")
BIASES = ("position.alibi", "position.relative")
CLASSES: dict[str, Any] = {
    "position.learned": ours.LearnedPosition,
    "position.sinusoidal": ours.SinusoidalPosition,
    "position.rotary": ours.RotaryPosition,
    "position.alibi": ours.ALiBi,
    "position.relative": ours.RelativePosition,
}


def planted(names: tuple[str, ...], change: Callable[..., Any]) -> dict[str, Callable[..., Any]]:
    """These blocks with another `forward`, which is given the right one."""

    def wrong(made: type[nn.Module]) -> Callable[..., Any]:
        class Wrong(made):  # type: ignore[misc, valid-type]
            def forward(self, *args: Any) -> Any:
                return change(super().forward, *args)

        return lambda **settings: Wrong(**settings)

    return {name: wrong(CLASSES[name]) for name in names}


# Vectors


@law(*VECTORS, wrong=planted(VECTORS, lambda right, x, offset=0: right(x)))
def an_offset_is_a_place_in_a_longer_sequence(case: Case) -> float:
    """f(x[s:], offset = s) = f(x)[s:]"""
    x = vectors(case)
    block, s = build(case, x.shape[-1]), case.integer("s", 0, x.shape[-2])
    return difference(block(x[..., s:, :], s), block(x)[..., s:, :])


@law(*VECTORS, wrong=planted(VECTORS, lambda right, x, offset=0: x))
def attention_sees_the_order(case: Case) -> float:
    """attention(f(x[τ])) ≠ attention(f(x))[τ], where without f they are equal"""
    length, d = case.integer("length", 2, 6), case.integer("dim", 2, 8, multiple_of=2)
    x, block = case.tensor("x", length, d, scale=0.5), build(case, d)
    with torch.no_grad():  # two places in a table must not have one code by chance
        for weight in block.parameters():
            weight += 0.1 * torch.arange(len(weight))[:, None]

    def attend(x: Tensor) -> Tensor:
        placed = block(x)
        return F.scaled_dot_product_attention(placed, placed, placed)

    return excess(1e-6 - (attend(x.flip(0)) - attend(x).flip(0)).abs().max(), 0.0)


@law(*ADDED, wrong=planted(ADDED, lambda right, x, offset=0: x * right(torch.zeros_like(x), offset)))
def what_is_added_is_the_same_for_all_inputs(case: Case) -> float:
    """f(x) = x + f(0)"""
    x, offset = vectors(case), case.integer("offset", 0, 6)
    block = build(case, x.shape[-1])
    return difference(block(x, offset), x + block(torch.zeros_like(x), offset))


def _code(case: Case, length: int) -> Tensor:
    """pe of the first positions."""
    d = case.integer("dim", 2, 8, multiple_of=2)
    code: Tensor = build(case, d)(torch.zeros(length, d, dtype=torch.float64))
    return code


class SinesOnly(ours.SinusoidalPosition):
    """Each entry has a speed of its own, and no cosine beside it."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        positions = torch.arange(offset, offset + x.shape[-2]).to(x)[:, None]
        return x + torch.sin(positions * self.base ** (-torch.arange(self.dim).to(x) / self.dim))


@law("position.sinusoidal", wrong=SinesOnly)
def a_step_is_a_rotation_whatever_the_position(case: Case) -> float:
    """pe_(p+s) = M_s pe_p, where M_s turns pair i by s θᵢ"""
    length, s = case.integer("length", 1, 6), case.integer("s", 0, 6)
    code = _code(case, length + s)
    d = code.shape[-1]
    turn = s * case.drawn["base"] ** (-torch.arange(0, d, 2, dtype=torch.float64) / d)
    sine, cosine = code[:length, ::2], code[:length, 1::2]
    wanted = sine * turn.cos() + cosine * turn.sin(), cosine * turn.cos() - sine * turn.sin()
    return difference((code[s:, ::2], code[s:, 1::2]), wanted)


@law("position.sinusoidal", wrong=SinesOnly)
def all_codes_have_the_same_length(case: Case) -> float:
    """‖pe_p‖² = d/2"""
    code = _code(case, case.integer("length", 1, 6))
    squares = code.square().sum(-1)
    return difference(squares, torch.full_like(squares, code.shape[-1] / 2))


# Rotations


class Mixed(ours.RotaryPosition):
    """Pairs of neighbours, with the angles of pairs that are d/2 apart."""

    def forward(self, x: Tensor, offset: Any = 0) -> Tensor:
        positions = torch.arange(offset, offset + x.shape[-2]).to(x)[:, None]
        angles = positions * self.base ** (-torch.arange(0, self.dim, 2).to(x) / self.dim)
        a, b = x[..., ::2], x[..., 1::2]
        turned = torch.stack([-b, a], -1).flatten(-2)
        return x * torch.cat([angles, angles], -1).cos() + turned * torch.cat([angles, angles], -1).sin()


@law("position.rotary", wrong=Mixed)
def a_rotation_keeps_lengths(case: Case) -> float:
    """‖R_p x‖ = ‖x‖"""
    x = vectors(case)
    return difference(build(case, x.shape[-1])(x, case.integer("offset", 0, 500)).norm(dim=-1), x.norm(dim=-1))


@law("position.rotary", wrong=Mixed)
def rotations_add_up(case: Case) -> float:
    """R_p R_q = R_(p+q)"""
    x, p, q = vectors(case), case.integer("p", 0, 50), case.integer("q", 0, 50)
    block, first = build(case, x.shape[-1]), x[..., :1, :]
    return difference(block(block(first, p), q), block(first, p + q))


@law("position.rotary", wrong=Mixed)
def scores_depend_on_the_distance_alone(case: Case) -> float:
    """⟨R_p q, R_r k⟩ = ⟨q, R_(r-p) k⟩ = ⟨R_(p+s) q, R_(r+s) k⟩"""
    d = case.integer("dim", 2, 8, multiple_of=2)
    q, k, block = case.tensor("q", 1, d), case.tensor("k", 1, d), build(case, d)
    p, further, s = case.integer("p", 0, 20), case.integer("r - p", 0, 20), case.integer("s", 0, 20)
    scores = [(block(q, p + s) * block(k, p + further + s)).sum() for s in (0, s)]
    return difference(scores, [(q * block(k, further)).sum()] * 2)


@law("position.rotary", wrong=lambda dim, base, **_: ours.SinusoidalPosition(dim, base))
def moving_all_positions_leaves_attention_as_it_is(case: Case) -> float:
    """attention(R_(p+s) Q, R_(p+s) K, V) = attention(R_p Q, R_p K, V)"""
    n, d = case.integer("length", 1, 6), case.integer("dim", 2, 8, multiple_of=2)
    q, k, v = (case.tensor(name, n, d) for name in "qkv")
    block, s = build(case, d), case.integer("s", 1, 50)
    here, there = (F.scaled_dot_product_attention(block(q, p), block(k, p), v) for p in (0, s))
    return same(there, here, [q, k, v])


@law("position.rotary", wrong=lambda dim, base, layout: ours.RotaryPosition(dim, base))
def the_layouts_differ_by_the_order_of_the_entries(case: Case) -> float:
    """halves(x[π]) = interleaved(x)[π] with π = 0, 2, 4, …, 1, 3, 5, …"""
    x, offset, base = vectors(case), case.integer("offset", 0, 50), case.real("base", 2, 20000)
    d = x.shape[-1]
    order = torch.cat([torch.arange(0, d, 2), torch.arange(1, d, 2)])
    halves, interleaved = (case.build(dim=d, base=base, layout=layout) for layout in ("halves", "interleaved"))
    return same(halves(x[..., order], offset), interleaved(x, offset)[..., order], [x])


# Biases


def _first_aligned(right: Callable[..., Tensor], n: int, m: int) -> Tensor:
    """The first query stands at the first key."""
    return right(m, m)[:, :n] if n <= m else right(n, m)


@law(*BIASES, wrong=planted(BIASES, lambda right, n, m: right(1, m).expand(-1, n, m)))
def only_the_difference_of_positions_matters(case: Case) -> float:
    """bᵢⱼ = b_(i+1)(j+1)"""
    n, m = lengths(case)
    b = build(case, 0)(n + 1, m + 1)
    return difference(b[:, 1:, 1:], b[:, :-1, :-1])


@law(*BIASES, wrong=planted(BIASES, _first_aligned))
def the_last_query_stands_at_the_last_key(case: Case) -> float:
    """f(n, m) = the last n rows of f(m, m)"""
    n, m = sorted(lengths(case))
    block = build(case, 0)
    return difference(block(n, m), block(m, m)[:, m - n :])


@law("position.alibi", wrong=planted(BIASES, lambda right, n, m: -right(n, m))["position.alibi"])
def a_farther_key_has_a_lower_score(case: Case) -> float:
    """b = 0 at the query's own position, and falls by the slope of the head with each step away"""
    n = case.integer("n", 2, 6)
    b = build(case, 0)(n, n)
    falls, rises = b[:, 0, :-1] - b[:, 0, 1:], b[:, -1, 1:] - b[:, -1, :-1]
    steady = difference((falls, rises), (falls[:, :1].expand_as(falls),) * 2)
    return max(float(b[:, 0, 0].abs().max()), excess(1e-9 - falls, 0.0), steady)


@law("position.alibi", wrong=planted(BIASES, lambda right, n, m: right(n, m) / 2)["position.alibi"])
def slopes_are_a_geometric_sequence(case: Case) -> float:
    """with 2ᵖ heads, 2^(-8/2ᵖ) to 2^(-8), each the first times the one before"""
    heads = 2 ** case.integer("log2 of num_heads", 0, 5)
    slopes = -case.build(num_heads=heads)(1, 2)[:, 0, 0]
    return difference(slopes, 2 ** (-8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads))


@law("position.alibi", wrong=lambda num_heads, **_: ours.ALiBi(num_heads))
def a_causal_bias_has_nothing_after_the_query(case: Case) -> float:
    """-∞ for later keys, and else the same"""
    (n, m), heads = lengths(case), case.integer("num_heads", 1, 12)
    open_, causal = (case.build(num_heads=heads, is_causal=is_causal)(n, m) for is_causal in (False, True))
    later = torch.ones(n, m, dtype=torch.bool).triu(m - n + 1)
    return difference(causal, open_.masked_fill(later, -torch.inf))


class Wrapping(ours.RelativePosition):
    """A larger difference begins the table anew."""

    def forward(self, n: Any, m: Any) -> Tensor:
        away = torch.arange(m) - torch.arange(m - n, m)[:, None] + self.max_distance
        return self.weight[:, away % self.weight.shape[1]]


@law("position.relative", wrong=Wrapping)
def what_is_farther_than_the_table_counts_as_its_end(case: Case) -> float:
    """b = w_D for j - p > D, and w_(-D) for j - p < -D"""
    block = build(case, 0)
    (weight,), most = case.weights(block, "weight"), case.drawn["max_distance"]
    length = most + case.integer("beyond", 1, 4)
    b = block(length + 1, length + 1)
    return difference(
        (b[:, 0, most:], b[:, -1, : length - most]),
        (weight[:, -1:].expand(-1, length + 1 - most), weight[:, :1].expand(-1, length - most)),
    )
