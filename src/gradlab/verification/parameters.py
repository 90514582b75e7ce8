"""The parameters of a user's module in the place of ours: found by name, role and shape, whole or in parts.

A parameter of ours that lies in parts or transposed in the user's module becomes a leaf of its own, of which the module
is given the parts at each call: so gradients are those of our parameter, and one twin serves all ways to lay it out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import permutations
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.verification.incomparable import DoesNotFit, Incomparable
from gradlab.verification.roles import alternatives

Shapes = Mapping[str, torch.Size]


class _Straight(tuple[int, ...]):
    """The shape of a weight of nn.Linear, which lies as ours do."""


SIZES: dict[str, dict[str, Any]] = {
    "activation.prelu": {"num_parameters": 3},
    "activation.maxout": {"in_features": 4, "out_features": 3, "pieces": 2},
    "attention.additive": {"query_dim": 5, "key_dim": 6, "hidden_dim": 7},
    "attention.general": {"query_dim": 5, "key_dim": 6},
    "attention.reduced_rank": {"query_dim": 5, "key_dim": 6, "rank": 2},
    "attention.multihead": {"embed_dim": 8, "num_heads": 2},
    "conv.conv1d": {"in_channels": 2, "out_channels": 6, "kernel_size": 3},
    "conv.conv2d": {"in_channels": 2, "out_channels": 6, "kernel_size": 3},
    "conv.masked2d": {"in_channels": 2, "out_channels": 6, "kernel_size": 3},
    "dense.linear": {"in_features": 5, "out_features": 4},
    "dense.embedding": {"num_embeddings": 10, "embedding_dim": 3},
    "graph.attention": {"in_features": 5, "out_features": 4},
    "graph.convolution": {"in_features": 4, "out_features": 3},
    "graph.sage": {"in_features": 4, "out_features": 3},
    "neuron.perceptron": {"in_features": 3},
    "norm.batch": {"num_features": 4},
    "norm.group": {"num_groups": 2, "num_channels": 6},
    "norm.layer": {"normalized_shape": 4},
    "norm.rms": {"normalized_shape": 4},
    "residual.highway": {"in_features": 3, "module": nn.Identity()},
    "position.bucketed": {"num_heads": 3, "num_buckets": 8, "max_distance": 20},
    "position.learned": {"max_length": 12, "dim": 4},
    "position.relative": {"num_heads": 3, "max_distance": 2},
    **{
        f"recurrent.{kind}{cell}": {"input_size": 3, "hidden_size": 5}
        for kind in ("rnn", "lstm", "gru")
        for cell in ("", "_cell")
    },
    **{f"transformer.{kind}": {"embed_dim": 8, "num_heads": 2, "hidden": 6} for kind in ("encoder", "decoder")},
    "transformer.mlp": {"embed_dim": 4, "hidden": 6},
    "transformer.gated_mlp": {"embed_dim": 4, "hidden": 6},
}
"""Sizes at which the parameters of a block have different shapes."""


@dataclass(frozen=True)
class Source:
    """Where a parameter of ours is in a user's module."""

    parts: tuple[str, ...]
    """Below one another; where there are none, it is 0, or as a gain 1. A part without a name is 0."""

    turned: bool = False
    """Whether the user's is transposed."""

    order: tuple[int, ...] = ()
    """Of a weight with more axes than ours, (heads, features, head features), or with fewer: in which
    order the axes of the longer shape are ours. Neighbours among them are then one axis."""

    share: tuple[int, int] | None = None
    """Of a part that holds several of ours below one another: which of how many it is."""

    def __str__(self) -> str:
        if not self.parts:
            return "none"
        which = f", part {self.share[0] + 1} of {self.share[1]}" if self.share else ""
        laid = f" with its axes as {self.order}" if self.order else ""
        return " + ".join(part or "0" for part in self.parts) + which + (" transposed" if self.turned else "") + laid


def find(
    block: str, ours: Shapes, theirs: Shapes, pairs: Mapping[str, str], layers: Collection[str] = ()
) -> dict[str, Source]:
    """The source of each parameter of ours; `pairs` are those that the user has told, `layers` weights of nn.Linear.

    In a module around another one all names may begin with the name of that.
    """
    try:
        shapes: Any = {name: _Straight(shape) if name in layers else shape for name, shape in theirs.items()}
        return _find(block, ours, shapes, pairs)
    except Incomparable as why:
        outer = {name.partition(".")[0] for name in theirs}
        if pairs or len(outer) != 1 or not all("." in name for name in theirs):
            raise
        (around,) = outer
        within = {name.partition(".")[2]: shape for name, shape in theirs.items()}
        try:
            inner = find(block, ours, within, pairs, [name.partition(".")[2] for name in layers])
        except Incomparable:
            raise why from None
        return {
            name: replace(source, parts=tuple(part and f"{around}.{part}" for part in source.parts))
            for name, source in inner.items()
        }


def _find(block: str, ours: Shapes, theirs: Shapes, pairs: Mapping[str, str]) -> dict[str, Source]:
    sources: dict[str, Source] = {}
    for wanted, names in pairs.items():
        if wanted not in ours:
            raise Incomparable(f"{block} has no parameter {wanted}; it has {', '.join(ours) or 'none'}")
        if missing := [name for name in names.split("+") if name not in theirs]:
            raise Incomparable(f"it has no parameter {', '.join(missing)}; its own are {', '.join(theirs) or 'none'}")
        sources[wanted] = _source(tuple(names.split("+")), ours[wanted], theirs) or Source(tuple(names.split("+")))
    if not pairs and all(theirs.get(name) == shape for name, shape in ours.items()):
        return {name: Source((name,)) for name in ours}
    for wanted, shape in ours.items():
        if wanted not in sources and (source := _by_name(block, wanted, shape, theirs, sources)):
            sources[wanted] = source
    for wanted, shape in ours.items():
        if wanted not in sources:
            sources |= _shares(shape, ours, theirs, sources)
    for wanted, shape in sorted(ours.items(), key=lambda item: -len(item[1])):
        if wanted not in sources and (
            source := _beside(wanted, shape, theirs, sources) or _by_shape(shape, ours, theirs, sources)
        ):
            sources[wanted] = source
    missing = [wanted for wanted in ours if wanted not in sources]
    if ((free := _free(theirs, sources)) and missing) or [name for name in missing if len(ours[name]) > 1]:
        pair = f"{missing[0]}=NAME"
        own = ", ".join(free or theirs) or "none"
        lost = ", ".join(missing)
        raise Incomparable(f"it has no parameter {lost}, by any usual name; its own are {own}; say {pair}")
    return sources | {wanted: Source(()) for wanted in missing}


def _by_name(
    block: str, wanted: str, shape: torch.Size, theirs: Shapes, sources: Mapping[str, Source]
) -> Source | None:
    free = _free(theirs, sources)
    for names in alternatives(block, wanted):
        here = tuple(name for name in names if name in free)
        if len(here) == len(names) and (source := _source(here, shape, theirs, "out_proj" in wanted)):
            return source
        if here and wanted.endswith("in_proj_bias") and sum(theirs[here[0]]) * len(names) == sum(shape):
            return Source(tuple(name if name in here else "" for name in names))  # some of the three have a bias
    return None


def _beside(wanted: str, shape: torch.Size, theirs: Shapes, sources: Mapping[str, Source]) -> Source | None:
    """A bias is in the layer in which its matrix was found."""
    matrix = sources.get(wanted.replace("bias", "weight")) if "bias" in wanted else None
    if matrix is None or not all(part.endswith("weight") for part in matrix.parts):
        return None
    names = tuple(f"{part.removesuffix('weight')}bias" for part in matrix.parts)
    return _source(names, shape, theirs) if names and {*names} <= {*_free(theirs, sources)} else None


def _by_shape(shape: torch.Size, ours: Shapes, theirs: Shapes, sources: Mapping[str, Source]) -> Source | None:
    """The first that is left of its shape, where as many are left as are looked for: they have one order."""
    fitting = {name: s for name in _free(theirs, sources) if (s := _source((name,), shape, theirs))}
    as_they_are = [source for source in fitting.values() if not source.turned]
    wanted = [name for name, other in ours.items() if name not in sources and other == shape]
    return next((own[0] for own in (as_they_are, [*fitting.values()]) if len(own) == len(wanted)), None)


def _shares(shape: torch.Size, ours: Shapes, theirs: Shapes, sources: Mapping[str, Source]) -> dict[str, Source]:
    """Those of ours that have one shape, where one of the user's holds them all below one another."""
    wanted = [name for name, other in ours.items() if name not in sources and other == shape]
    count, whole = len(wanted), (len(wanted) * shape[0], *shape[1:]) if shape else ()
    fitting = [name for name in _free(theirs, sources) if tuple(theirs[name]) == whole]
    if count < 2 or len(fitting) != 1:
        return {}
    return {name: Source((fitting[0],), share=(i, count)) for i, name in enumerate(wanted)}


def _free(theirs: Shapes, sources: Mapping[str, Source]) -> list[str]:
    taken = {name for source in sources.values() for name in source.parts}
    return [name for name in theirs if name not in taken]


def _source(names: Sequence[str], shape: torch.Size, theirs: Shapes, inwards: bool = False) -> Source | None:
    """These parts as a source of a parameter of this shape, if they fit it; `inwards`, its inputs come from heads."""
    shapes = [theirs[name] for name in names]
    for turned in (False, True):
        if turned and any(len(own) != 2 or isinstance(own, _Straight) for own in shapes):
            continue
        rows = [own[::-1] if turned else own for own in shapes]
        if len(rows) == 1 and _without_ones(rows[0]) == _without_ones(shape):
            return Source(tuple(names), turned)
        alike = all(len(row) == len(shape) and row[1:] == shape[1:] for row in rows)
        if len(rows) > 1 and alike and sum(row[0] for row in rows) == shape[0]:
            return Source(tuple(names), turned)
    if {*map(tuple, shapes)} == {tuple(shapes[0])} and (order := _order(shapes[0], shape, len(names), inwards)):
        return Source(tuple(names), order=order)
    return None


def _order(own: torch.Size, shape: torch.Size, parts: int, inwards: bool) -> tuple[int, ...]:
    """In which order the axes of theirs are ours: two that follow one another there are one of ours, or one is two."""
    if parts == 1 and len(own) in (1, 2) and tuple(own) == (prod(shape[:2]), *shape[2:]) and len(shape) == len(own) + 1:
        return (*range(len(shape)),)
    if len(own) != len(shape) + 1 or len(own) not in (2, 3):
        return ()
    joined = 1 if inwards and len(own) == 3 else 0  # the first of the two
    for order in permutations(range(len(own))):
        sizes = [own[axis] for axis in order]
        sizes[joined : joined + 2] = [sizes[joined] * sizes[joined + 1]]
        if order[joined] < order[joined + 1] and [sizes[0] * parts, *sizes[1:]] == [*shape]:
            return order
    return ()


def _longer(value: Sequence[int], ours: Sequence[int], order: Sequence[int]) -> list[int]:
    """The shape of all axes that are put in order: theirs, or ours as it was before."""
    return [*value] if len(value) == len(order) else [ours[order.index(axis)] for axis in range(len(order))]


def _as_ours(part: Tensor, source: Source, ours: torch.Size) -> Tensor:
    """A part of theirs, laid out as it is in ours."""
    if not source.order:
        return part.T if source.turned else part
    laid = part.reshape(_longer(part.shape, ours, source.order)).permute(source.order)
    return laid.reshape(ours) if len(source.parts) == 1 else laid.flatten(0, 1)


def _as_theirs(piece: Tensor, source: Source, ours: torch.Size, shape: torch.Size) -> Tensor:
    """Part of ours, laid out as it is in theirs."""
    if not source.order:
        return (piece.T if source.turned else piece).reshape(shape)
    whole = _longer(shape, ours, source.order)
    back = [source.order.index(axis) for axis in range(len(whole))]
    return piece.reshape([whole[axis] for axis in source.order]).permute(back).reshape(shape)


def _without_ones(shape: Sequence[int]) -> list[int]:
    return [size for size in shape if size != 1]


def turned_alike(sources: Mapping[str, Source], ours: Shapes, layers: Sequence[str]) -> dict[str, Source]:
    """A square matrix fits both ways: it lies as the others do that are no weights of a layer of torch."""
    raw = {name: s for name, s in sources.items() if s.parts and len(ours[name]) == 2 and not {*s.parts} & {*layers}}
    turned = any(source.turned for source in raw.values())
    return {name: replace(s, turned=turned) if name in raw and not s.order else s for name, s in sources.items()}


def reversed_shares(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Gate and value lie in one matrix in either order, which nothing says."""
    return {
        name: replace(s, share=(s.share[1] - 1 - s.share[0], s.share[1])) if s.share else s
        for name, s in sources.items()
    }


def take(module: nn.Module, sources: Mapping[str, Source], ours: Shapes) -> dict[str, nn.Parameter]:
    """Our parameters as leaves, of which the module is given its own parts at each call."""
    own, leaves, ties = dict(module.named_parameters(remove_duplicate=False)), dict[str, nn.Parameter](), []
    shares = dict[str, list[Tensor]]()
    if missing := [part for source in sources.values() for part in source.parts if part and part not in own]:
        raise DoesNotFit(f"it has no {missing[0]} at some of the sizes")
    for name, source in sources.items():
        first = next((own[part] for part in source.parts if part), None)
        parts = [own[part] if part else torch.zeros_like(first) for part in source.parts if first is not None]
        if source.share:
            which, count = source.share
            leaves[name] = nn.Parameter(parts[0].detach().chunk(count)[which].clone())
            shares.setdefault(source.parts[0], [leaves[name]] * count)[which] = leaves[name]
            continue
        if len(parts) == 1 and not source.turned and not source.order and parts[0].shape == ours[name]:
            leaves[name] = own[source.parts[0]]
            continue
        if parts:
            value = torch.cat([_as_ours(part.detach(), source, ours[name]) for part in parts])
            whole = "" not in source.parts  # of what is 0 there is no gradient
            leaves[name] = nn.Parameter(value.reshape(ours[name]).clone(), requires_grad=whole)
            ties.append((source, leaves[name], [part.shape for part in parts], ours[name]))
        else:
            like = next(iter(own.values()), torch.zeros(()))
            fill = 0.0 if "bias" in name else 1.0
            leaves[name] = nn.Parameter(torch.full(ours[name], fill, dtype=like.dtype), requires_grad=False)
    if ties or shares:
        module.forward = _with_parts(module, ties, shares, module.forward)
    return leaves


def _with_parts(
    module: nn.Module,
    ties: Sequence[tuple[Source, Tensor, Sequence[torch.Size], torch.Size]],
    shares: Mapping[str, Sequence[Tensor]],
    forward: Callable[..., Any],
) -> Callable[..., Any]:
    def give(name: str, value: Tensor) -> None:
        owner, _, last = name.rpartition(".")
        module.get_submodule(owner)._parameters[last] = value  # type: ignore[assignment]  # it stays one of its own

    @wraps(forward)
    def call(*args: Any, **options: Any) -> Any:
        for name, parts in shares.items():
            give(name, torch.cat([*parts]))
        for source, leaf, shapes, ours in ties:
            rows = [shape[-1] if source.turned else shape[0] if shape else 1 for shape in shapes]
            rows = [len(leaf) // len(shapes)] * len(shapes) if source.order else rows
            pieces = torch.split(leaf, rows) if len(shapes) > 1 else [leaf]
            for name, piece, shape in zip(source.parts, pieces, shapes, strict=True):
                if name:
                    give(name, _as_theirs(piece, source, ours, shape))
        return forward(*args, **options)

    return call
