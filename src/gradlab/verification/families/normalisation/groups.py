"""What is known of group normalisation."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from gradlab.nn.normalisation import BatchNorm, GroupNorm, LayerNorm
from gradlab.scratch import normalisation
from gradlab.verification.case import Case
from gradlab.verification.checks import example, law, peer, twin
from gradlab.verification.comparing import agreement, difference, same
from gradlab.verification.subject import Incomparable


def _channels(case: Case, groups: Callable[[int], int] | None = None, places: int = 0) -> tuple[Tensor, dict[str, Any]]:
    """Examples of channels and places, and settings that fit them; with so many groups, if that is given."""
    if groups is None:
        number = case.integer("num_groups", 1, 3)
        channels = case.integer("num_channels", number, 6, multiple_of=number)
    else:
        channels = case.integer("num_channels", 1, 6)
        number = case.choice("num_groups", (groups(channels),))
        if number != groups(channels):
            raise Incomparable("its num_groups is given")
    sizes = [case.integer(f"size {axis}", 1 + places, 3) for axis in range(case.integer("places", places, 2))]
    x = case.tensor("x", case.integer("batch", 2, 3), channels, *sizes, scale=2.0)
    return x, {"num_groups": number, "num_channels": channels, "eps": case.real("eps", 0.01, 1)}


@twin("norm.group", normalisation.group_norm)
def group_twin(case: Case) -> float:
    x, settings = _channels(case)
    block, groups, eps = case.build(**settings), settings["num_groups"], settings["eps"]
    weights = case.weights(block, "weight", "bias")
    return agreement(block(x), lambda x, *w: normalisation.group_norm(x, groups, w[0], w[1], eps), x, *weights)


@peer("norm.group", "torch.nn.GroupNorm")
def torchs_group_norm(case: Case) -> float:
    x, settings = _channels(case)
    settings["affine"] = case.flag("affine")
    block, torchs = case.build(**settings), nn.GroupNorm(**settings).double()
    torchs.load_state_dict(block.state_dict())
    return same(block(x), torchs(x), [x, *block.parameters()], [x, *torchs.parameters()])


@example("norm.group", n=3, d=24, g=2)
def group_example(n: int, d: int, g: int) -> Any:
    return {"num_groups": g, "num_channels": d // 4}, (torch.randn(n, d // 4, 2, 2),)


# Laws


class Interleaved(GroupNorm):
    """Takes channels that are far apart for one group, and not neighbours."""

    def forward(self, x: Tensor) -> Tensor:
        order = torch.arange(self.num_channels).reshape(-1, self.num_groups).T.flatten()
        y: Tensor = super().forward(x[:, order])
        return y[:, order.argsort()]


class OverTheBatch(nn.Module):
    """Batch norm in the place of group norm."""

    def __init__(self, num_groups: int, num_channels: int, eps: float):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.ones(num_channels)) for _ in range(2))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.batch_norm(x, None, None, self.weight, self.bias, True, eps=self.eps)


def _with_channel_gains(case: Case, block: nn.Module, unit: Tensor) -> Tensor:
    gain, shift = (w.reshape(-1, *(1 for _ in unit.shape[2:])) for w in case.weights(block, "weight", "bias"))
    return gain * unit + shift


@law("norm.group", wrong=OverTheBatch)
def one_group_is_layer_norm_of_the_whole_example(case: Case) -> float:
    """1 group  ⟹  f(x) = γ LayerNorm(x over channels and places) + β"""
    x, settings = _channels(case, groups=lambda channels: 1)
    layer = LayerNorm(x.shape[1:], settings["eps"], elementwise_affine=False).double()
    block = case.build(**settings)
    return difference(block(x), _with_channel_gains(case, block, layer(x)))


@law("norm.group", wrong=OverTheBatch)
def a_group_for_each_channel_is_instance_norm(case: Case) -> float:
    """as many groups as channels  ⟹  f(x)ᵢ = BatchNorm(xᵢ) of one example alone"""
    x, settings = _channels(case, groups=lambda channels: channels, places=1)
    batch = BatchNorm(x.shape[1], settings["eps"], affine=False).double()
    block = case.build(**settings)
    alone = torch.cat([batch(example[None]) for example in x])
    return difference(block(x), _with_channel_gains(case, block, alone))


@law("norm.group", wrong=Interleaved)
def groups_do_not_meet(case: Case) -> float:
    """f(x)_g depends on x_g alone"""
    x, settings = _channels(case)
    block, size = case.build(**settings), settings["num_channels"] // settings["num_groups"]
    changed = torch.cat([x[:, :size], case.tensor("elsewhere", *x[:, size:].shape)], 1)
    return difference(block(changed)[:, :size], block(x)[:, :size])
