"""A user's module, called as a check calls a block of ours: by its signature, as far as that has words for it."""

import inspect
from collections.abc import Callable
from functools import cache, partial, wraps
from itertools import zip_longest
from typing import Any

import torch
from jaxtyping import AbstractArray
from torch import Tensor

from gradlab.printable import printable
from gradlab.verification.incomparable import DoesNotFit as DoesNotFit
from gradlab.verification.incomparable import Incomparable
from gradlab.verification.masks import LENGTHS, AxesOfMasks, MaskForm, Named, counted, in_form, with_their_axes

Ranks = tuple[int, ...]
"""How many axes each tensor of a call has; -1 for one without entries."""

OTHER_NAMES = {
    "mask": ("mask", "attn_mask", "attention_mask", "src_mask", "key_mask", "kv_mask"),
    "memory_mask": ("memory_mask", "src_mask", "encoder_mask", "cross_mask"),
    "source_mask": ("source_mask", "src_mask"),
    "target_mask": ("target_mask", "tgt_mask"),
    "memory": ("memory", "encoder_output", "encoder_out", "enc_out", "context"),
    "is_causal": ("is_causal", "causal"),
    "offset": ("offset", "start_pos", "start", "past_length", "past_len"),
    "lengths": ("lengths", "seq_lens", "valid_lens"),
    "cache": ("cache",),
    "memory_cache": ("memory_cache",),
    "bias": ("bias", "attn_bias"),
}
"""Arguments that a block of ours can do without, and what others call them. A state has any name, in second place."""


SPREADS = ("std", "other_std")
"""Standard deviations, which others take as variances, or as logarithms of either, and name so: `logvar`."""


class Refused(Exception):
    """The user's module raised: with tensors of these ranks it may not be meant to be called."""

    def __init__(self, ranks: Ranks, error: Exception):
        super().__init__(f"{type(error).__name__}: {printable(' '.join(str(error).split()), 200)}")
        self.ranks = ranks


@cache
def signature_of(block: Callable[..., Any]) -> inspect.Signature:
    """How a block of ours is called: a class, as its modules are."""
    return inspect.signature(partial(block.forward, None) if isinstance(block, type) else block)  # type: ignore[attr-defined]


def steps_first(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Of a module whose sequences are (steps, batch, features), called with the batch first."""

    def turned(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(turned(part) for part in value)
        sequence = isinstance(value, Tensor) and value.ndim == 3 and value.is_floating_point()
        return value.transpose(0, 1) if sequence else value

    @wraps(forward)
    def call(*args: Any, **options: Any) -> Any:
        return turned(forward(*turned(args), **{name: turned(value) for name, value in options.items()}))

    return call


def one_hot(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Of a loss whose targets are probabilities alone, called with classes too."""

    @wraps(loss)
    def call(logits: Any, target: Any, *args: Any, **options: Any) -> Any:
        if isinstance(target, Tensor) and not target.is_floating_point():
            target = torch.nn.functional.one_hot(target, logits.shape[-1]).to(logits)
        return loss(logits, target, *args, **options)

    return call


def own_signature(function: Callable[..., Any]) -> inspect.Signature:
    """That of a user's function. Those of torch that are written in C++ have one for who overrides them, or none."""
    try:
        return inspect.signature(function)
    except ValueError:
        inner = function.func if isinstance(function, partial) else function
        return inspect.signature(torch.overrides.get_testing_overrides().get(inner, lambda *args: None))


def called_like(
    mine: inspect.Signature,
    theirs: Callable[..., Any],
    answered: set[Ranks],
    mask: MaskForm = "visible",
    axes: AxesOfMasks | None = None,
) -> Callable[..., Any]:
    """`theirs`, to be called with our arguments; the ranks of calls that succeed are added to `made`.

    `axes` are those of its masks, as far as they have been asked for.
    """
    own = own_signature(theirs)
    names = _positional(mine)
    keeps_axes = _keeps_axes(mine)

    def bound(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(
            _spread(value, their) if our in SPREADS else value
            for value, our, their in zip_longest(args, names[: len(args)], [*own.parameters][: len(args)])
        )
        args, options = _bound(mine, own, args, options)
        for name, value in options.items():
            if name in LENGTHS and isinstance(value, Tensor) and value.dtype == torch.bool:
                options[name] = counted(value, len(args[0]) if args else len(next(iter(options.values()))))
            elif "mask" in name:
                options[name] = in_form(mask, value)
        return args, options

    def fitted(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        here = names[: len(args)]

        def apart(named: Named) -> tuple[tuple[Any, ...], dict[str, Any]]:
            rest = {name: value for name, value in named.items() if name not in here}
            return (*(named[name] for name in here), *args[len(here) :]), rest

        def answer(named: Named) -> Any:
            args, options = bound(*apart(named))
            return _first(mine, theirs(*args, **options))

        named = {**dict(zip(here, args, strict=False)), **options}
        return apart(named if axes is None else with_their_axes(answer, named, axes))

    @wraps(theirs)
    def call(*args: Any, **options: Any) -> Any:
        args, options = bound(*fitted(args, options))
        tensors = [value for value in (*args, *options.values()) if isinstance(value, Tensor)]
        ranks = tuple(value.ndim if value.numel() else -1 for value in tensors)
        try:
            result = theirs(*args, **options)
        except Incomparable:
            raise
        except Exception as error:  # a user's module may raise anything
            raise Refused(ranks, error) from error
        result = _first(mine, result)
        if keeps_axes and isinstance(result, Tensor) and result.ndim != tensors[0].ndim:
            raise Refused(ranks, ValueError(f"{result.ndim} axes for {tensors[0].ndim}"))
        answered.add(ranks)
        return result

    return call


def _spread(std: Any, name: str | None) -> Any:
    """A standard deviation as an argument of this name says it.

    >>> _spread(torch.tensor(2.0), "sigma"), _spread(torch.tensor(2.0), "var"), _spread(torch.tensor(1.0), "logvar_q")
    (tensor(2.), tensor(4.), tensor(0.))
    """
    word = (name or "").lower().replace("_", "")
    if not isinstance(std, Tensor):
        return std
    value = std.square() if any(other in word for other in ("var", "sigma2", "sigmasq", "sigmasquare")) else std
    return value.log() if "log" in word else value


def _positional(signature: inspect.Signature) -> list[str]:
    """The arguments that stand by their place: none behind a `*`."""
    by_place = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [name for name, parameter in signature.parameters.items() if parameter.kind in by_place]


def _bound(
    mine: inspect.Signature, own: inspect.Signature, args: tuple[Any, ...], options: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call in the words of the user's signature; where it has none for it, the check is not made."""
    names = _positional(mine)
    by_name = {name for name, parameter in own.parameters.items() if parameter.kind is parameter.KEYWORD_ONLY}
    first = [v for name, v in zip(names, args, strict=False) if name not in {*OTHER_NAMES, *by_name}]
    rest = {name: v for name, v in zip(names, args, strict=False) if name in {*OTHER_NAMES, *by_name}}
    first += args[len(names) :]
    said = {}
    for name, value in {**rest, **options}.items():
        others = (*OTHER_NAMES.get(name, (name,)), *(LENGTHS if name == "mask" else ()))
        theirs = next((other for other in others if other in own.parameters), None)
        if theirs is not None and theirs not in said:
            said[theirs] = value
        elif name in rest and any(parameter.kind is parameter.VAR_POSITIONAL for parameter in own.parameters.values()):
            first.append(value)
        elif any(parameter.kind is parameter.VAR_KEYWORD for parameter in own.parameters.values()):
            said[name] = value
        elif name not in mine.parameters or not _is_default(mine.parameters[name], value):
            raise DoesNotFit(f"it takes no {name}: it is called with {', '.join(own.parameters) or 'nothing'}")
    masks = ("mask", "memory_mask", "source_mask", "target_mask")
    optional = {*LENGTHS, *(other for name in masks for other in OTHER_NAMES[name])}
    for name, parameter in [*own.parameters.items()][len(first) :]:  # annotated transformers insist on a mask
        if name not in said and name in optional and parameter.default is parameter.empty:
            said[name] = None
    try:
        own.bind(*first, **said)
    except TypeError as error:
        takes = ", ".join(own.parameters) or "nothing"
        raise DoesNotFit(f"it is called with {takes}, which this check does not fit ({error})") from error
    return tuple(first), said


def _is_default(parameter: inspect.Parameter, value: Any) -> bool:
    return value is None or (not isinstance(value, Tensor) and value == parameter.default)


def accepts(block: Any, name: str) -> bool:
    """Whether a block can be called with an argument of ours, by whatever name."""
    own = own_signature(getattr(block, "forward", block)).parameters
    anything = any(parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL) for parameter in own.values())
    return anything or any(other in own for other in OTHER_NAMES.get(name, (name,)))


def counts_keys(block: Any) -> bool:
    """Whether a user's module takes how many keys may be looked at, where ours takes a mask."""
    own = {*own_signature(getattr(block, "forward", block)).parameters}
    return bool(own & {*LENGTHS}) and not own & {*OTHER_NAMES["mask"]}


def _keeps_axes(mine: inspect.Signature) -> bool:
    """Whether ours gives as many axes as its first argument has: else a user's module has met axes it is not for."""
    first = next(iter(mine.parameters.values()), None)
    sides = (getattr(first, "annotation", None), mine.return_annotation)
    into, out = (getattr(side, "dim_str", "").split() for side in sides)
    open_ended = [[axis for axis in axes if axis.startswith("*")] for axes in (into, out)]  # any number of axes
    known = "..." not in into and open_ended[0] == open_ended[1]
    return bool(into) and known and len(into) == len(out) and into[0] == out[0]


def _first(mine: inspect.Signature, result: Any) -> Any:
    """Where ours gives one tensor, the first of what a user's module gives: weights may stand beside it."""
    ours = mine.return_annotation
    one = isinstance(ours, type) and issubclass(ours, Tensor | AbstractArray)
    return result[0] if one and isinstance(result, tuple | list) and result else result
