"""What depth is for: a tent folded k times has 2ᵏ pieces with k layers of two units, and needs 2ᵏ - 1 units in one."""

import numpy as np
import torch
from torch import nn

from gradlab.errors import GradlabError
from gradlab.maths.expressiveness.layers import relu_layers
from gradlab.maths.expressiveness.regions import affine_regions


def tent_network(folds: int) -> nn.Sequential:
    r"""The tent map applied to itself, with two units in each of its hidden layers.

    $$ \tau(x) = 2 \, \mathrm{relu}(x) - 4 \, \mathrm{relu}(x - \tfrac12), \qquad f = \tau \circ \dots \circ \tau $$

    From 0 to 1 it goes up and down 2^(k-1) times.

    >>> tent_network(2)(torch.tensor([[0.0], [0.25], [0.5], [0.6]], dtype=torch.float64)).flatten().tolist()
    [0.0, 1.0, 0.0, 0.3999999999999999]
    """
    if folds < 1:
        raise GradlabError(f"folds must be at least 1, got {folds}.")
    rows, shift = torch.ones(2, 1, dtype=torch.float64), torch.tensor([0.0, -0.5], dtype=torch.float64)
    tent = torch.tensor([[2.0, -4.0]], dtype=torch.float64)
    return relu_layers([(rows, shift), *[(rows @ tent, shift)] * (folds - 1), (tent, torch.zeros(1).double())])


def most_pieces(layers: int, nodes: int) -> float:
    r"""What no network of one input with so many hidden layers and units in all has more pieces than.

    $$ \left( \frac{2 n}{L} \right)^L $$

    Telgarsky 2016, arXiv:1602.04485, where a network of depth L² + 2 is beyond all of L layers and 2^L units.

    >>> [(2 ** (L**2 + 2), int(most_pieces(L, 2**L))) for L in (2, 3, 4)]
    [(64, 16), (2048, 151), (262144, 4096)]
    """
    if layers < 1 or nodes < layers:
        raise GradlabError(
            f"There must be a layer, and at least one unit in each; got {layers} layers of {nodes} units."
        )
    return float((2 * nodes / layers) ** layers)


def separation(folds: int, pieces: float) -> float:
    r"""How far a tent folded so often is at least from every continuous function of so many affine pieces.

    $$ \int_0^1 |f - g| \ge \frac18 \left( 1 - \frac{p + 1}{2^{k-1}} \right) $$

    f is 2^k - 1 times in turn above and below ½, each time with an area of 2^-k / 4 between, and g, which crosses ½ at
    most p times, is on the wrong side in half of those that remain.

    >>> [separation(L**2 + 2, most_pieces(L, 2**L)) > 1 / 32 for L in (2, 3, 4)]
    [True, True, True]
    """
    return max(0.0, (1 - (pieces + 1) / 2.0 ** (folds - 1)) / 8)


def mean_distance(f: nn.Sequential, g: nn.Sequential, low: float = 0.0, high: float = 1.0) -> float:
    r"""The exact area between two networks of one input and one output.

    $$ \int_a^b |f(x) - g(x)| \, dx $$

    >>> round(mean_distance(tent_network(1), tent_network(2)), 12)
    0.333333333333
    """
    ends = {float(x) for net in (f, g) for region in affine_regions(net, [low], [high]) for x in region.vertices[:, 0]}
    x = np.array(sorted(ends))
    with torch.no_grad():
        points = torch.from_numpy(x)[:, None]
        apart = (f.double()(points) - g.double()(points))[:, 0].numpy()
    left, right, width = apart[:-1], apart[1:], np.diff(x)
    same = left * right >= 0
    total = np.abs(left) + np.abs(right)
    # Of two triangles on both sides of 0, the areas are l² and r² over 2 (l + r).
    areas = np.where(same, total / 2, (left**2 + right**2) / (2 * np.where(total == 0, 1.0, total)))
    return float((areas * width).sum())
