"""What is known of norms of vectors."""

from math import inf, sqrt

import torch
from torch import Tensor

from gradlab.maths import norms
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, conform, law
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

NORM = "maths.norm"
subject(NORM)(norms.norm)


def _vectors(case: Case, *names: str) -> list[Tensor]:
    shape = [*case.sizes(3, (0, 1), count="batch axes"), case.integer("n", 1, 5)]
    return [case.tensor(name, *shape) for name in names]


def _order(case: Case) -> float:
    order: float = case.choice("order", (1.0, 2.0, 1.5, 3.0, inf))
    return order


def _without_root(x: Tensor, order: float = 2.0) -> Tensor:
    return x.abs().max(-1).values.square() if order == inf else (x.abs() ** order).sum(-1).square()


def _without_signs(x: Tensor, order: float = 2.0) -> Tensor:
    """The formula as it is often printed: (Σ xᵢᵖ)^(1/p)"""
    return x.amax(-1) if order == inf else (x**order).sum(-1).nan_to_num().clamp(min=0) ** (1 / order)


def _half(x: Tensor, order: float = 2.0) -> Tensor:
    return x.abs().sqrt().sum(-1).square()


@law(NORM, id="norm-axioms", fault=[_without_root, _without_signs, _half])
def a_multiple_is_a_multiple_as_long_and_a_detour_no_shorter(case: Case) -> float:
    """‖αx‖ = |α| ‖x‖, ‖x + y‖ ≤ ‖x‖ + ‖y‖, and ‖x‖ > 0 but for x = 0"""
    (x, y), alpha, norm = _vectors(case, "x", "y"), case.real("α", -3, 3), case.build(order=_order(case))
    x, y = x.detach(), y.detach()
    multiple = difference(norm(alpha * x), abs(alpha) * norm(x))
    part = torch.where(case.mask("first", *x.shape), x, 0.0)  # a way along the axes is what orders below 1 call short
    ways = [(x, y), (part, x - part)]
    detour = max(excess(norm(a + b), norm(a) + norm(b) + 1e-12) for a, b in ways)
    definite = float(((norm(x) > 0) != (x != 0).any(-1)).sum())
    return max(multiple, detour, definite, float(norm(torch.zeros_like(x)).abs().max()))


@law(NORM, id="norm-l1-l2", fault=[_without_signs, lambda x, order=2.0: (x.abs() ** order).mean(-1) ** (1 / order)])
def a_straight_way_is_the_shortest(case: Case) -> float:
    """$‖x‖_1 = Σ|x_i|$, $‖x‖_2^2 = Σ x_i²$, and $‖x‖_2 ≤ ‖x‖_1 ≤ √n ‖x‖_2$"""
    (x,) = (v.detach() for v in _vectors(case, "x"))
    one, two = case.build(order=1.0)(x), case.build(order=2.0)(x)
    sums = difference((one, two.square()), (x.abs().sum(-1), x.square().sum(-1)))
    return max(sums, excess(two, one + 1e-12), excess(one, sqrt(x.shape[-1]) * two + 1e-12))


@law(NORM, id="norm-lp", fault=[_without_root, _without_signs])
def it_is_the_root_of_the_sum_of_powers(case: Case) -> float:
    """$‖x‖_p^p = Σ |x_i|^p$, and $‖x‖_p → max |x_i|$ as p → ∞"""
    (x,), order = (v.detach() for v in _vectors(case, "x")), case.real("order", 1, 4)
    powers = difference(case.build(order=order)(x) ** order, (x.abs() ** order).sum(-1))
    largest, near = case.build(order=inf)(x), case.build(order=200.0)(x)
    between = max(excess(largest, near + 1e-12), excess(near, x.shape[-1] ** (1 / 200) * largest + 1e-12))
    return max(powers, difference(largest, x.abs().amax(-1)), between)


def _any_order(case: Case) -> Call:
    order = case.choice("order", (1.0, 2.0, 2.5, inf))
    x = case.distinct("x", *case.sizes(3, (0, 1), count="batch axes"), case.integer("n", 1, 5)).detach() + 0.03
    norm = case.build(order=order)
    return Call(norm, (x.requires_grad_(),), settings={"order": order})


conform(
    NORM,
    _any_order,
    peer={"torch.linalg.vector_norm": lambda call: torch.linalg.vector_norm(*call.inputs, call.settings["order"], -1)},
    fault=_without_root,
)
