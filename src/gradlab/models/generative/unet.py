"""The U-Net, for the noise in pictures. Ronneberger et al. 2015, arXiv:1505.04597; Ho et al. 2020, arXiv:2006.11239."""

import math
from dataclasses import dataclass, field
from typing import Annotated

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gradlab.errors import GradlabError
from gradlab.models.generative.time import Condition
from gradlab.models.registry import models
from gradlab.nn import Conv2d, Dropout, GroupNorm, Linear, MultiheadAttention, SiLU
from gradlab.nn.convolution import pointwise, without_bias
from gradlab.nn.normalisation import norm_silu
from gradlab.registry import Count, Fraction
from gradlab.specs import Picture

_HEAD = 32  # channels of a head of attention, where they can be divided so
_GROUPS = 8


@dataclass(frozen=True, kw_only=True)
class UNetSettings:
    """What it is built by."""

    width: Annotated[Count, "channels of the finest maps; an even number"] = 32
    multiples: Annotated[list[Count], "channels at each resolution, half of the one before, in widths"] = field(
        default_factory=lambda: [1, 2]
    )
    blocks: Annotated[Count, "residual blocks at each resolution, on the way down; one more on the way up"] = 1
    attention: Annotated[bool, "attention at the coarsest resolution"] = True
    dropout: Annotated[Fraction, "probability of dropping a number inside of a block"] = 0.0


def _norm(channels: int) -> GroupNorm:
    return GroupNorm(math.gcd(_GROUPS, channels), channels)


class ResidualBlock(nn.Module):
    r"""Two 3×3 convolutions, conditioned on the time in between, and a way past them.

    $$ y = S x + W_2 * \mathrm{silu}(\mathrm{norm}(W_1 * \mathrm{silu}(\mathrm{norm}(x)) + a)) $$

    a has a number for each of the `outputs`. W₂ starts at 0, and S is the identity where as many channels come out as
    go in.
    """

    def __init__(self, inputs: int, outputs: int, dropout: float):
        super().__init__()
        self.outputs = outputs
        self.norm1, self.conv1 = _norm(inputs), Conv2d(inputs, outputs, 3, padding=1, bias=False)  # a has one
        self.activation, self.dropout = SiLU(), Dropout(dropout)
        self.norm2, self.conv2 = _norm(outputs), Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()
        nn.init.zeros_(self.conv2.weight)

    def forward(self, x: Tensor, a: Tensor) -> Tensor:
        h = self.conv1(norm_silu(self.norm1, self.activation, x))
        h = self.dropout(norm_silu(self.norm2, self.activation, h, offset=a))
        if isinstance(self.shortcut, nn.Identity):
            y: Tensor = self.shortcut(x) + self.conv2(h)
            return y
        h, bias = without_bias(self.conv2, h)
        return pointwise(self.shortcut, x, bias) + h


class Attention(nn.Module):
    """Every place looks at every other, and what it sees is added."""

    def __init__(self, channels: int):
        super().__init__()
        self.norm = _norm(channels)
        self.attention = MultiheadAttention(channels, max(1, channels // _HEAD) if channels % _HEAD == 0 else 1)

    def forward(self, x: Tensor) -> Tensor:
        places = self.norm(x).flatten(2).transpose(1, 2)
        y: Tensor = x + self.attention(places).transpose(1, 2).reshape(x.shape)
        return y


class UNet(nn.Module):
    """Down to coarse maps and up again, where each resolution sees what was there on the way down.

    Sides need not be even: halves are rounded up, and on the way up maps take the size that they had. The last map
    starts at 0.

    >>> UNet(Picture(1, 7, 5), 10, UNetSettings(width=8))(torch.randn(2, 1, 7, 5), torch.rand(2)).shape
    torch.Size([2, 1, 7, 5])
    """

    def __init__(self, inputs: Picture, classes: int, settings: UNetSettings):
        super().__init__()
        if settings.width % 2:
            raise GradlabError(f"model.width must be even for unet, got {settings.width}.")
        self.shape, self.settings, self.told = inputs.shape, settings, 4 * settings.width
        widths = [settings.width * multiple for multiple in settings.multiples]
        self.condition = Condition(self.told, classes)
        self.first = Conv2d(inputs.channels, widths[0], 3, padding=1)
        self.down, self.shrink = nn.ModuleList(), nn.ModuleList()
        seen = self._go_down(widths)
        self.enter, self.leave = self._block(widths[-1], widths[-1]), self._block(widths[-1], widths[-1])
        self.attention = Attention(widths[-1]) if settings.attention else nn.Identity()
        self.up = nn.ModuleList()
        self._go_up(widths, seen)
        self.sizes = [part.outputs for part in self.modules() if isinstance(part, ResidualBlock)]  # in order of use
        self.offsets = Linear(self.told, sum(self.sizes))  # those of all blocks in one product
        self.register_load_state_dict_pre_hook(_from_older)  # type: ignore[no-untyped-call]
        self.norm, self.activation = _norm(widths[0]), SiLU()
        self.last = Conv2d(widths[0], inputs.channels, 3, padding=1)
        nn.init.zeros_(self.last.weight)

    def _block(self, before: int, after: int) -> ResidualBlock:
        return ResidualBlock(before, after, self.settings.dropout)

    def _go_down(self, widths: list[int]) -> list[int]:
        """Blocks of each resolution, and a convolution to the next; the channels of all maps on the way."""
        channels = widths[0]
        seen = [channels]
        for i, width in enumerate(widths):
            if i:
                self.shrink.append(Conv2d(channels, channels, 3, stride=2, padding=1))
                seen.append(channels)
            befores = [channels] + [width] * (self.settings.blocks - 1)
            self.down.append(nn.ModuleList(self._block(before, width) for before in befores))
            seen += [width] * self.settings.blocks
            channels = width
        return seen

    def _go_up(self, widths: list[int], seen: list[int]) -> None:
        """The same back; each block has one of the maps that were seen beside its own."""
        channels = widths[-1]
        for width in reversed(widths):
            befores = [channels] + [width] * self.settings.blocks
            self.up.append(nn.ModuleList(self._block(before + seen.pop(), width) for before in befores))
            channels = width

    def forward(
        self,
        x: Float[Tensor, "batch channels height width"],
        time: Float[Tensor, " batch"],
        labels: Int64[Tensor, " batch"] | None = None,
    ) -> Float[Tensor, "batch channels height width"]:
        h = self.first(x)
        offsets = iter(self.offsets(self.condition(time, labels)).split(self.sizes, 1))
        seen = [h]
        for i, stage in enumerate(self.down):
            if i:
                h = self.shrink[i - 1](h)
                seen.append(h)
            for block in stage:  # type: ignore[attr-defined]
                h = block(h, next(offsets))
                seen.append(h)
        h = self.attention(self.enter(h, next(offsets)))
        h = self.leave(h, next(offsets))
        for i, stage in enumerate(self.up):
            if i:
                h = _enlarged(h, seen[-1].shape[-2:])
            for block in stage:  # type: ignore[attr-defined]
                h = block(torch.cat([h, seen.pop()], 1), next(offsets))
        y: Tensor = self.last(norm_silu(self.norm, self.activation, h))
        return y


def _enlarged(x: Tensor, size: torch.Size) -> Tensor:
    """Each place as often as the `size` needs it.

    >>> _enlarged(torch.tensor([[[[1.0, 2.0]]]]), torch.Size((2, 4))).tolist()
    [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """
    n, channels, height, width = x.shape
    if size == (2 * height, 2 * width) and x.is_contiguous(memory_format=torch.channels_last):
        # A plain copy: PyTorch's own for channels that lie side by side takes ten times as long.
        places = x.permute(0, 2, 3, 1)[:, :, None, :, None].expand(n, height, 2, width, 2, channels)
        return places.reshape(n, *size, channels).permute(0, 3, 1, 2)
    with torch.autocast(x.device.type, enabled=False):  # which would copy in float32, and so all that follows
        return F.interpolate(x, size)


def _from_older(model: nn.Module, state: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Weights of a time when each block had a map of its own for its offset, and a bias beside it."""
    assert isinstance(model, UNet)
    names = [f"{prefix}{name}" for name, part in model.named_modules() if isinstance(part, ResidualBlock)]
    if all(f"{name}.told.weight" in state for name in names):
        biases = [state.pop(f"{name}.told.bias") + state.pop(f"{name}.conv1.bias") for name in names]
        state[f"{prefix}offsets.weight"] = torch.cat([state.pop(f"{name}.told.weight") for name in names])
        state[f"{prefix}offsets.bias"] = torch.cat(biases)


@models.register("unet")
def unet(inputs: Picture, outputs: int, *, settings: UNetSettings = UNetSettings()) -> nn.Module:
    """A U-Net that separates noise from pictures, conditioned on `outputs` classes."""
    return UNet(inputs, outputs, settings)
