import math

import pytest
import torch
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.nn import ShapeError
from gradlab.nn.attention import BoxcarAttention, EpanechnikovAttention, GaussianAttention, TriangularAttention
from gradlab.nn.attention.pooling import kernels
from gradlab.nn.blocks import blocks

KEYS, VALUES = torch.tensor([[0.0], [1.0], [2.0], [3.0]]), torch.tensor([[0.0], [10.0], [20.0], [30.0]])
KINDS = sorted(kernels.values(), key=lambda kind: kind.__name__)
BOUNDED = [BoxcarAttention, EpanechnikovAttention, TriangularAttention]


def test_every_kernel_is_a_block_of_its_name():
    assert all(blocks[f"attention.{name}"] is kind for name, kind in kernels.items())


@pytest.mark.parametrize(
    ("kind", "half_a_width_away"),
    [
        (GaussianAttention, math.exp(-1 / 8)),
        (BoxcarAttention, 1.0),
        (EpanechnikovAttention, 0.75),
        (TriangularAttention, 0.5),
    ],
)
def test_what_a_key_counts_half_a_width_away(kind, half_a_width_away):
    weights = kind(width=2.0).weights(torch.tensor([[0.0]]), KEYS[:2])
    assert_close((weights[0, 1] / weights[0, 0]).item(), half_a_width_away)


def test_epanechnikovs_kernel_is_the_best_of_its_size():
    """√μ₂ R, by which the error of a density grows: 3/(5√5) for the parabola, more for the tent."""
    u = torch.linspace(-1, 1, 200_001, dtype=torch.float64)

    def error(kernel):
        density = kernel(u.abs()) / torch.trapezoid(kernel(u.abs()), u)
        spread, roughness = torch.trapezoid(density * u**2, u), torch.trapezoid(density**2, u)
        return (spread.sqrt() * roughness).item()

    assert error(EpanechnikovAttention().kernel) == pytest.approx(3 / (5 * math.sqrt(5)), rel=1e-6)
    assert error(TriangularAttention().kernel) == pytest.approx(0.27217, abs=1e-5)
    assert error(BoxcarAttention().kernel) > 0.28


def test_the_edge_of_the_box_is_inside():
    assert BoxcarAttention(width=1.0)(KEYS[1:2], KEYS, VALUES).item() == 10.0
    assert BoxcarAttention(width=1.0).weights(KEYS[:1], KEYS).tolist() == [[0.5, 0.5, 0.0, 0.0]]


@pytest.mark.parametrize("kind", BOUNDED)
def test_far_from_all_keys_values_and_gradients_are_zero(kind):
    leaves = [torch.tensor([[9.0]], requires_grad=True), KEYS.clone().requires_grad_(), VALUES.clone().requires_grad_()]
    result = kind()(*leaves)
    assert result.tolist() == [[0.0]]
    assert not any(g.any() for g in torch.autograd.grad(result.sum(), leaves, allow_unused=True) if g is not None)


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_at_a_key_has_finite_gradients(kind):
    q, k = KEYS.clone().requires_grad_(), KEYS.clone().requires_grad_()
    result = kind(width=1.5)(q, k, VALUES.clone().requires_grad_())
    for gradient in torch.autograd.grad(result.square().sum(), [q, k], allow_unused=True):
        assert gradient is None or gradient.isfinite().all()


@pytest.mark.parametrize("kind", KINDS)
def test_distances_are_right_far_from_the_origin(kind):
    """10⁴ + 1 and 10⁴ differ by 1, also in float32, though their squares nearly do not."""
    many = KEYS.expand(4, 40).T.reshape(-1, 1)[:100] + torch.arange(100)[:, None] * 0.01
    moved = kind(width=0.7)(many + 1e4, many + 1e4, many)
    assert_close(moved, kind(width=0.7)(many, many, many), atol=0.05, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_no_keys_give_zeros(kind):
    assert kind()(torch.randn(2, 3, 5), torch.randn(2, 0, 5), torch.randn(2, 0, 4)).tolist() == [[[0.0] * 4] * 3] * 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_half_precision_measures_distances_in_single(kind, dtype):
    result = kind(width=2.0)(KEYS.to(dtype), KEYS.to(dtype), VALUES.to(dtype))
    assert result.dtype == dtype
    assert_close(result.float(), kind(width=2.0)(KEYS, KEYS, VALUES), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_a_width_is_positive(kind, width):
    with pytest.raises(GradlabError, match=r"^attention.\w+: width must be float > 0, got"):
        kind(width)


def test_shapes_that_do_not_fit_are_told():
    with pytest.raises(ShapeError, match=r"^attention.gaussian: keys must have shape \(…batch, m, d=2\), got \(4, 1\)"):
        GaussianAttention()(torch.randn(3, 2), KEYS, VALUES)
    with pytest.raises(ShapeError, match=r"cannot be spread over scores of shape \(4, 4\)"):
        BoxcarAttention()(KEYS, KEYS, VALUES, torch.ones(3, 4, dtype=torch.bool))
