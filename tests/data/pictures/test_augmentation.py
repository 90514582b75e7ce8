"""What happens to single pictures: judged by SciPy, Pillow and laws."""

import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance
from scipy import ndimage, stats

from gradlab.data.pictures.augmentation.boxes import boxes
from gradlab.data.pictures.augmentation.colour import Units, coloured
from gradlab.data.pictures.augmentation.draws import beta, uniform
from gradlab.data.pictures.augmentation.geometry import shifted, still, warped
from gradlab.data.pictures.augmentation.mixing import blended, mixed_targets, pasted

CPU = torch.device("cpu")
BLACK = torch.zeros(1, 1, 1)
EDGES = ("black", "border", "reflect")
MODES = {"black": "grid-constant", "border": "nearest", "reflect": "reflect"}  # as SciPy calls them


def pictures(rows=3, channels=1, height=9, width=11, seed=0):
    return torch.rand(rows, channels, height, width, generator=torch.Generator().manual_seed(seed))


def warp(rows=3, **changes):
    plain = still(rows, CPU)
    return plain._replace(**{k: torch.full((rows,), v, dtype=getattr(plain, k).dtype) for k, v in changes.items()})


def bent(x, edge="black", **changes):
    return warped(x, warp(len(x), **changes), edge, BLACK.expand(x.shape[1], 1, 1))


def move(x, right=0, down=0, mirrored=False, edge="black", black=BLACK):
    def whole(value):
        return torch.full((len(x),), value)

    return shifted(x, whole(mirrored), whole(right), whole(down), edge, black.expand(x.shape[1], 1, 1))


# Geometry.


@pytest.mark.parametrize("edge", EDGES)
def test_a_composed_warp_is_what_scipy_makes_of_its_matrices(edge):
    x = pictures(rows=1)
    θ, m, (sx, sy), c = math.radians(25), 0.3, (1.2, 0.8), 0.7
    changes = {"degrees": 25.0, "shear": m, "stretch_x": sx, "stretch_y": sy, "right": 1.5, "down": -0.5}
    window = {"window": c, "window_x": 0.4, "window_y": -0.6}
    # Against the clock, with y pointing down.
    turn = np.array([[math.cos(θ), math.sin(θ)], [-math.sin(θ), math.cos(θ)]])
    forth = turn @ [[1, m], [0, 1]] @ np.diag([sx, sy]) @ np.diag([-1, 1]) / c
    back, swap = np.linalg.inv(forth), [[0, 1], [1, 0]]  # SciPy has rows first
    centre = np.array([4, 5])
    offset = centre + np.array([-0.6, 0.4]) - swap @ back @ swap @ (centre + np.array([-0.5, 1.5]))
    expected = ndimage.affine_transform(
        x[0, 0].double().numpy(), swap @ back @ swap, offset, order=1, mode=MODES[edge], cval=0
    )
    given = bent(x, edge, mirrored=True, **changes, **window)[0, 0]
    torch.testing.assert_close(given.double(), torch.from_numpy(expected), atol=2e-5, rtol=0)


@pytest.mark.parametrize("degrees", [0.0, 360.0, -360.0])
def test_a_whole_turn_and_no_turn_are_nothing(degrees):
    torch.testing.assert_close(bent(pictures(), degrees=degrees), pictures(), atol=2e-5, rtol=0)


def test_a_quarter_turn_is_that_of_torch_against_the_clock():
    x = pictures(height=8, width=8)
    torch.testing.assert_close(bent(x, degrees=90.0), torch.rot90(x, 1, (2, 3)), atol=2e-5, rtol=0)


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("mirrored", [False, True])
def test_whole_pixels_are_copied_and_resampling_agrees(edge, mirrored):
    x = pictures()
    exact = move(x, 2, -3, mirrored, edge)
    assert set(exact.unique().tolist()) <= {0.0, *x.unique().tolist()}
    resampled = bent(x, edge, right=2.0, down=-3.0, mirrored=mirrored)
    torch.testing.assert_close(exact, resampled, atol=2e-5, rtol=0)


def test_a_dot_moves_by_whole_pixels_and_black_comes_in():
    dot = torch.zeros(1, 1, 6, 7)
    dot[0, 0, 2, 3] = 1
    moved = move(dot, right=2, down=-1, black=torch.full((1, 1, 1), -5.0))
    assert moved[0, 0, 1, 5] == 1
    assert (moved == 1).sum() == 1
    assert (moved[0, 0, :, :2] == -5).all()
    assert (moved[0, 0, -1] == -5).all()
    assert (moved == -5).sum() == 2 * 6 + 7 - 2


def test_mirrored_twice_is_nothing():
    x = pictures(channels=3)
    assert torch.equal(move(move(x, mirrored=True), mirrored=True), x)
    assert torch.equal(move(x, mirrored=True), x.flip(3))


def test_a_lens_leaves_the_centre_and_bends_the_corners_by_its_share():
    # A picture of its own coordinates says where each pixel was.
    y, x = torch.meshgrid(torch.arange(41.0) - 20, torch.arange(41.0) - 20, indexing="ij")
    seen = bent(torch.stack([x, y])[None], "border", lens=-0.2)[0]
    radius = (x * x + y * y) / (2 * 20.5**2)
    torch.testing.assert_close(seen, torch.stack([x, y]) * (1 - 0.2 * radius), atol=1e-3, rtol=0)


# Colour.

UNITS = Units(torch.tensor([100.0, 120.0, 90.0]).view(3, 1, 1), torch.tensor([50.0, 60.0, 40.0]).view(3, 1, 1))


@pytest.mark.parametrize("name", ["Brightness", "Contrast", "Color"])
@pytest.mark.parametrize("factor", [0.5, 1.0, 1.4])
def test_colours_change_as_pillow_changes_them(name, factor):
    raw = np.random.default_rng(0).integers(70, 170, (6, 5, 3), dtype=np.uint8)
    judge = np.asarray(getattr(ImageEnhance, name)(Image.fromarray(raw)).enhance(factor)).astype(np.float32)
    x = (torch.from_numpy(raw).permute(2, 0, 1).float()[None] - UNITS.shift) / UNITS.scale
    factors = [torch.full((1, 1, 1, 1), factor) if n == name else None for n in ("Brightness", "Contrast", "Color")]
    given = coloured(x, *factors, UNITS) * UNITS.scale + UNITS.shift
    torch.testing.assert_close(given[0].permute(1, 2, 0), torch.from_numpy(judge), atol=1.6, rtol=0)  # Pillow rounds


def test_without_saturation_all_channels_are_the_grey():
    given = coloured(
        pictures(channels=3), None, None, torch.zeros(3, 1, 1, 1), Units(torch.zeros(3, 1, 1), torch.ones(3, 1, 1))
    )
    assert (given.amax(1) - given.amin(1)).max() == 0


# Boxes and mixtures.


def test_a_box_covers_its_share_and_every_place_is_alike():
    at = uniform(torch.arange(4000), 2)
    side = torch.full((4000,), 3)
    covered = boxes((6, 8), side, side, at).double()
    assert (covered.sum((1, 2, 3)) == 9).all()
    # How many of the places have the pixel in them.
    high, wide = (np.convolve(np.ones(size - 2), np.ones(3)) / (size - 2) for size in (6, 8))
    torch.testing.assert_close(covered.mean((0, 1)), torch.from_numpy(np.outer(high, wide)), atol=0.04, rtol=0)


def test_a_share_of_one_is_nothing_and_of_zero_the_other():
    x, other = pictures(), pictures(seed=1)
    one, zero, at = torch.ones(3).double(), torch.zeros(3).double(), torch.rand(2, 3).double()
    assert torch.equal(blended(x, other, one), x)
    assert torch.equal(blended(x, other, zero), other)
    assert torch.equal(pasted(x, other, one, at)[0], x)
    assert torch.equal(pasted(x, other, zero, at)[0], other)


def test_the_share_of_a_pasted_box_is_what_is_left_of_the_picture():
    own, other = torch.ones(50, 2, 10, 10), torch.zeros(50, 2, 10, 10)
    pictures, share = pasted(own, other, torch.linspace(0, 1, 50).double(), torch.rand(2, 50).double())
    torch.testing.assert_close(pictures.double().mean((1, 2, 3)), share)
    assert (share - torch.linspace(0, 1, 50)).abs().max() < 0.1


def test_targets_are_mixed_in_the_same_shares():
    share = torch.tensor([1.0, 0.25]).double()
    classes = mixed_targets(torch.tensor([2, 0]), torch.tensor([1, 2]), share, 3)
    assert classes.tolist() == [[0, 0, 1], [0.25, 0, 0.75]]
    assert mixed_targets(torch.tensor([8.0, 4.0]), torch.tensor([1.0, 8.0]), share, None).tolist() == [8, 7]


# Random numbers.


def test_draws_are_uniform_and_independent():
    drawn = uniform(torch.arange(20_000), 4)
    for row in drawn:
        assert stats.kstest(row.numpy(), "uniform").pvalue > 1e-3
    assert (torch.corrcoef(drawn) - torch.eye(4)).abs().max() < 0.03
    assert torch.corrcoef(torch.stack([drawn[0, 1:], drawn[0, :-1]]))[0, 1].abs() < 0.03  # neighbouring examples


@pytest.mark.parametrize("alpha", [0.2, 1.0, 8.0])
def test_shares_are_of_the_beta_distribution(alpha):
    drawn = beta(uniform(torch.arange(5000), 1)[0], alpha).numpy()
    assert stats.kstest(drawn, stats.beta(alpha, alpha).cdf).pvalue > 1e-3
