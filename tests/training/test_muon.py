"""What Muon moves, and how; that it is torch's rule is in test_optimizers.py."""

import pytest
import torch
from torch import nn
from torch.optim._muon import _zeropower_via_newtonschulz
from torch.testing import assert_close

from gradlab.errors import GradlabError
from gradlab.models.language.transformer import TransformerLanguageModel
from gradlab.registry import Part
from gradlab.training.optimizers import Parameters, optimizers
from gradlab.training.optimizers.matrices import inner_matrices
from gradlab.training.optimizers.muon import orthogonal


def build(model, decay=0.0, **values):
    return optimizers.build(optimizers.resolve(Part("muon", values), "optimizer"), Parameters(model, decay))


def convolutional():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.Conv2d(6, 6, 3), nn.Conv2d(6, 6, 3), nn.Flatten(), nn.Linear(24, 4)
    )


@pytest.mark.parametrize("shape", [(6, 6), (4, 9), (9, 4), (1, 5)])
def test_singular_values_come_near_one_and_directions_stay(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    turned = orthogonal(matrix[None])[0]
    u, _, vh = torch.linalg.svd(matrix, full_matrices=False)
    middle = u.T @ turned @ vh.T
    assert middle.diag().min() > 0.6
    assert middle.diag().max() < 1.3
    assert_close(middle, torch.diag(middle.diag()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("shape", [(16, 16), (8, 24), (24, 8)])
def test_in_bf16_it_is_what_torch_computes(shape):
    matrices = torch.randn(3, *shape, generator=torch.Generator().manual_seed(3))
    turned = orthogonal(matrices, dtype=torch.bfloat16)
    assert turned.dtype == torch.bfloat16
    wanted = [_zeropower_via_newtonschulz(m, (3.4445, -4.7750, 2.0315), 5, 1e-7) for m in matrices]
    assert_close(turned, torch.stack(wanted), rtol=0, atol=0.03)


def test_normalised_matrices_have_the_norm_of_rows_of_length_one_before_each_step():
    model = convolutional()
    optimizer = build(model, normalised=True, adjust="original")
    start = {n: p.detach().clone() for n, p in model.named_parameters()}
    gradients = [torch.zeros_like(p) for p in model.parameters()]
    optimizer.update(gradients, 0.1)  # steps of zeros
    for name, p in model.named_parameters():
        if name in ("0.weight", "2.weight", "3.weight"):
            assert p.norm().item() == pytest.approx(len(p) ** 0.5)
            assert_close(p / p.norm(), start[name] / start[name].norm())
        else:
            assert torch.equal(p, start[name])


def test_a_matrix_of_zeros_stays_one():
    assert_close(orthogonal(torch.zeros(1, 3, 4)), torch.zeros(1, 3, 4))


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_convolutions_are_matrices_of_a_row_for_each_channel(layout):
    """Those of equal shape are turned together, and each is moved as torch's rule moves it flattened."""
    model = convolutional().to(memory_format=layout)
    optimizer = build(model, 0.1)
    (first, *_), start = model, {n: p.detach().clone() for n, p in model.named_parameters()}
    flat = {n: nn.Parameter(start[n].flatten(1).clone()) for n in ("0.weight", "2.weight", "3.weight")}
    judge = torch.optim.Muon(flat.values(), lr=0.02, weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    generator = torch.Generator().manual_seed(4)
    for _ in range(3):
        slopes = {n: torch.empty_like(p).copy_(torch.randn(p.shape, generator=generator)) for n, p in start.items()}
        for name, p in flat.items():
            p.grad = slopes[name].flatten(1)
        optimizer.update(list(slopes.values()), 0.02)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
            judge.step()
    assert first.weight.is_contiguous(memory_format=layout)
    for name, p in flat.items():
        assert_close(model.get_parameter(name).flatten(1), p, rtol=1e-5, atol=1e-6)


def test_matrices_of_one_shape_are_one_group():
    model = convolutional()
    optimizer = build(model)
    names = optimizer.parameters.names
    groups = [{names[i] for i in group.members} for group in optimizer._groups((True,) * len(names))]
    assert {"2.weight", "3.weight"} in groups
    assert {"0.weight"} in groups
    assert {n for n in names if n.endswith("bias") or n in ("1.weight", "5.weight")} in groups


@pytest.mark.parametrize("tied", [True, False])
def test_embeddings_positions_and_the_last_map_are_not_among_the_matrices(tied):
    model = TransformerLanguageModel(11, 8, dim=16, layers=1, heads=2, tied=tied, position="learned")
    parameters = Parameters(model)
    inner = inner_matrices(parameters)
    apart = {n for n, p in parameters.by_name.items() if p.ndim >= 2} - inner
    assert apart == {"embedding.weight", "position.weight"} | ({"head.weight"} if not tied else set())
    assert inner


def test_a_last_map_that_shares_its_weight_with_the_embedding_is_no_matrix():
    model = nn.Module()
    model.tokens, model.inner, model.head = nn.Embedding(7, 4), nn.Linear(4, 4), nn.Linear(4, 7, bias=False)
    model.head.weight = model.tokens.weight
    assert inner_matrices(Parameters(model)) == {"inner.weight"}


def test_a_number_named_head_is_no_last_map():
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
    model[0].head = 8
    assert inner_matrices(Parameters(model)) == {"0.weight"}


def test_further_weights_can_be_left_to_adamw():
    optimizer = build(convolutional(), others=["0", "3.weight"])
    moved = dict(zip(optimizer.parameters.names, optimizer.shapes, strict=True))
    assert {name for name, shape in moved.items() if shape} == {"2.weight"}


def test_a_weight_that_is_not_there_cannot_be_left_to_adamw():
    with pytest.raises(GradlabError, match=r"others=7: there is no parameter whose name begins so, such as 0\.weight"):
        build(convolutional(), others=["7"])


def test_no_state_is_kept_for_nothing():
    optimizer = build(convolutional())
    for velocity, mean, square, value in zip(*optimizer.state.values(), optimizer.values, strict=True):
        assert {velocity.numel(), mean.numel()} == {0, value.numel()}
        assert mean.numel() == square.numel()
