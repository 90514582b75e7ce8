"""Group normalisation of pictures whose channels lie side by side in memory, and the SiLU behind it, both ways.

    x̂ = (x + a - μ) / √(σ² + ε)    z = γ x̂ + β    y = z, or z / (1 + e⁻ᶻ)
    ∂γ = Σ x̂ ∂z    ∂β = Σ ∂z    ∂x = (γ ∂z - (Σ γ ∂β + x̂ Σ γ ∂γ) / n) / √(σ² + ε)

The sums of ∂γ and ∂β are over places, those of ∂x over the channels of a group, and n is how many numbers a group has.
a has a number for each channel of each example, which is 0 where there is none; ∂a is the sum of ∂x over places.
A program has some groups of one example, and goes over their places twice: for the sums, and to write. In between they
stay in the caches. Tiles are [P, G, K]: places, groups, and channels of a group. Sums of a tile are of each of its
numbers by itself until the last, so that threads exchange theirs once. Nothing is added by whoever comes first: results
are the same each time.
"""

import triton
import triton.language as tl


@triton.jit
def groups_of(GROUPS: tl.constexpr, SIZE: tl.constexpr, G: tl.constexpr, K: tl.constexpr):
    """The groups of this program, their channels, and which of these exist."""
    group, k = tl.program_id(1) * G + tl.arange(0, G), tl.arange(0, K)
    channel = group[:, None] * SIZE + k[None, :]
    return group, channel, (group < GROUPS)[:, None] & (k < SIZE)[None, :]


@triton.jit
def tile(first, places, channel, inside, CHANNELS: tl.constexpr, P: tl.constexpr):
    """Where the numbers of a tile lie in their example, and which of them exist."""
    place = first + tl.arange(0, P)
    return place[:, None, None] * CHANNELS + channel[None], (place < places)[:, None, None] & inside[None]


@triton.jit
def affine(weight, bias, channel, inside):
    """γ and β of these channels."""
    gain, shift = tl.full(channel.shape, 1.0, tl.float32), tl.zeros(channel.shape, tl.float32)
    if weight is not None:
        gain = tl.load(weight + channel, mask=inside, other=0.0).to(tl.float32)
    if bias is not None:
        shift = tl.load(bias + channel, mask=inside, other=0.0).to(tl.float32)
    return gain, shift


@triton.jit
def added(offset, row, example, channel, inside):
    """a of these channels; those of an example are a `row` of memory, of which they may be a part."""
    a = tl.zeros(channel.shape, tl.float32)
    if offset is not None:
        a = tl.load(offset + example * row + channel, mask=inside, other=0.0).to(tl.float32)
    return a


@triton.jit
def over_groups(x):
    """The sums over places and channels."""
    return tl.sum(tl.sum(x, 2), 0)


@triton.jit(do_not_specialize=["places"])
def forward(
    x, offset, row, weight, bias, y, moments, places, eps,
    CHANNELS: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr, SILU: tl.constexpr,
    P: tl.constexpr, G: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    example = tl.program_id(0).to(tl.int64)
    group, channel, inside = groups_of(GROUPS, SIZE, G, K)
    x += example * places * CHANNELS
    y += example * places * CHANNELS
    a = added(offset, row, example, channel, inside)[None]
    # Welford's running mean, and squares about it: a mean may be far larger than the spread.
    centre, squares, turns = tl.zeros([P, G, K], tl.float32), tl.zeros([P, G, K], tl.float32), 0.0
    for first in range(0, places, P):
        at, there = tile(first, places, channel, inside, CHANNELS, P)
        value = tl.load(x + at, mask=there, other=0.0).to(tl.float32) + a
        turns += 1.0
        step = tl.where(there, value - centre, 0.0)
        centre += step * (1.0 / turns)
        squares += step * (value - centre)
    count = ((places - tl.arange(0, P) + P - 1) // P).to(tl.float32)  # places that each of a tile has had
    count = tl.where(inside[None], count[:, None, None], 0.0)
    numbers = (places * SIZE).to(tl.float32)
    mean = over_groups(count * centre) / numbers
    off = centre - mean[None, :, None]
    scale = 1.0 / tl.sqrt(over_groups(squares + count * off * off) / numbers + eps)
    moments += example * GROUPS + group
    tl.store(moments, mean, mask=group < GROUPS)
    tl.store(moments + tl.num_programs(0) * GROUPS, scale, mask=group < GROUPS)
    gain, shift = affine(weight, bias, channel, inside)
    gain *= scale[:, None]
    for first in range(0, places, P):
        at, there = tile(first, places, channel, inside, CHANNELS, P)
        value = tl.load(x + at, mask=there, other=0.0).to(tl.float32) + a
        z = (value - mean[None, :, None]) * gain[None] + shift[None]
        if SILU:
            z = z / (1.0 + tl.exp(-z))
        tl.store(y + at, z.to(y.dtype.element_ty), mask=there)


@triton.jit
def slopes(x, dy, at, there, off, scale, gain, shift, SILU: tl.constexpr):
    """x̂ and ∂z of a tile, where `off` is a - μ; ∂z is 0 where there is nothing."""
    normed = (tl.load(x + at, mask=there, other=0.0).to(tl.float32) + off[None]) * scale[None, :, None]
    slope = tl.load(dy + at, mask=there, other=0.0).to(tl.float32)
    if SILU:
        z = normed * gain[None] + shift[None]
        share = 1.0 / (1.0 + tl.exp(-z))
        slope *= share * (1.0 + z * (1.0 - share))
    return normed, slope


@triton.jit(do_not_specialize=["places"])
def backward(
    x, offset, row, dy, weight, bias, moments, dx, parts, places,
    CHANNELS: tl.constexpr, GROUPS: tl.constexpr, SIZE: tl.constexpr, SILU: tl.constexpr,
    P: tl.constexpr, G: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """`parts` are ∂γ and ∂β of each example, and ∂a where there is a."""
    example = tl.program_id(0).to(tl.int64)
    group, channel, inside = groups_of(GROUPS, SIZE, G, K)
    x += example * places * CHANNELS
    dy += example * places * CHANNELS
    dx += example * places * CHANNELS
    moments += example * GROUPS + group
    mean = tl.load(moments, mask=group < GROUPS, other=0.0)
    scale = tl.load(moments + tl.num_programs(0) * GROUPS, mask=group < GROUPS, other=0.0)
    off = added(offset, row, example, channel, inside) - mean[:, None]
    gain, shift = affine(weight, bias, channel, inside)
    gains, shifts = tl.zeros([P, G, K], tl.float32), tl.zeros([P, G, K], tl.float32)
    for first in range(0, places, P):
        at, there = tile(first, places, channel, inside, CHANNELS, P)
        normed, slope = slopes(x, dy, at, there, off, scale, gain, shift, SILU)
        gains += normed * slope
        shifts += slope
    dgain, dshift = tl.sum(gains, 0), tl.sum(shifts, 0)
    parts += example * CHANNELS + channel
    tl.store(parts, dgain, mask=inside)
    tl.store(parts + tl.num_programs(0) * CHANNELS, dshift, mask=inside)
    numbers = (places * SIZE).to(tl.float32)
    along, level = tl.sum(gain * dgain, 1) / numbers, tl.sum(gain * dshift, 1) / numbers
    sums = tl.zeros([P, G, K], tl.float32)
    for first in range(0, places, P):
        at, there = tile(first, places, channel, inside, CHANNELS, P)
        normed, slope = slopes(x, dy, at, there, off, scale, gain, shift, SILU)
        d = (gain[None] * slope - level[None, :, None] - normed * along[None, :, None]) * scale[None, :, None]
        tl.store(dx + at, d.to(dx.dtype.element_ty), mask=there)
        if offset is not None:
            sums += tl.where(there, d, 0.0)
    if offset is not None:
        tl.store(parts + 2 * tl.num_programs(0) * CHANNELS, tl.sum(sums, 0), mask=inside)
