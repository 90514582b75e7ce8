"""The affine regions of networks, and what depth does to their number."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gradlab.maths.expressiveness.layers import relu_layers
from gradlab.maths.expressiveness.piecewise import interpolating_network, relu_network
from gradlab.maths.expressiveness.regions import (
    Region,
    affine_regions,
    kinks,
    most_regions,
    reached_regions,
    sampled_patterns,
)
from gradlab.maths.expressiveness.tent import mean_distance, most_pieces, separation, tent_network
from gradlab.verification.case import Case
from gradlab.verification.checks import law, peer
from gradlab.verification.comparing import difference, excess
from gradlab.verification.subject import subject

subject("maths.affine_regions")(affine_regions)
subject("maths.most_regions")(most_regions)
subject("maths.tent_network")(tent_network)
subject("maths.mean_distance")(mean_distance)
subject("maths.separation")(separation)


def _network(case: Case, inputs: int, widths: Sequence[int]) -> nn.Sequential:
    sizes = [inputs, *widths, case.integer("outputs", 1, 2)]
    maps = []
    for layer, (before, after) in enumerate(pairwise(sizes)):
        draw = case.generator(f"layer {layer}")
        weight, bias = (
            torch.randn(shape, generator=draw, dtype=torch.float64) for shape in ((after, before), (after,))
        )
        maps.append((weight, bias))
    return relu_layers(maps)


def _widths(case: Case) -> list[int]:
    return case.sizes(5, (1, 3), "width", "hidden layers")


def _of_the_first_layer(network: nn.Sequential, low: Any, high: Any, *slice_: Any) -> list[Region]:
    layers = list(network)
    regions, after = affine_regions(nn.Sequential(*layers[:2]), low, high, *slice_), nn.Sequential(*layers[2:])
    corners = [torch.from_numpy(region.weight @ region.vertices.mean(0) + region.bias) for region in regions]
    values = [after(corner).detach().numpy() for corner in corners]
    return [Region(r.vertices, r.pattern, 0 * r.weight[: len(v)], v) for r, v in zip(regions, values, strict=True)]


def _inside(region: Region, shares: Tensor) -> Any:
    """A point of the region: a mean of its vertices."""
    weights = shares[: len(region.vertices)].numpy() + 0.1
    return weights @ region.vertices / weights.sum()


@law("maths.affine_regions", fault=_of_the_first_layer, id="affine-regions", most_cases=20)
def on_each_region_the_network_is_the_affine_map_of_its_pattern(case: Case) -> float:
    """$f(x_0 + D t) = A_r t + c_r$ on each region $r$; no two have one pattern of active units"""
    inputs, axes = case.integer("inputs", 1, 4), case.integer("axes of the slice", 1, 2)
    network = _network(case, inputs, _widths(case))
    draw = case.generator("slice")
    origin, *directions = torch.randn(1 + axes, inputs, generator=draw, dtype=torch.float64)
    regions = case.build()(network, [-2.0] * axes, [2.0] * axes, origin, torch.stack(directions))
    shares = torch.rand(20, generator=draw, dtype=torch.float64)
    points = np.stack([_inside(region, shares) for region in regions])
    wanted = network(origin + torch.from_numpy(points) @ torch.stack(directions)).detach()
    affine = np.stack([r.weight @ t + r.bias for r, t in zip(regions, points, strict=True)])
    patterns = {region.pattern for region in regions}
    return difference(torch.from_numpy(affine), wanted) + len(regions) - len(patterns)


@law("maths.affine_regions", fault=_of_the_first_layer, id="affine-regions", most_cases=20)
def there_is_a_region_for_each_pattern_that_inputs_show_and_they_fill_the_slice(case: Case) -> float:
    """{patterns of a dense sample} ⊆ {patterns of the regions}, and their areas add up to that of the slice"""
    network = _network(case, 2, _widths(case))
    regions = case.build()(network, [-2.0, -2.0], [2.0, 2.0])
    line = torch.linspace(-2, 2, 100, dtype=torch.float64)
    seen = sampled_patterns(network, torch.cartesian_prod(line, line))
    x, y = zip(*(region.vertices.T for region in regions), strict=True)
    areas = [abs(np.dot(a, np.roll(b, -1)) - np.dot(b, np.roll(a, -1))) / 2 for a, b in zip(x, y, strict=True)]
    return float(abs(sum(areas) - 16)) / 16 + len(seen - {region.pattern for region in regions})


def _of_all_subsets_but_one(inputs: int, widths: Sequence[int]) -> int:
    return most_regions(inputs, widths) - 1


@law("maths.most_regions", fault=_of_all_subsets_but_one, id="affine-regions", most_cases=20)
def no_network_has_more_regions_and_lines_in_general_position_have_as_many(case: Case) -> float:
    """regions ≤ $\\prod_l \\sum_{j \\le d} \\binom{n_l}{j}$, and as many for one layer; $2^L$ for a tent"""
    inputs = case.integer("inputs", 1, 2)
    widths = _widths(case)
    far = 1e4  # beyond where the lines meet
    one, deep = (_network(case, inputs, of) for of in (widths[:1], widths))
    counts = [len(affine_regions(net, [-far] * inputs, [far] * inputs)) for net in (one, deep)]
    most, folds = case.build(), case.integer("folds", 1, 6)
    tent = len(affine_regions(tent_network(folds), [0.0], [1.0]))
    exact = abs(counts[0] - most(inputs, widths[:1])) + abs(tent - 2**folds)
    return float(exact + max(0, counts[1] - most(inputs, widths)) + max(0, tent - most(1, [2] * folds)))


@peer("maths.most_regions", "the bounds of Montúfar et al. written out")
def _written_out(case: Case) -> float:
    from scipy.special import comb  # type: ignore[import-untyped]

    inputs, width = case.integer("inputs", 1, 3), case.integer("width", 3, 9)
    layers = case.integer("layers", 1, 3)
    cells = sum(comb(width, j, exact=True) for j in range(inputs + 1))
    reached = (width // inputs) ** (inputs * (layers - 1)) * cells
    widths = [width] * layers
    return float(abs(case.build()(inputs, widths) - cells**layers) + abs(reached_regions(inputs, widths) - reached))


# Depth


@law("maths.tent_network", fault=lambda folds: tent_network(max(1, folds - 1)), id="depth-separation", most_cases=12)
def each_layer_of_two_units_doubles_the_pieces_and_one_layer_needs_a_unit_for_each(case: Case) -> float:
    """$\\tau^k$ has $2^k$ pieces with $2k$ units; one hidden layer of $n$ units has at most $n + 1$"""
    folds, units = case.integer("folds", 1, 9), case.integer("units", 1, 12)
    network = case.build()(folds)
    ends = torch.arange(2**folds + 1, dtype=torch.float64) / 2**folds
    values = network(ends[:, None])[:, 0]
    layers = [layer for layer in network if isinstance(layer, nn.Linear)]
    size = abs(sum(layer.out_features for layer in layers[:-1]) - 2 * folds)
    one = len(kinks(_network(case, 1, [units]), -1e4, 1e4)) + 1
    pieces = abs(len(kinks(network, 0.0, 1.0)) + 1 - 2**folds)
    wanted = torch.arange(2**folds + 1, dtype=torch.float64) % 2
    return difference(values, wanted) + float(size + pieces + max(0, one - units - 1))


def _of_the_first_half(f: nn.Sequential, g: nn.Sequential, low: float = 0.0, high: float = 1.0) -> float:
    return mean_distance(f, g, low, (low + high) / 2)


@law("maths.mean_distance", fault=_of_the_first_half, id="depth-separation", most_cases=12)
def it_is_the_area_between_two_networks(case: Case) -> float:
    """$\\int_0^1 |f - g|$, beside the sum over many points"""
    f, g = tent_network(case.integer("folds", 1, 4)), _scalar(case)
    x = (torch.arange(2**16, dtype=torch.float64) + 0.5) / 2**16
    with torch.no_grad():
        wanted = float((f(x[:, None]) - g(x[:, None])).abs().mean())
    area: float = case.build()(f, g)
    return max(0.0, abs(area - wanted) - 1e-4)


def _scalar(case: Case) -> nn.Sequential:
    """A network of one output, of L layers and 2^L units in all."""
    layers = case.integer("L", 1, 3)
    widths = [2**layers // layers] * layers
    draw, sizes = case.generator("g"), [1, *widths, 1]
    return relu_layers(
        [
            (
                torch.randn(b, a, generator=draw, dtype=torch.float64),
                torch.randn(b, generator=draw, dtype=torch.float64),
            )
            for a, b in pairwise(sizes)
        ]
    )


def _near(folds: int, pieces: int) -> nn.Sequential:
    """As near to the tent as one comes with so many pieces: along its first ones, and then level at ½."""
    along = torch.arange(pieces, dtype=torch.float64)
    x, y = torch.cat([along, along[-1:] + 0.5]) / 2**folds, torch.cat([along % 2, along.new_tensor([0.5])])
    return interpolating_network(x, y)


@law(
    "maths.separation",
    fault=lambda folds, pieces: (1 - pieces / 4**folds) / 4,
    id="depth-separation",
    most_cases=12,
)
def a_network_of_fewer_pieces_stays_away_from_the_folded_tent(case: Case) -> float:
    """$\\int_0^1 |\\tau^k - g| \\ge \\frac18 (1 - (p + 1) / 2^{k-1})$ for every g of p pieces

    It is more than 1/32 for k = L² + 2 and all networks of L layers and 2^L units.
    """
    bound, folds = case.build(), case.integer("folds", 2, 8)
    g = _scalar(case)
    close = _near(folds, case.integer("pieces of a zigzag", 1, 2**folds))
    level = relu_network([0.5], [0.0, 0.0], 0.5)
    worst = 0.0
    for other in (g, close, level):
        pieces = len(kinks(other, 0.0, 1.0)) + 1
        worst = max(worst, bound(folds, pieces) - mean_distance(tent_network(folds), other))
    short = [L for L in (2, 3, 4) if bound(L**2 + 2, most_pieces(L, 2**L)) <= 1 / 32]
    return max(worst, excess(torch.tensor(float(len(short))), 0.0))
