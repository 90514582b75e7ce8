"""Attention of one new position of each text to all before it."""

import torch
from torch import Tensor

from gradlab.kernels import run_on
from gradlab.scratch.attention import scaled_dot
from gradlab.verification.case import Case
from gradlab.verification.checks import Call
from gradlab.verification.families.kernels.calling import LENGTHS, conform, module, on_tensors, refuse_float64
from gradlab.verification.subject import subject

KERNEL = "kernel.decode_attention"


@subject(KERNEL)
def decode_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keys: Tensor,
    values: Tensor,
    place: Tensor,
    owners: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    kernels = module("decode_attention")
    form = kernels.decode_attention if run_on(q.device) else kernels.plain_decode_attention
    outputs: Tensor = form(q, k, v, keys, values, place, owners, scale)
    return outputs


def _call(case: Case) -> Call:
    """The twin gets the keys and values that are seen, one text after the other; the kernel a room that holds more."""
    refuse_float64(case)
    rows, heads, dim = case.integer("rows", 1, 3), case.integer("heads", 1, 2), case.choice("dim", (16, 40))
    place, scale = case.choice("place", (0, *LENGTHS)), case.choice("scale", (None, 0.3))
    room = place + 3
    q, k, v = (case.tensor(name, rows, heads, 1, dim).detach() for name in "qkv")
    keys, values = (case.tensor(name, rows, heads, room, dim).detach() for name in ("keys", "values"))
    owners = case.indices("owners", rows, room, below=rows) if case.flag("shared") else None
    own = torch.arange(rows)[:, None].expand(rows, room) if owners is None else owners
    own = torch.where(torch.arange(room) == place, torch.arange(rows)[:, None], own)

    def seen(kept: Tensor, new: Tensor) -> Tensor:
        kept = kept.clone()
        kept[:, :, place] = new[:, :, 0]
        return kept.transpose(1, 2)[own, torch.arange(room)].transpose(1, 2)[:, :, : place + 1]

    block = case.build(scale=scale)
    inputs = q, seen(keys, k), seen(values, v)
    at = torch.tensor([place])
    return Call(
        lambda *_: block(q, k, v, keys.clone(), values.clone(), at, owners),
        inputs,
        options={"scale": scale},
    )


conform(KERNEL, _call, twin=scaled_dot, twin_call=on_tensors(scaled_dot))
