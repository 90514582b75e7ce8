"""What is known of attention in all its kinds: the weights are those of a mean, and the mask is kept."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gradlab import scratch
from gradlab.nn import attention as ours
from gradlab.nn.attention.masks import causal_mask
from gradlab.nn.blocks import find_block
from gradlab.scratch import attention
from gradlab.verification.case import Case
from gradlab.verification.checks import Call, Draw, Fault, conform, example, law, peer
from gradlab.verification.comparing import array, difference, excess, gradients
from gradlab.verification.families.attention.calling import arguments, built, first, look, mask_name, takes
from gradlab.verification.subject import Incomparable

DOT, SCALED, HARD = "attention.dot", "attention.scaled_dot", "attention.hard"
GENERAL, REDUCED, ADDITIVE = "attention.general", "attention.reduced_rank", "attention.additive"
KERNELS = ("attention.gaussian", "attention.boxcar", "attention.epanechnikov", "attention.triangular")


@dataclass(frozen=True)
class Kind:
    """How a block is drawn, and the function of the NumPy engine that is its twin."""

    twin: Callable[..., scratch.Tensor]
    settings: Callable[[Case], dict[str, Any]] = lambda case: {}
    parameters: tuple[str, ...] = ()
    """Those that the twin takes after the values."""

    off_the_grid: float = 0.0
    """Added to all queries, so that none is exactly at a key or at an edge, where there is no slope."""


def _scale(case: Case) -> dict[str, Any]:
    return {"scale": case.choice("scale", (None, 0.5, 2.0))} if takes(case, "scale") else {}


def _dims(*more: str) -> Callable[[Case], dict[str, Any]]:
    return lambda case: {name: case.integer(name, 1, 3) for name in ("query_dim", "key_dim", *more)}


def _kernel(function: Callable[..., scratch.Tensor]) -> Kind:
    return Kind(function, lambda case: {"width": case.real("width", 0.5, 3)}, off_the_grid=0.037)


KINDS = {
    DOT: Kind(attention.dot),
    SCALED: Kind(attention.scaled_dot, _scale),
    GENERAL: Kind(attention.general, _dims(), ("weight",)),
    REDUCED: Kind(attention.reduced_rank, _dims("rank"), ("query_weight", "key_weight")),
    ADDITIVE: Kind(attention.additive, _dims("hidden_dim"), ("query_weight", "key_weight", "score_weight")),
    HARD: Kind(attention.hard),
    **{name: _kernel(getattr(attention, name.partition(".")[2])) for name in KERNELS},
}
UNBOUNDED = [*(name for name in KINDS if name not in KERNELS), "attention.gaussian"]


@dataclass(frozen=True)
class Scene:
    """A block, and what it is to look at."""

    block: Any
    queries: Tensor
    keys: Tensor
    values: Tensor
    settings: Mapping[str, Any]
    shift: float = 0.0

    def __call__(self, mask: Tensor | None = None, **other: Tensor) -> Tensor:
        """What the queries get; they, the keys and the values may be replaced."""
        q, k, v = (other.get(name, getattr(self, name)) for name in ("queries", "keys", "values"))
        return look(self.block, q + self.shift, k, v, mask=mask)

    @property
    def leaves(self) -> list[Tensor]:
        return [self.queries, self.keys, self.values]


def scene(case: Case, fewest: int = 1, batch: Sequence[int] = (1,)) -> Scene:
    """The block of a case, with queries, keys and values."""
    kind = KINDS[case.subject.name]
    settings: dict[str, Any] = kind.settings(case)
    n, m, e = case.integer("n", fewest, 3), case.integer("m", fewest, 4), case.integer("e", 1, 3)
    d = settings["query_dim"] if "query_dim" in settings else case.integer("d", 1, 3)
    queries = case.tensor("queries", *batch, n, d)
    keys = case.tensor("keys", *batch, m, settings.get("key_dim", d))
    values = case.tensor("values", *batch, m, e)
    return Scene(built(case, **settings), queries, keys, values, settings, kind.off_the_grid)


def any_batch(case: Case) -> Scene:
    """With axes of a batch, of heads, or of none; blocks of users have one."""
    if case.subject.implementation is not find_block(case.subject.name):
        return scene(case, batch=[case.integer("batch", 1, 2)])
    return scene(case, batch=case.sizes(2, (0, 3), "batch", "batch axes"))


def mask_for(case: Case, seen: Scene) -> Tensor | None:
    """No mask, one for all, or one for each member of a batch. Blocks of users have one for all, if they take any."""
    if mask_name(seen.block) is None or not case.flag("masked"):
        return None
    own = case.subject.implementation is find_block(case.subject.name) or (case.subject.foreign and case.counts_keys)
    batch = seen.queries.shape[:-2] if own and case.flag("each its own mask") else ()
    return case.mask("mask", *batch, seen.queries.shape[-2], seen.keys.shape[-2])


# Twins and peers


def _call(kind: Kind) -> Draw:
    def draw(case: Case) -> Call:
        seen = any_batch(case)
        mask = mask_for(case, seen)
        weights = case.weights(seen.block, *kind.parameters) if kind.parameters else {}
        known = {key: seen.settings[key] for key in ("scale", "width") if key in seen.settings}
        options = {"seen": seen, "mask": array(mask), **known}
        return Call(lambda q, k, v: seen(mask, queries=q, keys=k, values=v), seen.leaves, weights, options)

    return draw


def _twin(kind: Kind) -> Callable[..., scratch.Tensor]:
    return lambda q, *others, seen, **options: kind.twin(q + seen.shift, *others, **options)


FAULTS: dict[str, Any] = {
    "attention.gaussian": Fault(score=lambda self, q, k: ours.GaussianAttention.score(self, q, k) * self.width),
    **dict.fromkeys(KERNELS[1:], lambda width: ours.EpanechnikovAttention()),  # in units of its own
}
for _name, _kind in KINDS.items():
    conform(_name, _call(_kind), twin=_kind.twin, twin_call=_twin(_kind), fault=FAULTS.get(_name, ()))


def scale_of(case: Case, settings: Any, d: int) -> float:
    """The scale that a block of this name has."""
    scale = 1.0 if case.subject.name == DOT else settings.get("scale")
    return d**-0.5 if scale is None else float(scale)


def _dot_peer(case: Case) -> float:
    seen = any_batch(case)
    mask, (q, k, v) = mask_for(case, seen), seen.leaves
    scale = scale_of(case, seen.settings, q.shape[-1])
    wanted = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    error = difference(seen(mask), wanted, seen.leaves)
    if isinstance(seen.block, ours.ScaledDotAttention):  # whose weights are on another path than the result
        error = max(error, difference(seen.block.weights(q, k, mask) @ v, wanted, seen.leaves))
    return error


for _name in (DOT, SCALED):
    peer(_name, "torch.nn.functional.scaled_dot_product_attention")(_dot_peer)


@peer(GENERAL, "torch.nn.Bilinear")
def torchs_bilinear(case: Case) -> float:
    seen = scene(case)
    weight, n, m = case.weight(seen.block), seen.queries.shape[-2], seen.keys.shape[-2]
    q, k = seen.queries.repeat_interleave(m, -2), seen.keys.repeat(*[1] * (seen.keys.ndim - 2), n, 1)
    scores = F.bilinear(q, k, weight[None]).reshape(*q.shape[:-2], n, m)
    return difference(seen(), torch.softmax(scores, -1) @ seen.values, [*seen.leaves, weight])


@peer(HARD, "sklearn.neighbors.KNeighborsRegressor")
def nearest_neighbour(case: Case) -> float:
    from sklearn.neighbors import KNeighborsRegressor

    m, d = case.integer("m", 1, 5), case.integer("d", 1, 3)
    keys = F.normalize(case.distinct("keys", m, d).detach() + 0.03, dim=-1)  # of one length: the best is the nearest
    q, v = case.tensor("queries", case.integer("n", 1, 3), d).detach() + 0.01, case.tensor("values", m, 2).detach()
    scores = (q @ keys.mT).topk(min(m, 2)).values
    if (scores[:, 0] - scores[:, -1]).min() < 1e-6 and m > 1:
        return 0.0  # of two that are equally near, the peer takes one, and attention both
    near = KNeighborsRegressor(1).fit(keys.numpy(), v.numpy()).predict(q.numpy())
    return difference(built(case)(q, keys, v), torch.from_numpy(near))


def sized(n: int, m: int, d: int, e: int, c: int = 0, **more: int) -> Any:
    """Of as many entries in a key as in a query, or of c."""
    dims = {"query_dim": d, "key_dim": c} if c else {}
    return dims | more, (torch.randn(n, d), torch.randn(m, c or d), torch.randn(m, e), causal_mask(n, m))


example(DOT, SCALED, HARD, call=sized, n=3, m=4, d=5, e=2)
example(GENERAL, call=sized, n=3, m=4, d=5, c=6, e=2)
example(REDUCED, call=lambda r, **sizes: sized(**sizes, rank=r), n=3, m=4, d=5, c=6, e=2, r=2)
example(ADDITIVE, call=lambda h, **sizes: sized(**sizes, hidden_dim=h), n=3, m=4, d=5, c=6, e=2, h=7)

# Laws of all kinds


def _numbered(x: Tensor) -> Tensor:
    """1, 2, 3, … along the axis of positions."""
    return torch.arange(1.0, x.shape[-2] + 1, dtype=x.dtype)[:, None]


@law(
    *UNBOUNDED,
    "attention.epanechnikov",
    id="attention-special-cases",
    fault=Fault(forward=lambda self, *qkv: self.right(*qkv) * qkv[1].shape[-2]),
)
def the_result_lies_between_the_values(case: Case) -> float:
    """minⱼ vⱼ ≤ o ≤ maxⱼ vⱼ in each coordinate: o is in the convex hull of the values"""
    seen = scene(case, 2)
    # Kernels of bounded reach have no say far from all keys, but at a key they have.
    result = seen(queries=seen.keys.detach() - seen.shift if case.subject.name in KERNELS else seen.queries)
    low, high = (seen.values.amin(-2, keepdim=True), seen.values.amax(-2, keepdim=True))
    return max(excess(low - result, 0.0), excess(result - high, 0.0))


@law(
    *UNBOUNDED,
    id="attention-kv-invariance",
    fault=Fault(forward=lambda self, q, k, v, mask=None: self.right(q, k, v * _numbered(v), mask)),
)
def the_order_of_keys_is_nothing(case: Case) -> float:
    """att(Q, K[τ], V[τ]) = att(Q, K, V)"""
    seen = scene(case, 2)
    order = case.permutation("τ", seen.keys.shape[-2])
    return difference(seen(keys=seen.keys[..., order, :], values=seen.values[..., order, :]), seen())


@law(
    *UNBOUNDED,
    id="attention-special-cases",
    fault=Fault(forward=lambda self, q, k, v, mask=None: self.right(q, k[..., :1, :], v[..., :1, :])),
)
def equal_keys_give_the_mean_of_the_values(case: Case) -> float:
    """k₁ = … = kₘ ⇒ o = (1/m) Σⱼ vⱼ: average pooling"""
    seen = scene(case, 2)
    result = seen(keys=seen.keys[..., :1, :].expand_as(seen.keys))
    return difference(result, seen.values.mean(-2, keepdim=True).expand_as(result))


@law(
    *UNBOUNDED,
    id="attention-query-equivariance",
    fault=Fault(forward=lambda self, q, k, v, mask=None: self.right(q, k, v, mask) * _numbered(q)),
)
def the_order_of_queries_is_kept(case: Case) -> float:
    """att(Q[τ], K, V) = att(Q, K, V)[τ]"""
    seen = scene(case, 2)
    order = case.permutation("τ", seen.queries.shape[-2])
    return difference(seen(queries=seen.queries[..., order, :]), seen()[..., order, :])


def _masked_after_the_softmax(self: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    weights = self.weights(q, k)
    return (weights if mask is None else weights.masked_fill(~mask, 0.0)) @ v


@law(*UNBOUNDED, "attention.epanechnikov", fault=Fault(forward=_masked_after_the_softmax))
def what_is_hidden_might_as_well_not_be_there(case: Case) -> float:
    """att(q, K, V, mask) = att(q, K[mask], V[mask]), and so are all gradients"""
    seen = scene(case, 2)
    mask, (q, k, v) = case.mask("mask", seen.queries.shape[-2], seen.keys.shape[-2]), seen.leaves
    rows = [
        seen(queries=q[..., i : i + 1, :], keys=k[..., visible, :], values=v[..., visible, :])
        for i, visible in enumerate(mask)
    ]
    return difference(seen(mask), torch.cat(rows, -2), seen.leaves)


def _everywhere_instead_of_nowhere(self: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Any:
    return self.right(q, k, v, None if mask is None else mask | ~mask.any(-1, keepdim=True))


@law(*KINDS, fault=Fault(forward=_everywhere_instead_of_nowhere))
def a_query_that_may_look_nowhere_gets_zero(case: Case) -> float:
    """mask = false everywhere ⇒ o = 0, and no gradient"""
    if case.subject.foreign:
        raise Incomparable("what a query gets that may look nowhere is a convention, which others do not have")
    seen = scene(case, 2)
    mask = case.mask("mask", seen.queries.shape[-2], seen.keys.shape[-2])
    mask[0] = False
    result = seen(mask)[..., 0, :]
    return difference((result, *gradients(result, seen.leaves)), tuple(map(torch.zeros_like, (result, *seen.leaves))))


# Laws of some kinds


@law(DOT, SCALED, fault=Fault(forward=lambda self, q, k, v, mask=None: torch.softmax(self.score(q, k), -2) @ v))
def columns_and_rows_give_the_same(case: Case) -> float:
    """H = V softmax(β Kᵀ Q), columns for positions, is the transpose of the row form"""
    seen = scene(case, 2)
    q, k, v = (x.mT for x in seen.leaves)
    weights = torch.softmax(scale_of(case, seen.settings, q.shape[-2]) * (k.mT @ q), -2)
    return difference(seen().mT, v @ weights)


@law(
    HARD,
    id="hard-soft-attention",
    fault=Fault(score=lambda self, q, k: -ours.HardAttention.score(self, q, k)),
)
def it_is_where_sharper_and_sharper_attention_tends(case: Case) -> float:
    """|softmax(β Q Kᵀ) V - hard| ≤ 2 (m - 1) e^(-β gap) max|v|, so β → ∞ gives it"""
    seen, beta = scene(case, 2), case.real("β", 1, 40)
    q, k, v = seen.leaves
    scores = (q @ k.mT).detach()
    top = scores.amax(-1, keepdim=True)
    gap = torch.where(scores < top - 1e-9, top - scores, torch.inf).amin(-1, keepdim=True)  # ties share the weight
    bound = 2 * (k.shape[-2] - 1) * torch.exp(-beta * gap) * v.detach().abs().amax()
    return excess((seen() - ours.ScaledDotAttention(scale=beta)(q, k, v)).abs() - 1e-12, bound)


@law(HARD, id="attention-special-cases", fault=lambda: ours.DotAttention())
def a_key_looks_its_value_up(case: Case) -> float:
    """att(eᵢ, I, V) = vᵢ: a table"""
    values = case.tensor("values", case.integer("m", 2, 5), case.integer("e", 1, 3))
    keys = torch.eye(len(values), dtype=values.dtype)
    return difference(built(case)(keys, keys, values), values)


@law(GENERAL, fault=Fault(score=lambda self, q, k: ours.GeneralAttention.score(self, q, k) / math.sqrt(2)))
def with_the_identity_it_is_the_dot_product(case: Case) -> float:
    """W = a I ⇒ s = a qᵀk"""
    d, a = case.integer("query_dim", 1, 4), case.real("a", -2, 2)
    if case.integer("key_dim", d, d) != d:
        raise Incomparable("this is about keys as long as queries")
    block = built(case, query_dim=d, key_dim=d)
    case.set(block, weight=a * torch.eye(d, dtype=torch.float64))
    q, k, v = (case.tensor(name, 3, d) for name in ("queries", "keys", "values"))
    return difference(look(block, q, k, v), ours.DotAttention()(a * q, k, v))


@law(
    REDUCED,
    id="attention-score-lowrank",
    fault=Fault(score=lambda self, q, k: ours.ReducedRankAttention.score(self, q, k).tanh()),
)
def it_is_general_with_a_product_for_its_matrix(case: Case) -> float:
    """(U q)ᵀ (V k) = qᵀ (Uᵀ V) k, whose matrix has at most rank r, from r (d + c) parameters"""
    seen = scene(case, 2)
    u, v = case.weights(seen.block, "query_weight", "key_weight").values()
    sizes, product = seen.settings, u.T @ v
    parameters = sum(parameter.numel() for parameter in seen.block.parameters())
    more: float = abs(parameters - sizes["rank"] * (sizes["query_dim"] + sizes["key_dim"]))
    more += max(0, int(torch.linalg.matrix_rank(product)) - sizes["rank"])
    return more + difference(seen(), torch.softmax(seen.queries @ product @ seen.keys.mT, -1) @ seen.values)


def _with_bias(self: Any, q: Tensor, k: Tensor) -> Any:
    """A bias inside, as from layers with their default settings."""
    hidden = (q @ self.query_weight.T)[..., :, None, :] + (k @ self.key_weight.T)[..., None, :, :]
    return torch.tanh(hidden + 1) @ self.score_weight


@law(ADDITIVE, id="additive-attention", fault=Fault(score=_with_bias))
def it_is_a_network_of_one_hidden_layer_on_the_pair(case: Case) -> float:
    """s = wᵀ tanh([A B] [q; k]), without biases"""
    seen = scene(case, 2)
    a, b, w = case.weights(seen.block, "query_weight", "key_weight", "score_weight").values()
    q, k = seen.queries[..., :, None, :], seen.keys[..., None, :, :]
    pairs = torch.cat([q.expand(-1, -1, k.shape[-2], -1), k.expand(-1, q.shape[-3], -1, -1)], -1)
    return difference(seen(), torch.softmax(torch.tanh(pairs @ torch.cat([a, b], 1).T) @ w, -1) @ seen.values)


@law(
    "attention.gaussian",
    id="gaussian-kernel-as-dot-product",
    fault=Fault(score=lambda self, q, k: -0.5 * self.distances(q, k)),  # not squared
)
def it_is_a_dot_product_that_knows_how_long_keys_are(case: Case) -> float:
    """α = softmax(qᵀk/w² - ‖k‖²/2w²), and so softmax(qᵀk/w²) if all keys are of one length"""
    seen = scene(case, 2)
    queries, scale = seen.queries + seen.shift, seen.settings["width"] ** -2
    scores = queries @ seen.keys.mT - seen.keys.square().sum(-1)[..., None, :] / 2
    of_one_length = F.normalize(seen.keys + 0.013, dim=-1)
    wanted = torch.softmax(scale * scores, -1) @ seen.values
    by_dot_product = ours.ScaledDotAttention(scale=scale)(queries, of_one_length, seen.values)
    return difference((seen(), seen(keys=of_one_length)), (wanted, by_dot_product))


# Causal attention by dot products


def causal(block: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention by the block's own flag, or by a mask if it has none."""
    if "is_causal" in arguments(block):
        return first(block(q, k, v, is_causal=True))
    return look(block, q, k, v, mask=causal_mask(q.shape[-2], k.shape[-2]))


def _causal(case: Case) -> Call:
    """A query before the first key would see nothing, and is left out. With more keys, others begin at the first."""
    seen = any_batch(case)
    last = (..., slice(-seen.keys.shape[-2], None), slice(None))
    as_many = (..., slice(-seen.queries.shape[-2] if case.subject.foreign else 0, None), slice(None))
    options = {"last": last, "as_many": as_many, "scale": scale_of(case, seen.settings, seen.queries.shape[-1])}
    return Call(lambda q, k, v: causal(seen.block, q[last], k[as_many], v[as_many]), seen.leaves, options=options)


def _causal_twin(
    q: scratch.Tensor, k: scratch.Tensor, v: scratch.Tensor, last: Any, as_many: Any, scale: Any
) -> scratch.Tensor:
    q, k, v = q[last], k[as_many], v[as_many]
    return attention.scaled_dot(q, k, v, attention.causal_mask(q.shape[-2], k.shape[-2]), scale)


def _from_the_first_key(self: Any, q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool = False) -> Tensor:
    """PyTorch's own flag: the first query stands at the first key, whatever their numbers."""
    return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


for _name in (DOT, SCALED):
    fault = Fault(forward=_from_the_first_key)
    conform(_name, _causal, twin=attention.causal_mask, twin_call=_causal_twin, fault=fault)


scaled_by_d = Fault(forward=lambda self, q, k, v: F.scaled_dot_product_attention(q, k, v, scale=1 / (q.shape[-1] + 1)))


@law(DOT, SCALED, id="dot-product-variance", fault=scaled_by_d, tolerance=5.0, most_cases=3)
def the_variance_of_a_score_is_known(case: Case) -> float:
    """Var(qᵀk) = d, so Var(qᵀk/√d) = 1, for entries of variance 1; 5 standard errors: one false alarm in 10⁶"""
    d, pairs = case.integer("d", 1, 16), 20_000
    sizes = {"queries": 1, "keys": 2}
    q, k = (torch.randn(pairs, n, d, generator=case.generator(name)).double() for name, n in sizes.items())
    weights = look(built(case), q, k, torch.eye(2, dtype=q.dtype).expand(pairs, 2, 2))  # the values show the weights
    gap = weights[:, 0, 0].log() - weights[:, 0, 1].log()  # the difference of two scores that are uncorrelated
    spread = scale_of(case, case.subject.fixed, d) ** 2 * d
    z = (gap.square() / (2 * spread)).mean() - 1
    return float(z.abs() / ((2 + 6 / d) / pairs) ** 0.5)
