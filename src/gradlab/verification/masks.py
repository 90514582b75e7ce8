"""What a mask of a user's module says, and which axes it has: found by asking the module."""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from gradlab.verification.incomparable import DoesNotFit

MaskForm = Literal["visible", "hidden", "added", "causal"]
"""Whether true says what may be looked at, or what is hidden, or the mask is added to the scores; causal, it has one
of its own, by which no position looks at later ones."""

Axes = Literal["pairs", "examples", "heads", "keys"]
"""(n, m), (batch, n, m), (batch, 1, n, m) or (batch, m) for n queries and m keys."""

AxesOfMasks = dict[str, tuple[Axes, ...]]
"""Those that a module takes, by the name of the mask; none if it answers to no mask."""

MASKS = ("mask", "memory_mask")
LENGTHS = ("valid_lens", "valid_len", "seq_lens", "lengths")
"""What others call how many keys of each example may be looked at, in the place of a mask."""

_WHOLE: dict[int, Axes] = {2: "pairs", 3: "examples", 4: "heads"}
_BATCH, _QUERIES, _KEYS = 11, 7, 13  # no two alike, and more than there are heads: what does not belong together raises

Named = Mapping[str, Any]


def in_form(form: MaskForm, mask: Any) -> Any:
    if not isinstance(mask, Tensor) or form in ("visible", "causal"):
        return mask
    return ~mask if form == "hidden" else torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)


def counted(mask: Tensor, batch: int) -> Tensor:
    """A mask that hides the last keys of each example, as the number of those before them."""
    whole = (mask[:, 0] if mask.ndim == 4 else mask).expand(batch, *mask.shape[-2:])
    lengths = whole[:, 0].sum(-1)
    if bool((whole == (torch.arange(mask.shape[-1]) < lengths[:, None, None])).all()):
        return lengths
    raise DoesNotFit("it takes how many keys may be looked at, and not which")


def with_their_axes(call: Callable[[Named], Any], named: Named, known: AxesOfMasks) -> Named:
    """The arguments of a call, by our names, with its masks as the module takes them.

    Where sizes happen to agree, a mask of other axes is not refused but broadcast: over the heads by the queries' axis,
    say. So which axes it takes is asked once, with sizes of which no two agree.
    """
    queries = next(iter(named.values()), None)
    if not isinstance(queries, Tensor) or queries.ndim != 3:
        return named
    fitted = dict(named)
    for name in MASKS:
        mask = named.get(name)
        if isinstance(mask, Tensor) and mask.ndim in _WHOLE:
            if name not in known:
                known[name] = _taken(call, named, name)
            if known[name]:
                fitted[name] = _in_axes(mask, known[name], len(queries))
    return fitted


def _taken(call: Callable[[Named], Any], named: Named, name: str) -> tuple[Axes, ...]:
    others = [key for key, value in [*named.items()][1:] if isinstance(value, Tensor) and value.is_floating_point()]
    apart = name == "memory_mask" or any(key in others for key in ("key", "keys"))
    for keys in (_KEYS, _QUERIES) if apart else (_QUERIES,):
        sizes: dict[Axes, tuple[int, ...]] = {
            "pairs": (_QUERIES, keys),
            "examples": (_BATCH, _QUERIES, keys),
            "heads": (_BATCH, 1, _QUERIES, keys),
            "keys": (_BATCH, keys),
        }
        probe = {key: _probe(value, keys if key in others else _QUERIES) for key, value in named.items()}
        probe = {key: None if key in MASKS else value for key, value in probe.items()}
        taken = [axes for axes, shape in sizes.items() if _answers(call, {**probe, name: torch.ones(shape) > 0})]
        if taken:
            return tuple(taken)
    return ()


def _probe(value: Any, length: int) -> Any:
    if not isinstance(value, Tensor) or value.ndim != 3 or not value.is_floating_point():
        return value
    return value.new_ones(_BATCH, length, value.shape[-1])


def _answers(call: Callable[[Named], Any], named: Named) -> bool:
    try:
        with torch.no_grad():
            result = call(named)
    except Exception:  # it takes no mask of these axes
        return False
    return isinstance(result, Tensor) and result.ndim == 3 and result.shape[:2] == (_BATCH, _QUERIES)


def _in_axes(mask: Tensor, taken: tuple[Axes, ...], batch: int) -> Tensor:
    """The same mask with axes that the module takes."""
    if _WHOLE[mask.ndim] in taken:
        return mask
    if mask.ndim == 4 and mask.shape[1] == 1:
        mask = mask[:, 0]
    if mask.ndim < 4:
        examples = mask.expand(batch, *mask.shape[-2:])
        if "examples" in taken:
            return examples
        if "heads" in taken:
            return examples[:, None]
        if "keys" in taken and bool((examples == examples[:, :1]).all()):
            return examples[:, 0]
        if "pairs" in taken and bool((examples == examples[:1]).all()):
            return examples[0]
    raise DoesNotFit(f"its masks are of {' or '.join(taken)}, and not of {mask.ndim} axes as here")
